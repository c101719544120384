#!/usr/bin/env bash
# What tests/run says of a program that fails: what failed first, whatever was
# printed behind it.
. tests/tap.sh

cat >"$tmp/bad.sh" <<'END'
echo "ok before"
echo "not ok the culprit: exit 1, want 0"
echo "#   why it was"
echo "ok skipped # SKIP for no reason"
echo "not ok 7 # SKIP that one, too"
for i in $(seq 100); do echo "ok $i"; done
printf 'a byte that is no text: \0\n'
exit 1
END
cat >"$tmp/many.sh" <<'END'
for i in $(seq 60); do echo "not ok number $i"; for j in 1 2 3; do echo "# $j"; done; done
END
echo 'echo "ok fine"' >"$tmp/good.sh"
run() { BUILD=$tmp/b tests/run "$@"; }
before() { # TEXT TEXT: the first comes first
    local a b
    a=$(grep -nF -- "$1" "$tmp/out" | head -n 1 | cut -d: -f1)
    b=$(grep -nF -- "$2" "$tmp/out" | head -n 1 | cut -d: -f1)
    [ -n "$a" ] && [ -n "$b" ] && [ "$a" -lt "$b" ]
}

expect "a failure" 1 run "$tmp/bad.sh" "$tmp/good.sh"
check "is counted once, skips are not" out_has "102 passed, 1 failed, 2 skipped"
check "what failed is said" out_has "not ok the culprit: exit 1, want 0"
check "and why" before "not ok the culprit" "why it was"
check "before the last lines" before "why it was" "the last lines:"
check "which are there" before "the last lines:" "ok 100"
head -n 3 "$tmp/out" | grep -q culprit
check "at once" [ $? -eq 0 ]
expect "many failures" 1 run "$tmp/many.sh"
check "40 of them are said" before "not ok number 40" "the last lines:"
sed -n '1,/the last lines:/p' "$tmp/out" | grep -q "number 41"
check "and no more" [ $? -ne 0 ]
expect "none" 0 run "$tmp/good.sh"
finish
