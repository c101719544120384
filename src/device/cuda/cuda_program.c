/*
 * cuda_program.c: one run of NVRTC, from text to an image and the names of
 * its kernels.
 *
 * The options are the kernel's and those without which CUDA C does not mean
 * what it does under nvcc: the architecture, the version of the language, and
 * functions without a word of where they run, which NVRTC refuses (most are
 * members of structures and constant expressions, which nvcc takes), belong to
 * the device. Nothing is added that changes numbers. A seed keeps names of
 * what is internal to a source (as in the toolkit's own headers) from being
 * new at each run, so that equal sources give equal images.
 *
 * An entry that is a C++ name expression has a name of its own only once the
 * compiler has seen it. So has a plain one that is not extern "C": its name
 * is asked for, too. What the compiler says of a name that it does not know
 * stands under "__nv_name_map", a file that nobody has written: it becomes
 * "no kernel 'x' in the source".
 */
#include "device/cuda/cuda_compiler.h"
#include "device/words.h"
#include "base/banned.h"

#define IMAGE_MAX_BYTES ((size_t)1 << 30)
#define NO_CACHE_SINCE 1209 /* NVRTC's own cache: ours does the same */
#define NAME_MAP "__nv_name_map"

/* --- options ------------------------------------------------------------- */

/* Of OpenCL (a portable kernel has those of both), or set by the target. */
static bool is_foreign(const char *option)
{
    static const char *const starts[] = {"-cl-",
                                         "--gpu-architecture=", "-arch="};

    for (size_t i = 0; i < WS_COUNT(starts); i++)
        if (!strncmp(option, starts[i], strlen(starts[i])))
            return true;
    return false;
}

static bool has_standard(const struct ws__build *b)
{
    for (size_t i = 0; i < b->noption; i++)
        if (!strncmp(b->option[i], "--std=", 6) ||
            !strncmp(b->option[i], "-std=", 5))
            return true;
    return false;
}

int ws__cuda_options(const struct ws__cuda_compiler *c,
                     const struct ws__build *b,
                     const struct ws__cuda_target *target, char arch[64],
                     const char *option[WS__CUDA_MAX_OPTIONS], size_t *n)
{
    size_t k = 0;

    if (b->noption > WS__CUDA_MAX_OPTIONS - 8)
        return ws__fail(c->ctx, WS_ELIMIT, "more than %d options for a kernel",
                        WS__CUDA_MAX_OPTIONS - 8);
    snprintf(arch, 64, "--gpu-architecture=%s", target->arch);
    option[k++] = arch;
    if (!has_standard(b))
        option[k++] = "--std=c++17";
    option[k++] = "--device-as-default-execution-space";
    if (c->number >= NO_CACHE_SINCE)
        option[k++] = "--no-cache";
    if (c->takes_seed)
        option[k++] = "--frandom-seed=0";
    for (size_t i = 0; i < c->ninclude; i++)
        option[k++] = c->include[i];
    for (size_t i = 0; i < b->noption; i++)
        if (!is_foreign(b->option[i]))
            option[k++] = b->option[i];
    *n = k;
    return 0;
}

/* --- words --------------------------------------------------------------- */

/* NULL if there are none or memory is short. */
static char *read_log(struct ws__cuda_compiler *c, nvrtc_program p,
                      const struct ws__cuda_run *run)
{
    size_t n = 0;
    char *text;

    if (c->api.GetProgramLogSize(p, &n) || n < 2 || n > WS__WORDS_MAX_BYTES)
        return NULL;
    text = ws__alloc(c->ctx, n + 1, 1);
    if (!text)
        return NULL;
    if (c->api.GetProgramLog(p, text))
        text[0] = '\0';
    else
        text[n] = '\0';
    for (size_t i = c->ninclude; i > 0; i--)
        ws__words_strip(text, c->include[i - 1] + 2); /* behind "-I" */
    if (run->lines)
        ws__cuda_unshift_lines(text, run->lines);
    ws__words_cut(text);
    if (!text[0]) {
        ws__free(c->ctx, text);
        return NULL;
    }
    return text;
}

/* `said` is the name as the compiler took it apart, up to a quote: "x < 1 >".
 */
static bool is_name(const char *said, const char *entry)
{
    for (;; said++, entry++) {
        said += strspn(said, " ");
        entry += strspn(entry, " ");
        if (!*entry || *said != *entry)
            return !*entry && *said == '"';
    }
}

/* What is said of `entry` in the lines under NAME_MAP: the text behind
 * "error: " of the first of them. The line that names the entry comes last of
 * those about it. */
static bool reason_of(const char *words, const char *entry, char *out,
                      size_t size)
{
    static const char mark[] = "expression was: \"", error[] = "error: ";
    const char *first = NULL;

    for (const char *p = words; p && *p; p = strchr(p, '\n')) {
        size_t line;
        const char *text, *name;

        p += *p == '\n';
        if (strncmp(p, NAME_MAP, strlen(NAME_MAP)))
            continue;
        line = strcspn(p, "\n");
        text = memmem(p, line, error, strlen(error));
        if (!text)
            continue;
        if (!first)
            first = text + strlen(error);
        name = memmem(p, line, mark, strlen(mark));
        if (!name)
            continue;
        if (is_name(name + strlen(mark), entry)) {
            snprintf(out, size, "%.*s", (int)strcspn(first, "\n"), first);
            return true;
        }
        first = NULL;
    }
    return false;
}

