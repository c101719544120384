/*
 * t_plan_triton.c: sources in Triton in a forge: every move that
 * tests/triton/golden has is made as it says; replies that are none, and
 * helpers that end, hang or talk without end.
 *
 * The Python is WAVESMITH_PYTHON, else that of the distribution.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "plan/plan_forge.h"

#define GOLDEN "tests/triton/golden"

static struct ws_ctx *new_ctx(const char *share)
{
    const char *python = getenv("WAVESMITH_PYTHON");
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .share_dir = share,
                            .python = python ? python : "/usr/bin/python3",
                            .turn_dir = getenv("WAVESMITH_TURNS")};

    return ws_ctx_new(&o);
}

/* --- replies -------------------------------------------------------------- */

#define RULE                                                                   \
    "\"about\":\"a\",\"holds\":[\"h\"],\"symptoms\":[\"dram\"],\"gates\":["    \
    "\"sanitizer\"],\"rounding\":false"
#define RULES                                                                  \
    "{\"rules\":[{\"name\":\"fast\",\"gain\":1.5," RULE                        \
    "},{\"name\":\"slow\",\"gain\":1," RULE "}]}"
#define PLACE "\"rule\":\"fast\",\"function\":\"f\",\"line\":3,\"column\":0"
#define SITE "{" PLACE ",\"words\":\"w\",\"args\":{},\"unproven\":[]}"

static struct ws__triton_rules rules;

static int read_reply(struct ws_ctx *ctx, struct ws__arena *a, char kind,
                      const char *text)
{
    struct ws__triton_rules r;
    struct ws__triton_places p;
    struct ws__triton_edited e;

    if (kind == 'r')
        return ws__triton_rules_read(ctx, a, text, strlen(text), &r);
    if (kind == 'p')
        return ws__triton_places_read(ctx, a, &rules, text, strlen(text), &p);
    return ws__triton_edited_read(ctx, a, "abcdef\n", text, strlen(text), &e);
}

