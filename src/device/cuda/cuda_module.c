/*
 * cuda_module.c: from a build to kernels that can be launched.
 *
 * CUDA C becomes a cubin in the compiler (cuda_compile.c), which keeps it on
 * disk: a builder's work is found again by who launches. PTX is compiled by
 * the driver when it is loaded, which keeps it on disk, too; a cubin is loaded
 * as it is. The hash of the compiled candidate is that of what is loaded.
 */
#include "device/cuda/cuda.h"

#include "base/clock.h"
#include "base/banned.h"

#define LOG_BYTES 8192u

/* ---- loading ----------------------------------------------------------- */

int ws__cuda_load(struct ws__cuda *d, int stage, const void *image,
                  cu_module *out, char **log)
{
    char info[LOG_BYTES] = "", error[LOG_BYTES] = "";
    int key[] = {CU__JIT_INFO, CU__JIT_INFO_BYTES, CU__JIT_ERROR,
                 CU__JIT_ERROR_BYTES};
    void *value[] = {info, (void *)(uintptr_t)(LOG_BYTES - 1), error,
                     (void *)(uintptr_t)(LOG_BYTES - 1)};
    int e, rc;

    *out = NULL;
    ws__log(d->ctx, WS_LOG_DEBUG, "the driver's loader");
    e = d->api.ModuleLoadDataEx(out, image, WS_COUNT(key), key, value);
    if (e)
        *out = NULL;
    rc = ws__cuda_check(d, stage, e, "load the kernel");
    if (rc < 0 && error[0])
        ws__fail(d->ctx, rc, "%.200s: %.1000s", d->ctx->err.message, error);
    if (rc == 0 && log && info[0] && !(*log = ws__strdup(d->ctx, info)))
        rc = WS_ENOMEM;
    if (rc < 0 && *out && !d->dead) {
        d->api.ModuleUnload(*out);
        *out = NULL;
    }
    return rc;
}

static void drop(struct ws__cuda *d, struct cu_loaded *m)
{
    for (size_t i = 0; i < m->nentry; i++)
        ws__free(d->ctx, m->entry[i].name);
    ws__free(d->ctx, m->entry);
    if (m->module && !d->dead)
        d->api.ModuleUnload(m->module);
    memset(m, 0, sizeof(*m));
}

void ws__cuda_unload(void *dev, uint32_t module)
{
    struct ws__cuda *d = dev;

    if (module > 0 && module <= d->nmodule)
        drop(d, &d->module[module - 1]);
}

static int place(struct ws__cuda *d, uint32_t *handle)
{
    void *items = d->module;

    for (size_t i = 0; i < d->nmodule; i++)
        if (!d->module[i].module) {
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

/* ---- entries ----------------------------------------------------------- */

struct cu_entry *ws__cuda_entry(struct ws__cuda *d, uint32_t module,
                                const char *name)
{
    struct cu_loaded *m;

    if (module == 0 || module > d->nmodule || !d->module[module - 1].module) {
        ws__fail(d->ctx, WS_EINVAL, "no module %u", (unsigned)module);
        return NULL;
    }
    m = &d->module[module - 1];
    for (size_t i = 0; i < m->nentry; i++)
        if (!strcmp(m->entry[i].name, name))
            return &m->entry[i];
    ws__fail(d->ctx, WS_ELAUNCH, "no kernel '%s' in the module", name);
    return NULL;
}

static int get(struct ws__cuda *d, const struct cu_entry *e, int what,
               uint32_t *out)
{
    int v = 0;

    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.FuncGetAttribute(&v, what, e->function),
                          "ask what a kernel needs"));
    *out = v > 0 ? (uint32_t)v : 0;
    return 0;
}

/* Drivers since CUDA 12.4 say what a kernel takes. */
static void count_params(struct ws__cuda *d, struct cu_entry *e)
{
    size_t at, bytes;

    e->nparam = WS__MAX_ARGS + 1;
    if (!d->api.FuncGetParamInfo)
        return;
    for (uint32_t i = 0; i <= WS__MAX_ARGS; i++) {
        int rc = d->api.FuncGetParamInfo(e->function, i, &at, &bytes);

        if (rc == CU__E_INVALID_VALUE)
            e->nparam = i;
        if (rc)
            return;
        if (i < WS__MAX_ARGS)
            e->param_bytes[i] = (uint32_t)bytes;
    }
}

