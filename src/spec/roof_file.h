/*
 * roof_file.h: measured ceilings (core/roof.h) in files, so that they are
 * measured once a device.
 *
 * A folder has one JSON file for each device with its driver and compiler:
 * after an update there is none until it is measured again.
 */
#ifndef WS_ROOF_FILE_H
#define WS_ROOF_FILE_H

#include "core/roof.h"
#include "base/mem.h"

/* Where in `dir` the ceilings of a device are; ws__free. NULL: WS_ENOMEM. */
char *ws__roof_path(struct ws_ctx *ctx, const char *dir,
                    const struct ws__identity *id);
/* Makes the folder and writes the file, atomically. Ceilings that are not
 * measured are left out. Errors of files as of fs.h. */
int ws__roof_save(struct ws_ctx *ctx, const char *dir,
                  const struct ws__identity *id, const struct ws__roof *roof);
/*
 * Reads what was measured on this device. *found false (and *out untouched):
 * there is nothing, `why` says so, and names a file of the same device with
 * another driver or compiler, which is not used, if there is one. dir NULL:
 * nothing is found. WS_ESPEC or WS_EPARSE with file, line and column: the file
 * is damaged, or something else; WS_ELIMIT: it is too large; errors of files as
 * of fs.h.
 */
int ws__roof_load(struct ws_ctx *ctx, const char *dir,
                  const struct ws__identity *id, struct ws__roof *out,
                  bool *found, char why[512]);

#endif
