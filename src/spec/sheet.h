/*
 * sheet.h: a device's data sheet from a file of the user: a map of its figures
 * (docs/sheets.md). Plain numbers here; src/wave gives them their meaning.
 */
#ifndef WS_SHEET_H
#define WS_SHEET_H

#include "base/mem.h"

/* 0: the file does not say. */
struct ws__sheet {
    const char *name;
    double units, mhz, dram_gbs, cache_bytes, matrix_tflops, vector_tflops;
    double watts, nm, vector_bytes;
    bool is_cpu;
};

/* Texts are of the arena. WS_ESPEC or WS_EPARSE with file, line and column: a
 * key is unknown or missing, a figure is none or out of its range; errors of
 * files as of fs.h. */
int ws__sheet_read(struct ws_ctx *ctx, struct ws__arena *arena,
                   const char *path, struct ws__sheet *out);

#endif