static int add_entry(struct ws__cuda *d, struct cu_loaded *m, const char *name,
                     const char *symbol)
{
    struct cu_entry *e = &m->entry[m->nentry];
    int rc = d->api.ModuleGetFunction(&e->function, m->module, symbol);

    if (rc == CU__E_NOT_FOUND)
        return ws__fail(d->ctx, WS_EBUILD, "no kernel '%s' in the source",
                        name);
    WS_TRY(ws__cuda_check(d, WS_EBUILD, rc, "find the kernel"));
    WS_TRY(get(d, e, CU__FUNC_SHARED, &e->shared));
    count_params(d, e);
    e->name = ws__strdup(d->ctx, name);
    if (!e->name)
        return WS_ENOMEM;
    m->nentry++;
    return 0;
}

int ws__cuda_shared(struct ws__cuda *d, struct cu_entry *e, uint32_t bytes)
{
    if (bytes <= e->dynamic)
        return 0;
    if (bytes > d->shared_optin || e->shared > d->shared_optin - bytes)
        return ws__fail(d->ctx, WS_ELAUNCH,
                        "kernel '%s' wants %u + %u bytes of shared memory, a "
                        "block has %u",
                        e->name, (unsigned)e->shared, (unsigned)bytes,
                        (unsigned)d->shared_optin);
    WS_TRY(ws__cuda_check(d, WS_ELAUNCH,
                          d->api.FuncSetAttribute(e->function, CU__FUNC_DYNAMIC,
                                                  (int)bytes),
                          "allow the kernel its shared memory"));
    e->dynamic = bytes;
    return 0;
}

/* ---- resources --------------------------------------------------------- */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return b > a ? b : a;
}

static uint32_t dynamic_bytes(const struct ws__plan_launch *l)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < l->narg; i++)
        if (l->arg[i].kind == WS__ARG_SHARED)
            sum += l->arg[i].bytes;
    return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* How many blocks of the first launch a unit holds. A launch that cannot be
 * is not the build's to judge: 0. */
static int ask_occupancy(struct ws__cuda *d, const struct ws__build *b,
                         const struct cu_loaded *m, struct ws__resources *res)
{
    const struct ws__plan_launch *l = b->hint;
    int blocks = 0;

    for (size_t i = 0; b->nhint && i < m->nentry; i++) {
        uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
        uint32_t dynamic = dynamic_bytes(l);

        if (strcmp(m->entry[i].name, ws__plan_entry(l)))
            continue;
        res->shared_bytes = larger(res->shared_bytes, dynamic);
        if (threads > d->info.id.max_threads)
            return 0;
        if (ws__cuda_shared(d, &m->entry[i], dynamic) < 0) {
            if (d->dead)
                return WS_ECRASH;
            ws__error_clear(d->ctx);
            return 0;
        }
        WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                              d->api.OccupancyMaxActiveBlocksPerMultiprocessor(
                                  &blocks, m->entry[i].function, (int)threads,
                                  dynamic),
                              "ask for the occupancy"));
        res->blocks_per_unit = blocks > 0 ? (uint32_t)blocks : 0;
        res->shared_bytes =
            larger(res->shared_bytes, m->entry[i].shared + dynamic);
        return 0;
    }
    return 0;
}

/* The worst of all entries. */
static int ask_resources(struct ws__cuda *d, const struct ws__build *b,
                         const struct cu_loaded *m, struct ws__resources *res)
{
    for (size_t i = 0; i < m->nentry; i++) {
        const struct cu_entry *e = &m->entry[i];
        uint32_t registers, local, threads;

        WS_TRY(get(d, e, CU__FUNC_REGISTERS, &registers));
        WS_TRY(get(d, e, CU__FUNC_LOCAL, &local));
        WS_TRY(get(d, e, CU__FUNC_THREADS, &threads));
        res->registers = larger(res->registers, registers);
        res->spill_bytes = larger(res->spill_bytes, local);
        res->private_bytes = larger(res->private_bytes, local);
        res->shared_bytes = larger(res->shared_bytes, e->shared);
        if (threads && (!res->max_threads || threads < res->max_threads))
            res->max_threads = threads;
    }
    return ask_occupancy(d, b, m, res);
}

