"""Kernel Tuner's side of the comparison by evaluations.

    kt_reach.py T1.json TIMES.csv.gz STRATEGY SEEDS CAP SECONDS TIME...

Runs a strategy in simulation mode on recorded times, with its own defaults,
for seeds 0 to SEEDS - 1, and prints one JSON line: for each seed how many
different configs it had evaluated when one was as fast as each TIME (in
milliseconds, falling), or null; and how many in all. A run ends with the last
of them, with CAP configs, with the strategy itself, or after SECONDS of the
processor: some go on forever once they know only what they have seen.
"""
import contextlib
import io
import json
import os
import random
import signal
import sys
import tempfile

import numpy

with contextlib.redirect_stdout(io.StringIO()):
    import kernel_tuner
    from kernel_tuner.runners.simulation import SimulationRunner

from kt_search import KERNEL, SIZE, write_cache
from kt_space import read


class Over(BaseException):
    """Nothing that strategies catch."""


class Watch:
    """Sees every config in the order of its evaluation."""

    def __init__(self, targets, cap):
        self.targets, self.cap = targets, cap
        self.seen = set()
        self.reached = []

    def tell(self, config, result):
        if config in self.seen:
            return
        self.seen.add(config)
        time = result["time"]
        while (len(self.reached) < len(self.targets) and
               isinstance(time, float) and
               time <= self.targets[len(self.reached)]):
            self.reached.append(len(self.seen))
        if (len(self.reached) == len(self.targets) or
                len(self.seen) >= self.cap):
            raise Over


def over(signum, frame):
    raise Over


def tune(params, restrictions, cache, strategy, cap, seed):
    with contextlib.redirect_stdout(io.StringIO()), \
            contextlib.redirect_stderr(io.StringIO()):
        kernel_tuner.tune_kernel(
            KERNEL, "void kernel() {}", SIZE, [], params, lang="C",
            restrictions=restrictions, cache=cache, simulation_mode=True,
            strategy=strategy, strategy_options={"max_fevals": cap},
            quiet=True)


def reach(watch, seconds, tune_args):
    inner = SimulationRunner.run

    def run(self, configs, options):
        results = inner(self, configs, options)
        for config, result in zip(configs, results):
            if result is not None:
                watch.tell(tuple(config), result)
        return results

    SimulationRunner.run = run
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        tune(*tune_args)
    except Over:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        SimulationRunner.run = inner
    missing = [None] * (len(watch.targets) - len(watch.reached))
    return {"reached": watch.reached + missing, "seen": len(watch.seen)}


def main():
    t1, times, strategy = sys.argv[1:4]
    seeds, cap, seconds = (int(a) for a in sys.argv[4:7])
    targets = [float(a) for a in sys.argv[7:]]
    params, restrictions = read(t1, 1)
    signal.signal(signal.SIGPROF, over)
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(folder, "cache.json")
        write_cache(params, times, cache)
        for seed in range(seeds):
            random.seed(seed)
            numpy.random.seed(seed)
            runs.append(reach(Watch(targets, cap), seconds,
                              (params, restrictions, cache, strategy, cap,
                               seed)))
    print(json.dumps(runs))


main()
