#!/usr/bin/env bash
# Transformations of sources in Triton, where there is no Triton: what they
# change, what they refuse, what they answer to nonsense. tests/slow/s_xform.sh
# compiles what they make and runs it by Triton's interpreter.
. tests/tap.sh
python=${WAVESMITH_PYTHON:-/usr/bin/python3}
"$python" -c 'import yaml' 2>/dev/null || skip_all "$python has no yaml: apt-get install python3-yaml"
exec "$python" tests/triton/t_xform.py
