/* fake_state.c: what tests say to a fake library, and what it counts. In each
 * of the libraries. */
#include "tests/fakecuda/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fake_state state;

/* One "name:call:error" of FAKECUDA_FAIL. */
struct rule {
    char name[64], when[16];
    int error;
    unsigned seen;
};
static struct rule rules[16];
static size_t nrule;

struct fake_state *fake_state(void)
{
    return &state;
}

unsigned long long fake_setting(const char *name, unsigned long long other)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 0) : other;
}

__attribute__((constructor)) static void read_rules(void)
{
    const char *p = getenv("FAKECUDA_FAIL");

    while (p && *p && nrule < sizeof(rules) / sizeof(*rules)) {
        struct rule *r = &rules[nrule];

        if (sscanf(p, "%63[^:]:%15[^:]:%d", r->name, r->when, &r->error) == 3)
            nrule++;
        p = strchr(p, ',');
        p = p ? p + 1 : NULL;
    }
}

static int rule_of(const char *name)
{
    for (size_t i = 0; i < nrule; i++) {
        struct rule *r = &rules[i];

        if (strcmp(r->name, name))
            continue;
        r->seen++;
        if (!strcmp(r->when, "*") || (unsigned)atoi(r->when) == r->seen)
            return r->error;
    }
    return 0;
}

/* Of the driver: those after which the process has lost its device. */
static bool stays(int error)
{
    return error == 214 || error == 700 || error == 702 ||
           (error >= 709 && error < 720);
}

int fake_turn(const char *name)
{
    int error = rule_of(name);

    if (++state.calls == state.fail_at) {
        state.failed = name;
        error = state.error;
    }
    if (stays(error))
        state.dead = error;
    return error;
}

void fake_report(void)
{
    static const char *const names[FAKE_KINDS] = {
        "contexts",  "modules", "streams", "events",   "graphs",
        "execs",     "memory",  "host",    "programs", "nvml",
        "profilers", "metrics", "ranges"};
    const char *path = getenv("FAKECUDA_REPORT");
    FILE *f = path ? fopen(path, "a") : NULL;

    if (!f)
        return;
    if (state.dead) { /* nobody can release anything any more */
        fclose(f);
        return;
    }
    fprintf(f, "%ld: left:", (long)getpid());
    for (int i = 0; i < FAKE_KINDS; i++)
        if (state.live[i])
            fprintf(f, " %d %s", state.live[i], names[i]);
    fprintf(f, "\n");
    fclose(f);
}
