/*
 * cuda_target.c: which architecture a source is compiled for.
 *
 * Code for sm_90 runs on 9.0 and on every later 9.x; some instructions exist
 * only in a variant that runs on one architecture alone ("sm_90a"). As the
 * device is known, either would run; the variant is taken only where it is
 * asked for, so that a kernel which tests for it (by macros) behaves as its
 * author is used to. What asks for it is seen in the text: instructions of
 * inline assembly, which the wrappers of the toolkit's headers are named
 * after, and the macros. What is not seen there (it may hide in a header)
 * shows in the assembler's words: cuda_compile.c then tries once more.
 *
 * The names are those which NVIDIA's PTX manual marks as of "sm_90a", "sm_100a"
 * or "sm_120a" only.
 */
#include "device/cuda/cuda_compiler.h"

#include <ctype.h>

#include "base/banned.h"

/* since: the first major version where the plain architecture lacks it. */
static const struct {
    const char *text;
    int since;
} specific[] = {
    {"wgmma", 9},
    {"setmaxnreg", 9},
    {"tensormap.replace", 9},
    {"tensormap_replace", 9}, /* the toolkit's wrapper */
    {"__CUDA_ARCH_FEAT_SM", 9},
    {"__CUDA_ARCH_SPECIFIC__", 9},
    {"__CUDA_ARCH_FAMILY_SPECIFIC__", 9},
    {"tcgen05", 10},
    {"cta_group", 10},
    {"block_scale", 10},
    {"kind::f8f6f4", 10},
    {"e2m1x2", 10},
    {"e2m3x2", 10},
    {"e3m2x2", 10},
    {"ue8m0x2", 10},
    {"tile::gather4", 10},
    {"tile::scatter4", 10},
};

/* "sm_90a" in "--gpu-architecture=sm_90a" or "-arch=compute_90a": its number
 * and the letter behind it. */
static bool arch_option(const char *option, int *number, char *letter)
{
    static const char *const names[] = {"--gpu-architecture=", "-arch="};
    const char *p = NULL;

    for (size_t i = 0; i < WS_COUNT(names); i++)
        if (!strncmp(option, names[i], strlen(names[i])))
            p = option + strlen(names[i]);
    if (!p)
        return false;
    p += strncmp(p, "sm_", 3) ? 0 : 3;
    p += strncmp(p, "compute_", 8) ? 0 : 8;
    for (*number = 0; isdigit((unsigned char)*p) && *number < 1000; p++)
        *number = *number * 10 + (*p - '0');
    *letter = *p == 'a' || *p == 'f' ? *p : '\0';
    return true;
}

/* The letter behind the number; 0: none. */
static char variant(const struct ws__build *b, int number)
{
    int asked;
    char letter;

    for (size_t i = 0; i < b->noption; i++)
        if (arch_option(b->option[i], &asked, &letter) && asked == number &&
            letter)
            return letter;
    for (size_t i = 0; i < WS_COUNT(specific); i++)
        if (number >= 10 * specific[i].since &&
            strstr(b->source, specific[i].text))
            return 'a';
    return '\0';
}

/* The newest that the compiler knows and whose code a device of this number
 * can load or translate: of its own major version as it is, else as PTX. */
static int nearest(const struct ws__cuda_compiler *c, int number, bool *ptx)
{
    int best = 0;

    for (size_t i = 0; i < c->narch; i++)
        if (c->arch[i] <= number)
            best = c->arch[i];
    *ptx = best / 10 != number / 10;
    return best;
}

int ws__cuda_target(struct ws__cuda_compiler *c, const struct ws__build *b,
                    int major, int minor, struct ws__cuda_target *out)
{
    const int number = major * 10 + minor;
    int best;
    char letter[2] = "";

    memset(out, 0, sizeof(*out));
    best = nearest(c, number, &out->ptx);
    if (!best) {
        ws__fail(c->ctx, WS_ENOTSUP,
                 "%s does not compile for devices of compute capability %d.%d",
                 c->version, major, minor);
        return ws__hint(c->ctx, "install an older CUDA toolkit");
    }
    if (best == number)
        letter[0] = variant(b, number);
    snprintf(out->arch, sizeof(out->arch), "%s_%d%s",
             out->ptx ? "compute" : "sm", best, letter);
    return 0;
}

bool ws__cuda_is_variant(const char *arch)
{
    return *arch && isalpha((unsigned char)arch[strlen(arch) - 1]);
}

/* "not supported on .target 'sm_90'"; "requires .target sm_100a or higher";
 * the toolkit's wrappers call "..._is_not_supported_before_SM_90a__". */
bool ws__cuda_wants_variant(const char *words)
{
    for (const char *p = words; (p = strchr(p, '_')); p++) {
        const char *end = p + 1;

        if (p - words < 2 || tolower((unsigned char)p[-2]) != 's' ||
            tolower((unsigned char)p[-1]) != 'm')
            continue;
        while (isdigit((unsigned char)*end))
            end++;
        if (end > p + 1 && (*end == 'a' || *end == 'f'))
            return true;
    }
    return strstr(words, "not supported on .target") != NULL;
}
