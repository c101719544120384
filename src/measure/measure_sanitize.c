/*
 * measure_sanitize.c: NVIDIA's compute-sanitizer on candidates.
 *
 * A session of its own for each tool, all at a time: memcheck (outside of what
 * was allocated), racecheck (shared memory without a barrier between),
 * initcheck (read before it was written), synccheck (barriers that not all
 * threads reach). The session's worker runs below the program; buffers have
 * exactly their size there, and nothing fills outputs or scratch (struct
 * ws__below), so that what is outside or unwritten can be told.
 *
 * Starting the program takes far longer than what it watches. So all candidates
 * that were announced share the sessions: one launch each, on a hidden shape,
 * with the inputs and results of the proof's session. A thread for each tool
 * does it, while the caller proves them otherwise; nothing is timed beside it.
 *
 * What a tool has to say it writes to a log, whose last line sums it up:
 *
 *     ========= ERROR SUMMARY: 2 errors
 *     ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
 *
 * If a tool counted nothing and every candidate was right in its one process,
 * it has no finding about any of them. Else each is watched again by that tool,
 * alone: then it is known whose the finding is. No last line, or a verdict that
 * is not right while the tool found nothing (a time-out: it slows kernels
 * down), is no finding: the gate is absent then, and the log of the run says
 * why.
 */
#include "measure/measure_int.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"

#include "base/banned.h"

#define PROGRAM "compute-sanitizer"
#define MAX_LOG ((size_t)16 << 20)
#define WORDS 300
#define PADDING "4096" /* bytes between allocations: as a guard of ours */

static const char *const tools[] = {"memcheck", "racecheck", "initcheck",
                                    "synccheck"};
#define NTOOL WS_COUNT(tools)

enum end { UNKNOWN, CLEAN, FOUND };

/* A candidate: what each tool said, or will be asked. */
struct item {
    struct ws__candidate candidate;
    uint32_t kernel_workload; /* the user's, of its element types */
    const struct ws__workload *work;
    struct ws__problem *problem; /* on that; NULL: not to be watched */
    bool done;
    uint64_t ns; /* its share of the time */
    enum end end[NTOOL];
    char words[NTOOL][WORDS]; /* what was found, or why it is unknown */
};

/* One tool on some candidates. */
struct watch {
    struct ws__measure *m;
    struct item *item; /* of all; those from `from` on, n */
    size_t from, n, tool;
    struct ws_ctx *ctx; /* a child */
    struct ws__below below;
    const char *argv[10];
    char log[600];
    enum end end;
    char words[WORDS];
    int rc; /* memory, or the run was stopped */
    pthread_t thread;
    bool started;
};

struct ws__sanitizing {
    struct item *item;      /* known ones, then those that are watched */
    size_t n, cap, running; /* running: from here on */
    struct ws__candidate *wish;
    uint32_t *wish_workload;
    size_t nwish;
    bool active;
    uint64_t start_ns;
    char folder[512];
    struct watch watch[NTOOL];
};

bool ws__measure_can_sanitize(const struct ws__measure *m)
{
    return !m->ordered && !m->opts.few_gates && m->sanitizer;
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

/* How findings of each tool begin. */
static const char *const openings[] = {"Invalid ", "Error: Race reported",
                                       "Uninitialized ", "Barrier error "};

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
        if (sum >= 0) /* a worker's children sum up, too */
            *found = sum > *found ? sum : *found;
        else if (!words[0] && rest && line[0] != ' ' &&
                 strncmp(line, "COMPUTE-SANITIZER", 17) != 0)
            snprintf(words, size, "%.*s", (int)rest, line);
    }
    /* A worker that crashes by it takes the tool along before it sums up. */
    for (size_t i = 0; *found < 0 && i < WS_COUNT(openings); i++)
        if (!strncmp(words, openings[i], strlen(openings[i])))
            *found = 1;
}

/* The findings of one log. */
static int read_log(struct watch *w, const char *path, long *found)
{
    char *text = NULL;
    size_t n = 0;
    int rc = ws__fs_read(w->ctx, path, MAX_LOG, &text, &n);

    *found = -1;
    if (rc < 0) {
        snprintf(w->words, WORDS, "it left no log");
        return rc == WS_ENOMEM ? rc : 0;
    }
    ws__sanitizer_read(text, n, found, w->words, WORDS);
    ws__free(w->ctx, text);
    return 0;
}

