/*
 * opencl_build.c: compiling, what the driver says of the result, and the
 * first launch.
 *
 * Drivers compile in two steps. PoCL turns text into an intermediate form in
 * clBuildProgram (about 1 s for a small kernel, 40 ms if its cache on disk
 * has it) and makes machine code at the first launch, once per work-group
 * size (another 0.4 s; nothing if cached): so a build ends with one launch of
 * everything that will be launched, on zeroed buffers of the real sizes. What
 * goes wrong there is worded as a launch, not as a build.
 *
 * The hash of the compiled candidate is that of its binary, except where two
 * builds of one source give different binaries (binaries_vary): there it is
 * that of source, options and compiler, and binary_bytes stays 0 (unknown).
 */
#include "device/opencl/opencl.h"

#include "base/clock.h"
#include "device/words.h"
#include "base/banned.h"

#define OPTIONS_MAX_BYTES ((size_t)65536)
/* First launches run on trust: the verdict has not looked at the kernel yet. */
#define POOL_GUARD_BYTES 65536u
#define POOL_KEPT_BYTES ((uint64_t)256 << 20)

/* --- the compiler's words ----------------------------------------------- */

/* NULL if there are none or memory is short. */
static char *build_log(struct ws__ocl *d, ocl_program p)
{
    size_t n = 0;
    char *text;

    if (d->api.GetProgramBuildInfo(p, d->device, OCL_PROGRAM_BUILD_LOG, 0, NULL,
                                   &n) ||
        n < 2 || n > WS__WORDS_MAX_BYTES)
        return NULL;
    text = ws__alloc(d->ctx, n + 1, 1);
    if (!text)
        return NULL;
    if (d->api.GetProgramBuildInfo(p, d->device, OCL_PROGRAM_BUILD_LOG, n, text,
                                   NULL))
        text[0] = '\0';
    else
        text[n] = '\0';
    ws__words_cut(text);
    /* PoCL compiles from a temporary file whose name is new every time. */
    ws__words_hide(text, ".cl");
    if (!text[0]) {
        ws__free(d->ctx, text);
        return NULL;
    }
    return text;
}

static int build_fail(struct ws__ocl *d, int32_t e, const char *log)
{
    int rc = ws__ocl_fail(d->ctx, WS_EBUILD, e, "build the kernel");

    if (rc == WS_EBUILD && log)
        ws__fail(d->ctx, WS_EBUILD, "%s", ws__words_first_error(log));
    return rc;
}

int ws__ocl_compile(struct ws__ocl *d, const char *source, const char *options,
                    ocl_program *out, char **log)
{
    ocl_program p;
    char *words;
    int32_t e = 0;
    int rc = 0;

    *out = NULL;
    p = d->api.CreateProgramWithSource(d->context, 1, &source, NULL, &e);
    if (!p)
        return ws__ocl_fail(d->ctx, WS_EBUILD, e, "make a program");
    e = d->api.BuildProgram(p, 1, &d->device, options, NULL, NULL);
    words = build_log(d, p);
    if (e)
        rc = build_fail(d, e, words);
    if (rc == 0 && log) {
        *log = words;
        words = NULL;
    }
    ws__free(d->ctx, words);
    if (rc < 0)
        d->api.ReleaseProgram(p);
    else
        *out = p;
    return rc;
}

/* --- modules and entries ------------------------------------------------ */

static void drop(struct ws__ocl *d, struct ocl_module *m)
{
    for (size_t i = 0; i < m->nentry; i++) {
        d->api.ReleaseKernel(m->entry[i].kernel);
        ws__free(d->ctx, m->entry[i].name);
    }
    ws__free(d->ctx, m->entry);
    if (m->program)
        d->api.ReleaseProgram(m->program);
    memset(m, 0, sizeof(*m));
}

void ws__ocl_unload_module(void *dev, uint32_t module)
{
    struct ws__ocl *d = dev;

    if (module > 0 && module <= d->nmodule)
        drop(d, &d->module[module - 1]);
}

static int place(struct ws__ocl *d, uint32_t *handle)
{
    void *items = d->module;

    for (size_t i = 0; i < d->nmodule; i++)
        if (!d->module[i].program) {
            *handle = (uint32_t)i + 1;
            return 0;
        }
    WS_TRY(ws__grow(d->ctx, &items, &d->module_cap, d->nmodule,
                    sizeof(*d->module)));
    d->module = items;
    memset(&d->module[d->nmodule], 0, sizeof(*d->module));
    *handle = (uint32_t)++d->nmodule;
    return 0;
}

