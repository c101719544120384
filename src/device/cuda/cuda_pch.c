/*
 * cuda_pch.c: heavy headers are read once, not for every candidate.
 *
 * <cooperative_groups.h>, <cuda/...>, <cub/...> take NVRTC 13 some 0.7 to 1 s
 * each time, where the kernel itself takes 0.02 to 0.3 s. From NVRTC 12.8 on it
 * can keep what it has read in a file and go on from there: 0.1 to 0.2 s a
 * candidate. <cuda_fp16.h>, <mma.h> and their like take 10 to 30 ms, of which a
 * file would save little: for them nothing is done.
 *
 * The file must have been made by the same process (it holds addresses), with
 * the same options, of the same text up to a mark. Our sources begin with the
 * parameters, which differ: so the includes are put in front, before the mark,
 * and once more where they stand, which then does nothing. That is the same
 * program as long as no macro before an include is meant for it: sources that
 * define names which the toolkit reads are left alone, and so are includes
 * under a condition, other than WS_CUDA. Should it fail in a header
 * nevertheless, the source is compiled as it is.
 *
 * A source that comes once costs nothing more: the file is made when the same
 * headers and options come for the second time, for a quarter more than
 * without. A compiler has one file, which has lost its name as soon as it is
 * made (0.1 to 0.2 GB of disk, until the process ends, in whatever way) and is
 * reached through its descriptor.
 */
#include <ctype.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fs.h"
#include "device/cuda/cuda_compiler.h"
#include "base/banned.h"

#define HEAP_MAX_BYTES ((size_t)1 << 30) /* cub needs 0.18 GB */
#define PREFIX_MAX_BYTES ((size_t)16384)
#define STOP "#pragma nv_hdrstop\n"

/* --- which includes ------------------------------------------------------ */

static bool is_heavy(const char *name, size_t n)
{
    static const char *const heavy[] = {
        "cooperative_groups", "cub/",           "cuda/", "cuda_pipeline.h",
        "cuda_awbarrier.h",   "curand_kernel.h"};

    for (size_t i = 0; i < WS_COUNT(heavy); i++)
        if (n >= strlen(heavy[i]) && !memcmp(name, heavy[i], strlen(heavy[i])))
            return true;
    return false;
}

