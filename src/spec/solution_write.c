/*
 * solution_write.c: a kernel and what is chosen of it as a solution of
 * flashinfer-bench, in CUDA C behind TVM-FFI.
 *
 * Each variant is a source of its own: the text that we compile (its macros
 * would disturb others), its functions renamed, and one function for the host
 * that evaluates the launch plan, printed from its expressions. Every name of
 * ours begins with "wsl_", for the source may define any other. main.cu has
 * none of these macros: it reads the axes from the tensors' sizes and chooses.
 */
#include "spec/solution.h"

#include <jansson.h>

#include "spec/solution_launch.h"

#include "base/banned.h"

#define SOURCE_MAX ((size_t)64 << 20)
#define MAX_VARIANTS 64

struct variant {
    const struct ws__config *config;
    const struct ws__workload *workload; /* of its constants */
};

struct writing {
    struct ws_ctx *ctx;
    const struct ws__solution_about *about;
    const struct ws__kernel *k;
    const struct ws__op *op; /* in the Definition's names */
    struct variant variant[MAX_VARIANTS];
    size_t nvariant;
    const struct variant *now;
    union wsrt_value vars[WS__MAX_SLOTS]; /* of `now`: all but sizes */
    json_t *sources;
};

static int refuse(struct writing *w, const char *why)
{
    ws__fail(w->ctx, WS_ENOTSUP, "kernel '%s' cannot be written as a solution",
             w->k->name);
    return ws__hint(w->ctx, "%s", why);
}

/* --- what can be written -------------------------------------------------- */

static int check(struct writing *w)
{
    const struct ws__kernel *k = w->k;

    if (k->dialect != WS__DIALECT_PORTABLE && k->dialect != WS__DIALECT_CUDA)
        return refuse(w, "a solution is in CUDA C: dialect cuda or portable");
    for (size_t i = 0; i < k->nlaunch; i++)
        if (k->launch[i].pattern)
            return refuse(w, "an entry is a name expression of C++");
    for (size_t i = 0; i < w->op->ntensor; i++) {
        const struct ws__tensor *t = &w->op->tensor[i];

        if (t->role == WS__INOUT)
            return refuse(w, "a Definition has no tensors that are read and "
                             "written");
        for (size_t d = 0; d < t->ndim; d++)
            if (t->stride[d])
                return refuse(w, "a Definition has no strides");
    }
    return 0;
}

/* Two workloads need the same source if config, types, and sizes that are
 * macros agree. */
static bool same_variant(const struct writing *w, const struct variant *v,
                         const struct ws__solution_choice *c)
{
    uint32_t baked = ws__kernel_baked(w->k);

    if (!ws__config_eq(v->config, c->config))
        return false;
    for (size_t a = 0; a < w->op->naxis; a++)
        if (baked >> a & 1 && v->workload->axis[a] != c->workload->axis[a])
            return false;
    return true;
}

static int variant_of(struct writing *w, const struct ws__solution_choice *c,
                      size_t *out)
{
    for (size_t i = 0; i < w->nvariant; i++)
        if (same_variant(w, &w->variant[i], c)) {
            *out = i;
            return 0;
        }
    if (w->nvariant == MAX_VARIANTS)
        return refuse(w, "more than 64 variants; name one config: --config");
    w->variant[w->nvariant] = (struct variant){c->config, c->workload};
    *out = w->nvariant++;
    return 0;
}

static int check_types(struct writing *w)
{
    const struct ws__solution_about *a = w->about;

    for (size_t x = 0; x < w->op->naxis; x++)
        for (size_t i = 1; w->op->axis[x].kind == WS__AXIS_TYPE && i < a->n;
             i++)
            if (a->choice[i].workload->axis[x] !=
                a->choice[0].workload->axis[x])
                return refuse(w, "its workloads have several element types; "
                                 "choose one: --workload");
    return 0;
}

/* --- expressions ---------------------------------------------------------- */

