/*
 * fs.h: files. Every operation goes through a small table of functions
 * (ws__fs_ops), so that tests can make the n-th one fail or record the order
 * of writes and syncs. Errors name the path and say what to do.
 */
#ifndef WS_FS_H
#define WS_FS_H

#include <sys/types.h>

#include "base/mem.h"

struct ws__fs_ops {
    int (*open)(const char *path, int flags, mode_t mode);
    ssize_t (*read)(int fd, void *p, size_t n);
    ssize_t (*write)(int fd, const void *p, size_t n);
    int (*fsync)(int fd);
    int (*close)(int fd);
    int (*rename)(const char *from, const char *to);
    int (*mkdir)(const char *path, mode_t mode);
    int (*unlink)(const char *path);
};

/* The operations in force; tests replace them (NULL: the system's). Not
 * while other threads run. */
void ws__fs_set_ops(const struct ws__fs_ops *ops);

/* Sets WS_ENOENT, WS_EACCES, WS_EFULL or WS_EIO from errno `e`, with
 * "cannot <verb> 'path': reason" and a hint; returns the code. */
int ws__fs_fail(struct ws_ctx *ctx, int e, const char *verb, const char *path);

/* Every descriptor that we make goes through this one: standard streams that
 * are closed leave 0 to 2 free, and a file there would be taken for one of
 * them, by our children too. Takes fd (negative: passed on with errno) and
 * returns one from 3 on, or -1 and errno. */
int ws__fd_keep(int fd);

/* Whole file into a NUL-terminated string (ws__free); over max: WS_ELIMIT,
 * anything but a regular file: WS_EINVAL. */
int ws__fs_read(struct ws_ctx *ctx, const char *path, size_t max, char **data,
                size_t *len);
/* Readers see the old content or the new: temp file, fsync, rename, fsync
 * of the folder. A pipe that is being read and a character device are written
 * to as they are, other things refused (WS_EINVAL). */
int ws__fs_write(struct ws_ctx *ctx, const char *path, const void *data,
                 size_t len);
int ws__fs_mkdirs(struct ws_ctx *ctx, const char *path); /* mkdir -p */
/* A file that grows: opened for that (make: it must not be there yet), then
 * written to its end; ws__fs_end syncs if `sync` and closes (fd < 0: nothing
 * to do). */
int ws__fs_begin(struct ws_ctx *ctx, const char *path, bool make, int *fd);
int ws__fs_append(struct ws_ctx *ctx, const char *path, int fd,
                  const void *data, size_t len);
int ws__fs_end(struct ws_ctx *ctx, const char *path, int fd, bool sync);
/* Whole lines to the end of a file that is made if it is not there. A line that
 * was left without its end, by whoever was killed or by an editor, stays a line
 * of its own. */
int ws__fs_add_lines(struct ws_ctx *ctx, const char *path, const char *lines);
/* *path: of the program of that name in the first of `folders` (as in PATH,
 * NULL: none) that has it, else where the CUDA toolkit puts its programs, which
 * is in few PATHs; ws__free. NULL: there is none. Relative folders are passed
 * over: what they hold depends on where we stand. 0 or WS_ENOMEM. */
int ws__find_program(struct ws_ctx *ctx, const char *folders, const char *name,
                     char **path);
bool ws__fs_exists(const char *path);
/* Both are there, and one file. */
bool ws__fs_same(const char *a, const char *b);
/* There, and something that cannot be read like a file: a pipe, a device... */
bool ws__fs_is_odd(const char *path);
/* The first bytes of a regular file, 0 if there is none or it is empty. */
size_t ws__fs_head(const char *path, void *p, size_t n);
bool ws__fs_is_dir(const char *path);
/* 0, or WS_EACCES / WS_ENOENT: a file may be made in `dir`. */
int ws__fs_can_create(struct ws_ctx *ctx, const char *dir);

/* Path arithmetic; results are ws__free'd, NULL is WS_ENOMEM. */
char *ws__path_join(struct ws_ctx *ctx, const char *dir, const char *name);
char *ws__path_dir(struct ws_ctx *ctx, const char *path); /* "." if none */
const char *ws__path_base(const char *path);              /* inside path */
/* Canonical form if `path` exists and lies inside `dir`; else WS_ESPEC
 * ("outside of") or WS_ENOENT. */
int ws__path_inside(struct ws_ctx *ctx, const char *dir, const char *path,
                    char **out);
/* What names the file `path` from within `dir`, both of which exist:
 * "./f", "./sub/f", "../f". */
int ws__path_relative(struct ws_ctx *ctx, const char *dir, const char *path,
                      char **out);

#endif
