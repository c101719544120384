/*
 * t_llm.c: what every kind of model must do, run on every member: answer, keep
 * to the meter and to the limits, obey its context, keep its secret, survive
 * without memory; and what it says, recorded, is said again by a replay.
 *
 * A member needs a place to answer from: one entry in `place` below.
 */
#include "tests/llm/t_llm_server.h"

static struct t_server server;
static char transcript[256];

#define LIMIT 100 /* bytes of a reply */
#define MAX_TOKENS 400

/* The options that make a member answer "echo: " and what it was asked. */
static void http_place(struct ws__llm_opts *o)
{
    static char url[128];

    o->target = t_server_url(&server, "good", url);
}

static void command_place(struct ws__llm_opts *o)
{
    static const char *const argv[] = {
        "/bin/sh", "-c", "printf 'echo: '; head -c 1000 | tr -d '\\n'", NULL};

    o->argv = argv;
}

static void replay_place(struct ws__llm_opts *o)
{
    o->target = transcript;
}

static const struct {
    const char *kind;
    void (*fill)(struct ws__llm_opts *o);
} place[] = {{"http", http_place},
             {"command", command_place},
             {"replay", replay_place}};

#define EACH(ops)                                                              \
    for (const struct ws__llm_ops *const *at_ = ws__llm_table, *ops;           \
         (ops = *at_) != NULL; at_++)

static struct ws__llm_opts opts_of(const char *kind)
{
    struct ws__llm_opts o = {.model = "asked",
                             .key = T_KEY,
                             .max_tokens = MAX_TOKENS,
                             .max_reply_bytes = LIMIT,
                             .backoff_ns = 1000,
                             .attempts = 1,
                             .price_in = 2,
                             .price_out = 3};

    for (size_t i = 0; i < WS_COUNT(place); i++)
        if (!strcmp(place[i].kind, kind)) {
            place[i].fill(&o);
            return o;
        }
    fail_msg("no place for '%s' to answer from", kind);
    return o;
}

static struct ws__llm *open_it(struct ws_ctx *ctx,
                               const struct ws__llm_ops *ops,
                               const struct ws__llm_opts *o)
{
    struct ws__llm *l;

    if (ws__llm_open(ctx, ops->name, o, &l) < 0)
        fail_msg("%s: %s", ops->name, ws_ctx_error(ctx)->message);
    return l;
}

static const char *const questions[] = {"one", "two \u4e16 \"\\", "one",
                                        "over ------------------------------"
                                        "------------------------------------"
                                        "------------------------------------"};
#define LONG 3

/* What replays answer from. */
static void make_transcript(void)
{
    const struct ws__llm_msg m[] = {{WS__LLM_USER, "one"},
                                    {WS__LLM_USER, "two \u4e16 \"\\"},
                                    {WS__LLM_USER, "one"},
                                    {WS__LLM_USER, questions[LONG]}};
    struct ws_ctx *ctx = t_ctx(NULL);

    snprintf(transcript, sizeof(transcript), "%s/wavesmith-t_llm-%d.jsonl",
             t_folder(), (int)getpid());
    unlink(transcript);
    assert_int_equal(ws__llm_transcript_begin(ctx, transcript), 0);
    for (size_t i = 0; i < WS_COUNT(m); i++) {
        const struct ws__llm_ask ask = {.msg = &m[i],
                                        .n = 1,
                                        .max_tokens = MAX_TOKENS,
                                        .temperature = -1};
        char text[200];
        const struct ws__llm_reply r = {.text = text,
                                        .model = (char *)(uintptr_t) "asked"};

        snprintf(text, sizeof(text), "echo: %s", m[i].text);
        assert_int_equal(ws__llm_transcript_add(ctx, transcript, &ask, &r), 0);
    }
    ws_ctx_free(ctx);
}

static void has_a_whole_table(void **state)
{
    (void)state;
    EACH(ops)
    {
        assert_int_equal(ops->abi, WS__LLM_ABI);
        assert_ptr_equal(ws__llm_find(ops->name), ops);
        assert_true(ops->about && *ops->about);
        assert_true(ops->open && ops->ask && ops->close);
        opts_of(ops->name);
    }
    assert_null(ws__llm_find("nosuch"));
}

static void answers(void **state)
{
    (void)state;
    EACH(ops)
    {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct ws__llm_opts o = opts_of(ops->name);
        struct ws__llm_meter m = {0};
        struct ws__llm *l;
        uint64_t prompt = 0, completion = 0;
        double cost = 0;

        o.meter = &m;
        l = open_it(ctx, ops, &o);
        for (size_t i = 0; i < LONG; i++) {
            struct ws__llm_reply r;

            if (t_say(l, questions[i], &r) < 0)
                fail_msg("%s: %s", ops->name, ws_ctx_error(ctx)->message);
            assert_memory_equal(r.text, "echo: ", 6);
            assert_string_equal(r.text + 6, questions[i]);
            assert_non_null(r.model);
            assert_int_equal(r.finish, WS__LLM_STOP);
            assert_int_equal(r.attempts, 1);
            assert_true(r.prompt_tokens && r.completion_tokens);
            prompt += r.prompt_tokens;
            completion += r.completion_tokens;
            cost += r.cost;
            ws__llm_reply_free(ctx, &r);
        }
        assert_int_equal(m.asks, LONG);
        assert_int_equal(m.attempts, LONG);
        assert_int_equal(m.prompt, prompt);
        assert_int_equal(m.completion, completion);
        assert_true(m.cost > 0.999 * cost && m.cost < 1.001 * cost);
        ws__llm_free(l);
        ws_ctx_free(ctx);
    }
}

