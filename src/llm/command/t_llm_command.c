/*
 * t_llm_command.c: a program as a model: what it gets, what it may do wrong,
 * and that nothing of it is left. Programs are shell one-liners, which is the
 * tests' affair: the member itself starts no shell.
 */
#include "base/t_base.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/t_fds.h"
#include "llm/llm_int.h"

static struct ws_ctx *ctx;

static int ask_with(struct ws_ctx *c, struct ws__llm_opts *o,
                    const char *script, const struct ws__llm_ask *ask,
                    struct ws__llm_reply *r)
{
    const char *const argv[] = {"/bin/sh", "-c", script, "name", "a b", NULL};
    struct ws__llm *l;
    int rc;

    if (!o->argv)
        o->argv = argv;
    *r = (struct ws__llm_reply){0};
    rc = ws__llm_open(c, "command", o, &l);
    o->argv = NULL;
    if (rc < 0)
        return rc;
    rc = ws__llm_ask(l, ask, r);
    ws__llm_free(l);
    return rc;
}

static int say(const char *script, struct ws__llm_opts *o,
               struct ws__llm_reply *r)
{
    static const struct ws__llm_msg msg = {WS__LLM_USER, "hello"};
    const struct ws__llm_ask ask = {.msg = &msg, .n = 1, .max_tokens = 50};

    ws__error_clear(ctx);
    return ask_with(ctx, o, script, &ask, r);
}

static void gives(const char *script, const char *want)
{
    struct ws__llm_opts o = {0};
    struct ws__llm_reply r;

    if (say(script, &o, &r) < 0)
        fail_msg("%s: %s", script, ws_ctx_error(ctx)->message);
    assert_string_equal(r.text, want);
    assert_false(r.reported);
    assert_int_equal(r.attempts, 1);
    ws__llm_reply_free(ctx, &r);
}

static void answers(void **state)
{
    (void)state;
    gives("cat", "hello\n");
    gives("cat /dev/stdin", "hello\n");
    gives("echo \"$0|$1\"", "name|a b\n");
    gives("echo hi; echo noise >&2", "hi\n");
    gives("exec 0<&-; echo deaf", "deaf\n");
    gives("printf 'a\\377b'", "a\ufffd"
                              "b");
    gives("exec 2>&-; echo a; sleep 0.1; echo b", "a\nb\n");
    /* No descriptor but the three. */
    gives("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ");
    /* What keeps the output open is killed with the group. */
    gives("sleep 1000 & echo done", "done\n");
    /* More than a pipe holds, on both. */
    gives("head -c 300000 /dev/zero >&2; echo ok", "ok\n");
}

static void gets_conversations(void **state)
{
    static const struct ws__llm_msg msg[] = {{WS__LLM_SYSTEM, "be brief"},
                                             {WS__LLM_USER, "q\n"},
                                             {WS__LLM_ASSISTANT, "a"},
                                             {WS__LLM_USER, ""}};
    const struct ws__llm_ask ask = {.msg = msg, .n = 4};
    struct ws__llm_opts o = {0};
    struct ws__llm_reply r;

    (void)state;
    assert_int_equal(ask_with(ctx, &o, "cat", &ask, &r), 0);
    assert_string_equal(r.text, "=== system ===\nbe brief\n\n=== user ===\nq\n"
                                "\n=== assistant ===\na\n\n=== user ===\n\n");
    ws__llm_reply_free(ctx, &r);
}

static void takes_large_texts(void **state)
{
    size_t n = (size_t)3 << 20;
    char *text = malloc(n + 1);
    struct ws__llm_msg msg = {WS__LLM_USER, text};
    const struct ws__llm_ask ask = {.msg = &msg, .n = 1};
    struct ws__llm_opts o = {.max_reply_bytes = n + 1};
    struct ws__llm_reply r;

    (void)state;
    memset(text, 'x', n);
    text[n - 1] = '\n';
    text[n] = '\0';
    assert_int_equal(ask_with(ctx, &o, "cat", &ask, &r), 0);
    assert_string_equal(r.text, text);
    ws__llm_reply_free(ctx, &r);
    o.max_reply_bytes = n - 1;
    assert_int_equal(ask_with(ctx, &o, "cat", &ask, &r), WS_ELIMIT);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "more than 3145727"));
    free(text);
}

static void fails(const char *script, int code, const char *words)
{
    struct ws__llm_opts o = {.total_ns = 300000000, .max_reply_bytes = 1000};
    struct ws__llm_meter m = {0};
    struct ws__llm_reply r;
    int rc;

    o.meter = &m;
    rc = say(script, &o, &r);
    if (rc != code || !strstr(ws_ctx_error(ctx)->message, words))
        fail_msg("%s: %d, %s", script, rc, ws_ctx_error(ctx)->message);
    assert_null(r.text);
    /* It may have asked a service, whatever became of it. */
    assert_int_equal(m.prompt, 5 + 48);
    assert_int_equal(m.completion, 50);
}

static void tells_what_went_wrong(void **state)
{
    (void)state;
    fails("exit 3", WS_ECRASH, "the command '/bin/sh' failed: exit status 3");
    fails("echo one >&2; echo two >&2; exit 1", WS_ECRASH,
          "exit status 1: one two");
    fails("kill -SEGV $$", WS_ECRASH, "signal 11");
    fails("true", WS_EPROTO, "wrote nothing");
    fails("echo why >&2", WS_EPROTO, "wrote nothing: why");
    fails("printf 'a\\0b'", WS_EPROTO, "a byte of zero");
    fails("sleep 1000", WS_ETIMEOUT, "did not end within 0.3 s");
    fails("exec >&- 2>&-; sleep 1000", WS_ETIMEOUT, "did not end");
    fails("while :; do echo more; done", WS_ELIMIT, "more than 1000 bytes");
    fails("while :; do echo more >&2; done", WS_ETIMEOUT, "did not end");
}

