/*
 * cubin.c: is there a kernel of this name in a ready-made file, and what does
 * it use?
 *
 * A driver answers that too, but only where there is one, and one candidate
 * after the other; a wrong name is better known when a specification is
 * loaded. A cubin is an ELF file of 64 bits whose table of symbols has the
 * kernels as global functions; PTX says `.entry NAME`. Nothing of the files is
 * trusted: every offset and size is compared with the file's length first.
 *
 * What kernels use stands in the section .nv.info: records of a form, an
 * attribute and a size or value, of which those of form 4 are followed by so
 * many bytes, here the number of a symbol and a value. NVIDIA does not describe
 * it; the attributes are those that its own `cuobjdump -elf` names, and were
 * compared with what ptxas -v says on 8.0, 9.0 and 12.0.
 */
#include "core/cubin.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define EM_CUDA 190
#define SHT_SYMTAB 2
#define STT_FUNC 2
#define FORM_SIZED 4
#define ATTR_REGISTERS 0x2f
#define ATTR_STACK 0x12
#define RESERVED 1024u /* bytes of shared memory */

struct elf_head {
    unsigned char ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, phoff, shoff;
    uint32_t flags;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct elf_section {
    uint32_t name, type;
    uint64_t flags, addr, offset, size;
    uint32_t link, info;
    uint64_t align, entsize;
};

struct elf_symbol {
    uint32_t name;
    unsigned char info, other;
    uint16_t section;
    uint64_t value, size;
};

struct file {
    const unsigned char *p;
    size_t n;
};

/* Copies size bytes at `at`; false: they are not in the file. */
static bool get(const struct file *f, uint64_t at, void *out, size_t size)
{
    if (at > f->n || f->n - at < size)
        return false;
    memcpy(out, f->p + at, size);
    return true;
}

static bool get_section(const struct file *f, const struct elf_head *h,
                        uint32_t i, struct elf_section *out)
{
    if (i >= h->shnum || h->shoff > f->n)
        return false;
    return get(f, h->shoff + (uint64_t)i * h->shentsize, out, sizeof(*out));
}

/* Is the text at `at` of a section of texts this name? */
static bool is_name(const struct file *f, const struct elf_section *text,
                    uint32_t at, const char *name)
{
    size_t n = strlen(name) + 1;

    return at < text->size && text->size - at >= n && text->offset <= f->n &&
           f->n - text->offset >= text->size &&
           !memcmp(f->p + text->offset + at, name, n);
}

/* The number of the kernel's symbol; 0, which is nobody's: there is none. */
static uint32_t find_function(const struct file *f, const struct elf_head *h,
                              const struct elf_section *s, const char *name)
{
    struct elf_section text;

    if (!get_section(f, h, s->link, &text))
        return 0;
    for (uint32_t i = 0; s->size / sizeof(struct elf_symbol) > i; i++) {
        uint64_t at = (uint64_t)i * sizeof(struct elf_symbol);
        struct elf_symbol sym;

        if (s->offset > f->n || !get(f, s->offset + at, &sym, sizeof(sym)))
            return 0;
        if ((sym.info & 15) == STT_FUNC && sym.section &&
            is_name(f, &text, sym.name, name))
            return i;
    }
    return 0;
}

/* NULL, or why it is none. */
static const char *open_cubin(const struct file *f, struct elf_head *h)
{
    static const unsigned char magic[] = {0x7f, 'E', 'L', 'F', 2 /* 64 bits */,
                                          1 /* little */};

    if (!get(f, 0, h, sizeof(*h)) ||
        memcmp(h->ident, magic, sizeof(magic)) != 0)
        return "it is no cubin: not an ELF file of 64 bits";
    if (h->machine != EM_CUDA)
        return "it is no cubin: an ELF file for another machine";
    if (h->shentsize < sizeof(struct elf_section))
        return "the cubin is damaged";
    return NULL;
}

/* *symbol: the number of its symbol. NULL, or why there is none. */
static const char *find_entry(const struct file *f, const struct elf_head *h,
                              const char *entry, uint32_t *symbol)
{
    bool symbols = false;

    for (uint32_t i = 0; i < h->shnum; i++) {
        struct elf_section s;

        if (!get_section(f, h, i, &s))
            return "the cubin is damaged: it ends too soon";
        if (s.type != SHT_SYMTAB)
            continue;
        symbols = true;
        *symbol = find_function(f, h, &s, entry);
        if (*symbol)
            return NULL;
    }
    return symbols ? "it has no kernel of that name"
                   : "the cubin has no table of symbols";
}

const char *ws__cubin_lacks(const void *p, size_t bytes, const char *entry)
{
    struct file f = {p, bytes};
    struct elf_head h;
    uint32_t symbol;
    const char *why = open_cubin(&f, &h);

    return why ? why : find_entry(&f, &h, entry, &symbol);
}

/* ---- what it uses -------------------------------------------------------- */

struct record {
    unsigned char form, attribute;
    uint16_t size; /* or a value, of other forms */
};

/* The records of a symbol; true: one says how many registers. */
static bool read_records(const struct file *f, const struct elf_section *s,
                         uint32_t symbol, struct ws__cubin_use *out)
{
    bool known = false;
    uint64_t at = 0;

    if (s->offset > f->n || s->size > f->n - s->offset)
        return false;
    while (s->size - at >= sizeof(struct record)) {
        struct record r;
        uint32_t of[2];

        if (!get(f, s->offset + at, &r, sizeof(r)))
            return false;
        at += sizeof(r);
        if (r.form != FORM_SIZED)
            continue;
        if (r.size > s->size - at)
            return false;
        if (r.size >= sizeof(of) && get(f, s->offset + at, of, sizeof(of)) &&
            of[0] == symbol) {
            if (r.attribute == ATTR_REGISTERS)
                out->registers = of[1];
            if (r.attribute == ATTR_STACK)
                out->local_bytes = of[1];
            known = known || r.attribute == ATTR_REGISTERS;
        }
        at += r.size;
    }
    return known;
}

bool ws__cubin_use(const void *p, size_t bytes, const char *entry,
                   struct ws__cubin_use *out)
{
    struct file f = {p, bytes};
    struct elf_section s, text;
    struct elf_head h;
    char shared[512];
    bool known = false, reserves = false;
    uint32_t symbol;

