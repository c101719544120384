/*
 * forge_memory.c: what is learnt of moves, from project to project.
 *
 * A text of lines "MOVE BOUND TRIES WINS LOG_GAIN": of kernels bound by BOUND,
 * how often MOVE was tried and kept, and the sum of the logarithms of what it
 * gained then. Lines of the same move and bound add up, so that runs append;
 * a line that is not of that form is passed over as a whole.
 * A run is told once, when it begins, and keeps that with its answers: started
 * again it chooses as it did.
 */
#include <math.h>

#include "search/forge/forge_int.h"

#include "base/banned.h"

#define MAX_TEXT ((size_t)8 << 20)
#define MAX_ENTRIES                                                            \
    2000 /* moves times bounds, and more: not a file of ours                   \
          */
#define AT_BEGIN "forge memory"
#define LEARNT "forge learnt"

static struct ws__forge_memory *entry(struct ws__forging *s, const char *move,
                                      const char *bound)
{
    struct ws__forge_memory *m;

    for (size_t i = 0; i < s->nmemory; i++)
        if (!strcmp(s->memory[i].move, move) &&
            !strcmp(s->memory[i].bound, bound))
            return &s->memory[i];
    if (s->nmemory >= MAX_ENTRIES)
        return NULL;
    if (ws__grow(s->f->ctx, (void **)&s->memory, &s->memory_cap, s->nmemory,
                 sizeof(*m)) < 0)
        return NULL;
    m = &s->memory[s->nmemory++];
    memset(m, 0, sizeof(*m));
    snprintf(m->move, sizeof(m->move), "%s", move);
    snprintf(m->bound, sizeof(m->bound), "%s", bound);
    return m;
}

/* A line that says nothing is passed over: the file may be damaged. */
static int read_line(struct ws__forging *s, const char *line)
{
    struct ws__forge_memory x, *m;
    int end = 0;

    memset(&x, 0, sizeof(x));
    if (sscanf(line, "%31s %15s %u %u %lf %n", x.move, x.bound, &x.tries,
               &x.wins, &x.log_gain, &end) != 5 ||
        line[end] || x.wins > x.tries || x.tries > 1000000 ||
        !(fabs(x.log_gain) < 1e4))
        return 0;
    m = entry(s, x.move, x.bound);
    if (!m)
        return s->nmemory >= MAX_ENTRIES ? 0 : WS_ENOMEM;
    m->tries += x.tries;
    m->wins += x.wins;
    m->log_gain += x.log_gain;
    return 0;
}

static int read_text(struct ws__forging *s, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        char line[160];

        if (n < sizeof(line)) {
            memcpy(line, text, n);
            line[n] = '\0';
            WS_TRY(read_line(s, line));
        }
        text += n + (text[n] == '\n');
    }
    return 0;
}

static int print_memory(struct ws__forging *s, char **out)
{
    struct ws__buf b;

    ws__buf_init(&b, s->f->ctx, MAX_TEXT);
    for (size_t i = 0; i < s->nmemory; i++)
        ws__buf_printf(&b, "%s %s %u %u %.6g\n", s->memory[i].move,
                       s->memory[i].bound, s->memory[i].tries,
                       s->memory[i].wins, s->memory[i].log_gain);
    if (b.failed) {
        int rc = b.failed;

        ws__buf_free(&b);
        return rc;
    }
    *out = b.data ? ws__buf_take(&b) : ws__strdup(s->f->ctx, "");
    return *out ? 0 : WS_ENOMEM;
}

/* What the run was told when it began. */
static int told_before(struct ws__forging *s)
{
    const struct ws__journal *j = &s->f->journal;
    char *text = NULL;
    int rc;

    if (!j->ops)
        return 0;
    rc = j->ops->get(j->self, s->f->run, AT_BEGIN, &text);
    if (rc > 0) {
        int bad = read_text(s, text);

        rc = bad < 0 ? bad : 1;
    }
    ws__free(s->f->ctx, text);
    return rc;
}

int ws__forge_recall(struct ws__forging *s)
{
    const struct ws__journal *j = &s->f->journal;
    char *text = NULL;
    int rc = told_before(s);

    if (rc || !s->f->shop.recall || s->f->opts.forgetful)
        return rc < 0 ? rc : 0;
    WS_TRY(s->f->shop.recall(s->f->shop.self, &text));
    rc = text ? read_text(s, text) : 0;
    ws__free(s->f->ctx, text);
    WS_TRY(rc);
    if (!j->ops)
        return 0;
    WS_TRY(print_memory(s, &text));
    rc = j->ops->put(j->self, s->f->run, AT_BEGIN, text);
    ws__free(s->f->ctx, text);
    return rc;
}

/* What was measured counts: moves that could not be made say nothing. */
static int print_steps(struct ws__forging *s, char **out)
{
    struct ws__buf b;

    ws__buf_init(&b, s->f->ctx, MAX_TEXT);
    for (size_t i = 0; i < s->out->nstep; i++) {
        const struct ws__forge_step *x = &s->out->step[i];
        bool won = x->end == WS__FORGE_KEPT;

        if (x->end == WS__FORGE_SAME || x->verdict == WS__V_NONE)
            continue;
        ws__buf_printf(&b, "%s %s 1 %d %.6g\n", x->move.name,
                       ws__bound_key(x->bound), won,
                       won ? log(x->ratio.value) : 0.0);
    }
    if (b.failed) {
        int rc = b.failed;

        ws__buf_free(&b);
        return rc;
    }
    *out = b.data ? ws__buf_take(&b) : NULL;
    return 0;
}

int ws__forge_learn(struct ws__forging *s)
{
    const struct ws__journal *j = &s->f->journal;
    char *text = NULL, *before = NULL;
    int rc = 0;

    if (!s->f->shop.learn)
        return 0;
    if (j->ops)
        rc = j->ops->get(j->self, s->f->run, LEARNT, &before);
    ws__free(s->f->ctx, before);
    if (rc)
        return rc < 0 ? rc : 0; /* this run was learnt from already */
    WS_TRY(print_steps(s, &text));
    if (text)
        rc = s->f->shop.learn(s->f->shop.self, text);
    ws__free(s->f->ctx, text);
    if (rc >= 0 && text && j->ops)
        rc = j->ops->put(j->self, s->f->run, LEARNT, "yes");
    return rc;
}
