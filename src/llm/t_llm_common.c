/*
 * t_llm_common.c: what all models share: text without the key and in UTF-8, the
 * most tokens of an ask, its hash, transcripts line by line and as files.
 */
#include "base/t_base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "llm/llm_int.h"

static struct ws_ctx *ctx;

static const struct ws__llm_msg messages[] = {{WS__LLM_SYSTEM, "be brief"},
                                              {WS__LLM_USER,
                                               "a \"kernel\"\n\u00e4 \\"}};
static const struct ws__llm_ask an_ask = {.msg = messages,
                                          .n = 2,
                                          .max_tokens = 100,
                                          .temperature = -1};

static void masks_the_key(void **state)
{
    char text[] = "key-1234key-1234 key-123 xkey-1234", none[] = "abc";

    (void)state;
    ws__llm_mask("key-1234", text);
    assert_string_equal(text, "**************** key-123 x********");
    ws__llm_mask(NULL, none);
    ws__llm_mask("", none);
    assert_string_equal(none, "abc");
}

static void quotes_foreign_text(void **state)
{
    char out[12], wide[64], text[] = "aaaaa\u00e4\u00e4\u00e4\u00e4\u00e4";

    (void)state;
    ws__llm_quote("key-1234", "a\n\r\n b\tkey\\-1234\x1b[1m", 24, wide,
                  sizeof(wide));
    assert_string_equal(wide, "a  b ********?[1m");
    ws__llm_quote("aaaaaaaaaaaaaaaa", "xaaaaaaaaaaaaaaaa", 17, out,
                  sizeof(out));
    assert_string_equal(out, "x*******...");
    /* Cut between two signs, never inside one. */
    for (size_t n = 8; n < 16; n++) {
        char small[16], *clean;
        struct ws__arena a;

        ws__llm_quote(NULL, text, strlen(text), small, n);
        ws__arena_init(&a, ctx);
        clean = ws__llm_utf8(&a, small);
        assert_string_equal(small, clean);
        assert_true(strlen(small) < n);
        ws__arena_free(&a);
    }
    ws__llm_quote(NULL, "", 0, out, sizeof(out));
    assert_string_equal(out, "");
}

static void makes_utf8(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"a\u00e4\u20ac\U0001f30a", "a\u00e4\u20ac\U0001f30a"},
        {"a\xff"
         "b",
         "a\ufffd"
         "b"},
        {"\xc3", "\ufffd"},
        {"\xe2\x82", "\ufffd\ufffd"},
        {"\xc0\x80", "\ufffd\ufffd"},
        {"\xe0\x9f\xbf", "\ufffd\ufffd\ufffd"},
        {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
        {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
        {"\xf8z", "\ufffdz"}};
    struct ws__arena a;

    (void)state;
    ws__arena_init(&a, ctx);
    for (size_t i = 0; i < WS_COUNT(cases); i++)
        assert_string_equal(ws__llm_utf8(&a, cases[i][0]), cases[i][1]);
    ws__arena_free(&a);
}

static void names_asks(void **state)
{
    struct ws__llm_msg other[2];
    struct ws__llm_ask b = an_ask;
    struct ws__hash h = ws__llm_hash(&an_ask);

    (void)state;
    assert_true(ws__hash_eq(h, ws__llm_hash(&an_ask)));
    b.temperature = -7; /* the service's own, too */
    assert_true(ws__hash_eq(h, ws__llm_hash(&b)));
    b.temperature = 0;
    assert_false(ws__hash_eq(h, ws__llm_hash(&b)));
    b = an_ask;
    b.max_tokens++;
    assert_false(ws__hash_eq(h, ws__llm_hash(&b)));
    b = an_ask;
    b.n = 1;
    assert_false(ws__hash_eq(h, ws__llm_hash(&b)));
    memcpy(other, messages, sizeof(other));
    other[0].role = WS__LLM_USER;
    b = an_ask;
    b.msg = other;
    assert_false(ws__hash_eq(h, ws__llm_hash(&b)));
    /* Where a text ends is part of it. */
    other[0] = (struct ws__llm_msg){WS__LLM_SYSTEM, "be brie"};
    other[1].text = "fa \"kernel\"\n\u00e4 \\";
    assert_false(ws__hash_eq(h, ws__llm_hash(&b)));
}