static const struct {
    char kind; /* rules, places, edits */
    int rc;
    const char *text, *words;
} reply[] = {
    {'r', 0, RULES, ""},
    {'r', WS_EPROTO, "", "no JSON"},
    {'r', WS_EPROTO, "{\"rules\":[{\"name\":", "no JSON"},
    {'r', WS_EPROTO, "[]", "no map"},
    {'r', WS_EPROTO, "{\"rules\":[],\"rules\":[]}", "no JSON"},
    {'r', WS_EPROTO, "{\"rules\":{}}", "'rules' is no list"},
    {'r', WS_EPARSE, "{\"error\":\"it is\\n late\"}", "it is late"},
    {'r', WS_EPROTO, "{\"rules\":[{\"name\":\"Fast\",\"gain\":2," RULE "}]}",
     "no name of its own"},
    {'r', WS_EPROTO,
     "{\"rules\":[{\"name\":\"a\",\"gain\":2," RULE "},{\"name\":\"a\",\"gain\""
     ":2," RULE "}]}",
     "no name of its own"},
    {'r', WS_EPROTO, "{\"rules\":[{\"name\":\"a\",\"gain\":0.5," RULE "}]}",
     "'gain' is no factor"},
    {'r', WS_EPROTO, "{\"rules\":[{\"name\":\"a\"," RULE "}]}",
     "'gain' is no factor"},
    {'p', 0, "{\"sites\":[" SITE "],\"refusals\":[]}", ""},
    {'p', 0, "{\"sites\":[],\"refusals\":[{" PLACE ",\"why\":\"w\"}]}", ""},
    {'p', WS_EPROTO, "{\"sites\":[]}", "no list"},
    {'p', WS_EPROTO, "{\"sites\":[3],\"refusals\":[]}", "no transformation"},
    {'p', WS_EPROTO,
     "{\"sites\":[{\"rule\":\"other\",\"words\":\"w\"}],\"refusals\":[]}",
     "no transformation"},
    {'p', WS_EPROTO, "{\"sites\":[{" PLACE "}],\"refusals\":[]}", "no words"},
    {'p', WS_EPROTO,
     "{\"sites\":[{\"rule\":\"fast\",\"words\":\"w\",\"line\":-1}],"
     "\"refusals\":[]}",
     "nowhere"},
    {'p', WS_EPROTO,
     "{\"sites\":[{" PLACE ",\"words\":\"w\",\"unproven\":3}],\"refusals\":[]}",
     "'unproven'"},
    {'e', 0,
     "{\"edits\":[{\"offset\":0,\"length\":1,\"text\":\"x\"},{\"offset\":1,"
     "\"length\":0,\"text\":\"y\"}],\"changes\":[{\"path\":\"launches[0].grid["
     "1]\",\"yaml\":\"N\"}],\"source\":\"xybcdef\\n\"}",
     ""},
    {'e', WS_EPROTO,
     "{\"edits\":[{\"offset\":0,\"length\":3,\"text\":\"x\"},{\"offset\":2,"
     "\"length\":1,\"text\":\"y\"}],\"changes\":[],\"source\":\"xydef\\n\"}",
     "edits overlap"},
    {'e', WS_EPROTO,
     "{\"edits\":[{\"offset\":5,\"length\":9,\"text\":\"x\"}],\"changes\":[],"
     "\"source\":\"\"}",
     "outside of the source"},
    {'e', WS_EPROTO,
     "{\"edits\":[{\"offset\":-1,\"length\":0,\"text\":\"x\"}],\"changes\":[],"
     "\"source\":\"\"}",
     "outside of the source"},
    {'e', WS_EPROTO,
     "{\"edits\":[{\"offset\":99999999999999999999,\"length\":0,\"text\":\"x\"}"
     "],\"changes\":[],\"source\":\"\"}",
     "no JSON"},
    {'e', WS_EPROTO, "{\"edits\":[],\"changes\":[],\"source\":\"other\"}",
     "do not make its source"},
    {'e', WS_EPROTO,
     "{\"edits\":[],\"changes\":[{\"path\":\"source\",\"yaml\":\"/etc/"
     "passwd\"}]"
     ",\"source\":\"abcdef\\n\"}",
     "no path that a move may change"},
    {'e', WS_EPROTO,
     "{\"edits\":[],\"changes\":[{\"path\":\"launches[0]..grid\",\"yaml\":"
     "\"1\"}"
     "],\"source\":\"abcdef\\n\"}",
     "no path that a move may change"},
    {'e', WS_EPROTO,
     "{\"edits\":[],\"changes\":[{\"path\":\"parameters.A\",\"yaml\":\"1\\nop: "
     "x\"}],\"source\":\"abcdef\\n\"}",
     "no value on one line"},
    {'e', WS_EPROTO,
     "{\"edits\":[],\"changes\":[{\"path\":\"parameters.A\"}],\"source\":"
     "\"abcdef\\n\"}",
     "no value on one line"},
};

static void replies(void **state)
{
    struct ws_ctx *ctx = new_ctx(NULL);
    struct ws__arena a;

    (void)state;
    ws__arena_init(&a, ctx);
    assert_int_equal(ws__triton_rules_read(ctx, &a, RULES, strlen(RULES),
                                           &rules),
                     0);
    assert_int_equal(rules.n, 2);
    assert_int_equal(rules.rule[0].want, WS__WANT_SANITIZER);
    assert_string_equal(rules.rule[0].finding[0], "dram");
    for (size_t i = 0; i < WS_COUNT(reply); i++) {
        int rc = read_reply(ctx, &a, reply[i].kind, reply[i].text);

        if (rc != reply[i].rc ||
            (rc < 0 && !strstr(ctx->err.message, reply[i].words)))
            fail_msg("%s: %d, %s", reply[i].text, rc, ctx->err.message);
        ws__error_clear(ctx);
    }
    ws__arena_free(&a);
    ws_ctx_free(ctx);
}

/* --- a helper that does what it likes ------------------------------------- */

