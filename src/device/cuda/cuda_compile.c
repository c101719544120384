/*
 * cuda_compile.c: see cuda_compile.h.
 *
 * A compilation is one run of NVRTC, or up to three:
 * - plain names of entries are asked for as if they were C++ names, so that a
 *   kernel that is not extern "C" works like any other. One that the language
 *   does not find by that name may still be in the image under it (extern "C"
 *   inside a namespace): without asking for its name, once more;
 * - the assembler says that only the architecture's own variant ("sm_90a") has
 *   an instruction: once more, for that.
 * Both are failures else, so a build that works costs one run.
 *
 * The version is what two results must share to be equal, and NVRTC tells only
 * "13.0" of it. The rest stands in the head of all PTX that it makes
 * ("V13.0.88" and the number of its build): an empty program is compiled to see
 * it, 20 to 35 ms.
 */
#include "device/cuda/cuda_compiler.h"
#include "device/words.h"
#include "base/banned.h"

/* Of what is kept, and of how options are made: one more, and nothing that was
 * kept before is found. */
#define KEY_FORMAT 1u

void ws__cuda_code_free(struct ws_ctx *ctx, struct ws__cuda_code *code)
{
    ws__free(ctx, code->image);
    ws__free(ctx, code->symbol);
    ws__free(ctx, code->log);
    memset(code, 0, sizeof(*code));
}

/* --- opening ------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

static int ask_archs(struct ws__cuda_compiler *c)
{
    int n = 0, *list, e = c->api.GetNumSupportedArchs(&n);

    if (e)
        return ws__nvrtc_fail(c->ctx, e, "ask the compiler what it knows");
    if (n <= 0 || n > 4096)
        return ws__fail(c->ctx, WS_ENODRIVER,
                        "NVRTC says that it knows %d architectures", n);
    list = ws__alloc(c->ctx, (size_t)n, sizeof(*list));
    if (!list)
        return WS_ENOMEM;
    e = c->api.GetSupportedArchs(list);
    qsort(list, (size_t)n, sizeof(*list), by_number);
    /* The newest, should there ever be more than we have room for. */
    c->narch = (size_t)n < WS__CUDA_MAX_ARCHS ? (size_t)n : WS__CUDA_MAX_ARCHS;
    memcpy(c->arch, list + n - c->narch, c->narch * sizeof(*list));
    ws__free(c->ctx, list);
    return e ? ws__nvrtc_fail(c->ctx, e, "ask the compiler what it knows") : 0;
}

/* "13.0.88" behind ", V" in the head of PTX. */
static void full_version(struct ws__cuda_compiler *c, const char *ptx,
                         size_t bytes)
{
    const char *p = memmem(ptx, bytes, ".version", 8);
    const size_t head = p ? (size_t)(p - ptx) : 0;
    size_t n;

    c->identity = ws__hash_mix(c->identity, ptx, head);
    p = memmem(ptx, head, ", V", 3);
    if (!p)
        return;
    p += 3;
    n = strspn(p, "0123456789.");
    if (n > 2 && n < 32)
        snprintf(c->version, sizeof(c->version), "NVRTC %.*s", (int)n, p);
}

/* An empty program, for what can be seen from it. *refused: an option is new
 * to the compiler. */
static int try_compiler(struct ws__cuda_compiler *c, bool *refused)
{
    struct ws__build empty = {.source = ""};
    struct ws__cuda_target target = {.ptx = true};
    struct ws__cuda_code code;
    char *words = NULL;
    int rc;

    snprintf(target.arch, sizeof(target.arch), "compute_%d",
             c->arch[c->narch - 1]);
    rc = ws__cuda_program(c, &empty, &target, false, &code, &words);
    if (rc >= 0)
        full_version(c, code.image, code.bytes);
    *refused = rc == WS_EBUILD && words && strstr(words, "--frandom-seed");
    ws__free(c->ctx, words);
    ws__cuda_code_free(c->ctx, &code);
    return rc;
}

static int ask_version(struct ws__cuda_compiler *c)
{
    int major = 0, minor = 0, rc, e = c->api.Version(&major, &minor);
    bool refused;

    if (e)
        return ws__nvrtc_fail(c->ctx, e, "ask the compiler for its version");
    c->number = major * 100 + minor;
    snprintf(c->version, sizeof(c->version), "NVRTC %d.%d", major, minor);
    c->takes_seed = true;
    rc = try_compiler(c, &refused);
    if (refused) {
        c->takes_seed = false;
        rc = try_compiler(c, &refused);
    }
    if (rc == WS_EBUILD)
        return ws__error_prefix(c->ctx,
                                "%s does not even compile an empty source",
                                c->version);
    return rc;
}

int ws__cuda_compiler_open_with(struct ws_ctx *ctx, struct nvrtc_api *api,
                                const char *headers, const char *cache_dir,
                                uint64_t cache_bytes,
                                struct ws__cuda_compiler **out)
{
    struct ws__cuda_compiler *c = ws__alloc(ctx, 1, sizeof(*c));
    int rc;

