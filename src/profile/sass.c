/*
 * sass.c: instructions by class, from a disassembler's text. See sass.h.
 *
 * Both tools write an instruction as its address in a comment, a predicate or
 * none, the operation with its modifiers, operands, and a semicolon:
 *
 *     (address)   @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;
 *
 * nvdisasm begins a function with the label of its section (".text.NAME:"),
 * cuobjdump with "Function : NAME". Between them stand labels, directives and
 * the encoding in comments.
 *
 * The operations are those that NVIDIA lists with its disassemblers ("CUDA
 * Binary Utilities", instruction set references of 8.0 to 12.0).
 */
#include "profile/sass.h"

#include "base/banned.h"

static const char *const KEY[WS__NSASS] = {
#define WS_X(name, key, words) [WS__SASS_##name] = key,
    WS__SASS_MAP(WS_X)
#undef WS_X
};
static const char *const WORDS[WS__NSASS] = {
#define WS_X(name, key, words) [WS__SASS_##name] = words,
    WS__SASS_MAP(WS_X)
#undef WS_X
};

/* Operations without modifiers, each between spaces. Loads and stores of
 * global memory stand for their first class of width. */
static const struct group {
    enum ws__sass_class c;
    const char *operations;
} GROUP[] = {
    {WS__SASS_TENSOR, " HMMA IMMA DMMA BMMA QMMA OMMA "},
    {WS__SASS_TENSOR_WIDE,
     " HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA "},
    {WS__SASS_FP32_FMA, " FFMA FFMA2 FFMA32I "},
    {WS__SASS_FP32_ADD, " FADD FADD2 FADD32I "},
    {WS__SASS_FP32_MUL, " FMUL FMUL2 FMUL32I "},
    {WS__SASS_FP32_OTHER, " FSETP FSET FMNMX FMNMX3 FSEL FCHK FSWZADD FRND "
                          "FCMP "},
    {WS__SASS_FP64, " DADD DMUL DFMA DSETP DMNMX "},
    {WS__SASS_HALF, " HADD2 HADD2_32I HMUL2 HMUL2_32I HFMA2 HFMA2_32I HSETP2 "
                    "HSET2 HMNMX2 HMNMX HADD HFMA HMUL "},
    {WS__SASS_INT,
     " IADD IADD3 IADD32I IMAD IMUL IMAD32I IMUL32I ISCADD ISCADD32I LEA LOP "
     "LOP3 LOP32I LOP2 SHF SHL SHR ISETP ISET IMNMX VIADD VIADDMNMX VIMNMX "
     "VIMNMX3 IABS BREV SGXT BMSK FLO POPC PLOP3 PSETP IDP IDP4A VABSDIFF "
     "VABSDIFF4 VHMNMX INEG XMAD ICMP BFE BFI IADD2 "},
    {WS__SASS_SPECIAL, " MUFU "},
    {WS__SASS_CONVERT, " F2F F2I I2F I2I F2FP I2FP F2IP I2IP "},
    {WS__SASS_MOVE, " MOV MOV32I SEL PRMT S2R CS2R S2UR R2UR P2R R2P LDC LDCU "
                    "UP2UR UR2UP R2B B2R MOVM USEL UPRMT "},
    {WS__SASS_WARP, " SHFL VOTE VOTEU MATCH REDUX CREDUX ELECT "},
    {WS__SASS_GLOBAL_LD_NARROW, " LDG "},
    {WS__SASS_GLOBAL_ST_NARROW, " STG "},
    {WS__SASS_GENERIC_LD, " LD "},
    {WS__SASS_GENERIC_ST, " ST "},
    {WS__SASS_SHARED_LD, " LDS LDSM "},
    {WS__SASS_SHARED_ST, " STS STSM STAS "},
    {WS__SASS_ASYNC_COPY,
     " LDGSTS UBLKCP UBLKRED UBLKPF UTMALDG UTMASTG UTMAREDG UTMAPF UTCCP "},
    {WS__SASS_LOCAL_LD, " LDL "},
    {WS__SASS_LOCAL_ST, " STL "},
    {WS__SASS_ATOMIC_GLOBAL, " ATOM ATOMG RED REDG "},
    {WS__SASS_ATOMIC_SHARED, " ATOMS REDS REDAS "},
    {WS__SASS_BARRIER,
     " BAR WARPSYNC MEMBAR FENCE DEPBAR LDGDEPBAR ARRIVES SYNCS WARPGROUP "
     "WARPGROUPSET UCGABAR_ARV UCGABAR_WAIT UTMACMDFLUSH UTCBAR ERRBAR "
     "ACQBULK CGAERRBAR NANOSLEEP "},
    {WS__SASS_BRANCH,
     " BRA BRX BRXU JMP JMX JMXU CALL RET EXIT BREAK BRK BSSY BSYNC SSY SYNC "
     "CONT PBK PCNT PRET CAL JCAL BPT KILL RTT YIELD BMOV "},
};

