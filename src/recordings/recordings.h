/*
 * recordings.h: an evaluator that answers from what was recorded: result
 * files (spec/results.h) and stored trials.
 *
 * It measures nothing. What it does not hold is WS_EMISS, the question named.
 * The same data and the same question give the same answer, bit for bit, and
 * other data are another identity, so that trials of different recordings
 * never mix.
 *
 * Functions fail with the details in the context. One thread at a time.
 */
#ifndef WS_RECORDINGS_H
#define WS_RECORDINGS_H

#include "spec/results.h"

struct ws__recordings;

/* kernels, workloads: arrays that questions index; must outlive it. Kernels
 * without an op (T1 files) have one workload. */
int ws__recordings_new(struct ws_ctx *ctx, const struct ws__kernel *kernel,
                       size_t nkernel, const struct ws__workload *workload,
                       size_t nworkload, struct ws__recordings **out);
void ws__recordings_free(struct ws__recordings *r); /* NULL is fine */

/* The results of a file, for the only kernel there is. Two of one config on
 * one workload are WS_ESPEC. */
int ws__recordings_add_file(struct ws__recordings *r, const char *path,
                            const char *where, const char *time,
                            struct ws__results_report *report);
/* A stored trial, found again by its hashes. Of several the one of the
 * greatest effort answers, of equals the last; trials of pairs do not count,
 * for their times are relative. */
int ws__recordings_add_trial(struct ws__recordings *r,
                             const struct ws__trial *t);
/* After all was added: fixes the identity. device: a name, or NULL: as the
 * file says. */
void ws__recordings_seal(struct ws__recordings *r, const char *device);

struct ws__evaluator ws__recordings_evaluator(struct ws__recordings *r);
uint64_t ws__recordings_count(const struct ws__recordings *r);
/* 1 recorded, 0 not, without an error; *ns: the median of its samples, 0 if
 * it is no ok one. */
int ws__recordings_look(struct ws__recordings *r, const struct ws__candidate *c,
                        uint32_t workload, double *ns);

#endif
