/*
 * peer_space.c: our side of the comparison of space construction.
 *
 *   peer_space T1.json [SCALE]
 *
 * One process, one construction, as kt_space.py does: reads a T1 file, counts
 * its valid configs, then walks all of them, and prints one JSON line. SCALE
 * multiplies the space: a parameter of that many values that no constraint
 * reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ctx.h"
#include "space/space.h"
#include "spec/spec.h"

/* VmRSS, or VmHWM: the peak, which getrusage would inherit. */
static long resident_bytes(const char *field)
{
    char line[128];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, field, strlen(field)))
            kib = strtol(line + strlen(field), NULL, 10);
    if (f)
        fclose(f);
    return kib * 1024;
}

/* Adds the parameter that nothing reads. Its memory lives as long as the
 * process. */
static int scale_up(struct ws_ctx *ctx, struct ws__kernel *k, size_t n)
{
    struct ws__param *p = &k->param[k->nparam];

    p->name = "free";
    p->type = WS__INT;
    p->nvalue = n;
    p->value = ws__alloc(ctx, n, sizeof(*p->value));
    p->slot = ws__alloc(ctx, n, sizeof(*p->slot));
    if (!p->value || !p->slot)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        p->value[i].u.i = p->slot[i].i = (int64_t)i;
    k->nparam++;
    return ws__scope_add(ctx, &k->scope, p->name, WS__INT, NULL);
}

/* Of this process's processor time. */
static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int measure(struct ws_ctx *ctx, const char *path, size_t scale)
{
    struct ws__spec *spec;
    struct ws__space *s;
    struct ws__space_iter it;
    struct ws__config c;
    uint64_t valid, walked = 0;
    double t[4];
    long before = resident_bytes("VmRSS:");
    int rc;

    t[0] = cpu_s();
    WS_TRY(ws__spec_load(ctx, path, NULL, &spec));
    if (scale > 1)
        WS_TRY(scale_up(ctx, &spec->kernel[0], scale));
    t[1] = cpu_s();
    WS_TRY(ws__space_new(ctx, &spec->kernel[0], NULL, false, false, &s));
    WS_TRY(ws__space_count(s, &valid));
    t[2] = cpu_s();
    ws__space_begin(s, &it);
    while ((rc = ws__space_next(&it, &c)) > 0)
        walked++;
    t[3] = cpu_s();
    WS_TRY(rc);
    if (walked != valid)
        return ws__fail(ctx, WS_EBUG, "%llu configs counted, %llu walked",
                        (unsigned long long)valid, (unsigned long long)walked);
    printf("{\"valid\": %llu, \"load_s\": %.9f, \"count_s\": %.9f, "
           "\"space_s\": %.9f, \"before_bytes\": %ld, \"peak_bytes\": %ld}\n",
           (unsigned long long)valid, t[1] - t[0], t[2] - t[1], t[3] - t[1],
           before, resident_bytes("VmHWM:"));
    ws__space_free(s);
    return 0;
}

int main(int argc, char **argv)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    long scale = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    int rc = WS_EINVAL;

    if (ctx && argc > 1 && scale > 0)
        rc = measure(ctx, argv[1], (size_t)scale);
    if (rc < 0)
        fprintf(stderr, "peer_space: %s\n",
                argc < 2 ? "usage: peer_space T1.json [SCALE]"
                         : ws_ctx_error(ctx)->message);
    return rc < 0;
}