static int make_kernel(struct ws__ocl *d, ocl_program program, const char *name,
                       struct ocl_entry *out)
{
    char what[128];
    int32_t e = 0;

    out->kernel = d->api.CreateKernel(program, name, &e);
    if (!out->kernel && e == OCL_INVALID_KERNEL_NAME)
        return ws__fail(d->ctx, WS_EBUILD, "no kernel '%s' in the source",
                        name);
    if (out->kernel)
        e = d->api.GetKernelInfo(out->kernel, OCL_KERNEL_NUM_ARGS,
                                 sizeof(out->nargs), &out->nargs, NULL);
    if (!e)
        return 0;
    snprintf(what, sizeof(what), "%s '%.64s'",
             out->kernel ? "count the arguments of" : "make the kernel", name);
    return ws__ocl_fail(d->ctx, WS_EBUILD, e, what);
}

static int add_entry(struct ws__ocl *d, struct ocl_module *m, const char *name,
                     struct ocl_entry **out)
{
    struct ocl_entry e = {0};
    void *items = m->entry;
    int rc;

    WS_TRY(
        ws__grow(d->ctx, &items, &m->entry_cap, m->nentry, sizeof(*m->entry)));
    m->entry = items;
    rc = make_kernel(d, m->program, name, &e);
    if (rc == 0) {
        e.name = ws__strdup(d->ctx, name);
        rc = e.name ? 0 : WS_ENOMEM;
    }
    if (rc < 0) {
        if (e.kernel)
            d->api.ReleaseKernel(e.kernel);
        return rc;
    }
    m->entry[m->nentry] = e;
    *out = &m->entry[m->nentry++];
    return 0;
}

struct ocl_entry *ws__ocl_entry(struct ws__ocl *d, uint32_t module,
                                const char *name)
{
    struct ocl_entry *e = NULL;
    struct ocl_module *m;

    if (module == 0 || module > d->nmodule || !d->module[module - 1].program) {
        ws__fail(d->ctx, WS_EINVAL, "no module %u", (unsigned)module);
        return NULL;
    }
    m = &d->module[module - 1];
    for (size_t i = 0; i < m->nentry; i++)
        if (!strcmp(m->entry[i].name, name))
            return &m->entry[i];
    return add_entry(d, m, name, &e) < 0 ? NULL : e;
}

/* --- resources ---------------------------------------------------------- */

static uint64_t group_info(struct ws__ocl *d, ocl_kernel k, uint32_t what)
{
    uint64_t v = 0;

    return d->api.GetKernelWorkGroupInfo(k, d->device, what, sizeof(v), &v,
                                         NULL)
               ? 0
               : v;
}

static uint32_t larger(uint32_t a, uint64_t b)
{
    return b > a ? (uint32_t)b : a;
}

/* The worst of all entries. */
static void ask_resources(struct ws__ocl *d, const struct ocl_module *m,
                          struct ws__resources *res)
{
    for (size_t i = 0; i < m->nentry; i++) {
        ocl_kernel k = m->entry[i].kernel;
        uint64_t threads = group_info(d, k, OCL_KERNEL_WORK_GROUP_SIZE);

        res->shared_bytes = larger(res->shared_bytes,
                                   group_info(d, k, OCL_KERNEL_LOCAL_MEM_SIZE));
        res->private_bytes =
            larger(res->private_bytes,
                   group_info(d, k, OCL_KERNEL_PRIVATE_MEM_SIZE));
        if (threads && (!res->max_threads || threads < res->max_threads))
            res->max_threads = (uint32_t)threads;
    }
}

static void hash_text(struct ws__ocl *d, const struct ws__build *b,
                      const char *options, struct ws__resources *res)
{
    struct ws__hash h = ws__hash_str((struct ws__hash){2, 0}, b->source);

    h = ws__hash_str(h, options);
    h = ws__hash_str(h, d->info.id.compiler);
    h = ws__hash_str(h, d->info.id.driver);
    res->binary = ws__hash_str(h, d->info.id.device);
}