/* The first line of a script says how it behaves, at "list" or later. */
static const char script[] =
    "import json, os, socket, struct, sys, time\n"
    "sock = socket.socket(fileno=3)\n"
    "def exactly(n):\n"
    "    data = b''\n"
    "    while len(data) < n:\n"
    "        part = sock.recv(n - len(data))\n"
    "        if not part: sys.exit(0)\n"
    "        data += part\n"
    "    return data\n"
    "def answer(raw, kind=121):\n"
    "    sock.sendall(struct.pack('<II', len(raw), kind) + raw)\n"
    "def bad(request):\n"
    "    if HOW == 'garbage': answer(b'\\xff\\0not JSON')\n"
    "    if HOW == 'kind': answer(b'{}', 7)\n"
    "    if HOW == 'exit': sys.exit('Error: enough')\n"
    "    if HOW == 'kill': os.abort()\n"
    "    if HOW == 'hang': time.sleep(1000)\n"
    "    if HOW == 'huge':\n"
    "        raw = b' ' * (1 << 20)\n"
    "        sock.sendall(struct.pack('<II', 60 << 20, 121))\n"
    "        while True: sock.sendall(raw)\n"
    "    if HOW == 'longer': sock.sendall(struct.pack('<II', 1 << 31, 121))\n"
    "    if HOW == 'cut':\n"
    "        sock.sendall(struct.pack('<II', 100, 121) + b'{')\n"
    "        sys.exit(0)\n"
    "    if HOW == 'overlap':\n"
    "        e = [{'offset': 0, 'length': 9, 'text': ''},\n"
    "             {'offset': 4, 'length': 9, 'text': ''}]\n"
    "        answer(json.dumps({'edits': e, 'changes': [], 'source': ''})"
    ".encode())\n"
    "    if HOW == 'path':\n"
    "        c = [{'path': 'op', 'yaml': '/etc/passwd'}]\n"
    "        answer(json.dumps({'edits': [], 'changes': c,\n"
    "            'source': request['source']}).encode())\n"
    "    if HOW == 'file':\n"
    "        c = [{'path': 'launches[0].grid', 'yaml': 'NOBODY + 1'}]\n"
    "        answer(json.dumps({'edits': [], 'changes': c,\n"
    "            'source': request['source']}).encode())\n"
    "rule = {'name': 'fast', 'gain': 2, 'holds': ['h'], 'symptoms': [],\n"
    "        'gates': [], 'rounding': False}\n"
    "site = {'rule': 'fast', 'function': 'f', 'line': 1, 'column': 0,\n"
    "        'words': 'here', 'args': {}, 'unproven': []}\n"
    "while True:\n"
    "    n, _ = struct.unpack('<II', exactly(8))\n"
    "    request = json.loads(exactly(n))\n"
    "    if request['command'] == WHEN: bad(request)\n"
    "    if request['command'] == 'list':\n"
    "        answer(json.dumps({'rules': [rule]}).encode())\n"
    "    if request['command'] == 'find':\n"
    "        answer(json.dumps({'sites': [site], 'refusals': []}).encode())\n";

/* A share folder with such a helper in it. */
static struct ws_ctx *with_helper(const char *how, const char *when)
{
    static const char *const dirs[] = {"ops/python", "ops/dialect/parse"};
    const char *tmp = getenv("TMPDIR");
    char share[400], text[sizeof(script) + 100], *path;
    struct ws_ctx *ctx;

    snprintf(share, sizeof(share), "%s/t_plan_triton-%ld", tmp ? tmp : "/tmp",
             (long)getpid());
    ctx = new_ctx(share);
    for (size_t i = 0; i < WS_COUNT(dirs); i++) {
        path = ws__path_join(ctx, share, dirs[i]);
        assert_int_equal(ws__fs_mkdirs(ctx, path), 0);
        ws__free(ctx, path);
    }
    snprintf(text, sizeof(text), "HOW, WHEN = '%s', '%s'\n%s", how, when,
             script);
    path = ws__path_join(ctx, share, "ops/python/ws_triton_xform.py");
    assert_int_equal(ws__fs_write(ctx, path, text, strlen(text)), 0);
    ws__free(ctx, path);
    return ctx;
}

static const struct {
    const char *how, *words;
    int rc; /* at the beginning */
} behaviour[] = {
    {"garbage", "answers nonsense: it is no JSON", WS_EPROTO},
    {"kind", "answers nonsense: a message of another kind", WS_EPROTO},
    {"exit", "ended: exit status 1: Error: enough", WS_EREFERENCE},
    {"kill", "ended: signal 6", WS_EREFERENCE},
    {"hang", "did not answer within 0.7 s", WS_EREFERENCE},
    {"huge", "answers nonsense: more than 16 MiB", WS_EPROTO},
    {"longer", "answers nonsense: more than 16 MiB", WS_EPROTO},
    {"cut", "ended: exit status 0", WS_EREFERENCE},
};

#define SHORT_NS 700000000u