/* Of every start: what one process found, the next one need not find. */
static int read_logs(struct watch *w)
{
    long found = -1;

    w->end = UNKNOWN;
    for (unsigned i = 1; i <= w->below.starts && w->end != FOUND; i++) {
        char path[sizeof(w->log)];

        snprintf(path, sizeof(path), "%s/%s-%u.log", w->below.folder,
                 w->below.name, i);
        WS_TRY(read_log(w, path, &found));
        w->end = found > 0 ? FOUND : found == 0 ? CLEAN : UNKNOWN;
    }
    /* Who was watched by a process that did not sum up is not known. */
    if (w->end == CLEAN && w->n > 1 && w->below.starts > 1)
        w->end = UNKNOWN;
    return 0;
}

static void remove_logs(const struct watch *w)
{
    char path[sizeof(w->log)];

    for (unsigned i = 1; i <= w->below.starts; i++) {
        snprintf(path, sizeof(path), "%s/%s-%u.log", w->below.folder,
                 w->below.name, i);
        unlink(path);
    }
}

/* --- one tool --------------------------------------------------------------
 */

static int open_session(struct watch *w, const struct ws__workload *list,
                        struct ws__measure **out)
{
    struct ws__measure_opts opts = w->m->opts;

    opts.device = w->m->device_name;
    opts.builders = 1;
    opts.inner = true;
    opts.below = &w->below;
    opts.ready = NULL; /* of another thread; what is asked ran before */
    return ws__measure_open_with(w->ctx, &w->m->deps, w->m->op, w->m->kernel,
                                 w->m->nkernel, list, w->n, &opts, out);
}

/* One candidate; *right: with its verdict, else the words say why. */
static int ask(struct watch *w, struct ws__measure *m, size_t at, bool *right)
{
    const struct item *x = &w->item[w->from + at];
    struct ws__question q = {.id = at + 1,
                             .a = x->candidate,
                             .workload = (uint32_t)at,
                             .want = WS__WANT_BUILD | WS__WANT_VERDICT,
                             .effort = WS__NORMAL};
    struct ws__trial t;
    int rc;

    memset(&t, 0, sizeof(t));
    w->below.given = x->problem;
    rc = ws__measure_answer(m, &q, &t);
    m->problem = NULL;
    *right = rc >= 0 && t.verdict == WS__V_OK;
    if (rc >= 0 && !*right)
        snprintf(w->words, WORDS, "%s: %.250s", ws__verdict_key(t.verdict),
                 t.reason ? t.reason : "");
    ws__trial_clear(w->ctx, &t);
    return rc;
}

static int ask_all(struct watch *w)
{
    struct ws__workload *list = ws__alloc(w->ctx, w->n, sizeof(*list));
    struct ws__measure *m = NULL;
    char why[WORDS] = "";
    uint64_t start = ws__now_ns(), opened, asked;
    bool right = true;
    int rc = list ? 0 : WS_ENOMEM;

    for (size_t i = 0; i < w->n && rc >= 0; i++)
        list[i] = *w->item[w->from + i].work;
    if (rc >= 0)
        rc = open_session(w, list, &m);
    opened = ws__now_ns();
    for (size_t i = 0; i < w->n && rc >= 0 && right; i++)
        rc = ask(w, m, i, &right);
    snprintf(why, sizeof(why), "%s", w->words);
    asked = ws__now_ns();
    ws__measure_close(m); /* its worker ends: the log is whole */
    ws__free(w->ctx, list);
    ws__log(w->ctx, WS_LOG_DEBUG,
            PROGRAM " %s: opened in %.0f ms, %zu candidates %.0f ms, ended in "
                    "%.0f ms",
            tools[w->tool], (double)(opened - start) / 1e6, w->n,
            (double)(asked - opened) / 1e6,
            (double)(ws__now_ns() - asked) / 1e6);
    WS_TRY(rc);
    WS_TRY(read_logs(w));
    if (w->end == CLEAN && !right) {
        w->end = UNKNOWN;
        snprintf(w->words, WORDS, "%s", why);
    }
    return 0;
}

static void *watch_main(void *user)
{
    struct watch *w = user;
    int rc = ask_all(w);

    remove_logs(w);
    if (rc == WS_ENOMEM || ws__check_stop(w->ctx) < 0)
        w->rc = rc < 0 ? rc : WS_ECANCEL;
    else if (rc < 0)
        snprintf(w->words, WORDS, "%.290s", w->ctx->err.message);
    return NULL;
}

/* --- all of them -----------------------------------------------------------
 */

static void prepare(struct ws__measure *m, struct watch *w, size_t tool,
                    size_t from, size_t n)
{
    static const char *const memory[] = {"--padding", PADDING, NULL};
    size_t k = 0;

    memset(w, 0, sizeof(*w));
    w->m = m;
    w->item = m->sanitizing->item;
    w->tool = tool;
    w->from = from;
    w->n = n;
    w->below.argv = w->argv;
    w->below.log = w->log;
    w->below.log_size = sizeof(w->log);
    w->below.folder = m->sanitizing->folder;
    w->below.name = tools[tool];
    w->argv[k++] = m->sanitizer;
    w->argv[k++] = "--tool";
    w->argv[k++] = tools[tool];
    w->argv[k++] = "--log-file";
    w->argv[k++] = w->log;
    w->argv[k++] = "--report-api-errors";
    w->argv[k++] = "no";
    for (size_t i = 0; !tool && memory[i]; i++)
        w->argv[k++] = memory[i];
    w->ctx = ws__ctx_child(m->ctx);
    if (!w->ctx)
        w->rc = WS_ENOMEM;
}

