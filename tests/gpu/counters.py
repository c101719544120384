#!/usr/bin/env python3
"""counters.py COUNTS SET=NCU.csv...: what `counters count` printed beside what
ncu says of the same launches: Markdown, a row a metric, and how many agree
within 2 %, or within 0.1 where both are small (of a percentage, a ratio). Exit
code 1 if anything of the one-pass set does not."""
import csv
import math
import sys


def ours(path):
    values, passes = {}, {}
    for line in open(path):
        word = line.split()
        if word[:1] == ['value']:
            values[tuple(word[1:4])] = float(word[4])
        if word[:1] == ['passes']:
            passes[word[1]] = int(word[2])
    return values, passes


def theirs(path):
    """(kernel, metric) to a number, or None where ncu has none."""
    rows = list(csv.reader(line for line in open(path)
                           if not line.startswith('==')))
    out = {}
    for row in rows[2:]:
        one = dict(zip(rows[0], row))
        for name, text in one.items():
            try:
                out[one['Kernel Name'], name] = float(text.replace(',', ''))
            except ValueError:
                out[one['Kernel Name'], name] = None
    return out


def agree(a, b):
    return abs(a - b) <= 0.02 * max(abs(a), abs(b)) or \
        max(abs(a), abs(b)) < 5 and abs(a - b) <= 0.1


def main():
    values, passes = ours(sys.argv[1])
    failed = 0
    for arg in sys.argv[2:]:
        which, path = arg.split('=', 1)
        ncu = theirs(path)
        rows, n, missing = [], 0, 0
        for (where, kernel, metric), v in values.items():
            if where != which:
                continue
            w = ncu.get((kernel, metric))
            if math.isnan(v) or w is None:
                missing += 1
                rows.append((math.inf, kernel, metric, v, w))
                continue
            n += agree(v, w)
            diff = abs(v - w) / max(abs(v), abs(w), 1e-300) if v != w else 0
            rows.append((0 if agree(v, w) and diff > 0.02 else diff,
                         kernel, metric, v, w))
        if which == 'one':
            failed = len(rows) - n
        print(f'\n## set {which}: {passes.get(which)} pass(es); of '
              f'{len(rows)} values {n} agree, {missing} are missing\n')
        print('| kernel | metric | ours | ncu | difference |\n|---|---|---|---|---|')
        for diff, kernel, metric, v, w in rows:
            if which == 'one' or diff > 0.02:
                print(f'| {kernel} | `{metric}` | {v:.6g} | '
                      f'{"-" if w is None else format(w, ".6g")} | '
                      f'{100 * diff:.2f} % |')
    sys.exit(1 if failed else 0)


main()
