/*
 * llm_replay.c: a model that answers from a transcript.
 *
 * Asked the same several times it gives the replies in their order on record,
 * so a run that samples goes as it went; asked once more than is on record it
 * has no answer. The last line may be unfinished: the tool was killed while
 * it wrote it, and then nobody saw the reply.
 */
#include "llm/llm_int.h"

#include "base/fs.h"
#include "base/banned.h"

struct entry {
    struct ws__llm_line line;
    bool given;
};

struct replay {
    struct ws_ctx *ctx;
    const struct ws__llm_opts *opts;
    struct ws__arena arena;
    struct entry *entry;
    size_t n, cap;
};

static int add(struct replay *r, const char *text, size_t len, uint32_t number)
{
    struct ws__loc loc = {.file = r->opts->target, .line = number};
    struct entry *e;
    int rc;

    WS_TRY(ws__grow(r->ctx, (void **)&r->entry, &r->cap, r->n, sizeof(*e)));
    e = &r->entry[r->n];
    *e = (struct entry){0};
    rc = ws__llm_line_read(r->ctx, &r->arena, text, len, &e->line);
    if (rc < 0)
        return ws__error_locate(r->ctx, &loc);
    e->line.line = number;
    if (!r->opts->model || !strcmp(r->opts->model, e->line.model))
        r->n++;
    return 0;
}

static int read_lines(struct replay *r, const char *data)
{
    uint32_t number = 1;

    for (const char *p = data, *end; (end = strchr(p, '\n')) != NULL;
         p = end + 1, number++)
        if (strspn(p, " \t\r") < (size_t)(end - p))
            WS_TRY(add(r, p, (size_t)(end - p), number));
    return 0;
}

static void replay_close(void *self)
{
    struct replay *r = self;

    ws__free(r->ctx, r->entry);
    ws__arena_free(&r->arena);
    ws__free(r->ctx, r);
}

static int load(struct replay *r)
{
    struct ws__loc loc = {.file = r->opts->target};
    char *data;
    size_t len;
    int rc;

    WS_TRY(ws__fs_read(r->ctx, r->opts->target, WS__LLM_TRANSCRIPT_BYTES, &data,
                       &len));
    rc = strlen(data) == len ? read_lines(r, data)
                             : ws__fail_at(r->ctx, WS_ECORRUPT, &loc,
                                           "a transcript has a byte of zero");
    ws__free(r->ctx, data);
    return rc;
}

static int replay_open(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                       void **self)
{
    struct replay *r;
    int rc;

    if (!opts->target)
        return ws__fail(ctx, WS_EINVAL, "replaying a model needs a transcript");
    r = ws__alloc(ctx, 1, sizeof(*r));
    if (!r)
        return WS_ENOMEM;
    r->ctx = ctx;
    r->opts = opts;
    ws__arena_init(&r->arena, ctx);
    rc = load(r);
    if (rc < 0)
        replay_close(r);
    else
        *self = r;
    return rc;
}

static int miss(struct replay *r, const struct ws__llm_ask *ask, size_t given)
{
    const char *last = ask->msg[ask->n - 1].text;
    char start[80];

    ws__llm_quote(NULL, last, strlen(last), start, sizeof(start));
    if (given) {
        ws__fail(r->ctx, WS_EMISS,
                 "'%s' has %zu replies to this ask, and all were given: '%s'",
                 r->opts->target, given, start);
        return ws__hint(r->ctx, "record it again with a run that asks as often "
                                "as this one");
    }
    ws__fail(r->ctx, WS_EMISS, "'%s' has no reply%s%s%s to this ask: '%s'",
             r->opts->target, r->opts->model ? " of '" : "",
             r->opts->model ? r->opts->model : "", r->opts->model ? "'" : "",
             start);
    return ws__hint(r->ctx, "a transcript answers only the very same messages, "
                            "max_tokens and temperature; record it again");
}

static int give(struct replay *r, const struct ws__llm_ask *ask,
                const struct ws__llm_line *line, struct ws__llm_reply *out)
{
    out->text = ws__strdup(r->ctx, line->text);
    out->model = ws__strdup(r->ctx, line->model);
    if (!out->text || !out->model)
        return WS_ENOMEM;
    out->finish = line->finish;
    out->prompt_tokens = line->prompt_tokens;
    out->completion_tokens = line->completion_tokens;
    out->attempts = 1;
    /* Counted by us then: counted the same way now. */
    out->reported = line->reported;
    ws__llm_settle(r->opts->meter, r->opts, ask, out, 0);
    return 0;
}

static int replay_ask(void *self, const struct ws__llm_ask *ask,
                      struct ws__llm_reply *out)
{
    struct replay *r = self;
    struct ws__hash h = ws__llm_hash(ask);
    size_t given = 0;

    WS_TRY(ws__llm_admit(r->ctx, r->opts->meter, ask));
    for (size_t i = 0; i < r->n; i++) {
        struct entry *e = &r->entry[i];

        if (!ws__hash_eq(e->line.hash, h))
            continue;
        if (!e->given) {
            WS_TRY(give(r, ask, &e->line, out));
            e->given = true;
            return 0;
        }
        given++;
    }
    return miss(r, ask, given);
}

const struct ws__llm_ops ws__llm_replay = {.name = "replay",
                                           .abi = WS__LLM_ABI,
                                           .about = "answers from a transcript",
                                           .open = replay_open,
                                           .ask = replay_ask,
                                           .close = replay_close};
