#!/usr/bin/env bash
# All hostile kernels, those that wait for a time-out included.
. tests/tap.sh
WS_SOAK=1 "${WS_BUILD:-build/gcc}/src/measure/t_hostile"
finish
