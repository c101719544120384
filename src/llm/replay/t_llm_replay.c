/*
 * t_llm_replay.c: answers from a transcript: in order, of one model, missing,
 * damaged, and under the same budget as when they were recorded.
 */
#include "base/t_base.h"

#include <unistd.h>

#include "base/fs.h"
#include "llm/llm_int.h"

static struct ws_ctx *ctx;
static char path[256];

#define MSG(q) "\"messages\": [{\"role\": \"user\", \"content\": \"" q "\"}]"
#define LINE(q, model, reply)                                                  \
    "{" MSG(q) ", \"model\": \"" model "\", \"reply\": \"" reply "\"}\n"

static void write_file(const char *text)
{
    assert_int_equal(ws__fs_write(ctx, path, text, strlen(text)), 0);
}

static int open_it(const char *model, struct ws__llm_meter *m,
                   struct ws__llm **l)
{
    const struct ws__llm_opts o = {.target = path,
                                   .model = model,
                                   .meter = m,
                                   .price_out = 1000000};

    return ws__llm_open(ctx, "replay", &o, l);
}

static int say(struct ws__llm *l, const char *text, struct ws__llm_reply *r)
{
    const struct ws__llm_msg msg = {WS__LLM_USER, text};
    const struct ws__llm_ask ask = {.msg = &msg, .n = 1, .temperature = -1};

    return ws__llm_ask(l, &ask, r);
}

static void gives(struct ws__llm *l, const char *text, const char *want)
{
    struct ws__llm_reply r;

    if (say(l, text, &r) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    assert_string_equal(r.text, want);
    ws__llm_reply_free(ctx, &r);
}

static void misses(struct ws__llm *l, const char *text, const char *words)
{
    struct ws__llm_reply r;

    assert_int_equal(say(l, text, &r), WS_EMISS);
    if (!strstr(ws_ctx_error(ctx)->message, words))
        fail_msg("%s", ws_ctx_error(ctx)->message);
}

static void answers_in_order(void **state)
{
    struct ws__llm *l;

    (void)state;
    write_file(LINE("a", "m", "one")
                   LINE("b", "m", "two") "\n  \n" LINE("a", "m", "three"));
    assert_int_equal(open_it(NULL, NULL, &l), 0);
    gives(l, "b", "two");
    gives(l, "a", "one");
    gives(l, "a", "three");
    misses(l, "a", "has 2 replies to this ask, and all were given: 'a'");
    misses(l, "c", "has no reply to this ask: 'c'");
    ws__llm_free(l);
    assert_int_equal(open_it(NULL, NULL, &l), 0);
    gives(l, "a", "one");
    ws__llm_free(l);
}

static void answers_for_one_model(void **state)
{
    struct ws__llm *l;

    (void)state;
    write_file(LINE("a", "m", "one") LINE("a", "n", "two"));
    assert_int_equal(open_it("n", NULL, &l), 0);
    gives(l, "a", "two");
    misses(l, "a", "1 replies");
    misses(l, "b", "has no reply of 'n' to this ask");
    ws__llm_free(l);
}

static void refuses_damage(void **state)
{
    static const struct {
        const char *text, *words;
        uint32_t line;
    } bad[] = {{LINE("a", "m", "x") "{}\n", "'messages'", 2},
               {"\n\nnonsense\n", "no JSON object", 3}};
    const struct ws__llm_opts none = {0}, no_file = {.target = "/nonexistent"};
    struct ws__llm *l;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        write_file(bad[i].text);
        assert_int_equal(open_it(NULL, NULL, &l), WS_ECORRUPT);
        assert_string_equal(ws_ctx_error(ctx)->file, path);
        assert_int_equal(ws_ctx_error(ctx)->line, bad[i].line);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, bad[i].words));
    }
    assert_int_equal(ws__fs_write(ctx, path, "a\0b\n", 4), 0);
    assert_int_equal(open_it(NULL, NULL, &l), WS_ECORRUPT);
    assert_int_equal(ws__llm_open(ctx, "replay", &none, &l), WS_EINVAL);
    assert_int_equal(ws__llm_open(ctx, "replay", &no_file, &l), WS_ENOENT);
    /* An unfinished last line was never seen by anybody. */
    write_file(LINE("a", "m", "x") "{\"messages\"");
    assert_int_equal(open_it(NULL, NULL, &l), 0);
    gives(l, "a", "x");
    ws__llm_free(l);
}

static void keeps_to_the_budget(void **state)
{
    struct ws__llm_meter m = {.budget = 8192 + 49 + 10};
    struct ws__llm_reply r;
    struct ws__llm *l;

    (void)state;
    write_file("{" MSG("a") ", \"model\": \"m\", \"reply\": \"x\", \"usage\": "
                            "{\"prompt\": 4, \"completion\": 5, \"reported\": "
                            "true}}\n" LINE("b", "m", "12") LINE("c", "m",
                                                                 ""
                                                                 "x"));
    assert_int_equal(open_it(NULL, &m, &l), 0);
    assert_int_equal(say(l, "a", &r), 0);
    assert_true(r.reported);
    assert_true(r.cost == 5);
    ws__llm_reply_free(ctx, &r);
    assert_int_equal(m.prompt, 4);
    assert_int_equal(m.completion, 5);
    assert_int_equal(say(l, "b", &r), 0);
    assert_false(r.reported);
    assert_int_equal(r.completion_tokens, 2);
    ws__llm_reply_free(ctx, &r);
    assert_int_equal(say(l, "c", &r), WS_ELIMIT);
    ws__llm_free(l);
}

static int tortured(struct ws_ctx *c, void *user)
{
    const struct ws__llm_opts o = {.target = path};
    const struct ws__llm_msg msg = {WS__LLM_USER, "a"};
    const struct ws__llm_ask ask = {.msg = &msg, .n = 1, .temperature = -1};
    struct ws__llm_reply r;
    struct ws__llm *l;
    int rc;

    (void)user;
    WS_TRY(ws__llm_open(c, "replay", &o, &l));
    rc = ws__llm_ask(l, &ask, &r);
    ws__llm_reply_free(c, &r);
    ws__llm_free(l);
    return rc;
}

static void survives_without_memory(void **state)
{
    (void)state;
    write_file(LINE("a", "m", "one"));
    assert_true(t_torture(tortured, NULL) > 8);
}

static int set_up(void **state)
{
    const char *dir = getenv("TMPDIR");

    (void)state;
    ctx = t_ctx(NULL);
    snprintf(path, sizeof(path), "%s/wavesmith-t_replay-%d.jsonl",
             dir ? dir : "/tmp", (int)getpid());
    return ctx ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    ws_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_in_order),
        cmocka_unit_test(answers_for_one_model),
        cmocka_unit_test(refuses_damage),
        cmocka_unit_test(keeps_to_the_budget),
        cmocka_unit_test(survives_without_memory),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
