/*
 * t_llm_server.h: for tests: the service of tests/llm/server.py, started for
 * one program on a free port; it ends with it. And asking in one line.
 */
#ifndef WS_T_LLM_SERVER_H
#define WS_T_LLM_SERVER_H

#include "base/t_base.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "llm/llm_int.h"

extern char **environ;

#define T_KEY "sk-Secret/42+key"

struct t_server {
    pid_t pid;
    int in; /* its standard input: closed, it ends */
    int port;
    char log[256];
};

static inline const char *t_folder(void)
{
    const char *dir = getenv("TMPDIR");

    return dir ? dir : "/tmp";
}

static inline void t_spawn_server(struct t_server *s, int in, int out,
                                  const char *pem)
{
    const char *python = getenv("WAVESMITH_PYTHON");
    char *argv[] = {(char *)(python ? python : "/usr/bin/python3"),
                    (char *)"tests/llm/server.py", s->log, (char *)pem, NULL};
    posix_spawn_file_actions_t fa;

    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, in, 0);
    posix_spawn_file_actions_adddup2(&fa, out, 1);
    posix_spawn_file_actions_addclosefrom_np(&fa, 3);
    if (posix_spawn(&s->pid, argv[0], &fa, NULL, argv, environ) != 0)
        fail_msg("cannot start %s", argv[0]);
    posix_spawn_file_actions_destroy(&fa);
}

/* pem: certificate and key, or NULL. */
static inline void t_server_start(struct t_server *s, const char *pem)
{
    int in[2], out[2];
    char port[32] = "";

    snprintf(s->log, sizeof(s->log), "%s/wavesmith-t_llm-XXXXXX", t_folder());
    close(mkstemp(s->log));
    assert_int_equal(pipe(in) | pipe(out), 0);
    t_spawn_server(s, in[0], out[1], pem);
    close(in[0]);
    close(out[1]);
    for (size_t n = 0; !strchr(port, '\n') && n < sizeof(port) - 1; n++)
        assert_int_equal(read(out[0], port + n, 1), 1);
    close(out[0]);
    s->in = in[1];
    s->port = (int)strtol(port, NULL, 10);
    assert_true(s->port > 0);
}

static inline void t_server_stop(struct t_server *s)
{
    close(s->in);
    waitpid(s->pid, NULL, 0);
    unlink(s->log);
}

/* Everything that the service got, a line a request; free it. */
static inline char *t_server_log(const struct t_server *s)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char *data, *copy;
    size_t len;

    assert_int_equal(ws__fs_read(ctx, s->log, 1 << 28, &data, &len), 0);
    copy = strdup(data);
    ws__free(ctx, data);
    ws_ctx_free(ctx);
    return copy;
}

/* How many requests came to a path that has `part`. */
static inline int t_server_count(const struct t_server *s, const char *part)
{
    char *log = t_server_log(s), *save = NULL;
    int n = 0;

    for (char *l = strtok_r(log, "\n", &save); l;
         l = strtok_r(NULL, "\n", &save)) {
        char *path = strstr(l, "\"path\": \"");
        char *end = path ? strchr(path + 9, '"') : NULL;

        if (end)
            *end = '\0';
        n += path && strstr(path, part);
    }
    free(log);
    return n;
}

/* The URL of a behaviour; `name` is one of its own for each caller. */
static inline const char *t_server_url(const struct t_server *s,
                                       const char *behaviour, char out[128])
{
    static int name;

    snprintf(out, 128, "http://127.0.0.1:%d/%s/%d/v1", s->port, behaviour,
             ++name);
    return out;
}

/* Without pauses that tests would wait for. */
static inline struct ws__llm_opts t_llm_opts(const char *url)
{
    return (struct ws__llm_opts){.target = url,
                                 .model = "asked",
                                 .key = T_KEY,
                                 .max_tokens = 500,
                                 .backoff_ns = 1000,
                                 .attempts = 3,
                                 .price_in = 1,
                                 .price_out = 10};
}

static inline int t_say(struct ws__llm *l, const char *text,
                        struct ws__llm_reply *r)
{
    const struct ws__llm_msg msg = {WS__LLM_USER, text};
    const struct ws__llm_ask ask = {.msg = &msg, .n = 1, .temperature = -1};

    return ws__llm_ask(l, &ask, r);
}

/* A prompt that fills every buffer on its way to a service that hangs up: an
 * error, and no signal that would end us. */
static inline void t_says_too_much(struct ws__llm *l)
{
    size_t n = (size_t)8 << 20;
    char *text = malloc(n + 1);
    struct ws__llm_reply r;

    memset(text, 'x', n);
    text[n] = '\0';
    assert_true(t_say(l, text, &r) < 0);
    free(text);
}

#endif
