/*
 * pick_dump.c: writes down what the runtime decides: for every pack named on
 * the command line, for every entry and for many shapes around the entries,
 * with what is predicted for them.
 * It knows the public header only, so it is compiled against the runtime
 * under other flags and against the amalgamated file, and the outputs are
 * compared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wsrt.h"

#define SHAPES 6000 /* of each pack */

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static void dump_pick(const struct wsrt_pack *p, struct wsrt_memo *memo,
                      const int64_t *axes)
{
    struct wsrt_pick pick, again;
    struct wsrt_explanation e;
    int rc = wsrt_pick(p, axes, &pick);

    for (uint32_t a = 0; a < wsrt_axis_count(p); a++)
        printf("%" PRId64 " ", axes[a]);
    if (rc) {
        printf("%d\n", rc);
        return;
    }
    if (wsrt_pick_memo(p, memo, axes, &again) || again.entry != pick.entry)
        printf("memo differs ");
    if (wsrt_explain(p, axes, &e) || e.pick.variant != pick.variant)
        printf("explanation differs ");
    printf("%u %d %u %u %.17g %.17g", (unsigned)pick.variant, (int)pick.how,
           (unsigned)pick.entry, (unsigned)pick.distance, pick.time_ns,
           pick.default_ns);
    printf(" %u %u %" PRId32 " %" PRId32 " %" PRId32 "\n", (unsigned)e.cell,
           (unsigned)e.runner_up, e.log2_ns, e.dflt_log2_ns,
           e.runner_up_log2_ns);
}

/* Another value of the axis: scaled, so that sizes of all magnitudes occur. */
static int64_t other(uint64_t *state, int64_t v)
{
    switch (next(state) % 4) {
    case 0:
        return v;
    case 1:
        return v << next(state) % 6;
    case 2:
        return (v >> next(state) % 6) + 1;
    default:
        return v + (int64_t)(next(state) % 64) - 16;
    }
}

static void dump(const struct wsrt_pack *p)
{
    static struct wsrt_memo memo;
    uint32_t each = SHAPES / (wsrt_entry_count(p) + 1);
    uint64_t state = 1;

    for (uint32_t e = 0; e < wsrt_entry_count(p); e++) {
        int64_t axes[WSRT_MEMO_AXES];
        const int64_t *tuned = wsrt_entry_axes(p, e);

        dump_pick(p, &memo, tuned);
        for (uint32_t i = 0; i < each; i++) {
            /* Two axes change; a constant one that does is refused. */
            memcpy(axes, tuned, wsrt_axis_count(p) * sizeof(*axes));
            for (int k = 0; k < 2; k++) {
                uint64_t a = next(&state) % wsrt_axis_count(p);

                axes[a] = other(&state, axes[a]);
            }
            dump_pick(p, &memo, axes);
        }
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char reason[200];
        struct wsrt_pack *p;
        int rc = wsrt_open(argv[i], &p, reason, sizeof(reason));

        if (rc) {
            printf("%s: %s: %s\n", argv[i], wsrt_status_text(rc), reason);
            return 1;
        }
        dump(p);
        wsrt_close(p);
    }
    return 0;
}