int ws__cuda_no_kernel(struct ws_ctx *ctx, const char *entry, const char *words)
{
    char reason[400];

    if (!words || !reason_of(words, entry, reason, sizeof(reason)) ||
        strstr(reason, "is undefined"))
        return ws__fail(ctx, WS_EBUILD, "no kernel '%s' in the source", entry);
    return ws__fail(ctx, WS_EBUILD, "no kernel '%s' in the source: %s", entry,
                    reason);
}

static int build_fail(struct ws__cuda_compiler *c, const struct ws__build *b,
                      int e, const char *words)
{
    const char *first = words ? ws__words_first_error(words) : NULL;
    char reason[8];
    int rc = ws__nvrtc_fail(c->ctx, e, "build the kernel");

    if (rc != WS_EBUILD || !first)
        return rc;
    if (!strncmp(first, NAME_MAP, strlen(NAME_MAP)))
        for (size_t i = 0; i < b->nentry; i++)
            if (reason_of(first, b->entry[i], reason, sizeof(reason)))
                return ws__cuda_no_kernel(c->ctx, b->entry[i], first);
    ws__fail(c->ctx, WS_EBUILD, "%s", first);
    if (!c->ninclude && strstr(first, "open source file"))
        ws__hint(c->ctx, "no headers of a CUDA toolkit were found beside NVRTC "
                         "or in /usr/local/cuda/include: install its package "
                         "'cuda-cudart-dev'");
    return rc;
}

/* --- the image ----------------------------------------------------------- */

/* A cubin has a section ".text.<kernel>", PTX a line ".entry <kernel>(". */
bool ws__cuda_lacks_kernel(const struct ws__cuda_code *code, const char *symbol)
{
    const bool elf = code->bytes > 4 && !memcmp(code->image, "\177ELF", 4);
    const char *p = code->image, *end = p + code->bytes;
    const char *mark = elf ? ".text." : ".entry ";
    const size_t n = strlen(symbol), skip = strlen(mark);

    if (!elf && !memmem(p, code->bytes, ".version", 8))
        return false; /* no format that we know */
    while ((p = memmem(p, (size_t)(end - p), mark, skip))) {
        p += skip;
        if ((size_t)(end - p) > n && !memcmp(p, symbol, n) &&
            (elf ? !p[n] : strchr("( \t\r\n", p[n]) != NULL))
            return false;
    }
    return true;
}

static bool asked_for(const char *entry, bool plain_names)
{
    return plain_names || ws__entry_is_expression(entry);
}

static int read_symbols(struct ws__cuda_compiler *c, nvrtc_program p,
                        const struct ws__build *b, bool plain_names,
                        struct ws__cuda_code *out)
{
    const char **name =
        ws__alloc(c->ctx, b->nentry ? b->nentry : 1, sizeof(*name));

    if (!name)
        return WS_ENOMEM;
    for (size_t i = 0; i < b->nentry; i++)
        if (!asked_for(b->entry[i], plain_names) ||
            c->api.GetLoweredName(p, b->entry[i], &name[i]) || !name[i])
            name[i] = b->entry[i];
    out->symbol = ws__strdup_all(c->ctx, name, b->nentry);
    out->nsymbol = b->nentry;
    ws__free(c->ctx, name);
    return out->symbol ? 0 : WS_ENOMEM;
}

static int read_image(struct ws__cuda_compiler *c, nvrtc_program p, bool ptx,
                      struct ws__cuda_code *out)
{
    size_t n = 0;
    int e = ptx ? c->api.GetPTXSize(p, &n) : c->api.GetCUBINSize(p, &n);

    if (e)
        return ws__nvrtc_fail(c->ctx, e, "ask for the size of the result");
    if (!n || n > IMAGE_MAX_BYTES)
        return ws__fail(c->ctx, WS_EBUILD,
                        "error: the compiler's result has %zu bytes", n);
    out->image = ws__alloc(c->ctx, n + 1, 1); /* PTX: a NUL in any case */
    if (!out->image)
        return WS_ENOMEM;
    out->bytes = n;
    e = ptx ? c->api.GetPTX(p, out->image) : c->api.GetCUBIN(p, out->image);
    return e ? ws__nvrtc_fail(c->ctx, e, "read the result") : 0;
}

/* --- a run --------------------------------------------------------------- */

#define PCH_OPTIONS 3 /* besides those of ws__cuda_options */