static void counts_the_most(void **state)
{
    (void)state;
    assert_int_equal(ws__llm_tokens_most(messages, 2), 8 + 15 + 2 * 16 + 32);
    assert_int_equal(ws__llm_tokens_most(messages, 0), 32);
}

/* --- transcripts ---------------------------------------------------------- */

static struct ws__llm_reply a_reply(void)
{
    return (struct ws__llm_reply){.text = (char *)(uintptr_t) "yes\n\u4e16\"",
                                  .model = (char *)(uintptr_t) "m-1",
                                  .finish = WS__LLM_LENGTH,
                                  .prompt_tokens = 12,
                                  .completion_tokens = 34,
                                  .reported = true};
}

static void writes_lines(void **state)
{
    struct ws__llm_reply r = a_reply();
    struct ws__llm_line l;
    struct ws__arena a;
    struct ws__buf b;

    (void)state;
    ws__buf_init(&b, ctx, 10000);
    ws__arena_init(&a, ctx);
    assert_int_equal(ws__llm_line_write(&b, &an_ask, &r), 0);
    assert_int_equal(b.data[b.len - 1], '\n');
    assert_int_equal(strcspn(b.data, "\n"), b.len - 1);
    assert_int_equal(ws__llm_line_read(ctx, &a, b.data, b.len - 1, &l), 0);
    assert_true(ws__hash_eq(l.hash, ws__llm_hash(&an_ask)));
    assert_string_equal(l.text, r.text);
    assert_string_equal(l.model, r.model);
    assert_int_equal(l.finish, WS__LLM_LENGTH);
    assert_int_equal(l.prompt_tokens, 12);
    assert_int_equal(l.completion_tokens, 34);
    assert_true(l.reported);
    ws__arena_free(&a);
    ws__buf_free(&b);
}

#define MSG "\"messages\": [{\"role\": \"user\", \"content\": \"q\"}]"
#define REST ", \"model\": \"m\", \"reply\": \"r\""

static int read_line(const char *text)
{
    struct ws__llm_line l;
    struct ws__arena a;
    int rc;

    ws__arena_init(&a, ctx);
    rc = ws__llm_line_read(ctx, &a, text, strlen(text), &l);
    ws__arena_free(&a);
    return rc;
}

static void refuses_lines(void **state)
{
    static const char *const bad[][2] = {
        {"", "no JSON object"},
        {"[1]", "no JSON object"},
        {"{" MSG REST, "no JSON object"},
        {"{" MSG REST "} x", "no JSON object"},
        {"{\"messages\": []" REST "}", "no list of messages"},
        {"{\"messages\": 1" REST "}", "no list of messages"},
        {"{\"messages\": [1]" REST "}", "a message needs"},
        {"{\"messages\": [{\"role\": \"me\", \"content\": \"\"}]" REST "}",
         "a message needs"},
        {"{\"messages\": [{\"role\": \"user\"}]" REST "}", "a message needs"},
        {"{" MSG ", \"max_tokens\": 0" REST "}", "'max_tokens'"},
        {"{" MSG ", \"max_tokens\": 5000000000" REST "}", "'max_tokens'"},
        {"{" MSG ", \"temperature\": \"0\"" REST "}", "'temperature'"},
        {"{" MSG ", \"hash\": \"00000000000000000000000000000000\"" REST "}",
         "'hash' is not that"},
        {"{" MSG ", \"hash\": 5" REST "}", "'hash' is not that"},
        {"{" MSG ", \"usage\": 5" REST "}", "'usage' needs"},
        {"{" MSG ", \"usage\": {\"prompt\": -1, \"completion\": 0}" REST "}",
         "'usage' needs"},
        {"{" MSG ", \"model\": \"m\"}", "'reply' and 'model'"},
        {"{" MSG ", \"model\": \"m\", \"reply\": \"\"}", "'reply' and 'model'"},
        {"{" MSG ", \"reply\": \"r\"}", "'reply' and 'model'"}};

    (void)state;
    assert_int_equal(read_line("{" MSG REST "}"), 0);
    assert_int_equal(read_line("{" MSG REST ", \"max_tokens\": 5, "
                               "\"temperature\": 1, \"finish\": \"x\", "
                               "\"more\": {}}"),
                     0);
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        assert_int_equal(read_line(bad[i][0]), WS_ECORRUPT);
        if (!strstr(ws_ctx_error(ctx)->message, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], ws_ctx_error(ctx)->message);
    }
}