    memset(out, 0, sizeof(*out));
    if (open_cubin(&f, &h) || find_entry(&f, &h, entry, &symbol) ||
        !get_section(&f, &h, h.shstrndx, &text))
        return false;
    snprintf(shared, sizeof(shared), ".nv.shared.%s", entry);
    for (uint32_t i = 0; get_section(&f, &h, i, &s); i++) {
        if (is_name(&f, &text, s.name, ".nv.info"))
            known = read_records(&f, &s, symbol, out);
        else if (is_name(&f, &text, s.name, ".nv.shared.reserved.0"))
            reserves = true;
        else if (is_name(&f, &text, s.name, shared) && s.size <= UINT32_MAX)
            out->shared_bytes = (uint32_t)s.size;
    }
    if (reserves && out->shared_bytes >= RESERVED)
        out->shared_bytes -= RESERVED;
    return known;
}

/* ---- PTX ----------------------------------------------------------------- */

static bool word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

const char *ws__ptx_lacks(const char *text, size_t bytes, const char *entry)
{
    size_t n = strlen(entry);

    if (strlen(text) != bytes)
        return "it is no PTX: it has NUL characters";
    if (!strstr(text, ".version") || !strstr(text, ".target"))
        return "it is no PTX: it has no .version and .target";
    for (const char *p = text; (p = strstr(p, ".entry")) != NULL;) {
        p += strlen(".entry");
        p += strspn(p, " \t\r\n");
        if (!strncmp(p, entry, n) && !word_part(p[n]))
            return NULL;
    }
    return "it has no kernel of that name";
}