static int call_compiler(struct ws__cuda_compiler *c, nvrtc_program p,
                         const struct ws__build *b,
                         const struct ws__cuda_target *target,
                         const struct ws__cuda_run *run, char **words)
{
    const char *option[WS__CUDA_MAX_OPTIONS + PCH_OPTIONS];
    char arch[64];
    size_t n;
    int e;

    WS_TRY(ws__cuda_options(c, b, target, arch, option, &n));
    if (run->pch != WS__CUDA_PCH_NONE) {
        option[n++] = run->pch_option;
        option[n++] = "--pch-messages=false";
        option[n++] = "--pch-verbose=false";
    }
    for (size_t i = 0; i < b->nentry; i++)
        if (asked_for(b->entry[i], run->plain_names)) {
            e = c->api.AddNameExpression(p, b->entry[i]);
            if (e)
                return ws__nvrtc_fail(c->ctx, e, "name a kernel");
        }
    ws__log(c->ctx, WS_LOG_DEBUG, "the compiler");
    e = c->api.CompileProgram(p, (int)n, option);
    *words = read_log(c, p, run);
    return e ? build_fail(c, b, e, *words) : 0;
}

static int run_once(struct ws__cuda_compiler *c, const struct ws__build *b,
                    const struct ws__cuda_target *target,
                    const struct ws__cuda_run *run, struct ws__hash prefix,
                    struct ws__cuda_code *out, char **words)
{
    const char *name[WS__CUDA_MAX_SHIMS], *text[WS__CUDA_MAX_SHIMS];
    nvrtc_program p = NULL;
    int n = ws__cuda_shims(run->text, name, text), rc, e;

    memset(out, 0, sizeof(*out));
    *words = NULL;
    e = c->api.CreateProgram(&p, run->text, "source", n, text, name);
    if (e)
        return ws__nvrtc_fail(c->ctx, e, "give the source to the compiler");
    rc = call_compiler(c, p, b, target, run, words);
    ws__cuda_pch_end(c, p, run, prefix, rc >= 0);
    if (rc >= 0)
        rc = read_image(c, p, target->ptx, out);
    if (rc >= 0)
        rc = read_symbols(c, p, b, run->plain_names, out);
    c->api.DestroyProgram(&p);
    if (rc < 0)
        ws__cuda_code_free(c->ctx, out);
    return rc;
}

static bool mentions_pch(const char *words)
{
    return words && strstr(words, "precompiled header");
}

/* Is it about what the source includes, not about the source? */
static bool is_about_headers(const char *words)
{
    static const char *const other[] = {"source(", "ptxas", NAME_MAP};
    const char *first = words ? ws__words_first_error(words) : "source(";

    for (size_t i = 0; i < WS_COUNT(other); i++)
        if (!strncmp(first, other[i], strlen(other[i])))
            return false;
    return true;
}

static int hash_prefix(struct ws__cuda_compiler *c, const struct ws__build *b,
                       const struct ws__cuda_target *target,
                       struct ws__hash *prefix)
{
    const char *option[WS__CUDA_MAX_OPTIONS];
    char arch[64];
    size_t n;

    WS_TRY(ws__cuda_options(c, b, target, arch, option, &n));
    for (size_t i = 0; i < n; i++)
        *prefix = ws__hash_str(*prefix, option[i]);
    return 0;
}

/* With the includes in front, and what was read of them before. */
static int run_hoisted(struct ws__cuda_compiler *c, const struct ws__build *b,
                       const struct ws__cuda_target *target,
                       struct ws__cuda_run run, struct ws__hash prefix,
                       struct ws__cuda_code *out, char **words)
{
    int rc;

    WS_TRY(hash_prefix(c, b, target, &prefix));
    WS_TRY(ws__cuda_pch_begin(c, prefix, &run));
    rc = run_once(c, b, target, &run, prefix, out, words);
    if (run.pch != WS__CUDA_PCH_NONE && mentions_pch(*words)) {
        /* It failed by that, or did without and would each time. */
        if (rc == WS_EBUILD || run.pch == WS__CUDA_PCH_USE)
            ws__cuda_pch_give_up(c, *words);
        ws__free(c->ctx, *words);
        *words = NULL;
        if (rc == WS_EBUILD) {
            run.pch = WS__CUDA_PCH_NONE;
            rc = run_once(c, b, target, &run, prefix, out, words);
        }
    }
    ws__free(c->ctx, run.pch_option);
    return rc;
}

int ws__cuda_program(struct ws__cuda_compiler *c, const struct ws__build *b,
                     const struct ws__cuda_target *target, bool plain_names,
                     struct ws__cuda_code *out, char **words)
{
    const struct ws__hash none = {0, 0};
    struct ws__cuda_run run = {.text = b->source, .plain_names = plain_names};
    struct ws__cuda_hoisted hoisted;
    int rc = WS_EBUILD;

    memset(out, 0, sizeof(*out));
    *words = NULL;
    WS_TRY(ws__cuda_hoist(c, b->source, &hoisted));
    if (hoisted.text) {
        run.text = hoisted.text;
        run.lines = hoisted.lines;
        rc = run_hoisted(c, b, target, run, hoisted.prefix, out, words);
        ws__free(c->ctx, hoisted.text);
        if (rc != WS_EBUILD || !is_about_headers(*words))
            goto done;
        ws__free(c->ctx, *words);
        run.text = b->source;
        run.lines = 0;
    }
    rc = run_once(c, b, target, &run, none, out, words);
done:
    if (rc >= 0) {
        out->log = *words;
        *words = NULL;
    }
    return rc;
}
