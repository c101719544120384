/*
 * fleet.h: several devices of one model as one evaluator.
 *
 * Each device has a `struct ws__measure` of its own: device worker, builders,
 * reference. The first belongs to the caller's thread, each other one to a
 * thread of the fleet. Announced questions are shared out, and answered in the
 * order in which they are asked for, whoever was ready first: what a strategy
 * sees does not depend on which device was quick.
 *
 * Both trials of a pair come from one device. Trials of different questions
 * may come from different ones; cards of a model differ by percents, so who is
 * best is for pairs to say. A trial's spent_ns is divided by the number of
 * devices: what it took of a run's time.
 */
#ifndef WS_FLEET_H
#define WS_FLEET_H

#include "measure/measure.h"

#define WS__MAX_FLEET 16

struct ws__fleet;

/* device: n names, n >= 1 (a NULL name: the default device, if it is alone).
 * opts->device is not read; builders and threads are divided among them.
 * WS_EINVAL: two names of one device, or devices that differ in what their
 * identity says: their trials would not mix. All else as ws__measure_open. */
int ws__fleet_open(struct ws_ctx *ctx, const struct ws__op *op,
                   const struct ws__kernel *kernel, size_t nkernel,
                   const struct ws__workload *workload, size_t nworkload,
                   const struct ws__measure_opts *opts,
                   const char *const *device, size_t n, struct ws__fleet **out);
void ws__fleet_close(struct ws__fleet *f); /* NULL: no-op */
/* Of the caller's thread. */
struct ws__evaluator ws__fleet_evaluator(struct ws__fleet *f);
/* The first device's: for the filter and for what is the same for all. */
struct ws__measure *ws__fleet_first(struct ws__fleet *f);

#endif