static void begin_watch(struct watch *w)
{
    if (w->rc)
        return;
    w->started = !pthread_create(&w->thread, NULL, watch_main, w);
    if (!w->started)
        watch_main(w); /* no more threads: one after the other */
}

static int end_watch(struct watch *w)
{
    if (w->started)
        pthread_join(w->thread, NULL);
    ws_ctx_free(w->ctx);
    w->ctx = NULL;
    for (size_t i = 0; i < w->n; i++) {
        struct item *x = &w->item[w->from + i];

        x->end[w->tool] = w->end;
        memcpy(x->words[w->tool], w->words, WORDS);
    }
    return w->rc;
}

/* Each one alone, by those tools that had something to say of all. */
static int watch_each(struct ws__measure *m, const bool *again)
{
    struct ws__sanitizing *z = m->sanitizing;
    int rc = 0;

    for (size_t i = z->running; i < z->n && rc >= 0; i++) {
        for (size_t k = 0; k < NTOOL; k++)
            if (again[k]) {
                prepare(m, &z->watch[k], k, i, 1);
                begin_watch(&z->watch[k]);
            }
        for (size_t k = 0; k < NTOOL; k++)
            if (again[k]) {
                int one = end_watch(&z->watch[k]);

                rc = rc < 0 ? rc : one;
            }
    }
    return rc;
}

/* Waits for the tools; who found something in company is asked alone. */
static int finish(struct ws__measure *m)
{
    struct ws__sanitizing *z = m->sanitizing;
    size_t n = z->n - z->running;
    bool again[NTOOL], some = false;
    int rc = 0;

    for (size_t k = 0; k < NTOOL; k++) {
        int one = end_watch(&z->watch[k]);

        rc = rc < 0 ? rc : one;
        again[k] = n > 1 && z->watch[k].end != CLEAN;
        some = some || again[k];
    }
    if (rc >= 0 && some)
        rc = watch_each(m, again);
    for (size_t i = z->running; i < z->n; i++) {
        struct item *x = &z->item[i];

        ws__problem_free(x->problem);
        x->problem = NULL;
        x->done = rc >= 0;
        x->ns = (ws__now_ns() - z->start_ns) / n;
    }
    rmdir(z->folder);
    z->active = false;
    if (rc < 0)
        z->n = z->running;
    WS_TRY(ws__check_stop(m->ctx));
    return rc < 0 ? ws__nomem(m->ctx) : 0; /* its words are gone */
}

int ws__sanitize_wait(struct ws__measure *m)
{
    return m->sanitizing && m->sanitizing->active ? finish(m) : 0;
}

/* Its path is absolute: workers run in another folder. */
static int make_folder(struct ws__measure *m, struct ws__sanitizing *z)
{
    const char *in = m->ctx->cache_dir ? m->ctx->cache_dir : "/tmp";
    char whole[PATH_MAX];
    int n = 0;

    WS_TRY(ws__fs_mkdirs(m->ctx, in));
    if (realpath(in, whole))
        n = snprintf(z->folder, sizeof(z->folder), "%s/sanitizer-XXXXXX",
                     whole);
    if (n >= (int)sizeof(z->folder))
        errno = ENAMETOOLONG;
    else if (n > 0 && mkdtemp(z->folder))
        return 0;
    return ws__fs_fail(m->ctx, errno, "make a folder for logs in", in);
}

/* --- who is watched --------------------------------------------------------
 */

static int ready(struct ws__measure *m)
{
    if (!m->sanitizing)
        m->sanitizing = ws__alloc(m->ctx, 1, sizeof(*m->sanitizing));
    return m->sanitizing ? 0 : WS_ENOMEM;
}

static struct item *find(const struct ws__measure *m,
                         const struct ws__candidate *c, uint32_t workload)
{
    struct ws__sanitizing *z = m->sanitizing;

    for (size_t i = 0; i < z->n; i++)
        if (ws__candidate_eq(&z->item[i].candidate, c) &&
            ws__measure_same_types(m, z->item[i].kernel_workload, workload))
            return &z->item[i];
    return NULL;
}

