/*
 * main.c: runs a fuzz target as a plain test, without a fuzzing engine.
 *
 * A program fuzz_<name> gets every file of tests/fuzz/corpus/<name>/ (or of
 * the folder given as argument) and then a few thousand mutations of them:
 * bits flipped, pieces copied, cut and joined. The mutations come from a
 * fixed seed and the files are sorted, so a failure repeats. Prints how many
 * inputs there were; an empty or missing corpus is a failure, for it would
 * test nothing. WS_SOAK=N in the environment: N times as many mutations.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define MUTATIONS 4000
#define FILES_MAX 1024
#define INPUT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    uint8_t *data;
    size_t size;
};

static struct input seed[FILES_MAX];
static size_t nseed;

static int load(const char *dir, const char *name)
{
    char path[4096 + 256];
    uint8_t *data = malloc(INPUT_MAX);
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = data ? fopen(path, "rb") : NULL;
    if (!f) {
        fprintf(stderr, "cannot read '%s'\n", path);
        free(data);
        return -1;
    }
    seed[nseed].size = fread(data, 1, INPUT_MAX, f);
    fclose(f);
    /* Exactly as large as the input: reading past it is noticed. */
    seed[nseed].data = realloc(data, seed[nseed].size ? seed[nseed].size : 1);
    nseed++;
    return 0;
}

static int load_all(const char *dir)
{
    struct dirent **entry;
    int n = scandir(dir, &entry, NULL, alphasort), rc = 0;

    for (int i = 0; i < n; i++) {
        if (entry[i]->d_name[0] != '.' && nseed < FILES_MAX)
            rc |= load(dir, entry[i]->d_name);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
    return rc;
}

static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* One change; `buf` has room for INPUT_MAX bytes. */
static size_t mutate(struct ws__rng *rng, uint8_t *buf, size_t n)
{
    const struct input *other = &seed[ws__rng_below(rng, nseed)];
    size_t at = (size_t)ws__rng_below(rng, n + 1), k, from;

    switch (ws__rng_below(rng, 6)) {
    case 0: /* flip a bit */
        if (at < n)
            buf[at] ^= (uint8_t)(1U << ws__rng_below(rng, 8));
        return n;
    case 1: /* another byte */
        if (at < n)
            buf[at] = (uint8_t)ws__rng_u64(rng);
        return n;
    case 2: /* cut */
        return at;
    case 3: /* take out a piece */
        k = (size_t)ws__rng_below(rng, n - at + 1);
        memmove(buf + at, buf + at + k, n - at - k);
        return n - k;
    case 4: /* put in a piece of another input */
        if (!other->size)
            return n;
        from = (size_t)ws__rng_below(rng, other->size);
        k = 1 + (size_t)ws__rng_below(rng, other->size - from);
        if (n + k > INPUT_MAX)
            return n;
        memmove(buf + at + k, buf + at, n - at);
        memcpy(buf + at, other->data + from, k);
        return n + k;
    default: /* repeat a piece */
        k = (size_t)ws__rng_below(rng, n - at + 1);
        if (n + k > INPUT_MAX)
            return n;
        memmove(buf + at + k, buf + at, n - at);
        return n + k;
    }
}

int main(int argc, char **argv)
{
    const char *base = strrchr(argv[0], '/'), *dir = argv[1];
    static uint8_t buf[INPUT_MAX];
    const char *soak = getenv("WS_SOAK");
    size_t mutations = MUTATIONS * (soak ? strtoul(soak, NULL, 10) : 1);
    struct ws__rng rng;
    char path[4096];

    base = base ? base + 1 : argv[0];
    if (!strncmp(base, "fuzz_", 5))
        base += 5;
    snprintf(path, sizeof(path), "tests/fuzz/corpus/%s", base);
    if (argc < 2)
        dir = path;
    if (load_all(dir) != 0 || !nseed) {
        fprintf(stderr, "no corpus in '%s'\n", dir);
        return 1;
    }
    ws__rng_seed(&rng, 1);
    for (size_t i = 0; i < nseed; i++)
        run(seed[i].data, seed[i].size);
    for (size_t i = 0; i < mutations; i++) {
        const struct input *s = &seed[ws__rng_below(&rng, nseed)];
        size_t n = s->size, times = 1 + (size_t)ws__rng_below(&rng, 6);

        memcpy(buf, s->data, n);
        while (times--)
            n = mutate(&rng, buf, n);
        run(buf, n);
    }
    printf("%zu inputs\n", nseed + mutations);
    for (size_t i = 0; i < nseed; i++)
        free(seed[i].data);
    return 0;
}