static void keeps_its_secret(void **state)
{
    struct ws__llm_opts o = {.key = "sk-Secret/42"};
    struct ws__llm_reply r;

    (void)state;
    assert_int_equal(say("echo it is sk-Secret/42", &o, &r), 0);
    assert_string_equal(r.text, "it is ************\n");
    ws__llm_reply_free(ctx, &r);
    assert_int_equal(say("echo sk-Secret/42 >&2; exit 1", &o, &r), WS_ECRASH);
    assert_null(strstr(ws_ctx_error(ctx)->message, "sk-Secret"));
}

/* A child that ignores everything but SIGKILL, and its own child. */
static void kills_the_whole_group(void **state)
{
    char file[64], script[300], *text;
    struct ws__llm_opts o = {.total_ns = 300000000};
    struct ws__llm_reply r;
    size_t len;
    pid_t pid;

    (void)state;
    snprintf(file, sizeof(file), "/tmp/wavesmith-t_command-%d", (int)getpid());
    snprintf(script, sizeof(script),
             "trap '' TERM INT HUP; sh -c 'trap \"\" TERM INT HUP; "
             "echo $$ >%s; while :; do sleep 1; done' & wait; sleep 1000",
             file);
    assert_int_equal(say(script, &o, &r), WS_ETIMEOUT);
    assert_int_equal(ws__fs_read(ctx, file, 100, &text, &len), 0);
    pid = (pid_t)strtol(text, NULL, 10);
    assert_true(pid > 0);
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++) {
        char state_file[64];

        /* Killed, and waiting for whoever inherited it. */
        snprintf(state_file, sizeof(state_file), "/proc/%d/exe", (int)pid);
        if (access(state_file, R_OK) != 0)
            break;
        ws__sleep_ns(10000000);
    }
    snprintf(script, sizeof(script), "/proc/%d/exe", (int)pid);
    assert_int_not_equal(access(script, R_OK), 0);
    ws__free(ctx, text);
    unlink(file);
}

static void refuses(const char *const *argv, const char *path, int code,
                    const char *words)
{
    const struct ws__llm_opts o = {.argv = argv, .path = path};
    struct ws__llm *l;

    assert_int_equal(ws__llm_open(ctx, "command", &o, &l), code);
    if (!strstr(ws_ctx_error(ctx)->message, words))
        fail_msg("%s", ws_ctx_error(ctx)->message);
}

static void finds_programs(void **state)
{
    static const char *const none[] = {NULL}, *const empty[] = {"", NULL},
                             *const echo[] = {"echo", "x y", NULL},
                             *const no[] = {"no-such-program", NULL},
                             *const folder[] = {"/tmp", NULL},
                             *const file[] = {"/etc/passwd", NULL},
                             *const line[] = {"/bin/echo hi", NULL};
    struct ws__llm_opts o = {.argv = echo, .path = "/nonexistent:/usr/bin"};
    struct ws__llm_reply r;

    (void)state;
    refuses(NULL, NULL, WS_EINVAL, "needs a program");
    refuses(none, NULL, WS_EINVAL, "needs a program");
    refuses(empty, NULL, WS_EINVAL, "needs a program");
    refuses(no, "/usr/bin:/bin", WS_ENOENT, "no program 'no-such-program'");
    refuses(echo, NULL, WS_ENOENT, "no program 'echo'");
    refuses(folder, NULL, WS_ENOENT, "no program '/tmp'");
    refuses(file, NULL, WS_ENOENT, "no program '/etc/passwd'");
    refuses(line, NULL, WS_ENOENT, "no program '/bin/echo hi'");
    assert_int_equal(say(NULL, &o, &r), 0);
    assert_string_equal(r.text, "x y\n");
    ws__llm_reply_free(ctx, &r);
}

/* No shell, which needs more descriptors than we. */
static int echo_once(struct ws_ctx *c)
{
    static const char *const cat[] = {"/bin/cat", NULL};
    static const struct ws__llm_msg msg = {WS__LLM_USER, "hello"};
    const struct ws__llm_ask ask = {.msg = &msg, .n = 1};
    struct ws__llm_opts o = {.argv = cat};
    struct ws__llm_reply r;
    int rc = ask_with(c, &o, NULL, &ask, &r);

    ws__llm_reply_free(c, &r);
    return rc;
}

static int echo_tortured(struct ws_ctx *c, void *user)
{
    (void)user;
    return echo_once(c);
}

static void survives_without_memory(void **state)
{
    (void)state;
    assert_true(t_torture(echo_tortured, NULL) > 8);
}

static void survives_without_descriptors(void **state)
{
    (void)state;
    assert_true(t_without_fds(echo_once) > 3);
}

static void obeys_the_context(void **state)
{
    struct ws__llm_opts o = {0};
    struct ws__llm_reply r;

    (void)state;
    ws_ctx_set_timeout(ctx, 200000000);
    assert_int_equal(say("sleep 1000", &o, &r), WS_ETIMEOUT);
    ws_ctx_set_timeout(ctx, 0);
    ws_ctx_cancel(ctx);
    assert_int_equal(say("echo x", &o, &r), WS_ECANCEL);
}

static int set_up(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    return ctx ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(gets_conversations),
        cmocka_unit_test(takes_large_texts),
        cmocka_unit_test(tells_what_went_wrong),
        cmocka_unit_test(keeps_its_secret),
        cmocka_unit_test(kills_the_whole_group),
        cmocka_unit_test(finds_programs),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(survives_without_descriptors),
        cmocka_unit_test(obeys_the_context),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