static const char *temp_path(void)
{
    static char path[256];
    const char *dir = getenv("TMPDIR");

    snprintf(path, sizeof(path), "%s/wavesmith-t_llm-%d.jsonl",
             dir ? dir : "/tmp", (int)getpid());
    unlink(path);
    return path;
}

static size_t lines_of(const char *path, bool *whole)
{
    size_t len, n = 0;
    char *data;

    assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &data, &len), 0);
    for (size_t i = 0; i < len; i++)
        n += data[i] == '\n';
    *whole = !len || data[len - 1] == '\n';
    ws__free(ctx, data);
    return n;
}

static void appends_lines(void **state)
{
    const char *path = temp_path();
    struct ws__llm_reply r = a_reply();
    bool whole;
    FILE *f;

    (void)state;
    for (int i = 0; i < 3; i++) {
        /* Begun anew each time, and as a killed tool leaves it. */
        assert_int_equal(ws__llm_transcript_begin(ctx, path), 0);
        assert_int_equal(ws__llm_transcript_add(ctx, path, &an_ask, &r), 0);
        f = fopen(path, "a");
        fputs("{\"hash\": \"12", f);
        fclose(f);
    }
    assert_int_equal(lines_of(path, &whole), 3);
    assert_false(whole);
    assert_int_equal(ws__llm_transcript_begin(ctx, path), 0);
    assert_int_equal(lines_of(path, &whole), 3);
    assert_true(whole);
    unlink(path);
    assert_int_equal(ws__llm_transcript_begin(ctx, "/nonexistent/x"),
                     WS_ENOENT);
    assert_int_equal(ws__llm_transcript_add(ctx, path, &an_ask, &r), WS_ENOENT);
}

/* --- without files and memory --------------------------------------------- */

static int fs_calls, fs_fail_at;
static bool fs_fails(void)
{
    if (++fs_calls != fs_fail_at)
        return false;
    errno = EIO;
    return true;
}
static int f_open(const char *p, int flags, mode_t mode)
{
    return fs_fails() ? -1 : open(p, flags, mode);
}
static ssize_t f_read(int fd, void *p, size_t n)
{
    return fs_fails() ? -1 : read(fd, p, n);
}
static ssize_t f_write(int fd, const void *p, size_t n)
{
    /* Half of it, so that a line is torn. */
    if (!fs_fails())
        return write(fd, p, n);
    if (n > 1 && write(fd, p, n / 2) < 0)
        return -1;
    errno = EIO;
    return -1;
}
static int f_fsync(int fd)
{
    return fs_fails() ? -1 : fsync(fd);
}
static int f_close(int fd)
{
    int rc = close(fd);

    return fs_fails() ? -1 : rc;
}
static int f_rename(const char *a, const char *b)
{
    return fs_fails() ? -1 : rename(a, b);
}

static const struct ws__fs_ops bad_fs = {f_open,  f_read,   f_write, f_fsync,
                                         f_close, f_rename, mkdir,   unlink};

