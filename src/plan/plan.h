/*
 * plan.h: private to plan, the only folder that wires the others together.
 * The public interface (include/wavesmith/wavesmith.h) is implemented here.
 */
#ifndef WS_PLAN_H
#define WS_PLAN_H

#include "measure/measure.h"
#include "spec/spec.h"

struct ws_spec {
    struct ws_ctx *ctx;
    struct ws__spec *s;
    char *project;
    struct ws__arena arena; /* of reports handed out */
};

/* Takes s. project NULL: ".wavesmith" beside the specification. */
int ws__plan_wrap(struct ws_ctx *ctx, struct ws__spec *s, const char *project,
                  struct ws_spec **out);
/* Fills what a caller may leave out; WS_EINVAL for words that mean nothing. */
int ws__plan_cache_mode(struct ws_ctx *ctx, const char *text,
                        enum ws__cache_mode *out);
/* Index of the kernel of that name (NULL: 0); WS_EINVAL with the names. */
int ws__plan_kernel(struct ws_spec *spec, const char *name, size_t *out);
/* A workload by name, by "axis=value,...", or NULL: the first. */
int ws__plan_workload(struct ws_spec *spec, const char *text,
                      struct ws__workload *out);
/* The specification must have an op and kernels that can be launched. */
int ws__plan_need_op(struct ws_spec *spec, const char *command);
/* As ws__measure_opts.counters: a set of one pass. */
size_t ws__plan_counters(const struct ws__device_info *d, const char **name,
                         const char **key);
/* The kernels' defaults for the device that is open. WS_ENODEVICE: it takes
 * none of the kernels' dialects. */
int ws__plan_bind(struct ws_spec *spec, struct ws__measure *m);
/* A file that is about to be written: WS_EINVAL if what is there is no pack
 * (`pack`), or no text that an export wrote, so that neither a store nor a
 * specification is lost by a slip. `store`: the store in use, or NULL; nothing
 * may be put in the place of its own files. */
int ws__plan_may_replace(struct ws_ctx *ctx, const char *path, bool pack,
                         const char *store);
/* For the measuring evaluator: cache and launch mode (NULL: default), the
 * driver's cache, which goes to the project, and whether the reference may run
 * (o->trust_python). */
int ws__plan_measure_opts(struct ws_spec *spec, const char *cache,
                          const char *launch, struct ws__measure_opts *o);
/* The candidate that a kernel's name (NULL: the first) and a config's text
 * (NULL: the default) stand for. */
int ws__plan_choose(struct ws_spec *spec, const char *kernel,
                    const char *config, struct ws__candidate *out);
/* The first workload that the config may run by its constraints; the first of
 * all if there is none, so that the reason is told. */
int ws__plan_first_workload(struct ws_spec *spec, const struct ws__candidate *c,
                            struct ws__workload *out);
/* The compute capability of an NVIDIA device; false: it is none. */
bool ws__plan_capability(const struct ws__device_info *d, int *major,
                         int *minor);
/* What names the op from a kernel file in `dir` (NULL: nowhere yet): a shipped
 * one by its name, another by its path from there, if one lies near the other.
 * *out is in the spec's arena. */
int ws__plan_op_path(struct ws_spec *spec, const char *dir, const char **out);
/* The gates that a trial passed, as the public header has them. */
void ws__gates_public(const struct ws__trial *t, struct ws_gate out[WS_GATES]);

#endif
