/*
 * store.h: the append-only history of a project in SQLite: a journal.
 *
 * Write-ahead log with full sync: an append that returned survives a power
 * loss. The schema has a version; a newer one is refused, an older one is
 * migrated in one transaction. Runs are locked while in use, by a row that
 * names process, host and start; locks of dead processes are taken over.
 */
#ifndef WS_STORE_H
#define WS_STORE_H

#include "core/trial.h"

struct ws__store;

/* Creates folders and file as needed. Errors: WS_EACCES, WS_EFULL, WS_EIO,
 * WS_ECORRUPT, WS_EVERSION, WS_EBUSY, each with what to do. */
int ws__store_open(struct ws_ctx *ctx, const char *path, bool read_only,
                   struct ws__store **out);
void ws__store_close(struct ws__store *s);
/* Closes; a file that this opening made and that holds no run goes away. */
void ws__store_discard(struct ws__store *s);
struct ws__journal ws__store_journal(struct ws__store *s);
/* Who measures: put into identity columns of the trials that follow. */
int ws__store_set_identity(struct ws__store *s, const struct ws__identity *id);

/* All trials in order of id; fn's non-zero return ends and is returned. */
int ws__store_each(struct ws__store *s,
                   int (*fn)(void *user, const struct ws__run *run,
                             const struct ws__question *q,
                             const struct ws__trial *t),
                   void *user);

/* The devices of all runs, in the order of their first run; words are empty
 * where nobody told them. ws__free the list. */
struct ws__store_device {
    struct ws__hash hash;
    char family[32], device[128];
    bool is_cpu;
};
int ws__store_devices(struct ws__store *s, struct ws__store_device **list,
                      size_t *n);

/* A trial with all that it belongs to. */
struct ws__store_row {
    struct ws__run run;
    uint64_t begun_ns; /* of the run, UTC */
    uint64_t seq;      /* of the question among the run's answers */
    unsigned part;     /* 0 alone, 1 and 2 of a pair */
    struct ws__question question;
    struct ws__trial trial;
    bool has_identity;
    struct ws__identity identity;
};

/* The key of a value that is made anew from a run's answers while it goes on:
 * it is for people who look, and is not exported. */
#define WS__STORE_VIEW "tree"

struct ws__store_range {
    uint64_t from, to; /* numbers of trials; 0: open */
    uint64_t run;      /* 0: all */
    bool backward;     /* the newest first */
};

/* As each, of a part. */
int ws__store_rows(struct ws__store *s, const struct ws__store_range *range,
                   int (*fn)(void *user, const struct ws__store_row *row),
                   void *user);

/* A run and what was done in it. */
struct ws__store_sum {
    struct ws__run run;
    uint64_t begun_ns, last_ns; /* last: when its latest trial began; or 0 */
    uint64_t trials, verdict[WS__V_FILTERED + 1], spent_ns, samples;
    char device[128];  /* as its first measurer says, or empty */
    char protocol[64]; /* likewise: how it measured */
    bool measuring;    /* a live process holds its lock */
    int64_t pid;       /* of that */
};

int ws__store_runs(struct ws__store *s,
                   int (*fn)(void *user, const struct ws__store_sum *sum),
                   void *user);
int ws__store_values(struct ws__store *s,
                     int (*fn)(void *user, const struct ws__run *run,
                               uint64_t begun_ns, const char *key,
                               const char *value),
                     void *user);

/* Adds a value that is never changed: of the key "PREFIX.000001", the next
 * number of the run. Any process may, also while another one measures. */
int ws__store_append_value(struct ws__store *s, uint64_t run,
                           const char *prefix, const char *value,
                           uint64_t *number);

/* What a specification's numbers stand for: names of kernels, parameters and
 * values, shapes. The store keeps it by the specification's hash, so that its
 * trials can be told without the specification. */
struct ws__part_param {
    const char *name, **value; /* values as configs print them */
    size_t nvalue;
};
struct ws__part_kernel {
    const char *name;
    struct ws__hash hash;
    struct ws__part_param *param;
    size_t nparam;
};
struct ws__part_workload {
    const char *name, *axes; /* "M=16,N=64"; the name may be the same */
    struct ws__hash hash;
};
struct ws__parts {
    struct ws__hash spec;
    const char *op; /* "" without one */
    struct ws__part_kernel *kernel;
    size_t nkernel;
    struct ws__part_workload *workload;
    size_t nworkload;
    struct ws__arena arena;
};

/* From a specification; op may be NULL. Free the parts whatever the result. */
int ws__parts_make(struct ws_ctx *ctx, struct ws__hash spec,
                   const struct ws__op *op, const struct ws__kernel *kernel,
                   size_t nkernel, const struct ws__workload *workload,
                   size_t nworkload, struct ws__parts *out);
void ws__parts_free(struct ws__parts *p);
/* "BM=64,BN=32": 1, or 0 if the parts do not have such a config. */
int ws__parts_config(const struct ws__parts *p, const struct ws__candidate *c,
                     struct ws__buf *out);
/* NULL: there is none of this number. */
const struct ws__part_workload *ws__parts_workload(const struct ws__parts *p,
                                                   uint32_t workload);
/* May a trial have this number? A space without an op has one workload that is
 * not described. */
bool ws__parts_has_workload(const struct ws__parts *p, uint32_t workload);
/* Writes them, or what changed in them (a workload's name). */
int ws__store_describe(struct ws__store *s, const struct ws__parts *p);
/* 1 found: to be freed; 0: not known. */
int ws__store_parts(struct ws__store *s, struct ws__hash spec,
                    struct ws__parts *out);

/* The number of the latest trial; 0: there is none. */
int ws__store_last(struct ws__store *s, uint64_t *id);
int ws__store_count(struct ws__store *s, uint64_t *trials, uint64_t *runs);
/* --- as text ------------------------------------------------------------- */

/* What is left out: whole runs only, for a run without an answer in between
 * cannot be continued. */
struct ws__export_opts {
    uint64_t run;           /* 0: all */
    struct ws__hash device; /* of a run; zero: all */
};

/* Verifies, then writes one record a line; docs/store.md has the format. */
int ws__store_export(struct ws__store *s, const struct ws__export_opts *o,
                     struct ws__buf *b, uint64_t *records);

struct ws__import_counts {
    uint64_t lines, runs, specs, trials, values; /* new */
    uint64_t matched; /* records that were there already */
};

/* Reads text of that form; `name` is the file's, for messages. The error names
 * the first line that is bad. */
struct ws__import;
int ws__import_new(struct ws_ctx *ctx, const char *name, const char *text,
                   size_t n, struct ws__import **out);
/* The same from answers made by a program: begin, then one answer after the
 * other of one trial each; q->id is its place, 1, 2, ... The trial is copied;
 * `line` is where it came from. */
int ws__import_begin(struct ws_ctx *ctx, const char *name,
                     struct ws__import **out);
int ws__import_answer(struct ws__import *in, const struct ws__run *run,
                      const struct ws__identity *id, uint32_t line,
                      const struct ws__question *q, const struct ws__trial *t);
/* Takes the parts, also on failure. */
int ws__import_describe_take(struct ws__import *in, struct ws__parts *p);
void ws__import_free(struct ws__import *in);
/* All of it in one transaction, or nothing. WS_EINVAL: a record contradicts
 * the store. WS_EBUSY: one of its runs is being measured. */
int ws__store_import(struct ws__store *s, struct ws__import *in,
                     struct ws__import_counts *counts);

/* SQLite's integrity check plus ours; 0 or WS_ECORRUPT with the finding. */
int ws__store_verify(struct ws__store *s);

#endif
