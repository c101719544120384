/*
 * t_fds.h: for tests: what happens when file descriptors run out.
 */
#ifndef WS_T_FDS_H
#define WS_T_FDS_H

#include "base/t_base.h"

#include <dirent.h>
#include <sys/resource.h>

static inline int t_count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = -3; /* ".", ".." and the one of the folder itself */

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/*
 * Runs body(ctx) with room for no descriptor, one, two, ... until it
 * succeeds. Each failure must be WS_EIO in words that end with the system's
 * reason, have a hint, and leave no descriptor behind. Returns how often it
 * failed.
 */
static inline int t_without_fds(int (*body)(struct ws_ctx *))
{
    struct rlimit kept;
    int failed = 0, before = t_count_fds(), rc;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    for (rlim_t most = 3;; most++) {
        struct ws_ctx *ctx = t_ctx(NULL);
        const struct ws_error *e = ws_ctx_error(ctx);
        struct rlimit few = {most, kept.rlim_max};

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        rc = body(ctx);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
        assert_int_equal(t_count_fds(), before);
        if (rc < 0) {
            assert_int_equal(rc, WS_EIO);
            assert_int_equal(e->code, rc);
            assert_non_null(strstr(e->message, "Too many open files"));
            assert_non_null(strstr(e->hint, "ulimit -n"));
            failed++;
        }
        ws_ctx_free(ctx);
        if (rc == 0)
            return failed;
        assert_true(most < 100);
    }
}

#endif