static int print_slot(void *user, size_t slot, struct ws__buf *b)
{
    struct writing *w = user;

    if (slot < w->op->naxis && w->op->axis[slot].kind == WS__AXIS_VAR)
        return ws__buf_printf(b, "wsl_v[%zu]", slot);
    if (slot < w->k->scope.n && w->k->scope.names[slot].type == WS__FLOAT)
        return ws__buf_printf(b, "%a", w->vars[slot].f);
    return ws__buf_printf(b, "INT64_C(%lld)", (long long)w->vars[slot].i);
}

static int put(struct writing *w, struct ws__buf *b, const struct ws__expr *e)
{
    if (!e)
        return ws__buf_puts(b, "INT64_C(1)");
    return ws__expr_print_c(w->ctx, e, &w->k->scope, print_slot, w, b);
}

static int bind(struct writing *w, const struct variant *v)
{
    memset(w->vars, 0, sizeof(w->vars));
    for (size_t a = 0; a < w->op->naxis; a++)
        w->vars[a].i = v->workload->axis[a];
    ws__config_vars(w->k, v->config, w->vars);
    ws__identity_vars(w->about->identity, w->k, w->vars);
    w->now = v;
    return 0;
}

/* Is it false whatever the sizes are? Then the source may lack what it is the
 * condition of. */
static int never(struct writing *w, const struct ws__expr *e, bool *out)
{
    union wsrt_value v;

    *out = false;
    if (!e)
        return 0;
    for (size_t a = 0; a < w->op->naxis; a++)
        if (w->op->axis[a].kind == WS__AXIS_VAR &&
            e->uses[a / 64] >> a % 64 & 1)
            return 0;
    WS_TRY(ws__expr_eval(w->ctx, e, w->vars, &v));
    *out = !v.i;
    return 0;
}

/* --- a variant ------------------------------------------------------------ */

/* The type of a parameter of a kernel; NULL: it has no name here. */
static const char *type_name(enum ws__dtype t)
{
    static const char *const names[] = {
        [WS__DT_F64] = "double",  [WS__DT_F32] = "float",
        [WS__DT_I64] = "int64_t", [WS__DT_I32] = "int32_t",
        [WS__DT_I16] = "int16_t", [WS__DT_I8] = "int8_t",
        [WS__DT_U8] = "uint8_t",  [WS__DT_BOOL] = "bool",
    };

    return (size_t)t < WS_COUNT(names) ? names[t] : NULL;
}

static enum ws__dtype type_of(const struct writing *w,
                              const struct ws__tensor *t)
{
    return t->dtype ? t->dtype
                    : (enum ws__dtype)w->now->workload->axis[t->type_axis];
}

static int put_arg(struct writing *w, struct ws__buf *b,
                   const struct ws__arg *a, size_t i)
{
    const struct ws__tensor *t =
        a->kind == WS__ARG_TENSOR ? &w->op->tensor[a->index] : NULL;
    const char *type;

    if (a->kind == WS__ARG_SCRATCH)
        return ws__buf_printf(b, "        void *wsl_a%zu = wsl_w[%zu];\n", i,
                              a->index);
    if (t && t->ndim)
        return ws__buf_printf(b, "        void *wsl_a%zu = wsl_t[%zu];\n", i,
                              a->index);
    type = type_name(t ? type_of(w, t) : a->dtype);
    if (!type)
        return refuse(w, "an argument is a narrow float by value");
    ws__buf_printf(b, "        %s wsl_a%zu = (%s)", type, i, type);
    if (t)
        return ws__buf_printf(b, "wsl_s[%zu].%s;\n", a->index,
                              ws__dtype_is_float(type_of(w, t)) ? "wsl_f"
                                                                : "wsl_i");
    WS_TRY(put(w, b, a->expr));
    return ws__buf_puts(b, ";\n");
}