/* At its start: one error. */
static void helpers_that_do_not_start(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(behaviour); i++) {
        struct ws_ctx *ctx = with_helper(behaviour[i].how, "list");
        struct ws__triton_helper h;
        struct ws__arena a;
        int rc;

        ws__arena_init(&a, ctx);
        rc = ws__triton_helper_open(ctx, &a, SHORT_NS, &h);
        if (rc != behaviour[i].rc ||
            !strstr(ctx->err.message, behaviour[i].words))
            fail_msg("%s: %d, %s", behaviour[i].how, rc, ctx->err.message);
        ws__arena_free(&a);
        ws_ctx_free(ctx);
    }
}

static void open_shop(struct ws_ctx *ctx, const char *path,
                      struct ws_spec **spec, struct ws__workshop **shop)
{
    static const struct ws_forge_opts none = {.size = sizeof(none)};
    struct ws_spec_open_opts o = {.size = sizeof(o),
                                  .path = path,
                                  .uncompiled = 1};

    assert_int_equal(ws_spec_open_with(ctx, &o, spec), 0);
    assert_int_equal(ws__workshop_open(*spec, &none, shop), 0);
    (*shop)->name = (*spec)->s->kernel[0].name;
}

/* Later: the move is refused, with the reason, and the helper goes on. */
static void moves_that_fail(void **state)
{
    static const struct {
        const char *how, *words;
    } more[] = {
        {"overlap", "edits overlap"},
        {"path", "no path that a move may change"},
        {"file", "NOBODY"},
    };
    size_t n = WS_COUNT(behaviour);

    (void)state;
    for (size_t i = 0; i < n + WS_COUNT(more); i++) {
        const char *how = i < n ? behaviour[i].how : more[i - n].how;
        const char *words = i < n ? behaviour[i].words : more[i - n].words;
        struct ws_ctx *ctx = with_helper(how, "apply");
        struct ws__forge_shop seam;
        const struct ws__forge_move *m;
        struct ws__workshop *shop;
        struct ws_spec *spec;
        char why[512] = "", *share = ctx->share_dir;
        uint32_t made;
        size_t nmove;

        ctx->share_dir = NULL; /* the op wants the headers that are shipped */
        open_shop(ctx, "practice-triton/gelu", &spec, &shop);
        ctx->share_dir = share;
        seam = ws__workshop_seam(shop);
        assert_int_equal(seam.moves(seam.self, 0, &m, &nmove), 0);
        assert_int_equal(nmove, 1);
        assert_string_equal(m->words, "line 1: here");
        shop->helper.limit_ns = SHORT_NS;
        if (seam.make(seam.self, 0, m, &made, why) != 0 || !strstr(why, words))
            fail_msg("%s: %s", how, why);
        assert_int_equal(ctx->err.code, 0);
        ws__workshop_close(shop);
        ws_spec_free(spec);
        ws_ctx_free(ctx);
    }
}

/* A run that is stopped waits for nobody. */
static void stopped(void **state)
{
    struct ws_ctx *ctx = with_helper("hang", "list");
    uint64_t start = ws__now_ns();
    struct ws__triton_helper h;
    struct ws__arena a;

    (void)state;
    ws__arena_init(&a, ctx);
    ws_ctx_set_timeout(ctx, 300000000);
    assert_int_equal(ws__triton_helper_open(ctx, &a, 0, &h), WS_ETIMEOUT);
    assert_true(ws__now_ns() - start < 30000000000u);
    ws__arena_free(&a);
    ws_ctx_free(ctx);
}

static void no_python(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o), .python = "/none/python3"};
    struct ws_ctx *ctx = ws_ctx_new(&o);
    struct ws__triton_helper h;
    struct ws__arena a;

    (void)state;
    ws__arena_init(&a, ctx);
    assert_int_equal(ws__triton_helper_open(ctx, &a, 0, &h), WS_EREFERENCE);
    assert_non_null(strstr(ctx->err.message, "cannot start Python"));
    assert_non_null(strstr(ctx->err.hint, "Debian: python3"));
    ws__arena_free(&a);
    ws_ctx_free(ctx);
}

/* --- every move of tests/triton/golden ------------------------------------ */

struct golden {
    char rule[40], kernel[40];
    int which; /* of the rule's places */
    char *text;
    struct ws__change change[64];
    size_t nchange;
};