/* May a macro of this name be meant for the toolkit's headers? */
static bool is_for_headers(const char *name)
{
    static const char *const starts[] = {"_",   "CUDA",   "CCCL", "CUB",
                                         "CG_", "THRUST", "NV",   "LIBCUDACXX"};

    for (size_t i = 0; i < WS_COUNT(starts); i++)
        if (!strncmp(name, starts[i], strlen(starts[i])))
            return true;
    return false;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* The text behind '#' and the word, if that is the directive; else NULL. */
static const char *directive(const char *line, const char *word)
{
    const size_t n = strlen(word);

    line = skip_blanks(line);
    if (*line != '#')
        return NULL;
    line = skip_blanks(line + 1);
    if (strncmp(line, word, n) || isalnum((unsigned char)line[n]))
        return NULL;
    return skip_blanks(line + n);
}

/* Conditions that a line stands under. One that is of no matter (WS_CUDA) is a
 * 0 in the stack; past its size everything is under a condition. */
struct conditions {
    uint64_t stack;
    unsigned depth;
};

static void follow(struct conditions *c, const char *line)
{
    const char *p;

    if (directive(line, "if") || directive(line, "ifdef") ||
        directive(line, "ifndef")) {
        p = directive(line, "if");
        c->stack = c->stack << 1 | !(p && !strncmp(p, "WS_CUDA", 7) &&
                                     strchr("\n\r", *skip_blanks(p + 7)));
        c->depth++;
    } else if (directive(line, "else") || directive(line, "elif")) {
        c->stack |= 1;
    } else if (directive(line, "endif") && c->depth) {
        c->stack >>= 1;
        c->depth--;
    }
}

/* What stands between the brackets. In a comment it can be anything, which must
 * not become an include of any file; a header's path is plain. */
static bool is_header(const char *name, size_t n)
{
    char before = '/';

    for (size_t i = 0; i < n; before = name[i++])
        if ((!isalnum((unsigned char)name[i]) && !strchr("_-./", name[i])) ||
            (before == '/' && (name[i] == '/' || name[i] == '.')))
            return false;
    return n > 0;
}

/* The includes that are put in front; none if it is not worth it or not
 * safe. */
static int find_includes(const char *source, struct ws__buf *b, size_t *n)
{
    struct conditions c = {0, 0};
    bool heavy = false;
    const char *p, *end;

    *n = 0;
    for (const char *line = source; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        follow(&c, line);
        p = directive(line, "define");
        if (p && is_for_headers(p))
            break;
        p = directive(line, "include");
        if (!p || *p != '<' || c.stack || c.depth > 60)
            continue;
        end = p + strcspn(p, ">\n");
        if (*end != '>' || !is_header(p + 1, (size_t)(end - p) - 1))
            continue;
        heavy = heavy || is_heavy(p + 1, (size_t)(end - p) - 1);
        ws__buf_printf(b, "#include %.*s\n", (int)(end - p) + 1, p);
        ++*n;
    }
    return heavy ? b->failed : WS_ENOENT;
}

int ws__cuda_hoist(struct ws__cuda_compiler *c, const char *source,
                   struct ws__cuda_hoisted *out)
{
    struct ws__buf b;
    size_t n;
    int rc;

    memset(out, 0, sizeof(*out));
    if (!c->cache || !c->api.GetPCHCreateStatus || !strstr(source, "include"))
        return 0;
    ws__buf_init(&b, c->ctx, PREFIX_MAX_BYTES + strlen(source));
    rc = find_includes(source, &b, &n);
    if (rc == 0)
        rc = ws__buf_puts(&b, STOP);
    out->prefix = ws__hash_bytes(b.data ? b.data : "", b.len);
    out->lines = n + 1;
    if (rc == 0)
        rc = ws__buf_puts(&b, source);
    if (rc == 0)
        out->text = ws__buf_take(&b);
    ws__buf_free(&b);
    if (rc == WS_ELIMIT)
        ws__error_clear(c->ctx); /* hundreds of includes: as it is */
    return rc == WS_ENOMEM ? rc : 0;
}

/* "source(12)" becomes "source(9)": lines of the source that we were given. */
void ws__cuda_unshift_lines(char *words, size_t lines)
{
    static const char mark[] = "source(";
    char *to = words;

    for (const char *p = words; *p;) {
        char number[24], *end;
        unsigned long long line;

        if (strncmp(p, mark, strlen(mark)) ||
            !isdigit((unsigned char)p[strlen(mark)])) {
            *to++ = *p++;
            continue;
        }
        line = strtoull(p + strlen(mark), &end, 10);
        snprintf(number, sizeof(number), "%llu",
                 line > lines ? line - lines : 1);
        memmove(to, mark, strlen(mark)); /* no longer than it was */
        to += strlen(mark);
        memcpy(to, number, strlen(number));
        to += strlen(number);
        p = end;
    }
    *to = '\0';
}

/* --- the file ------------------------------------------------------------ */

void ws__cuda_pch_drop(struct ws__cuda_pch *pch)
{
    if (pch->fd >= 0)
        close(pch->fd);
    pch->fd = -1;
}

static char *print_option(struct ws__cuda_compiler *c, const char *name,
                          const char *path)
{
    const size_t size = strlen(name) + strlen(path) + 1;
    char *text = ws__alloc(c->ctx, size, 1);

    if (text)
        snprintf(text, size, "%s%s", name, path);
    return text;
}

int ws__cuda_pch_begin(struct ws__cuda_compiler *c, struct ws__hash prefix,
                       struct ws__cuda_run *run)
{
    struct ws__cuda_pch *pch = &c->pch;
    char path[40], *temp;

    run->pch = WS__CUDA_PCH_NONE;
    run->pch_option = NULL;
    if (pch->off)
        return 0;
    if (pch->fd >= 0 && ws__hash_eq(pch->made, prefix)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", pch->fd);
        run->pch = WS__CUDA_PCH_USE;
        run->pch_option = print_option(c, "--use-pch=", path);
        return run->pch_option ? 0 : WS_ENOMEM;
    }
    if (!ws__hash_eq(pch->seen, prefix)) {
        pch->seen = prefix;
        return 0;
    }
    temp = ws__cuda_cache_temp(c->cache, prefix);
    if (!temp && c->ctx->err.code == WS_ENOMEM)
        return WS_ENOMEM;
    if (!temp) {
        ws__cuda_pch_give_up(c, c->ctx->err.message);
        return 0;
    }
    run->pch = WS__CUDA_PCH_MAKE;
    run->pch_option = print_option(c, "--create-pch=", temp);
    ws__free(c->ctx, temp);
    return run->pch_option ? 0 : WS_ENOMEM;
}

/* More memory for the next try, if that is what it wants. */
static bool grow_heap(struct ws__cuda_compiler *c, nvrtc_program p)
{
    size_t now = 0, need = 0;

    if (!c->api.GetPCHHeapSize || !c->api.SetPCHHeapSize ||
        !c->api.GetPCHHeapSizeRequired || c->api.GetPCHHeapSize(&now) ||
        c->api.GetPCHHeapSizeRequired(p, &need) || need <= now ||
        need > HEAP_MAX_BYTES)
        return false;
    return c->api.SetPCHHeapSize(need) == 0;
}

void ws__cuda_pch_end(struct ws__cuda_compiler *c, nvrtc_program p,
                      const struct ws__cuda_run *run, struct ws__hash prefix,
                      bool compiled)
{
    struct ws__cuda_pch *pch = &c->pch;
    const char *path;
    int e;

    if (run->pch != WS__CUDA_PCH_MAKE)
        return;
    path = strchr(run->pch_option, '=') + 1;
    e = c->api.GetPCHCreateStatus(p);
    if (!e) {
        ws__cuda_pch_drop(pch);
        pch->fd = ws__fd_keep(open(path, O_RDONLY | O_CLOEXEC));
        pch->made = prefix;
    }
    /* A source that does not compile may never have come so far. */
    if (compiled && pch->fd < 0 &&
        !(e == NVRTC__E_PCH_CREATE_HEAP_EXHAUSTED && grow_heap(c, p)))
        pch->off = true;
    unlink(path);
}

void ws__cuda_pch_give_up(struct ws__cuda_compiler *c, const char *why)
{
    ws__log(c->ctx, WS_LOG_DEBUG, "no precompiled headers: %s", why);
    ws__error_clear(c->ctx);
    ws__cuda_pch_drop(&c->pch);
    c->pch.off = true;
}
