/*
 * cli_find.c: programs of others. The library looks for none and does not read
 * the environment: it is told where they are.
 */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the CUDA toolkit puts its programs, which is in few PATHs. */
static const char usual[] = "/usr/local/cuda/bin";

static bool find_in(const char *folders, const char *name, char *out, size_t n)
{
    while (folders && *folders) {
        size_t len = strcspn(folders, ":");

        if (len &&
            (size_t)snprintf(out, n, "%.*s/%s", (int)len, folders, name) < n &&
            !access(out, X_OK))
            return true;
        folders += len + (folders[len] == ':');
    }
    return false;
}

const char *cli_find_program(const char *name, char *out, size_t n)
{
    return find_in(getenv("PATH"), name, out, n) || find_in(usual, name, out, n)
               ? out
               : NULL;
}
