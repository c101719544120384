/*
 * dl.c: see dl.h.
 *
 * Libraries are opened with their own symbols bound locally, so that two
 * drivers never see each other's. They stay in memory after they are closed:
 * drivers start threads and keep state, and some do not come back when they
 * are loaded a second time (NVIDIA's OpenCL then has no devices).
 */
#include "base/dl.h"

#include <dlfcn.h>

#include "base/mem.h"
#include "base/banned.h"

/* The name of the first required symbol that is missing, or NULL. */
static const char *resolve(void *lib, const struct ws__dl_symbol *symbols)
{
    for (const struct ws__dl_symbol *s = symbols; s->name; s++) {
        void *p = dlsym(lib, s->name);

        if (!p && !s->optional)
            return s->name;
        *s->slot = p;
    }
    return NULL;
}

static void clear(const struct ws__dl_symbol *symbols)
{
    for (const struct ws__dl_symbol *s = symbols; s->name; s++)
        *s->slot = NULL;
}

int ws__dl_open(struct ws_ctx *ctx, const char *const *names,
                const char *package, const struct ws__dl_symbol *symbols,
                void **handle)
{
    char tried[512] = "", missing[160] = "";
    size_t used = 0;

    *handle = NULL;
    for (; *names; names++) {
        void *lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        const char *lacks;
        int n;

        clear(symbols);
        if (lib) {
            lacks = resolve(lib, symbols);
            if (!lacks) {
                *handle = lib;
                return 0;
            }
            snprintf(missing, sizeof(missing), "; '%s' lacks '%s'", *names,
                     lacks);
            clear(symbols);
            dlclose(lib);
        }
        n = snprintf(tried + used, sizeof(tried) - used, "%s'%s'",
                     used ? ", " : "", *names);
        if (n > 0 && (size_t)n < sizeof(tried) - used)
            used += (size_t)n;
    }
    ws__fail(ctx, WS_ENODRIVER, "cannot load a library: tried %s%s", tried,
             missing);
    return ws__hint(ctx, "install the package '%s'", package);
}

void ws__dl_close(void *handle)
{
    if (handle)
        dlclose(handle);
}
