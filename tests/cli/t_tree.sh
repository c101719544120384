#!/usr/bin/env bash
# tree: the tree of a search is shown, explained and steered: what is pruned is
# never tried, what is pinned and added is; decisions take effect at the same
# question whenever the search is played again; any number of processes decide.
. tests/tap.sh

m=tests/perf/h200/gemm.yaml
head -n 6 tests/data/h200/gemm/workloads.jsonl >"$tmp/few.jsonl"
search() { # STORE BUDGET
    "$ws" search $m --recordings tests/data/h200/gemm.csv.gz --where pass=1 --workloads "$tmp/few.jsonl" --budget "$2" --store "$1" --out "$tmp/found"
}
# id STORE IDEA [MORE]: of the first node whose line has both.
id() { "$ws" tree "$1" show | grep -F -- "$2" | grep -m 1 -F -- "${3:-}" | awk '{print $1}'; }
# Configs that look so, screened from question N on: so FROM TEXT.
so() { awk -F, -v from="$1" '$1 > from' "$tmp/found/attempts.csv" | grep ',screen,' | grep -c "$2"; }

expect "tree --help" 0 "$ws" tree --help
check "shows usage" out_has "usage: wavesmith tree STORE show"
expect "a store that is not there" 2 "$ws" tree "$tmp/none.db" show
expect "is not made by deciding" 2 "$ws" tree "$tmp/none.db" note x
check "it is not" test ! -e "$tmp/none.db"
expect "a run without a tree" 0 "$ws" tune $m --recordings tests/data/h200/gemm.csv.gz --where pass=1 --workloads "$tmp/few.jsonl" --budget 6 --store "$tmp/h.db"
expect "has none" 2 "$ws" tree "$tmp/h.db" show
check "is told" err_has "no run of the store has a tree"

expect "a search" 0 search "$tmp/a.db" 24
expect "its tree" 0 "$ws" tree "$tmp/a.db" show
check "is that of 24 questions" out_has "after question 24"
check "with places" out_has "s0 (decode)"
check "and what is open" out_has "open, the most promising first:"
check "is what the search wrote" cmp <(tail -n +2 "$tmp/out") "$tmp/found/tree.txt"
expect "as JSON" 0 "$ws" tree "$tmp/a.db" show --json
check "is one document" out_has '"wavesmith": "tree"'
node=$(id "$tmp/a.db" "rows of a tile: 16")
expect "explained" 0 "$ws" tree "$tmp/a.db" explain "$node"
check "its prior" out_has "before anything was tried: 1.60x"
check "when it was chosen" out_has "when it was chosen: 1.60x"
check "what it found" out_has "over its parent's best"

# Pruned: what would have been tried is not.
cp "$tmp/a.db" "$tmp/free.db"
expect "without steering" 0 search "$tmp/free.db" 150
with=$(so 31 'bm=32,')
echo "# $with configs with rows of 32"
check "some have rows of 32" test "$with" -gt 0
node=$(id "$tmp/a.db" "rows of a tile: 32")
expect "pruned" 0 "$ws" tree "$tmp/a.db" prune "$node"
check "it is the first decision" out_has "decision 1: prune"
expect "it waits" 0 "$ws" tree "$tmp/a.db" show
check "for the next question" out_has "1 prune $node, not in effect yet"
expect "on it goes" 0 search "$tmp/a.db" 150
check "no config has rows of 32 any more" test "$(so 31 'bm=32,')" = 0
expect "it is shown" 0 "$ws" tree "$tmp/a.db" show
check "since when" out_has "1 prune $node, since question 24"

