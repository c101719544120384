/*
 * opencl_vendors.c: why the loader of OpenCL found no platform.
 *
 * The loader reads a folder with one small file a driver (the name of its
 * library in the first line), and passes over what it cannot load without a
 * word: a driver that does not fit into the memory that is left looks like
 * none at all. So we try the same libraries ourselves and pass on what the
 * system says of the first that does not load. Only on this path: a library
 * that loads here was loaded before.
 */
#include "device/opencl/opencl.h"

#include <dirent.h>

#include "base/dl.h"
#include "base/fs.h"
#include "base/banned.h"

#define MAX_ENTRY_BYTES ((size_t)4096)

static bool is_entry(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && !strcmp(name + n - 4, ".icd");
}

/* Whatever is wrong with a file of this folder, the next may tell more. */
static int try_entry(struct ws_ctx *ctx, const char *folder, const char *name,
                     bool *loads)
{
    char *path = ws__path_join(ctx, folder, name), *text;
    size_t n;
    int rc;

    *loads = false;
    if (!path)
        return WS_ENOMEM;
    rc = ws__fs_read(ctx, path, MAX_ENTRY_BYTES, &text, &n);
    ws__free(ctx, path);
    if (rc == 0) {
        text[strcspn(text, " \t\r\n")] = '\0';
        rc = ws__dl_try(ctx, text);
        *loads = rc == 0;
        ws__free(ctx, text);
    }
    if (rc == WS_ENODRIVER || rc == WS_ENOMEM)
        return rc;
    ws__error_clear(ctx);
    return 0;
}

/* The loader can be sent elsewhere by the environment, which is not ours to
 * read: so no more is said than what was seen. */
static int offers_nothing(struct ws_ctx *ctx, const char *folder, bool loads)
{
    if (loads) {
        ws__fail(ctx, WS_ENODRIVER,
                 "OpenCL has no platform: the drivers in '%s' load, but "
                 "offered none",
                 folder);
        return ws__hint(ctx, "check that the device is there for you, and "
                             "that OCL_ICD_VENDORS does not hide its driver; "
                             "install 'pocl-opencl-icd' for the processor");
    }
    ws__fail(ctx, WS_ENODRIVER,
             "OpenCL has no platform: the loader is "
             "installed but no driver is");
    return ws__hint(ctx, "install 'pocl-opencl-icd' for the processor, or the "
                         "driver of your GPU");
}

int ws__ocl_no_platform(struct ws_ctx *ctx, const char *folder)
{
    DIR *d = opendir(folder);
    bool any_loads = false, loads;
    struct dirent *e;
    int rc = 0;

    while (d && rc == 0 && (e = readdir(d)) != NULL) {
        if (!is_entry(e->d_name))
            continue;
        rc = try_entry(ctx, folder, e->d_name, &loads);
        any_loads = any_loads || loads;
    }
    if (d)
        closedir(d);
    if (rc == WS_ENODRIVER)
        return ws__error_prefix(ctx, "OpenCL has no platform");
    return rc < 0 ? rc : offers_nothing(ctx, folder, any_loads);
}