static int put_launch(struct writing *w, struct ws__buf *b,
                      const struct ws__launch *l)
{
    const char *comma = "";
    bool skip;

    WS_TRY(never(w, l->when, &skip));
    if (skip)
        return 0;
    ws__buf_puts(b, "    if (wsl_e == cudaSuccess");
    if (l->when) {
        ws__buf_puts(b, " && ");
        WS_TRY(put(w, b, l->when));
    }
    ws__buf_puts(b, ") {\n");
    for (size_t i = 0; i < l->narg; i++)
        if (l->arg[i].kind != WS__ARG_SHARED)
            WS_TRY(put_arg(w, b, &l->arg[i], i));
    ws__buf_puts(b, "        void *wsl_a[] = {");
    for (size_t i = 0; i < l->narg; i++)
        if (l->arg[i].kind != WS__ARG_SHARED) {
            ws__buf_printf(b, "%s&wsl_a%zu", comma, i);
            comma = ", ";
        }
    ws__buf_puts(b, *comma ? "};\n" : "nullptr};\n");
    ws__buf_puts(b, "        const int64_t wsl_size[] = {");
    for (size_t i = 0; i < 6; i++) {
        ws__buf_puts(b, i ? ", " : "");
        WS_TRY(put(w, b, i < 3 ? l->grid[i] : l->block[i - 3]));
    }
    ws__buf_printf(b,
                   "};\n        wsl_e = wsl_launch((const void *)%s, "
                   "wsl_size, INT64_C(0)",
                   l->entry);
    for (size_t i = 0; i < l->narg; i++)
        if (l->arg[i].kind == WS__ARG_SHARED) {
            ws__buf_puts(b, " + ");
            WS_TRY(put(w, b, l->arg[i].expr));
        }
    return ws__buf_puts(b, ", wsl_a, wsl_q);\n    }\n");
}

static int put_scratch(struct writing *w, struct ws__buf *b)
{
    const struct ws__kernel *k = w->k;

    ws__buf_printf(b, "    void *wsl_w[%zu] = {};\n", k->nscratch + 1);
    for (size_t i = 0; i < k->nscratch; i++) {
        bool skip;

        WS_TRY(never(w, k->scratch[i].when, &skip));
        if (skip)
            continue;
        ws__buf_puts(b, "    if (wsl_e == cudaSuccess");
        if (k->scratch[i].when) {
            ws__buf_puts(b, " && ");
            WS_TRY(put(w, b, k->scratch[i].when));
        }
        ws__buf_printf(b, ")\n        wsl_e = wsl_scratch(&wsl_w[%zu], ", i);
        WS_TRY(put(w, b, k->scratch[i].bytes));
        ws__buf_printf(b, ", %s, wsl_q);\n",
                       k->scratch[i].zero ? "true" : "false");
    }
    return b->failed;
}

/* Each entry once: another launch may have the same. */
static void put_renames(struct writing *w, struct ws__buf *b, size_t n)
{
    for (size_t i = 0; i < w->k->nlaunch; i++) {
        bool seen = false;

        for (size_t j = 0; j < i; j++)
            seen =
                seen || !strcmp(w->k->launch[j].entry, w->k->launch[i].entry);
        if (!seen)
            ws__buf_printf(b, "#define %s %s_v%zu\n", w->k->launch[i].entry,
                           w->k->launch[i].entry, n);
    }
}

