/*
 * cubin.c: is there a kernel of this name in a ready-made file?
 *
 * A driver answers that too, but only where there is one, and one candidate
 * after the other; a wrong name is better known when a specification is
 * loaded. A cubin is an ELF file of 64 bits whose table of symbols has the
 * kernels as global functions; PTX says `.entry NAME`. Nothing of the files is
 * trusted: every offset and size is compared with the file's length first.
 */
#include "spec/cubin.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/banned.h"

#define EM_CUDA 190
#define SHT_SYMTAB 2
#define STT_FUNC 2

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

static bool is_name(const struct file *f, const struct elf_section *text,
                    uint32_t at, const char *name)
{
    size_t n = strlen(name) + 1;

    return at < text->size && text->size - at >= n && text->offset <= f->n &&
           f->n - text->offset >= text->size &&
           !memcmp(f->p + text->offset + at, name, n);
}

static bool has_function(const struct file *f, const struct elf_head *h,
                         const struct elf_section *s, const char *name)
{
    struct elf_section text;

    if (!get_section(f, h, s->link, &text))
        return false;
    for (uint64_t at = 0; s->size - at >= sizeof(struct elf_symbol);
         at += sizeof(struct elf_symbol)) {
        struct elf_symbol sym;

        if (s->offset > f->n || !get(f, s->offset + at, &sym, sizeof(sym)))
            return false;
        if ((sym.info & 15) == STT_FUNC && sym.section &&
            is_name(f, &text, sym.name, name))
            return true;
    }
    return false;
}

const char *ws__cubin_lacks(const void *p, size_t bytes, const char *entry)
{
    static const unsigned char magic[] = {0x7f, 'E', 'L', 'F', 2 /* 64 bits */,
                                          1 /* little */};
    struct file f = {p, bytes};
    struct elf_head h;
    bool symbols = false;

    if (!get(&f, 0, &h, sizeof(h)) ||
        memcmp(h.ident, magic, sizeof(magic)) != 0)
        return "it is no cubin: not an ELF file of 64 bits";
    if (h.machine != EM_CUDA)
        return "it is no cubin: an ELF file for another machine";
    if (h.shentsize < sizeof(struct elf_section))
        return "the cubin is damaged";
    for (uint32_t i = 0; i < h.shnum; i++) {
        struct elf_section s;

        if (!get_section(&f, &h, i, &s))
            return "the cubin is damaged: it ends too soon";
        if (s.type != SHT_SYMTAB)
            continue;
        symbols = true;
        if (has_function(&f, &h, &s, entry))
            return NULL;
    }
    return symbols ? "it has no kernel of that name"
                   : "the cubin has no table of symbols";
}

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
