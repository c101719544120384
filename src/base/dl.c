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
#include <errno.h>

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

#define FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)

/* The loader's words for the last failure; `*there`: not for want of a file
 * of this name. */
static const char *words_of(bool *there)
{
    const char *words = dlerror();

    if (!words)
        words = "unknown reason";
    *there = !strstr(words, strerror(ENOENT));
    return words;
}

static int cannot_load(struct ws_ctx *ctx, const char *words, bool there,
                       const char *hint)
{
    ws__fail(ctx, WS_ENODRIVER, "cannot load a library: %s", words);
    return ws__hint(ctx, "%s",
                    there ? "it is installed but does not work here: free "
                            "some memory, check the limits ('ulimit -v', "
                            "'ulimit -n'), or install it again"
                          : hint);
}

int ws__dl_open(struct ws_ctx *ctx, const char *const *names, const char *hint,
                const struct ws__dl_symbol *symbols, void **handle)
{
    char tried[640] = "", missing[160];
    bool any_there = false;
    size_t used = 0;

    *handle = NULL;
    for (; *names; names++) {
        void *lib = dlopen(*names, FLAGS);
        const char *words;
        bool there = true;
        int n;

        clear(symbols);
        if (lib) {
            words = resolve(lib, symbols);
            if (!words) {
                *handle = lib;
                return 0;
            }
            snprintf(missing, sizeof(missing), "%s: lacks '%s'", *names, words);
            words = missing;
            clear(symbols);
            dlclose(lib);
        } else {
            words = words_of(&there);
        }
        any_there = any_there || there;
        n = snprintf(tried + used, sizeof(tried) - used, "%s%s",
                     used ? "; " : "", words);
        if (n > 0 && (size_t)n < sizeof(tried) - used)
            used += (size_t)n;
    }
    return cannot_load(ctx, tried, any_there, hint);
}

int ws__dl_try(struct ws_ctx *ctx, const char *name)
{
    void *lib = dlopen(name, FLAGS);
    const char *words;
    bool there;

    if (lib) {
        dlclose(lib);
        return 0;
    }
    words = words_of(&there);
    return cannot_load(ctx, words, there,
                       "install the library, or what it depends on, again");
}

void ws__dl_close(void *handle)
{
    if (handle)
        dlclose(handle);
}