static int put_variant(struct writing *w, struct ws__buf *b, size_t n)
{
    const struct ws__kernel *k = w->k;
    struct ws__instance *in = ws__alloc(w->ctx, 1, sizeof(*in));
    char *text = NULL;
    int rc =
        in ? ws__instance_make(w->ctx, w->op, w->now->workload, in) : WS_ENOMEM;

    if (rc >= 0)
        rc = ws__kernel_source(w->ctx, k, w->now->config, in, &text);
    ws__free(w->ctx, in);
    WS_TRY(rc);
    ws__buf_puts(b, "// A variant of the kernel: its source, as it was "
                    "compiled, then its launches.\n"
                    "#include \"wavesmith_launch.h\"\n");
    put_renames(w, b, n);
    ws__buf_puts(b, text);
    ws__free(w->ctx, text);
    ws__buf_printf(b,
                   "\n\ncudaError_t wsl_run_%zu(const int64_t *wsl_v, void "
                   "*const *wsl_t,\n                      const wsl_scalar "
                   "*wsl_s, cudaStream_t wsl_q)\n{\n"
                   "    cudaError_t wsl_e = cudaSuccess;\n"
                   "    (void)wsl_v, (void)wsl_t, (void)wsl_s;\n",
                   n);
    WS_TRY(put_scratch(w, b));
    for (size_t i = 0; i < k->nlaunch; i++)
        WS_TRY(put_launch(w, b, &k->launch[i]));
    for (size_t i = 0; i < k->nscratch; i++)
        ws__buf_printf(b,
                       "    if (wsl_w[%zu])\n        cudaFreeAsync(wsl_w[%zu]"
                       ", wsl_q);\n",
                       i, i);
    return ws__buf_puts(b, "    return wsl_e;\n}\n");
}

/* --- main.cu -------------------------------------------------------------- */

/* Where a size is read: a dimension that is the axis and nothing else. */
static bool find_axis(const struct ws__op *op, size_t axis, size_t *tensor,
                      size_t *dim)
{
    for (size_t t = 0; t < op->ntensor; t++)
        for (size_t d = 0; d < op->tensor[t].ndim; d++)
            if (!strcmp(op->tensor[t].dim[d]->text, op->axis[axis].name)) {
                *tensor = t;
                *dim = d;
                return true;
            }
    return false;
}

static int put_axes(struct writing *w, struct ws__buf *b)
{
    size_t t = 0, d = 0;

    ws__buf_puts(b, "    const int64_t v[] = {");
    for (size_t a = 0; a < w->op->naxis; a++) {
        ws__buf_puts(b, a ? ", " : "");
        if (w->op->axis[a].kind != WS__AXIS_VAR)
            ws__buf_printf(b, "INT64_C(%lld)",
                           (long long)w->about->choice[0].workload->axis[a]);
        else if (find_axis(w->op, a, &t, &d))
            ws__buf_printf(b, "t%zu.size(%zu)", t, d);
        else
            return refuse(w, "an axis is no dimension of a tensor");
    }
    return ws__buf_puts(b, "};\n");
}

/* May a variant run a shape? Its constraints, ranges, and sizes that are
 * macros in it. */
static int put_fits(struct writing *w, struct ws__buf *b, size_t n)
{
    const struct ws__kernel *k = w->k;
    uint32_t baked = ws__kernel_baked(k);

    ws__buf_printf(b, "    case %zu:\n        return true", n);
    for (size_t a = 0; a < w->op->naxis; a++) {
        if (w->op->axis[a].kind != WS__AXIS_VAR)
            continue;
        if (baked >> a & 1)
            ws__buf_printf(b, " &&\n            wsl_v[%zu] == INT64_C(%lld)", a,
                           (long long)w->now->workload->axis[a]);
        if (k->range_lo[a] || k->range_hi[a])
            ws__buf_printf(b,
                           " &&\n            wsl_v[%zu] >= INT64_C(%lld) && "
                           "wsl_v[%zu] <= INT64_C(%lld)",
                           a, (long long)k->range_lo[a], a,
                           (long long)k->range_hi[a]);
    }
    for (size_t i = 0; i < k->nconstraint; i++)
        if (k->constraint[i].needs_axes && !k->constraint[i].prune) {
            ws__buf_puts(b, " &&\n            ");
            WS_TRY(put(w, b, k->constraint[i].expr));
        }
    return ws__buf_puts(b, ";\n");
}

static int put_tuned(struct writing *w, struct ws__buf *b)
{
    ws__buf_printf(b,
                   "const struct {\n    int64_t at[%zu];\n    int variant;\n} "
                   "tuned[] = {\n",
                   w->op->naxis ? w->op->naxis : 1);
    for (size_t i = 0; i < w->about->n; i++) {
        const struct ws__solution_choice *c = &w->about->choice[i];
        size_t n = 0;

        WS_TRY(variant_of(w, c, &n));
        ws__buf_puts(b, "    {{");
        for (size_t a = 0; a < w->op->naxis; a++)
            ws__buf_printf(b, "%sINT64_C(%lld)", a ? ", " : "",
                           (long long)c->workload->axis[a]);
        ws__buf_printf(b, "}, %zu},\n", n);
    }
    return ws__buf_puts(b, "};\n\n");
}

