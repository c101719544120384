/*
 * plan_ready.c: the ready-made kernels of a pack.
 *
 * A pack carries what its choices run: of files that were compiled before,
 * those of the entries' configs and of the defaults, for the types of the
 * workloads. Section `file:K:NAME` is the file NAME of kernel K as it is. Of a
 * kernel in Triton there is a file a launch, and `file:K:index.json` says how
 * each is launched.
 */
#include "plan/plan_tune.h"

#include "base/banned.h"

struct files {
    struct ws_spec *spec;
    struct ws__arena *a;
    struct ws__pack_blob *blob;
    size_t n, room;
};

static int add_file(struct files *f, size_t kernel, const char *name,
                    const void *data, size_t bytes)
{
    const char *section = ws__arena_printf(f->a, "file:%zu:%s", kernel, name);

    if (!section)
        return WS_ENOMEM;
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->blob[i].name, section))
            return 0;
    if (f->n == f->room)
        return ws__fail(f->spec->ctx, WS_EBUG, "too many files");
    f->blob[f->n++] = (struct ws__pack_blob){section, data, bytes};
    return 0;
}

static int add_triton(struct files *f, size_t kernel,
                      const struct ws__config *c, const struct ws__instance *in)
{
    const struct ws__kernel *k = &f->spec->s->kernel[kernel];
    const struct ws__source_file *file[WS__MAX_LAUNCHES];
    union wsrt_value vars[WS__MAX_SLOTS];
    size_t n;

    memcpy(vars, in->vars, sizeof(vars));
    ws__config_vars(k, c, vars);
    ws__triton_files(f->spec->ctx, k, vars, file, &n);
    WS_TRY(add_file(f, kernel, "index.json", k->index, strlen(k->index)));
    for (size_t i = 0; i < n; i++)
        if (!file[i]->failed)
            WS_TRY(add_file(f, kernel, file[i]->name, file[i]->data,
                            file[i]->bytes));
    return 0;
}

static int add(struct files *f, size_t kernel, const struct ws__config *c,
               const struct ws__workload *w)
{
    const struct ws__kernel *k = &f->spec->s->kernel[kernel];
    struct ws__instance in;
    const struct ws__source_file *file;
    char name[WS__MAX_ENTRY];

    if (!ws__dialect_is_ready(k->dialect))
        return 0;
    memset(&in, 0, sizeof(in));
    for (size_t i = 0; i < k->op->naxis; i++)
        in.vars[i].i = w->axis[i];
    if (k->dialect == WS__DIALECT_TRITON)
        return add_triton(f, kernel, c, &in);
    WS_TRY(ws__kernel_file(f->spec->ctx, k, c, &in, name, &file));
    return file ? add_file(f, kernel, name, file->data, file->bytes) : 0;
}

/* What a model may pick is compiled for each of the workloads of its types:
 * another shape's file may differ, and is then not there. */
static int add_portfolio(struct files *f, const struct ws__pack_content *c,
                         size_t model)
{
    const struct ws__pack_model *m = &c->model[model];
    const struct ws__spec *s = f->spec->s;
    bool *keep = ws__arena_alloc(f->a, m->nform + 1, sizeof(*keep));

    if (!keep)
        return WS_ENOMEM;
    WS_TRY(ws__pack_portfolio(f->spec->ctx, c, model, keep));
    for (size_t i = 0; i < m->nform; i++)
        for (size_t w = 0; keep[i] && w < s->nworkload; w++)
            if (!ws__op_compare_types(s->op, s->workload[w].axis, m->type))
                WS_TRY(add(f, m->form[i].candidate.kernel,
                           &m->form[i].candidate.config, &s->workload[w]));
    return 0;
}

static bool any_ready(const struct ws__spec *s)
{
    for (size_t k = 0; k < s->nkernel; k++)
        if (ws__dialect_is_ready(s->kernel[k].dialect))
            return true;
    return false;
}

int ws__plan_ready(struct ws_spec *spec, struct ws__arena *a,
                   struct ws__pack_content *c)
{
    const struct ws__spec *s = spec->s;
    struct files f = {.spec = spec, .a = a};

    if (!any_ready(s))
        return 0;
    f.room = c->nentry + s->nkernel * s->nworkload;
    for (size_t i = 0; i < c->nmodel; i++)
        f.room += c->model[i].nform * s->nworkload;
    f.room *= WS__MAX_LAUNCHES + 1;
    f.blob = ws__arena_alloc(a, f.room, sizeof(*f.blob));
    if (!f.blob)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->nentry; i++)
        WS_TRY(add(&f, c->entry[i].candidate.kernel,
                   &c->entry[i].candidate.config, c->entry[i].workload));
    for (size_t k = 0; k < s->nkernel; k++)
        for (size_t w = 0; w < s->nworkload; w++) {
            struct ws__config config;

            ws__config_default(&s->kernel[k], &config);
            WS_TRY(add(&f, k, &config, &s->workload[w]));
        }
    for (size_t i = 0; i < c->nmodel; i++)
        WS_TRY(add_portfolio(&f, c, i));
    c->blob = f.blob;
    c->nblob = f.n;
    return 0;
}