/* An item to be watched, unless it is known, or was not right. */
static int add(struct ws__measure *m, const struct ws__candidate *c,
               uint32_t workload)
{
    struct ws__sanitizing *z = m->sanitizing;
    void *list = z->item;
    struct item *x;

    if (find(m, c, workload))
        return 0;
    WS_TRY(ws__grow(m->ctx, &list, &z->cap, z->n + 1, sizeof(*z->item)));
    z->item = list;
    x = &z->item[z->n];
    memset(x, 0, sizeof(*x));
    x->candidate = *c;
    x->kernel_workload = workload;
    WS_TRY(ws__proof_problem(m, c, &x->work, &x->problem));
    z->n += x->problem != NULL;
    return 0;
}

/* Those that were added last, and that no tool has begun with. */
static void drop(struct ws__sanitizing *z)
{
    for (size_t i = z->running; i < z->n; i++)
        ws__problem_free(z->item[i].problem);
    z->n = z->running;
}

int ws__sanitize_announce(struct ws__measure *m, const struct ws__question *q,
                          size_t n)
{
    struct ws__sanitizing *z;

    if (!ws__measure_can_sanitize(m))
        return 0;
    WS_TRY(ready(m));
    z = m->sanitizing;
    z->nwish = 0;
    ws__free(m->ctx, z->wish);
    ws__free(m->ctx, z->wish_workload);
    z->wish = ws__alloc(m->ctx, n, sizeof(*z->wish));
    z->wish_workload = ws__alloc(m->ctx, n, sizeof(*z->wish_workload));
    if (!z->wish || !z->wish_workload)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (q[i].want & WS__WANT_SANITIZER) {
            z->wish[z->nwish] = q[i].a;
            z->wish_workload[z->nwish++] = q[i].workload;
        }
    return 0;
}

int ws__sanitize_start(struct ws__measure *m, const struct ws__subject *s)
{
    struct ws__sanitizing *z;
    int rc;

    if (!ws__measure_can_sanitize(m))
        return 0;
    WS_TRY(ready(m));
    z = m->sanitizing;
    if (find(m, &s->t->candidate, s->t->workload))
        return 0;
    WS_TRY(ws__sanitize_wait(m));
    z->start_ns = ws__now_ns();
    z->running = z->n;
    WS_TRY_DONE(add(m, &s->t->candidate, s->t->workload));
    for (size_t i = 0; i < z->nwish; i++)
        WS_TRY_DONE(add(m, &z->wish[i], z->wish_workload[i]));
    z->nwish = 0;
    if (z->n == z->running)
        return 0;
    WS_TRY_DONE(make_folder(m, z));
    z->active = true;
    for (size_t k = 0; k < NTOOL; k++) {
        prepare(m, &z->watch[k], k, z->running, z->n - z->running);
        begin_watch(&z->watch[k]);
    }
    return 0;
done: /* nobody watches these: they are asked for again */
    drop(z);
    return rc;
}

/* --- the gate --------------------------------------------------------------
 */

static int sum_up(struct ws__measure *m, struct ws__subject *s,
                  const struct item *x)
{
    bool known = true;

    for (size_t i = 0; i < NTOOL; i++) {
        if (x->end[i] == FOUND) {
            s->t->verdict = WS__V_WRONG;
            return ws__trial_set_reason(m->ctx, s->t, PROGRAM " %s: %s",
                                        tools[i], x->words[i]);
        }
        if (x->end[i] == CLEAN)
            continue;
        known = false;
        ws__log(m->ctx, WS_LOG_WARN, PROGRAM " --tool %s says nothing: %s",
                tools[i], x->words[i]);
    }
    return known;
}

int ws__measure_sanitize(struct ws__measure *m, struct ws__subject *s)
{
    struct item *x;
    int rc;

    WS_TRY(ws__sanitize_wait(m));
    if (s->t->verdict != WS__V_OK || !m->sanitizing)
        return 0;
    x = find(m, &s->t->candidate, s->t->workload);
    if (!x || !x->done)
        return 0;
    s->t->did |= WS__WANT_SANITIZER;
    rc = sum_up(m, s, x);
    WS_TRY(rc);
    if (rc || s->t->verdict != WS__V_OK)
        ws__measure_gate(s, 1, WS__GATE_SANITIZER, ws__now_ns() - x->ns);
    x->ns = 0; /* booked once */
    return 0;
}

void ws__sanitize_close(struct ws__measure *m)
{
    struct ws__sanitizing *z = m->sanitizing;

    if (!z)
        return;
    if (z->active)
        finish(m);
    for (size_t i = 0; i < z->n; i++)
        ws__problem_free(z->item[i].problem);
    ws__free(m->ctx, z->item);
    ws__free(m->ctx, z->wish);
    ws__free(m->ctx, z->wish_workload);
    ws__free(m->ctx, z);
    m->sanitizing = NULL;
}