static const char choose_text[] =
    "// The variant of the nearest tuned shape that may run this one; -1: none "
    "may.\n"
    "int choose(const int64_t *v, int axes)\n"
    "{\n"
    "    double best = 0;\n"
    "    int out = -1;\n"
    "\n"
    "    for (const auto &t : tuned) {\n"
    "        double far = 0;\n"
    "\n"
    "        for (int i = 0; i < axes; i++)\n"
    "            far += fabs(log2((double)(v[i] > 0 ? v[i] : 1) / "
    "(double)t.at[i]));\n"
    "        if ((out >= 0 && far >= best) || !fits(t.variant, v))\n"
    "            continue;\n"
    "        out = t.variant;\n"
    "        best = far;\n"
    "    }\n"
    "    return out;\n"
    "}\n\n";

/* Inputs in order, then outputs: destination-passing style. */
static int put_entry(struct writing *w, struct ws__buf *b)
{
    const struct ws__op *op = w->op;
    size_t first = 0;

    while (first < op->ntensor && !op->tensor[first].ndim)
        first++;
    ws__buf_puts(b, "void run_choice(");
    for (size_t i = 0; i < op->ntensor; i++)
        ws__buf_printf(b, "%s%s t%zu", i ? ", " : "",
                       op->tensor[i].ndim ? "tvm::ffi::TensorView"
                       : ws__dtype_is_float(type_of(w, &op->tensor[i]))
                           ? "double"
                           : "int64_t",
                       i);
    ws__buf_puts(b, ")\n{\n");
    WS_TRY(put_axes(w, b));
    ws__buf_puts(b, "    void *const t[] = {");
    for (size_t i = 0; i < op->ntensor; i++)
        ws__buf_printf(b,
                       op->tensor[i].ndim ? "%st%zu.data_ptr()" : "%snullptr",
                       i ? ", " : "", i);
    ws__buf_printf(b, "};\n    wsl_scalar s[%zu] = {};\n", op->ntensor);
    for (size_t i = 0; i < op->ntensor; i++)
        if (!op->tensor[i].ndim)
            ws__buf_printf(b, "    s[%zu].%s = t%zu;\n", i,
                           ws__dtype_is_float(type_of(w, &op->tensor[i]))
                               ? "wsl_f"
                               : "wsl_i",
                           i);
    ws__buf_printf(
        b,
        "    cudaStream_t q = static_cast<cudaStream_t>(TVMFFIEnvGetStream("
        "t%zu.device().device_type, t%zu.device().device_id));\n"
        "    cudaError_t e = cudaErrorInvalidValue;\n\n"
        "    switch (choose(v, %zu)) {\n",
        first, first, op->naxis);
    for (size_t i = 0; i < w->nvariant; i++)
        ws__buf_printf(b,
                       "    case %zu:\n        e = wsl_run_%zu(v, t, s, q);\n"
                       "        break;\n",
                       i, i);
    return ws__buf_puts(
        b,
        "    default:\n        TVM_FFI_THROW(ValueError) << \"no variant may "
        "run this shape\";\n    }\n"
        "    if (e != cudaSuccess)\n        TVM_FFI_THROW(RuntimeError) << "
        "cudaGetErrorString(e);\n}\n} // namespace\n\n"
        "TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run_choice);\n");
}