/* ---- a build ----------------------------------------------------------- */

/* The names of ready-made code are what they are. */
static int take_ready(struct ws__cuda *d, const struct ws__build *b,
                      struct ws__cuda_code *code)
{
    bool ptx = b->dialect == WS__DIALECT_PTX;
    const void *from = ptx ? b->source : b->binary;
    size_t n = ptx ? strlen(b->source) + 1 : b->binary_bytes;

    if (!from || !n)
        return ws__fail(d->ctx, WS_EBUILD, "there is nothing to load");
    code->image = ws__alloc(d->ctx, n, 1);
    if (!code->image)
        return WS_ENOMEM;
    memcpy(code->image, from, n);
    code->bytes = n;
    code->symbol = ws__strdup_all(d->ctx, b->entry, b->nentry);
    code->nsymbol = b->nentry;
    return code->symbol ? 0 : WS_ENOMEM;
}

static int make_code(struct ws__cuda *d, const struct ws__build *b,
                     struct ws__cuda_code *code)
{
    struct ws__cuda_target target;

    memset(code, 0, sizeof(*code));
    if (ws__dialect_is_ready(b->dialect))
        return take_ready(d, b, code);
    if (b->dialect == WS__DIALECT_OPENCL) {
        ws__fail(d->ctx, WS_EBUILD,
                 "error: the kernel is OpenCL C, this device takes CUDA C");
        return ws__hint(d->ctx, "dialect: cuda or portable");
    }
    ws__log(d->ctx, WS_LOG_DEBUG, "the compiler");
    WS_TRY(ws__cuda_target(d->compiler, b, d->major, d->minor, &target));
    return ws__cuda_compile(d->compiler, b, &target, code);
}

static int load_code(struct ws__cuda *d, const struct ws__build *b,
                     const struct ws__cuda_code *code, struct ws__built *out)
{
    struct cu_loaded *m;

    WS_TRY(ws__cuda_ready(d));
    WS_TRY(place(d, &out->module));
    m = &d->module[out->module - 1];
    m->entry = ws__alloc(d->ctx, b->nentry ? b->nentry : 1, sizeof(*m->entry));
    if (!m->entry)
        return WS_ENOMEM;
    WS_TRY(ws__cuda_load(d, WS_EBUILD, code->image, &m->module,
                         out->log ? NULL : &out->log));
    for (size_t i = 0; i < b->nentry; i++)
        WS_TRY(add_entry(d, m, b->entry[i], code->symbol[i]));
    return ask_resources(d, b, m, &out->res);
}

static int build(struct ws__cuda *d, const struct ws__build *b,
                 struct ws__cuda_code *code, struct ws__built *out)
{
    WS_TRY(make_code(d, b, code));
    out->log = code->log;
    code->log = NULL;
    out->res.binary = ws__hash_bytes(code->image, code->bytes);
    out->res.binary_bytes = code->bytes;
    if (!b->compile_only)
        WS_TRY(load_code(d, b, code, out));
    if (b->want_image) {
        out->image = code->image;
        out->image_bytes = code->bytes;
        out->symbol = code->symbol;
        out->nsymbol = code->nsymbol;
        code->image = NULL;
        code->symbol = NULL;
    }
    return 0;
}

int ws__cuda_build(void *dev, const struct ws__build *b, struct ws__built *out)
{
    struct ws__cuda *d = dev;
    uint64_t begin = ws__now_ns();
    struct ws__cuda_code code;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = build(d, b, &code, out);
    ws__cuda_code_free(d->ctx, &code);
    if (rc < 0) {
        ws__cuda_unload(d, out->module);
        ws__built_free(d->ctx, out);
    }
    out->res.build_ns = ws__now_ns() - begin;
    return rc;
}
