#!/usr/bin/env bash
# The quick part of `make integrity`: attacks that fail before anything is
# timed, one of those that fail while it is, and honest kernels. Also that the
# runner itself counts a miss as one.
. tests/tap.sh
have_opencl || skip_all "no OpenCL device"
device=$("$ws" devices | awk '/^opencl:/ {print $1; exit}')
run=tests/integrity/run

export BUILD=${WS_BUILD:-build/gcc} JOBS=1
# some NAME IDS WANT: the rows of these ids; WANT is the last line.
some() {
    expect "$1" 0 $run -d "$device" -o "$tmp/$1" -m "^($2)	"
    check "$1: $3" out_has "$3"
}
# told KIND ID VERDICT WORDS: what verdicts.tsv says about a row.
told() {
    check "$2 is '$3', $4" awk -F '\t' -v id="$2" -v v="$3" -v w="$4" '
        $2 == id && $5 == v && index($6, w) {found = 1}
        END {exit !found}' "$tmp/$1/verdicts.tsv"
}

attacks='m1-writes-nothing|m3-returns-its-input|m4-writes-one-element'
attacks="$attacks|m4-borrows-an-input|m5-reads-behind-its-input|b4-carries-a-file|s1-sum-of-a-softmax"
attacks="$attacks|m5-writes-outside|m9-unset-scratch|s2-zeros|s2-not-a-number"
attacks="$attacks|s3-no-bias|s3-no-last-k|s3-no-tail|s3-one-element"
attacks="$attacks|s4-sums-in-float16|s6-none-is-zero|s9-one-output-of-two"
attacks="$attacks|t2-late|t4-packs-once|b6-memory-for-time|e4-talks-to-the-judge"
some attacks "$attacks" 'attacks caught 22 of 22, honest passed 0 of 0'
told attacks m1-writes-nothing wrong 'not written'
told attacks m3-returns-its-input wrong "a copy of 'X'"
told attacks m4-writes-one-element cheat "writes to input 'B'"
told attacks m4-borrows-an-input cheat "writes to input 'X', and puts back"
told attacks m5-reads-behind-its-input wrong "reads outside of 'X'"
told attacks b4-carries-a-file none 'assembly in a source'
told attacks s1-sum-of-a-softmax none 'tells nothing'
told attacks m5-writes-outside wrong "writes outside of 'Y'"
told attacks s4-sums-in-float16 wrong 'lower precision'
told attacks t4-packs-once cheat 'keeps something between launches'

some honest 'affine-tail|rowsum-tree|linear-split' \
    'attacks caught 0 of 0, honest passed 3 of 3'
told honest linear-split ok ''

# --- the runner ----------------------------------------------------------
expect "no row is no success" 1 $run -d "$device" -m '^no such row	'
check "and says so" out_has 'attacks caught 0 of 0, honest passed 0 of 0'
# A verdict that the table does not allow, words that are not there, and an
# attack among the honest ones.
mkdir "$tmp/tables"
printf '%s\t-\t-\t-\n' 's2-zeros	S2	any	cheat	-' \
    's3-no-bias	S3	any	wrong	all zero' >"$tmp/tables/attacks.tsv"
printf 's2-zeros\tany\ttests/integrity/attacks/s2-zeros.yaml\t-\t-\n' \
    >"$tmp/tables/honest.tsv"
TABLES=$tmp/tables expect "misses are counted" 1 $run -d "$device"
check "another verdict" out_has 'not caught: s2-zeros: wrong: '
check "other words" out_has 'not caught: s3-no-bias: wrong: '
check "what was refused" out_has 'refused: s2-zeros: wrong: '
check "the rates" out_has 'attacks caught 0 of 2, honest passed 0 of 1'
finish