static int put_main(struct writing *w, struct ws__buf *b)
{
    ws__buf_puts(b, "// Chooses a variant by the shape. Written by Wavesmith.\n"
                    "#include <tvm/ffi/container/tensor.h>\n"
                    "#include <tvm/ffi/extra/c_env_api.h>\n"
                    "#include <tvm/ffi/function.h>\n\n"
                    "#include \"wavesmith_launch.h\"\n\n");
    for (size_t i = 0; i < w->nvariant; i++)
        ws__buf_printf(b,
                       "cudaError_t wsl_run_%zu(const int64_t *wsl_v, void "
                       "*const *wsl_t,\n                      const wsl_scalar "
                       "*wsl_s, cudaStream_t wsl_q);\n",
                       i);
    ws__buf_puts(b, "\nnamespace {\n");
    WS_TRY(put_tuned(w, b));
    ws__buf_puts(b, "bool fits(int variant, const int64_t *wsl_v)\n{\n"
                    "    (void)wsl_v;\n    switch (variant) {\n");
    for (size_t i = 0; i < w->nvariant; i++) {
        WS_TRY(bind(w, &w->variant[i]));
        WS_TRY(put_fits(w, b, i));
    }
    ws__buf_puts(b, "    default:\n        return false;\n    }\n}\n\n");
    ws__buf_puts(b, choose_text);
    return put_entry(w, b);
}

/* --- the document --------------------------------------------------------- */

static int add_source(struct writing *w, const char *path, const char *text)
{
    json_t *j = json_object();

    json_object_set_new(j, "path", json_string(path));
    json_object_set_new(j, "content", json_string(text));
    if (json_object_get(j, "content"))
        return json_array_append_new(w->sources, j) ? ws__nomem(w->ctx) : 0;
    json_decref(j);
    return refuse(w, "its source is no UTF-8");
}

static int add_sources(struct writing *w)
{
    struct ws__buf b;
    int rc = 0;

    for (size_t i = 0; i <= w->nvariant && rc >= 0; i++) {
        char path[40] = "main.cu";

        ws__buf_init(&b, w->ctx, SOURCE_MAX);
        if (i < w->nvariant) {
            snprintf(path, sizeof(path), "variant_%zu.cu", i);
            bind(w, &w->variant[i]);
            rc = put_variant(w, &b, i);
        } else {
            rc = put_main(w, &b);
        }
        rc = rc >= 0 && b.failed ? b.failed : rc;
        if (rc >= 0)
            rc = add_source(w, path, b.data);
        ws__buf_free(&b);
    }
    return rc < 0 ? rc
                  : add_source(w, "wavesmith_launch.h", ws__solution_launch);
}

static json_t *document(struct writing *w)
{
    json_t *spec =
        json_pack("{s:s, s:[s], s:s, s:[], s:b, s:s}", "language", "cuda",
                  "target_hardware", w->about->device, "entry_point",
                  "main.cu::run", "dependencies", "destination_passing_style",
                  1, "binding", "tvm-ffi");

    return json_pack("{s:s, s:s, s:s, s:o, s:O}", "name", w->about->name,
                     "definition", w->op->name, "author", "wavesmith", "spec",
                     spec, "sources", w->sources);
}

int ws__solution_write(struct ws_ctx *ctx, const struct ws__solution_about *a,
                       struct ws__buf *out)
{
    struct writing w = {.ctx = ctx,
                        .about = a,
                        .k = a->kernel,
                        .op = a->kernel->bound,
                        .sources = json_array()};
    json_t *j = NULL;
    char *text = NULL;
    size_t unused;
    int rc;

    WS_TRY_DONE(check(&w));
    WS_TRY_DONE(check_types(&w));
    for (size_t i = 0; i < a->n; i++)
        WS_TRY_DONE(variant_of(&w, &a->choice[i], &unused));
    WS_TRY_DONE(add_sources(&w));
    j = document(&w);
    text = j ? json_dumps(j, JSON_INDENT(2)) : NULL;
    if (!text) {
        rc = ws__nomem(ctx);
        goto done;
    }
    ws__buf_puts(out, text);
    rc = ws__buf_puts(out, "\n");
done:
    free(text);
    json_decref(j);
    json_decref(w.sources);
    return rc < 0 ? rc : out->failed;
}
