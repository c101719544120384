/*
 * wave_sheet.c: data sheets of devices.
 *
 * Figures are the makers' own: multiprocessors, highest clock, memory's peak,
 * the last level of cache, dense rates. Matrix rates are of 16-bit floats with
 * sums in float32; a device without such units has 0. Boards' watts and the
 * process say which clock the vector units can hold, see wave_law.c.
 *
 * Drivers name devices by words in no fixed order ("NVIDIA A100 80GB PCIe",
 * "A100-SXM4-40GB"). The first sheet all of whose words are in the name is the
 * device's, so special ones come before general ones.
 */
#include "wave/wave.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

const struct ws__wave_sheet ws__wave_sheets[] = {
    /* name, words, units, MHz, GB/s, cache, matrix, vector, W, nm, vector
     * bytes */
    {"h200", "h200", 132, 1980, 4800, 60e6, 989, 67, 700, 4, 4, 0, 0},
    {"h100-pcie", "h100 pcie", 114, 1755, 2039, 50e6, 756, 51, 350, 4, 4, 0, 0},
    {"h100", "h100", 132, 1980, 3350, 50e6, 989, 67, 700, 4, 4, 0, 0},
    {"a100-80gb-pcie", "a100 80gb pcie", 108, 1410, 1935, 40e6, 312, 19.5, 300,
     7, 4, 0, 0},
    {"a100-80gb", "a100 80gb", 108, 1410, 2039, 40e6, 312, 19.5, 400, 7, 4, 0,
     0},
    {"a100-pcie", "a100 pcie", 108, 1410, 1555, 40e6, 312, 19.5, 250, 7, 4, 0,
     0},
    {"a100", "a100", 108, 1410, 1555, 40e6, 312, 19.5, 400, 7, 4, 0, 0},
    {"l4", "l4", 58, 2040, 300, 48e6, 121, 30.3, 72, 4, 4, 0, 0},
    {"t4", "t4", 40, 1590, 320, 4e6, 65, 8.1, 70, 12, 4, 0, 0},
    {"v100", "v100", 80, 1380, 900, 6e6, 112, 14.1, 250, 12, 4, 0, 0},
    {"p100", "p100", 56, 1328, 732, 4e6, 0, 9.5, 250, 16, 4, 0, 0},
    {"p4", "p4", 20, 1114, 192, 2e6, 0, 5.7, 75, 16, 4, 0, 0},
};
const size_t ws__wave_nsheet = WS_COUNT(ws__wave_sheets);

/* What a core does that nothing is known of: 16 multiply-adds of float32 a
 * cycle, and its share of memory. */
static const struct ws__wave_sheet a_cpu = {"cpu", "", 1, 3000, 10,   8e6, 0,
                                            .096,  0,  0, 32,   true, true};
/* A multiprocessor, likewise. */
static const struct ws__wave_sheet a_gpu = {"gpu", "", 1, 1500, 20,    2e5, 2,
                                            .35,   0,  0, 4,    false, true};

const struct ws__wave_sheet *ws__wave_sheet_find(const char *name)
{
    for (size_t i = 0; i < ws__wave_nsheet; i++)
        if (!strcmp(ws__wave_sheets[i].name, name))
            return &ws__wave_sheets[i];
    return NULL;
}

/* Is this word of n letters in the text, in any case? */
static bool has_word(const char *text, const char *word, size_t n)
{
    for (const char *s = text; *s; s++) {
        bool begins = s == text || !isalnum((unsigned char)s[-1]);

        if (begins && !strncasecmp(s, word, n) && !isalnum((unsigned char)s[n]))
            return true;
    }
    return false;
}

static bool has_words(const char *text, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");

        if (!has_word(text, words, n))
            return false;
        words += n + (words[n] == ' ');
    }
    return true;
}

struct ws__wave_sheet ws__wave_sheet_of(const struct ws__wave_device *d)
{
    struct ws__wave_sheet s = d->is_cpu ? a_cpu : a_gpu;

    for (size_t i = 0; i < ws__wave_nsheet; i++)
        if (!d->is_cpu && has_words(d->name, ws__wave_sheets[i].words))
            return ws__wave_sheets[i];
    if (d->units > 1) {
        s.units = d->units;
        s.dram_gbs *= d->units;
        s.cache_bytes *= d->units;
        s.matrix_tflops *= d->units;
        s.vector_tflops *= d->units;
    }
    if (d->cache_bytes > 0)
        s.cache_bytes = d->cache_bytes;
    if (d->vector_bytes > 0)
        s.vector_bytes = d->vector_bytes;
    return s;
}
