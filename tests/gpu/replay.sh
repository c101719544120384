# replay.sh: sourced by record.sh and by tests/cli/t_replay.sh, with `build`
# set: outcome check|tune DEVICE STORE runs the command on a device (one that
# records or replays) and prints its outcome: all that the device decided, with
# samples to the last bit (hashed), nothing that the clock or the machine does.
spec=${SPEC:-tests/data/recordings/kernels/small.yaml}
shapes=${SHAPES:-tests/data/recordings/workloads.yaml}
outcome() {
    if [ "$1" = check ]; then
        "$build/wavesmith" check "$spec" --device "$2" --workload M=3,N=20,K=40 --seed 1 |
            grep -vE '^  [a-z]+ +(passed|failed|absent|not come to)' # they took their time
        return
    fi
    "$build/wavesmith" tune "$spec" --workloads "$shapes" --device "$2" --store "$3" \
        --strategy grid --budget 16 --seed 1 --json 2>/dev/null >"$3.json"
    python3 - "$3" "$3.json" <<'PY'
import hashlib, json, sqlite3, sys
for r in json.load(open(sys.argv[2]))["workloads"]:
    print(json.dumps({k: v for k, v in r.items() if "trial" not in k}, sort_keys=True))
db = sqlite3.connect(sys.argv[1])
db.row_factory = sqlite3.Row
for r in db.execute("select * from trial order by id"):
    drop = {"id", "run", "block", "spent_ns", "wall_ns", "device", "identity", "sum", "gates"}
    drop |= {g + "_ns" for g in ("filter", "compile", "result", "timed", "state", "floor",
                                 "values", "shapes", "sanitizer", "again")}
    out = {k: r[k] for k in r.keys() if k not in drop and r[k] not in (0, None, b"")}
    for k, v in out.items():
        if isinstance(v, bytes):
            out[k] = v.hex() if len(v) <= 32 else hashlib.sha256(v).hexdigest()
    print(json.dumps(out, sort_keys=True))
PY
}