/* "rule-kernel.diff", "rule-kernel-1.diff" */
static bool read_name(const char *file, struct golden *g)
{
    char suffix[20] = "";
    int n = sscanf(file, "%39[a-z0-9_]-%39[a-z0-9_]%19s", g->rule, g->kernel,
                   suffix);

    g->which = suffix[0] == '-' ? atoi(suffix + 1) : 0;
    return n == 3;
}

static const char *line_after(const char *p)
{
    const char *end = strchr(p, '\n');

    return end ? end + 1 : p + strlen(p);
}

/* The diff's hunks applied to the source; the changes behind them. */
static char *patched(struct golden *g, const char *source)
{
    char *out = calloc(1, strlen(source) + strlen(g->text) + 2), *end, *mid;
    const char *from = source;
    long line = 1, first;

    for (char *p = g->text; *p; p = end) {
        end = (char *)(uintptr_t)line_after(p);
        if (end > p && end[-1] == '\n' && (mid = strstr(p, " <- ")) &&
            mid < end && *p >= 'a' && *p <= 'z') {
            end[-1] = '\0';
            *mid = '\0';
            g->change[g->nchange++] = (struct ws__change){p, mid + 4};
        } else if (!strncmp(p, "--- ", 4) || !strncmp(p, "+++ ", 4) ||
                   *p == '#') {
            continue;
        } else if (sscanf(p, "@@ -%ld", &first) == 1) {
            for (; line < first; line++) {
                strncat(out, from, (size_t)(line_after(from) - from));
                from = line_after(from);
            }
        } else {
            if (*p != '-')
                strncat(out, p + 1, (size_t)(end - p - 1));
            if (*p != '+') {
                from = line_after(from);
                line++;
            }
        }
    }
    return strcat(out, from);
}

/* Is kernel `made` the one that the golden file describes? */
static void same_kernel(struct ws_spec *spec, struct ws__workshop *shop,
                        struct golden *g, size_t made)
{
    const char *before, *after;
    char *want, *file;
    size_t other;

    assert_int_equal(ws__workshop_text(shop, 0, &before), 0);
    assert_int_equal(ws__workshop_text(shop, made, &after), 0);
    want = patched(g, before);
    assert_string_equal(after, want);
    if (ws__spec_vary(spec->s, 0, "other", g->change, g->nchange, want,
                      &other) < 0)
        fail_msg("%s: %s", g->rule, spec->ctx->err.message);
    assert_true(
        ws__hash_eq(spec->s->kernel[made].hash, spec->s->kernel[other].hash));
    /* What it is made of is a kernel file. */
    assert_int_equal(ws__spec_kernel_file(spec->s, made, NULL, NULL, &file), 0);
    ws__free(spec->ctx, file);
    free(want);
}

static void make_one(struct golden *g)
{
    struct ws_ctx *ctx = new_ctx(NULL);
    const struct ws__forge_move *m;
    struct ws__forge_shop seam;
    struct ws__workshop *shop;
    struct ws_spec *spec;
    char path[100], why[512] = "";
    size_t n, at = 0;
    uint32_t made;
    int nth = -1;

    snprintf(path, sizeof(path), "practice-triton/%s", g->kernel);
    open_shop(ctx, path, &spec, &shop);
    seam = ws__workshop_seam(shop);
    if (seam.moves(seam.self, 0, &m, &n) < 0)
        fail_msg("%s: %s", g->kernel, ctx->err.message);
    for (; at < n; at++)
        if (!m[at].refused && !strcmp(m[at].name, g->rule) && ++nth == g->which)
            break;
    assert_true(at < n && m[at].gain > 1 && *m[at].needs);
    if (seam.make(seam.self, 0, &m[at], &made, why) != 1)
        fail_msg("%s on %s: %s", g->rule, g->kernel, why);
    same_kernel(spec, shop, g, made);
    /* And it has moves of its own. */
    assert_int_equal(seam.moves(seam.self, made, &m, &n), 0);
    assert_true(n > 0);
    ws__workshop_close(shop);
    ws_spec_free(spec);
    ws_ctx_free(ctx);
}

