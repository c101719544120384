/*
 * measure_sanitize.c: NVIDIA's compute-sanitizer on a candidate.
 *
 * The worker of a session of its own runs below the sanitizer, once with each
 * tool, all at a time: memcheck (outside of what was allocated), racecheck
 * (shared memory without a barrier between), initcheck (read before it was
 * written), synccheck (barriers that not all threads reach). The candidate
 * gets one verdict there, on a hidden shape; what the tool has to say it writes
 * to a log, whose last line sums it up:
 *
 *     ========= ERROR SUMMARY: 2 errors
 *     ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
 *
 * No such line, or a verdict that is not right while the tool found nothing
 * (a time-out: it slows kernels down), is no finding: the gate is absent then,
 * and the log of the run says why.
 */
#include "measure/measure_int.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"

#include "base/banned.h"

#define PROGRAM "compute-sanitizer"
#define MAX_LOG ((size_t)16 << 20)
#define WORDS 300

static const char *const tools[] = {"memcheck", "racecheck", "initcheck",
                                    "synccheck"};
#define NTOOL WS_COUNT(tools)

struct watch {
    struct ws__measure *m;
    const struct ws__candidate *candidate;
    const struct ws__workload *workload;
    const char *tool, *argv[8];
    struct ws_ctx *ctx; /* a child */
    char log[512];
    enum { UNKNOWN, CLEAN, FOUND } end;
    char words[WORDS]; /* what was found, or why it is unknown */
    int rc;            /* memory, or the run was stopped */
};

/* --- the program -----------------------------------------------------------
 */

static bool try_folder(const char *folder, size_t n, char *out, size_t size)
{
    int len = snprintf(out, size, "%.*s/" PROGRAM, (int)n, folder);

    return n && len > 0 && (size_t)len < size && access(out, X_OK) == 0;
}

bool ws__sanitizer_find(char *out, size_t size)
{
    static const char usual[] = "/usr/local/cuda/bin";
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t n = strcspn(path, ":");

        if (try_folder(path, n, out, size))
            return true;
        path += n + (path[n] == ':');
    }
    return try_folder(usual, sizeof(usual) - 1, out, size);
}

bool ws__measure_can_sanitize(const struct ws__measure *m)
{
    char path[512];

    return !m->ordered && !m->opts.few_gates &&
           !strcmp(m->info.id.family, "cuda") &&
           ws__sanitizer_find(path, sizeof(path));
}

/* --- its log ---------------------------------------------------------------
 */

/* The line after the mark, of n bytes; NULL: it is none of the tool's. */
static const char *after_mark(const char *line, size_t *n)
{
    static const char mark[] = "========= ";
    size_t skip = sizeof(mark) - 1;

    if (*n < skip || memcmp(line, mark, skip) != 0)
        return NULL;
    *n -= skip;
    return line + skip;
}

/* Findings that a line sums up; -1: it does not. */
static long summed(const char *line, size_t n)
{
    static const char errors[] = "ERROR SUMMARY: ", races[] = "RACECHECK "
                                                              "SUMMARY: ";
    char text[200];
    const char *at;

    snprintf(text, sizeof(text), "%.*s", (int)n, line);
    if (!strncmp(text, errors, sizeof(errors) - 1))
        return strtol(text + sizeof(errors) - 1, NULL, 10);
    if (strncmp(text, races, sizeof(races) - 1) != 0)
        return -1;
    at = strchr(text, '('); /* warnings are hazards that may be meant */
    return strtol(at ? at + 1 : text + sizeof(races) - 1, NULL, 10);
}

void ws__sanitizer_read(const char *log, size_t n, long *found, char *words,
                        size_t size)
{
    *found = -1;
    words[0] = '\0';
    for (size_t i = 0; i < n;) {
        const char *end = memchr(log + i, '\n', n - i), *line;
        size_t len = end ? (size_t)(end - log) - i : n - i, rest = len;
        long sum;

        line = after_mark(log + i, &rest);
        i += len + 1;
        if (!line)
            continue;
        sum = summed(line, rest);
        if (sum >= 0)
            *found = sum;
        else if (!words[0] && rest && line[0] != ' ' &&
                 strncmp(line, "COMPUTE-SANITIZER", 17) != 0)
            snprintf(words, size, "%.*s", (int)rest, line);
    }
}

static int read_log(struct watch *w)
{
    char *text = NULL;
    size_t n = 0;
    long found;
    int rc = ws__fs_read(w->ctx, w->log, MAX_LOG, &text, &n);

    if (rc < 0) {
        snprintf(w->words, WORDS, "it left no log");
        return rc == WS_ENOMEM ? rc : 0;
    }
    ws__sanitizer_read(text, n, &found, w->words, WORDS);
    ws__free(w->ctx, text);
    /* A worker that crashes by it takes the tool along before it sums up. */
    if (found < 0 && !strncmp(w->words, "Invalid ", 8))
        found = 1;
    w->end = found > 0 ? FOUND : found == 0 ? CLEAN : UNKNOWN;
    return 0;
}

/* --- one tool --------------------------------------------------------------
 */