static int ask_binary(struct ws__ocl *d, const struct ws__build *b,
                      const char *options, const struct ocl_module *m,
                      struct ws__resources *res)
{
    size_t n = 0;
    unsigned char *p;
    int32_t e;

    hash_text(d, b, options, res);
    if (d->binaries_vary ||
        d->api.GetProgramInfo(m->program, OCL_PROGRAM_BINARY_SIZES, sizeof(n),
                              &n, NULL) ||
        !n)
        return 0;
    p = ws__alloc(d->ctx, n, 1);
    if (!p)
        return WS_ENOMEM;
    e = d->api.GetProgramInfo(m->program, OCL_PROGRAM_BINARIES, sizeof(p), &p,
                              NULL);
    if (!e) {
        res->binary_bytes = n;
        res->binary = ws__hash_bytes(p, n);
    }
    ws__free(d->ctx, p);
    return 0;
}

/* --- the first launch --------------------------------------------------- */

static void pool_free(struct ws__ocl *d)
{
    for (size_t i = 0; i < d->npool; i++)
        ws__ocl_release(d, d->pool[i].buffer);
    d->npool = 0;
}

static int pool_get(struct ws__ocl *d, enum ws__arg_kind kind, size_t index,
                    uint64_t bytes, uint32_t *buffer)
{
    struct ocl_pool p = {.kind = kind, .index = index, .bytes = bytes};
    void *items = d->pool;

    for (size_t i = 0; i < d->npool; i++)
        if (d->pool[i].kind == kind && d->pool[i].index == index &&
            d->pool[i].bytes == bytes) {
            *buffer = d->pool[i].buffer;
            return 0;
        }
    WS_TRY(ws__grow(d->ctx, &items, &d->pool_cap, d->npool, sizeof(*d->pool)));
    d->pool = items;
    WS_TRY(ws__ocl_alloc(d, bytes, POOL_GUARD_BYTES, 0, &p.buffer));
    d->pool[d->npool++] = p;
    *buffer = p.buffer;
    return 0;
}

static int bind_hint(struct ws__ocl *d, const struct ws__build *b,
                     const struct ws__plan_arg *from, struct ws__dev_arg *to)
{
    const bool tensor = from->kind == WS__ARG_TENSOR;
    const uint64_t *bytes = tensor ? b->tensor_bytes : b->scratch_bytes;
    const size_t n = tensor ? b->ntensor : b->nscratch;

    memset(to, 0, sizeof(*to));
    to->kind = from->kind;
    to->bytes = (uint32_t)from->bytes;
    memcpy(to->value, from->value, sizeof(to->value));
    if (from->kind == WS__ARG_VALUE || from->kind == WS__ARG_SHARED)
        return 0;
    if (from->index >= n)
        return ws__fail(d->ctx, WS_EINVAL,
                        "first launch without the size of a buffer");
    WS_TRY(
        pool_get(d, from->kind, from->index, bytes[from->index], &to->buffer));
    /* Zero, every time: what an earlier kernel left here could be an index
     * that sends this one astray. */
    return ws__ocl_fill(d, to->buffer, 0);
}

static int launch_hint(struct ws__ocl *d, const struct ws__build *b,
                       uint32_t module, const struct ws__plan_launch *hint)
{
    struct ws__dev_arg arg[WS__MAX_ARGS];
    struct ws__dev_launch l = {
        .module = module,
        .entry = ws__plan_entry(hint),
        .arg = arg,
        .narg = hint->narg,
    };

    for (size_t i = 0; i < hint->narg; i++)
        WS_TRY(bind_hint(d, b, &hint->arg[i], &arg[i]));
    WS_TRY(ws__ocl_finish(d, WS_EDEVICE, "prepare the first launch"));
    memcpy(l.grid, hint->grid, sizeof(l.grid));
    memcpy(l.block, hint->block, sizeof(l.block));
    ws__log(d->ctx, WS_LOG_DEBUG, "the first launch of '%s'",
            ws__plan_entry(hint));
    if (ws__ocl_launch(d, &l, NULL) < 0 ||
        ws__ocl_finish(d, WS_ELAUNCH, "run the kernel") < 0)
        return ws__error_prefix(d->ctx, "first launch of '%s'",
                                ws__plan_entry(hint));
    return 0;
}