static void moves_are_made(void **state)
{
    struct ws_ctx *ctx = new_ctx(NULL);
    DIR *d = opendir(GOLDEN);
    struct dirent *e;
    size_t n = 0, len;

    (void)state;
    assert_non_null(d);
    while ((e = readdir(d))) {
        struct golden g = {.which = 0};
        char path[400];

        if (*e->d_name == '.')
            continue;
        assert_true(read_name(e->d_name, &g));
        snprintf(path, sizeof(path), GOLDEN "/%s", e->d_name);
        assert_int_equal(ws__fs_read(ctx, path, 1 << 20, &g.text, &len), 0);
        make_one(&g);
        ws__free(ctx, g.text);
        n++;
    }
    closedir(d);
    assert_true(n >= 40);
    ws_ctx_free(ctx);
}

/* Moves on moves: what one makes the next one reads. */
static void chains(void **state)
{
    struct ws_ctx *ctx = new_ctx(NULL);
    const struct ws__forge_move *m;
    struct ws__forge_shop seam;
    struct ws__workshop *shop;
    struct ws_spec *spec;
    char why[512];
    uint32_t kernel = 0, made;
    size_t n, depth = 0;

    (void)state;
    open_shop(ctx, "practice-triton/softmax", &spec, &shop);
    seam = ws__workshop_seam(shop);
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(seam.moves(seam.self, kernel, &m, &n), 0);
        if (m[i % n].refused)
            continue;
        if (seam.make(seam.self, kernel, &m[i % n], &made, why) != 1)
            continue;
        kernel = made;
        depth++;
    }
    assert_true(depth >= 8);
    ws__workshop_close(shop);
    ws_spec_free(spec);
    ws_ctx_free(ctx);
}

static int prepare(struct ws_ctx *ctx, void *user)
{
    struct ws__triton_places p;
    struct ws__triton_edited e;
    struct ws__triton_rules r;
    struct ws__arena a;
    int rc;

    (void)user;
    ws__arena_init(&a, ctx);
    rc = ws__triton_rules_read(ctx, &a, RULES, strlen(RULES), &r);
    if (rc >= 0)
        rc = ws__triton_places_read(ctx, &a, &r, reply[11].text,
                                    strlen(reply[11].text), &p);
    for (size_t i = 0; rc >= 0 && i < WS_COUNT(reply); i++)
        if (reply[i].kind == 'e' && !reply[i].rc)
            rc = ws__triton_edited_read(ctx, &a, "abcdef\n", reply[i].text,
                                        strlen(reply[i].text), &e);
    ws__arena_free(&a);
    return rc;
}

/* The whole way to a new text. */
static int talk(struct ws_ctx *ctx, void *user)
{
    static const char source[] =
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def f(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    x = tl.load(x_ptr + i, mask=i < n)\n"
        "    tl.store(y_ptr + i, x * 2, mask=i < n)\n";
    static const char facts[] =
        "{\"launches\": [{\"entry\": \"f\", \"constexprs\": [\"BLOCK\"], "
        "\"warps\": 4, \"stages\": 1, \"grid\": \"ceil_div(N, BLOCK)\", "
        "\"args\": [\"X\", \"Y\", {\"int32\": \"N\"}]}], \"parameters\": "
        "{\"BLOCK\": [256]}}";
    const char *python = getenv("WAVESMITH_PYTHON");
    struct ws__triton_places p;
    struct ws__triton_edited e;
    struct ws__triton_helper h;
    struct ws__arena a;
    size_t i = 0;
    int rc;

    (void)user;
    ctx->python = ws__strdup(ctx, python ? python : "/usr/bin/python3");
    if (!ctx->python)
        return WS_ENOMEM;
    ws__arena_init(&a, ctx);
    rc = ws__triton_helper_open(ctx, &a, 0, &h);
    if (rc >= 0) {
        rc = ws__triton_find(&h, source, facts, &p);
        while (rc >= 0 && p.place[i].refused)
            i++;
        if (rc >= 0)
            rc = ws__triton_apply(&h, source, facts, p.place[i].site, &e);
        ws__triton_helper_close(&h);
    }
    ws__arena_free(&a);
    return rc;
}

static void memory_may_fail(void **state)
{
    (void)state;
    assert_true(t_torture(prepare, NULL) > 3);
    assert_true(t_torture(talk, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies),
        cmocka_unit_test(memory_may_fail),
        cmocka_unit_test(no_python),
        cmocka_unit_test(helpers_that_do_not_start),
        cmocka_unit_test(moves_that_fail),
        cmocka_unit_test(stopped),
        cmocka_unit_test(moves_are_made),
        cmocka_unit_test(chains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