static int open_session(struct watch *w, struct ws__measure **out)
{
    struct ws__measure_opts opts = w->m->opts;

    opts.device = w->m->device_name;
    opts.builders = 1;
    opts.inner = true;
    opts.below = w->argv;
    return ws__measure_open_with(w->ctx, &w->m->deps, w->m->op, w->m->kernel,
                                 w->m->nkernel, w->workload, 1, &opts, out);
}

static int ask(struct watch *w, struct ws__measure *m)
{
    struct ws__question q = {.id = 1,
                             .a = *w->candidate,
                             .want = WS__WANT_BUILD | WS__WANT_VERDICT,
                             .effort = WS__NORMAL};
    struct ws__trial t;
    int rc;

    memset(&t, 0, sizeof(t));
    rc = ws__measure_answer(m, &q, &t);
    ws__measure_close(m); /* its worker ends: the log is whole */
    if (rc >= 0)
        rc = read_log(w);
    if (rc >= 0 && w->end == CLEAN && t.verdict != WS__V_OK) {
        w->end = UNKNOWN;
        snprintf(w->words, WORDS, "%s: %.250s", ws__verdict_key(t.verdict),
                 t.reason ? t.reason : "");
    }
    ws__trial_clear(w->ctx, &t);
    return rc;
}

static void *watch_main(void *user)
{
    struct watch *w = user;
    struct ws__measure *m = NULL;
    int rc = open_session(w, &m);

    if (rc >= 0)
        rc = ask(w, m);
    unlink(w->log);
    if (rc == WS_ENOMEM || ws__check_stop(w->ctx) < 0)
        w->rc = rc < 0 ? rc : WS_ECANCEL;
    else if (rc < 0)
        snprintf(w->words, WORDS, "%.290s", w->ctx->err.message);
    return NULL;
}

/* --- all of them -----------------------------------------------------------
 */

static void prepare(struct ws__measure *m, struct ws__subject *s,
                    const struct ws__workload *work, const char *program,
                    struct watch *w, size_t at)
{
    memset(w, 0, sizeof(*w));
    w->m = m;
    w->candidate = &s->t->candidate;
    w->workload = work;
    w->tool = tools[at];
    snprintf(w->log, sizeof(w->log), "%.400s/sanitizer-%ld-%s.log",
             m->ctx->cache_dir ? m->ctx->cache_dir : "/tmp", (long)getpid(),
             w->tool);
    memcpy(w->argv,
           (const char *[]){program, "--tool", w->tool, "--log-file", w->log,
                            "--report-api-errors", "no", NULL},
           sizeof(w->argv));
    w->ctx = ws__ctx_child(m->ctx);
    if (!w->ctx)
        w->rc = WS_ENOMEM;
}

static int run_all(struct watch *w)
{
    pthread_t thread[NTOOL];
    bool started[NTOOL];
    int rc = 0;

    for (size_t i = 0; i < NTOOL; i++) {
        started[i] =
            !w[i].rc && !pthread_create(&thread[i], NULL, watch_main, &w[i]);
        if (!w[i].rc && !started[i])
            watch_main(&w[i]); /* no more threads: one after the other */
    }
    for (size_t i = 0; i < NTOOL; i++) {
        if (started[i])
            pthread_join(thread[i], NULL);
        rc = rc < 0 ? rc : w[i].rc;
        ws_ctx_free(w[i].ctx);
    }
    return rc;
}

static int sum_up(struct ws__measure *m, struct ws__subject *s,
                  const struct watch *w)
{
    bool known = true;

    for (size_t i = 0; i < NTOOL; i++) {
        if (w[i].end == FOUND) {
            s->t->verdict = WS__V_WRONG;
            return ws__trial_set_reason(m->ctx, s->t, PROGRAM " %s: %s",
                                        w[i].tool, w[i].words);
        }
        if (w[i].end == CLEAN)
            continue;
        known = false;
        ws__log(m->ctx, WS_LOG_WARN, PROGRAM " --tool %s says nothing: %s",
                w[i].tool, w[i].words);
    }
    return known;
}

int ws__measure_sanitize(struct ws__measure *m, struct ws__subject *s)
{
    const struct ws__workload *work;
    struct watch w[NTOOL];
    char program[512];
    uint64_t start = ws__now_ns();
    int rc;

    if (s->t->verdict != WS__V_OK)
        return 0;
    if (!ws__measure_can_sanitize(m) ||
        !ws__sanitizer_find(program, sizeof(program)))
        return 0;
    WS_TRY(ws__proof_workload(m, &s->t->candidate, &work));
    if (!work)
        return 0;
    for (size_t i = 0; i < NTOOL; i++)
        prepare(m, s, work, program, &w[i], i);
    rc = run_all(w); /* the words are of contexts that are gone */
    WS_TRY(ws__check_stop(m->ctx));
    if (rc < 0)
        return ws__nomem(m->ctx);
    s->t->did |= WS__WANT_SANITIZER;
    rc = sum_up(m, s, w);
    WS_TRY(rc);
    if (rc || s->t->verdict != WS__V_OK)
        ws__measure_gate(s, 1, WS__GATE_SANITIZER, start);
    return 0;
}