/* Too large to keep, or written to beyond its ends (the verdict will say so):
 * gone. */
static int tidy_pool(struct ws__ocl *d)
{
    uint64_t kept = 0;
    int64_t offset;

    for (size_t i = 0; i < d->npool; i++) {
        int rc = 1;

        kept += d->pool[i].bytes;
        if (kept <= POOL_KEPT_BYTES)
            rc = ws__ocl_guard(d, d->pool[i].buffer, &offset);
        if (rc) {
            pool_free(d);
            return rc < 0 ? rc : 0;
        }
    }
    return 0;
}

static int launch_hints(struct ws__ocl *d, const struct ws__build *b,
                        uint32_t module)
{
    int rc = 0;

    if (!b->rehearse || !b->hint || (!b->tensor_bytes && !b->scratch_bytes))
        return 0;
    for (size_t i = 0; i < b->nhint && rc == 0; i++)
        rc = launch_hint(d, b, module, &b->hint[i]);
    /* No room for a rehearsal: the real run has buffers of its own. */
    if (rc == WS_EDEVMEM) {
        pool_free(d);
        ws__error_clear(d->ctx);
        rc = 0;
    }
    return rc < 0 ? rc : tidy_pool(d);
}

/* --- a build ------------------------------------------------------------ */

/* Sources do not say these words (spec_source.c), and cannot undefine them;
 * what macros put together becomes a name that nothing has. */
#define NO_ASSEMBLY                                                            \
    " -Dasm=assembly_is_refused -D__asm=assembly_is_refused "                  \
    "-D__asm__=assembly_is_refused"

static char *join_options(struct ws__ocl *d, const struct ws__build *b)
{
    struct ws__buf text;

    ws__buf_init(&text, d->ctx, OPTIONS_MAX_BYTES);
    for (size_t i = 0; i < b->noption; i++)
        ws__buf_printf(&text, "%s%s", i ? " " : "", b->option[i]);
    if (d->info.id.is_cpu)
        ws__buf_puts(&text, NO_ASSEMBLY);
    if (text.failed) {
        ws__buf_free(&text);
        return NULL;
    }
    return ws__buf_take(&text);
}

static int build_module(struct ws__ocl *d, const struct ws__build *b,
                        const char *options, struct ws__built *out)
{
    struct ocl_module *m = &d->module[out->module - 1];

    ws__log(d->ctx, WS_LOG_DEBUG, "the compiler");
    WS_TRY(ws__ocl_compile(d, b->source, options, &m->program, &out->log));
    for (size_t i = 0; i < b->nentry; i++)
        if (!ws__ocl_entry(d, out->module, b->entry[i]))
            return d->ctx->err.code;
    ask_resources(d, m, &out->res);
    WS_TRY(ask_binary(d, b, options, m, &out->res));
    return launch_hints(d, b, out->module);
}

static int refuse_dialect(struct ws__ocl *d, enum ws__dialect dialect)
{
    static const char *const words[] = {
        [WS__DIALECT_CUDA] = "the kernel is CUDA C",
        [WS__DIALECT_PTX] = "the kernel is PTX",
        [WS__DIALECT_CUBIN] = "the kernel is a cubin",
    };

    ws__fail(d->ctx, WS_EBUILD, "error: %s, this device takes OpenCL C",
             dialect < WS_COUNT(words) ? words[dialect]
                                       : "the dialect is not known");
    return ws__hint(d->ctx, "dialect: opencl or portable");
}

int ws__ocl_build(void *dev, const struct ws__build *b, struct ws__built *out)
{
    struct ws__ocl *d = dev;
    uint64_t begin = ws__now_ns();
    char *options;
    int rc;

    memset(out, 0, sizeof(*out));
    if (b->dialect > WS__DIALECT_OPENCL)
        return refuse_dialect(d, b->dialect);
    options = join_options(d, b);
    if (!options)
        return d->ctx->err.code;
    rc = place(d, &out->module);
    if (rc == 0)
        rc = build_module(d, b, options, out);
    if (rc < 0) {
        ws__ocl_unload_module(d, out->module);
        ws__free(d->ctx, out->log);
        memset(out, 0, sizeof(*out));
    }
    ws__free(d->ctx, options);
    out->res.build_ns = ws__now_ns() - begin;
    return rc;
}