const char *ws__sass_key(enum ws__sass_class c)
{
    return KEY[c];
}

const char *ws__sass_words(enum ws__sass_class c)
{
    return WORDS[c];
}

/* --- one instruction ----------------------------------------------------- */

/* A piece of the text; not ended by a NUL. */
struct span {
    const char *p;
    size_t n;
};

static bool is_word(struct span s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

/* Is `word` one of the operation's modifiers, "LDG.E.128"? */
static bool has_modifier(struct span op, const char *word)
{
    for (size_t i = 0, from = 0; i <= op.n; i++) {
        if (i < op.n && op.p[i] != '.')
            continue;
        if (from && is_word((struct span){op.p + from, i - from}, word))
            return true;
        from = i + 1;
    }
    return false;
}

static enum ws__sass_class find_group(struct span base)
{
    char word[24];

    if (!base.n || base.n + 3 > sizeof(word))
        return WS__SASS_OTHER;
    snprintf(word, sizeof(word), " %.*s ", (int)base.n, base.p);
    for (size_t i = 0; i < WS_COUNT(GROUP); i++)
        if (strstr(GROUP[i].operations, word))
            return GROUP[i].c;
    return WS__SASS_OTHER;
}

/* How far a width is from the narrowest of its family of classes. */
static int width_of(struct span op)
{
    static const char *const NARROW[] = {"U8", "S8", "U16", "S16"};

    for (size_t i = 0; i < WS_COUNT(NARROW); i++)
        if (has_modifier(op, NARROW[i]))
            return 0;
    return has_modifier(op, "256")   ? 4
           : has_modifier(op, "128") ? 3
           : has_modifier(op, "64")  ? 2
                                     : 1;
}

/* Do the operands hold `text` before their end? */
static bool holds(struct span operands, const char *text)
{
    return memmem(operands.p, operands.n, text, strlen(text)) != NULL;
}

/* Arithmetic that only moves: compilers use the units that are free. */
static enum ws__sass_class refine(enum ws__sass_class c, struct span op,
                                  struct span operands)
{
    if (c == WS__SASS_INT && op.n >= 4 && memcmp(op.p, "IMAD", 4) == 0 &&
        holds(operands, "RZ, RZ,"))
        return WS__SASS_MOVE; /* 0 * 0 + it */
    if (c == WS__SASS_HALF && holds(operands, "-RZ, RZ,"))
        return WS__SASS_MOVE; /* a constant: -0 * 0 + it */
    if (c == WS__SASS_HALF && has_modifier(op, "F32") &&
        holds(operands, "-RZ,"))
        return WS__SASS_CONVERT; /* half to float: -0 + it */
    if (c == WS__SASS_GLOBAL_LD_NARROW || c == WS__SASS_GLOBAL_ST_NARROW)
        return (enum ws__sass_class)((int)c + width_of(op));
    return c;
}

/* The uniform units have the operations of the others with a U before. */
static enum ws__sass_class classify(struct span op, struct span operands)
{
    struct span base = {op.p, 0};
    enum ws__sass_class c;

    while (base.n < op.n && op.p[base.n] != '.')
        base.n++;
    c = find_group(base);
    if (c == WS__SASS_OTHER && base.n > 1 && base.p[0] == 'U')
        c = find_group((struct span){base.p + 1, base.n - 1});
    return refine(c, op, operands);
}

/* --- lines --------------------------------------------------------------- */

static struct span trim(struct span s)
{
    while (s.n && strchr(" \t\r{", *s.p) && *s.p)
        s = (struct span){s.p + 1, s.n - 1};
    while (s.n && strchr(" \t\r", s.p[s.n - 1]) && s.p[s.n - 1])
        s.n--;
    return s;
}

static struct span after(struct span s, size_t n)
{
    return trim((struct span){s.p + n, s.n - n});
}

/* Skips the comment with the address; false: the line has none. */
static bool skip_address(struct span *s)
{
    size_t n = 2;

    if (s->n < 5 || memcmp(s->p, "/*", 2) != 0)
        return false;
    while (n < s->n && strchr("0123456789abcdef", s->p[n]) && s->p[n])
        n++;
    if (n == 2 || n + 2 > s->n || memcmp(s->p + n, "*/", 2) != 0)
        return false;
    *s = after(*s, n + 2);
    return true;
}

static struct span first_word(struct span s)
{
    size_t n = 0;

    while (n < s.n && !strchr(" \t;", s.p[n]))
        n++;
    return (struct span){s.p, n};
}

static void count(struct ws__sass_function *f, struct span line)
{
    const char *end = memchr(line.p, ';', line.n);
    struct span op;
    bool predicated = line.n && *line.p == '@';

    if (end)
        line.n = (size_t)(end - line.p);
    if (predicated)
        line = after(line, first_word(line).n);
    op = first_word(line);
    if (!op.n || *op.p < 'A' || *op.p > 'Z' || is_word(op, "NOP"))
        return;
    f->count[classify(op, after(line, op.n))]++;
    f->total++;
    f->predicated += predicated;
}

/* The name of the function that the line begins; n 0: none. */
static struct span name_in(struct span line)
{
    static const char SECTION[] = ".text.", FUNCTION[] = "Function : ";
    struct span none = {line.p, 0};
    size_t n = sizeof(SECTION) - 1;

    if (line.n && memchr(line.p, 0, line.n))
        return none;
    if (line.n > n + 1 && memcmp(line.p, SECTION, n) == 0 &&
        line.p[line.n - 1] == ':')
        return (struct span){line.p + n, line.n - n - 1};
    n = sizeof(FUNCTION) - 1;
    if (line.n > n && memcmp(line.p, FUNCTION, n) == 0)
        return after(line, n);
    return none;
}

static int add_function(struct ws__sass *s, size_t *cap, struct span name)
{
    void *all = s->function;
    struct ws__sass_function *f;
    int rc = ws__grow(s->arena.ctx, &all, cap, s->n, sizeof(*f));

    s->function = all;
    WS_TRY(rc);
    f = &s->function[s->n];
    memset(f, 0, sizeof(*f));
    f->name = ws__arena_strndup(&s->arena, name.p, name.n);
    if (!f->name)
        return WS_ENOMEM;
    s->n++;
    return 0;
}

static int parse(struct ws__sass *s, const char *text, size_t len)
{
    const char *end = text + len;
    size_t cap = 0;

    while (text < end) {
        const char *nl = memchr(text, '\n', (size_t)(end - text));
        struct span line = {text, (size_t)((nl ? nl : end) - text)}, name;

        text = nl ? nl + 1 : end;
        line = trim(line);
        name = name_in(line);
        if (name.n)
            WS_TRY(add_function(s, &cap, name));
        else if (s->n && skip_address(&line))
            count(&s->function[s->n - 1], line);
    }
    return 0;
}

int ws__sass_parse(struct ws_ctx *ctx, const char *text, size_t len,
                   struct ws__sass **out)
{
    struct ws__sass *s = ws__alloc(ctx, 1, sizeof(*s));
    uint64_t total = 0;
    int rc;

    *out = NULL;
    if (!s)
        return WS_ENOMEM;
    ws__arena_init(&s->arena, ctx);
    rc = parse(s, text, len);
    for (size_t i = 0; i < s->n; i++)
        total += s->function[i].total;
    if (rc == 0 && !total) {
        ws__fail(ctx, WS_EPARSE,
                 "no instruction in what the disassembler "
                 "printed");
        rc = ws__hint(ctx, "is it 'nvdisasm -c' or 'cuobjdump -sass' of the "
                           "CUDA toolkit, and is there a kernel in the code?");
    }
    if (rc < 0) {
        ws__sass_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void ws__sass_free(struct ws__sass *s)
{
    struct ws_ctx *ctx;

    if (!s)
        return;
    ctx = s->arena.ctx;
    ws__free(ctx, s->function);
    ws__arena_free(&s->arena);
    ws__free(ctx, s);
}

const struct ws__sass_function *ws__sass_find(const struct ws__sass *s,
                                              const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->function[i].name, name) == 0)
            return &s->function[i];
    return NULL;
}

static bool is_among(const struct ws__sass_function *f, const char *const *name,
                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (name[i] && strcmp(f->name, name[i]) == 0)
            return true;
    return false;
}

void ws__sass_sum(const struct ws__sass *s, const char *const *name, size_t n,
                  struct ws__sass_function *out)
{
    bool any = false;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < s->n; i++)
        any = any || is_among(&s->function[i], name, n);
    for (size_t i = 0; i < s->n; i++) {
        const struct ws__sass_function *f = &s->function[i];

        if (any && !is_among(f, name, n))
            continue;
        for (size_t c = 0; c < WS__NSASS; c++)
            out->count[c] += f->count[c];
        out->total += f->total;
        out->predicated += f->predicated;
    }
}
