/* t_elf.h: the smallest cubin: a head, a table of one symbol, its names. */
#ifndef WS_T_ELF_H
#define WS_T_ELF_H

#include <stdint.h>
#include <string.h>

#define T_ELF_BYTES 400

static inline void t_put(unsigned char *p, size_t at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[at + (size_t)i] = (unsigned char)(v >> (8 * i));
}

/* Sections: 0 empty, 1 symbols at 256, 2 names at 320; heads at 64. */
static inline void t_elf(unsigned char p[T_ELF_BYTES], const char *entry)
{
    memset(p, 0, T_ELF_BYTES);
    memcpy(p,
           "\x7f"
           "ELF\x02\x01\x01",
           7);
    t_put(p, 16, 2, 2);             /* an executable */
    t_put(p, 18, 190, 2);           /* for CUDA */
    t_put(p, 40, 64, 8);            /* section heads */
    t_put(p, 58, 64, 2);            /* of this size */
    t_put(p, 60, 3, 2);             /* so many */
    t_put(p, 64 + 64 + 4, 2, 4);    /* symbols */
    t_put(p, 64 + 64 + 24, 256, 8); /* at */
    t_put(p, 64 + 64 + 32, 48, 8);  /* bytes */
    t_put(p, 64 + 64 + 40, 2, 4);   /* names in section 2 */
    t_put(p, 64 + 128 + 4, 3, 4);   /* names */
    t_put(p, 64 + 128 + 24, 320, 8);
    t_put(p, 64 + 128 + 32, 64, 8);
    t_put(p, 256 + 24, 1, 4); /* its name */
    p[256 + 24 + 4] = 0x12;   /* a global function */
    t_put(p, 256 + 24 + 6, 1, 2);
    strncpy((char *)p + 321, entry, 60);
}

#endif