static void refuses(const struct ws__llm_ops *ops, struct ws_ctx *ctx,
                    struct ws__llm_opts *o, const char *text, int code)
{
    struct ws__llm *l = open_it(ctx, ops, o);
    struct ws__llm_reply r;
    int rc = t_say(l, text, &r);

    if (rc != code)
        fail_msg("%s: %d, not %d: %s", ops->name, rc, code,
                 ws_ctx_error(ctx)->message);
    assert_null(r.text);
    assert_true(*ws_ctx_error(ctx)->message);
    assert_null(strstr(ws_ctx_error(ctx)->message, T_KEY));
    ws__llm_free(l);
}

static void keeps_its_limits(void **state)
{
    (void)state;
    EACH(ops)
    {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct ws__llm_meter m = {.budget = 3 + 48 + MAX_TOKENS - 1};
        struct ws__llm_opts o = opts_of(ops->name);

        refuses(ops, ctx, &o, questions[LONG], WS_ELIMIT);
        refuses(ops, ctx, &o, "see " T_KEY, WS_EINVAL);
        o.meter = &m;
        refuses(ops, ctx, &o, "one", WS_ELIMIT);
        assert_int_equal(m.prompt + m.completion, 0);
        assert_int_equal(m.attempts, 0);
        m.budget++;
        ws_ctx_cancel(ctx);
        refuses(ops, ctx, &o, "one", WS_ECANCEL);
        assert_int_equal(m.attempts, 0);
        ws_ctx_free(ctx);
    }
}

static void refuses_a_bad_key(void **state)
{
    (void)state;
    EACH(ops)
    {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct ws__llm_opts o = opts_of(ops->name);
        struct ws__llm *l;

        o.key = "a b c d e f g";
        assert_int_equal(ws__llm_open(ctx, ops->name, &o, &l), WS_EINVAL);
        ws_ctx_free(ctx);
    }
}

static void is_replayed(void **state)
{
    (void)state;
    EACH(ops)
    {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct ws__llm_meter first = {0}, second = {0};
        struct ws__llm_opts o = opts_of(ops->name);
        struct ws__llm_reply a[LONG], b;
        char path[300];
        struct ws__llm *l;

        snprintf(path, sizeof(path), "%s-%s", transcript, ops->name);
        o.meter = &first;
        l = open_it(ctx, ops, &o);
        assert_int_equal(ws__llm_record(l, path), 0);
        assert_int_equal(ws__llm_record(l, path), WS_EINVAL);
        for (size_t i = 0; i < LONG; i++)
            assert_int_equal(t_say(l, questions[i], &a[i]), 0);
        ws__llm_free(l);
        o.target = path;
        o.model = NULL;
        o.meter = &second;
        assert_int_equal(ws__llm_open(ctx, "replay", &o, &l), 0);
        for (size_t i = 0; i < LONG; i++) {
            assert_int_equal(t_say(l, questions[i], &b), 0);
            assert_string_equal(b.text, a[i].text);
            assert_string_equal(b.model, a[i].model);
            assert_int_equal(b.finish, a[i].finish);
            assert_int_equal(b.prompt_tokens, a[i].prompt_tokens);
            assert_int_equal(b.completion_tokens, a[i].completion_tokens);
            ws__llm_reply_free(ctx, &b);
            ws__llm_reply_free(ctx, &a[i]);
        }
        assert_memory_equal(&first, &second, sizeof(first));
        assert_int_equal(t_say(l, "three", &b), WS_EMISS);
        ws__llm_free(l);
        unlink(path);
        ws_ctx_free(ctx);
    }
}

static int ask_once(struct ws_ctx *ctx, void *user)
{
    const struct ws__llm_ops *const *ops = user;
    struct ws__llm_opts o = opts_of((*ops)->name);
    struct ws__llm_reply r;
    struct ws__llm *l;
    char path[300];
    int rc;

    snprintf(path, sizeof(path), "%s-torture", transcript);
    WS_TRY(ws__llm_open(ctx, (*ops)->name, &o, &l));
    rc = ws__llm_record(l, path);
    if (rc >= 0) {
        rc = t_say(l, "one", &r);
        ws__llm_reply_free(ctx, &r);
    }
    ws__llm_free(l);
    return rc;
}

static void survives_without_memory(void **state)
{
    char path[300];

    (void)state;
    snprintf(path, sizeof(path), "%s-torture", transcript);
    EACH(ops)
    {
        assert_true(t_torture(ask_once, &ops) > 8);
        unlink(path);
    }
}

static int set_up(void **state)
{
    (void)state;
    t_server_start(&server, NULL);
    make_transcript();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(transcript);
    t_server_stop(&server);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_a_whole_table),
        cmocka_unit_test(answers),
        cmocka_unit_test(keeps_its_limits),
        cmocka_unit_test(refuses_a_bad_key),
        cmocka_unit_test(is_replayed),
        cmocka_unit_test(survives_without_memory),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