/* A reply whose line fails is an error; the next one mends the file. */
static void survives_files_that_fail(void **state)
{
    static const char *const argv[] = {"/bin/echo", "yes", NULL};
    const struct ws__llm_opts o = {.argv = argv};
    const char *path = temp_path();
    int failed = 0;

    (void)state;
    for (fs_fail_at = 1;; fs_fail_at++) {
        struct ws__llm_reply r;
        struct ws__llm *l;
        bool whole;
        int rc;

        assert_int_equal(ws__llm_open(ctx, "command", &o, &l), 0);
        fs_calls = 0;
        ws__fs_set_ops(&bad_fs);
        rc = ws__llm_record(l, path);
        if (rc >= 0)
            rc = ws__llm_ask(l, &an_ask, &r);
        ws__fs_set_ops(NULL);
        if (rc >= 0) {
            ws__llm_reply_free(ctx, &r);
            ws__llm_free(l);
            break;
        }
        assert_int_equal(rc, WS_EIO);
        failed++;
        assert_int_equal(ws__llm_ask(l, &an_ask, &r), 0);
        ws__llm_reply_free(ctx, &r);
        ws__llm_free(l);
        if (ws__fs_exists(path)) {
            lines_of(path, &whole);
            assert_true(whole);
        }
    }
    assert_true(failed > 5);
    unlink(path);
}

static int write_and_read(struct ws_ctx *c, void *user)
{
    struct ws__llm_reply r = a_reply();
    struct ws__llm_line l;
    struct ws__arena a;
    struct ws__buf b;
    int rc;

    (void)user;
    ws__buf_init(&b, c, 10000);
    ws__arena_init(&a, c);
    rc = ws__llm_line_write(&b, &an_ask, &r);
    if (rc >= 0)
        rc = ws__llm_line_read(c, &a, b.data, b.len - 1, &l);
    if (rc >= 0 && !ws__llm_utf8(&a, "a\xff"))
        rc = WS_ENOMEM;
    ws__arena_free(&a);
    ws__buf_free(&b);
    return rc;
}

static void survives_without_memory(void **state)
{
    (void)state;
    assert_true(t_torture(write_and_read, NULL) > 2);
}

/* --- what is asked -------------------------------------------------------- */

static void refuses_asks(void **state)
{
    static const char *const argv[] = {"/bin/echo", "yes", NULL};
    const struct ws__llm_opts o = {.argv = argv};
    static const struct ws__llm_msg odd = {(enum ws__llm_role)7, "x"};
    struct ws__llm_ask none = {.msg = messages, .n = 0},
                       hot = {.msg = messages, .n = 1, .temperature = 2.5},
                       role = {.msg = &odd, .n = 1};
    struct ws__llm_reply r;
    struct ws__llm *l;

    (void)state;
    assert_int_equal(ws__llm_open(ctx, "command", &o, &l), 0);
    assert_int_equal(ws__llm_ask(l, &none, &r), WS_EINVAL);
    assert_int_equal(ws__llm_ask(l, &hot, &r), WS_EINVAL);
    assert_int_equal(ws__llm_ask(l, &role, &r), WS_EINVAL);
    ws__llm_free(l);
    assert_int_equal(ws__llm_open(ctx, "htpp", &o, &l), WS_ENOENT);
    assert_string_equal(ws_ctx_error(ctx)->hint, "did you mean 'http'?");
    assert_int_equal(ws__llm_open(ctx, "oracle", &o, &l), WS_ENOENT);
    assert_string_equal(ws_ctx_error(ctx)->hint,
                        "there are http, command and replay");
    ws__llm_free(NULL);
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
        cmocka_unit_test(masks_the_key),
        cmocka_unit_test(quotes_foreign_text),
        cmocka_unit_test(makes_utf8),
        cmocka_unit_test(names_asks),
        cmocka_unit_test(counts_the_most),
        cmocka_unit_test(writes_lines),
        cmocka_unit_test(refuses_lines),
        cmocka_unit_test(appends_lines),
        cmocka_unit_test(survives_files_that_fail),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(refuses_asks),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