    *out = NULL;
    if (!c) {
        ws__nvrtc_unload(api);
        return WS_ENOMEM;
    }
    c->ctx = ctx;
    c->api = *api;
    c->pch.fd = -1;
    WS_TRY_DONE(ask_archs(c));
    WS_TRY_DONE(ask_version(c));
    WS_TRY_DONE(ws__cuda_headers_find(c, headers));
    WS_TRY_DONE(ws__cuda_cache_open(ctx, cache_dir, cache_bytes, &c->cache));
    *out = c;
done:
    if (rc < 0)
        ws__cuda_compiler_close(c);
    return rc;
}

int ws__cuda_compiler_open(struct ws_ctx *ctx, const char *cache_dir,
                           struct ws__cuda_compiler **out)
{
    struct nvrtc_api api;

    *out = NULL;
    WS_TRY(ws__nvrtc_load(ctx, &api));
    return ws__cuda_compiler_open_with(ctx, &api, NULL, cache_dir, 0, out);
}

void ws__cuda_compiler_close(struct ws__cuda_compiler *c)
{
    if (!c)
        return;
    ws__cuda_pch_drop(&c->pch);
    ws__cuda_cache_close(c->cache);
    for (size_t i = 0; i < c->ninclude; i++)
        ws__free(c->ctx, c->include[i]);
    ws__nvrtc_unload(&c->api);
    ws__free(c->ctx, c);
}

const char *ws__cuda_compiler_version(const struct ws__cuda_compiler *c)
{
    return c->version;
}

/* --- compiling ----------------------------------------------------------- */

/* The kernels must be in the image under the names that they have now. words:
 * of an earlier run that knew more of the names, or NULL. */
static int check_symbols(struct ws__cuda_compiler *c, const struct ws__build *b,
                         const struct ws__cuda_code *code, const char *words)
{
    for (size_t i = 0; i < code->nsymbol; i++)
        if (ws__cuda_lacks_kernel(code, code->symbol[i]))
            return ws__cuda_no_kernel(c->ctx, b->entry[i], words);
    return 0;
}

static bool is_about_names(const char *words)
{
    return words && !strncmp(ws__words_first_error(words), "__nv_name_map", 13);
}

static bool any_plain(const struct ws__build *b)
{
    for (size_t i = 0; i < b->nentry; i++)
        if (!ws__entry_is_expression(b->entry[i]))
            return true;
    return false;
}

static int compile_names(struct ws__cuda_compiler *c, const struct ws__build *b,
                         const struct ws__cuda_target *target,
                         struct ws__cuda_code *out, char **words)
{
    int rc = ws__cuda_program(c, b, target, true, out, words);
    char *second = NULL;

    if (rc >= 0)
        return check_symbols(c, b, out, NULL);
    if (rc != WS_EBUILD || !is_about_names(*words) || !any_plain(b))
        return rc;
    rc = ws__cuda_program(c, b, target, false, out, &second);
    if (rc >= 0)
        rc = check_symbols(c, b, out, *words);
    ws__free(c->ctx, *words);
    *words = second;
    return rc;
}

static int compile_any(struct ws__cuda_compiler *c, const struct ws__build *b,
                       const struct ws__cuda_target *target,
                       struct ws__cuda_code *out)
{
    struct ws__cuda_target own = *target;
    char *words = NULL;
    int rc = compile_names(c, b, target, out, &words);

    if (rc == WS_EBUILD && !target->ptx && words &&
        !ws__cuda_is_variant(target->arch) && ws__cuda_wants_variant(words)) {
        ws__cuda_code_free(c->ctx, out);
        ws__free(c->ctx, words);
        snprintf(own.arch, sizeof(own.arch), "%.20sa", target->arch);
        rc = compile_names(c, b, &own, out, &words);
    }
    ws__free(c->ctx, words);
    if (rc < 0)
        ws__cuda_code_free(c->ctx, out);
    return rc;
}

static int make_key(const struct ws__cuda_compiler *c,
                    const struct ws__build *b,
                    const struct ws__cuda_target *target, struct ws__hash *key)
{
    const char *option[WS__CUDA_MAX_OPTIONS];
    char arch[64];
    size_t n;
    struct ws__hash h = {KEY_FORMAT, 0};

    WS_TRY(ws__cuda_options(c, b, target, arch, option, &n));
    h = ws__hash_mix(h, &c->identity, sizeof(c->identity));
    h = ws__hash_str(h, c->version);
    h = ws__hash_u64(h, n);
    for (size_t i = 0; i < n; i++)
        h = ws__hash_str(h, option[i]);
    h = ws__hash_u64(h, b->nentry);
    for (size_t i = 0; i < b->nentry; i++)
        h = ws__hash_str(h, b->entry[i]);
    h = ws__hash_str(h, b->source);
    *key = ws__cuda_shims_hash(h);
    return 0;
}

int ws__cuda_compile(struct ws__cuda_compiler *c, const struct ws__build *b,
                     const struct ws__cuda_target *target,
                     struct ws__cuda_code *out)
{
    struct ws__hash key;
    int rc;

    memset(out, 0, sizeof(*out));
    WS_TRY(make_key(c, b, target, &key));
    rc = c->cache ? ws__cuda_cache_get(c->cache, key, out) : 0;
    if (rc)
        return rc < 0 ? rc : 0;
    WS_TRY(compile_any(c, b, target, out));
    if (c->cache)
        ws__cuda_cache_put(c->cache, key, out);
    return 0;
}