# Pinned, added, noted.
expect "another search" 0 search "$tmp/b.db" 24
node=$("$ws" tree "$tmp/b.db" show | awk '/^s6/ {on = 1} on && / open  / {id = $1} END {print id}')
check "something is open" test -n "$node"
expect "pinned" 0 "$ws" tree "$tmp/b.db" pin "$node"
expect "added" 0 "$ws" tree "$tmp/b.db" add root bn=64 bk=64 --expect 1.1
expect "noted" 0 "$ws" tree "$tmp/b.db" note no more than two blocks a unit
expect "on it goes" 0 search "$tmp/b.db" 150
expect "the tree" 0 "$ws" tree "$tmp/b.db" show
check "tells of the pin" eval 'grep -E "^ *$node .* pinned +[1-9]" "$tmp/out" >/dev/null'
check "of the idea" eval 'grep -E "added: bn=64 bk=64 .* [1-9].*, added" "$tmp/out" >/dev/null'
check "and has the words" out_has "3 note no more than two blocks a unit, since question 24"
cp "$tmp/out" "$tmp/steered"
added=$(id "$tmp/b.db" "added: bn=64")
expect "the idea explained" 0 "$ws" tree "$tmp/b.db" explain "$added"
check "is expected as was said" out_has "before anything was tried: 1.10x"
expect "run again" 0 search "$tmp/b.db" 150
"$ws" tree "$tmp/b.db" show >"$tmp/again"
check "it is the same tree" cmp "$tmp/steered" "$tmp/again"
expect "exported" 0 "$ws" trials "$tmp/b.db" --export "$tmp/b.jsonl"
expect "and imported" 0 "$ws" trials "$tmp/c.db" --import "$tmp/b.jsonl"
expect "played from the log" 0 search "$tmp/c.db" 150
"$ws" tree "$tmp/c.db" show >"$tmp/again"
check "it is the same tree, too" cmp "$tmp/steered" "$tmp/again"
expect "the store is whole" 0 "$ws" trials "$tmp/b.db" --verify

# What a store says is not taken on trust.
sed '/steer/s/bn=64/bn64/' "$tmp/b.jsonl" >"$tmp/odd.jsonl"
check "an export with an odd idea" test "$(diff "$tmp/b.jsonl" "$tmp/odd.jsonl" | grep -c '^>')" = 1
expect "is imported" 0 "$ws" trials "$tmp/e.db" --import "$tmp/odd.jsonl"
expect "and played without it" 0 search "$tmp/e.db" 150
sed 's/\(what[^a-z]*\)pin/\1paint/' "$tmp/b.jsonl" >"$tmp/odd.jsonl"
expect "one that decides nothing known" 0 "$ws" trials "$tmp/f.db" --import "$tmp/odd.jsonl"
expect "is refused" 2 search "$tmp/f.db" 150
check "and named" err_has "decision 1 of run 1 is none"

# Others decide while it goes on.
"$ws" search $m --recordings tests/data/h200/gemm.csv.gz --where pass=1 --budget 3000 --workloads tests/data/h200/gemm/workloads.jsonl --store "$tmp/d.db" >"$tmp/d.out" 2>"$tmp/d.err" &
pid=$!
until "$ws" tree "$tmp/d.db" show >/dev/null 2>&1 || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
decide() { for i in 1 2 3 4 5 6 7 8; do "$ws" tree "$tmp/d.db" note "$1$i" >>"$tmp/d$1" || return 1; done; }
decide x & one=$!
decide y & two=$!
check "one decides" wait $one
check "another one, too" wait $two
check "and the search ends well" wait $pid
check "no number is there twice" test "$(cat "$tmp/dx" "$tmp/dy" | sort -u | wc -l)" = 16
expect "all are shown" 0 "$ws" tree "$tmp/d.db" show
check "all sixteen" test "$(grep -c ' note [xy][1-8]' "$tmp/out")" = 16

bad() { # NAME WORDS... MESSAGE
    local name=$1 message=${*: -1}
    shift
    expect "$name" 2 "$ws" tree "$tmp/b.db" "${@:1:$#-1}"
    check "$name is told" err_has "$message"
}
bad "no such node" explain zzzz "the tree has no node 'zzzz'"
bad "an empty one" pin "" "the tree has no node ''"
bad "the root pruned" prune root "the root is where all begins"
bad "no such parameter" add root nix=3 "no kernel has a parameter 'nix'"
bad "no such value" add root bm=17 "'17' is no value of 'bm'"
check "its values are named" err_has "it has 16, 32, 64, 128, 256"
bad "no choice" add root bm "'bm' is no choice"
bad "an idea that says nothing" add root "the idea says nothing"
bad "a factor that is none" add root bm=16 --expect much "is no factor"
bad "a factor that is too much" add root bm=16 --expect 1000 "cannot be expected"
bad "nothing noted" note "note what?"
bad "nothing to decide" paint root "'paint' is nothing that can be decided"
bad "two nodes" pin "$node" "$node" "pin takes one node"
bad "another run" show --run 7 "the store has no run 7"
finish
