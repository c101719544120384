/* cli_profile.c: a profile as JSON. What is missing is null. */
#include "cli.h"

#include <math.h>
#include <string.h>

/* ---- JSON -----------------------------------------------------------------
 */

static json_t *number(double v)
{
    return isnan(v) ? json_null() : cli_real(v);
}

/* A count that may be missing. */
static json_t *whole(double v)
{
    return isnan(v) ? json_null() : json_integer((json_int_t)v);
}

static json_t *values(const struct ws_profile_value *v, size_t n)
{
    json_t *j = json_object();

    for (size_t i = 0; i < n; i++)
        cli_put(j, v[i].key, number(v[i].value));
    return j;
}

static json_t *finding(const struct ws_profile_finding *f)
{
    json_t *j = json_object(), *moves = json_array();

    cli_put(j, "rule", cli_text(f->key));
    cli_put(j, "text", cli_text(f->text));
    cli_put(j, "bound", cli_text(f->bound));
    cli_put(j, "evidence", values(f->evidence, f->nevidence));
    for (size_t i = 0; i < f->nmove; i++) {
        json_t *m = json_object();

        cli_put(m, "id", json_integer(f->move[i].id));
        cli_put(m, "transformation", cli_text(f->move[i].name));
        cli_put(m, "metric", cli_text(f->move[i].metric.key));
        cli_put(m, "counter",
                f->move[i].metric.about[0] ? cli_text(f->move[i].metric.about)
                                           : json_null());
        cli_put(m, "unit", cli_text(f->move[i].metric.unit));
        cli_put(m, "now", number(f->move[i].metric.value));
        cli_put(m, "direction", cli_text(f->move[i].up ? "up" : "down"));
        json_array_append_new(moves, m);
    }
    cli_put(j, "suggestions", moves);
    return j;
}

static json_t *floor_json(const struct ws_profile *p)
{
    json_t *j = json_object();

    cli_put(j, "bytes", number(p->bytes));
    cli_put(j, "declared_bytes", number(p->declared_bytes));
    cli_put(j, "flops", number(p->flops));
    cli_put(j, "bytes_ns", number(p->bytes_ns));
    cli_put(j, "bytes_ceiling", cli_text(p->bytes_by));
    cli_put(j, "bytes_from", cli_text(p->bytes_from));
    cli_put(j, "cached_bytes", number(p->cached_bytes));
    cli_put(j, "cached_from", cli_text(p->cached_from));
    cli_put(j, "flops_ns", number(p->flops_ns));
    cli_put(j, "flops_ceiling", cli_text(p->flops_by));
    cli_put(j, "flops_from", cli_text(p->flops_from));
    cli_put(j, "ns", number(p->floor_ns));
    cli_put(j, "launch_ns", number(p->launch_ns));
    cli_put(j, "launch_from", cli_text(p->launch_from));
    cli_put(j, "partly_known", json_boolean(p->partly));
    cli_put(j, "roof", cli_text(p->roof));
    cli_put(j, "measured_ns",
            p->roof_ns ? json_integer((json_int_t)p->roof_ns) : json_null());
    return j;
}

static json_t *resources_json(const struct ws_profile *p)
{
    json_t *j = json_object();

    cli_put(j, "registers", whole(p->registers));
    cli_put(j, "spill_bytes", whole(p->spill_bytes));
    cli_put(j, "shared_bytes", whole(p->shared_bytes));
    cli_put(j, "private_bytes", whole(p->private_bytes));
    cli_put(j, "instructions", p->nmix ? values(p->mix, p->nmix) : json_null());
    cli_put(j, "instructions_missing", cli_text(p->mix_why));
    return j;
}

static json_t *launch_json(const struct ws_profile_launch *l)
{
    json_t *j = json_object(), *grid = json_array(), *block = json_array();

    for (int d = 0; d < 3; d++) {
        json_array_append_new(grid, json_integer((json_int_t)l->grid[d]));
        json_array_append_new(block, json_integer(l->block[d]));
    }
    cli_put(j, "entry", cli_text(l->entry));
    cli_put(j, "grid", grid);
    cli_put(j, "block", block);
    cli_put(j, "registers", whole(l->registers));
    cli_put(j, "shared_bytes", whole(l->shared_bytes));
    cli_put(j, "local_bytes", whole(l->local_bytes));
    cli_put(j, "blocks_per_unit", whole(l->blocks_per_unit));
    cli_put(j, "limiter", cli_text(l->limiter));
    cli_put(j, "occupancy", number(l->occupancy));
    cli_put(j, "waves", number(l->waves));
    cli_put(j, "counters", values(l->counter, l->ncounter));
    return j;
}

static json_t *launches_json(const struct ws_profile *p)
{
    json_t *all = json_array();

    for (size_t i = 0; i < p->nlaunch; i++)
        json_array_append_new(all, launch_json(&p->launch[i]));
    return all;
}

static json_t *scaled_json(const struct ws_profile *p)
{
    json_t *j;

    if (!p->scaled_axis)
        return json_null();
    j = json_object();
    cli_put(j, "axis", cli_text(p->scaled_axis));
    cli_put(j, "value", json_integer((json_int_t)p->scaled_to));
    cli_put(j, "ns", number(p->scaled_ns));
    cli_put(j, "fixed_ns", number(p->fixed_ns));
    return j;
}

static json_t *blind_json(const struct ws_profile *p)
{
    json_t *all = json_array();

    for (size_t i = 0; i < p->nblind; i++) {
        json_t *j = json_object();

        cli_put(j, "rule", cli_text(p->blind[i].key));
        cli_put(j, "missing", cli_text(p->blind[i].missing));
        cli_put(j, "needs", cli_text(p->blind[i].needs));
        json_array_append_new(all, j);
    }
    return all;
}

static void put_subject(json_t *j, const struct ws_profile *p)
{
    cli_put(j, "kernel", cli_text(p->kernel));
    cli_put(j, "config", cli_text(p->config));
    cli_put(j, "config_from", cli_text(p->config_from));
    cli_put(j, "workload", cli_text(p->workload));
    cli_put(j, "device", cli_text(p->device));
    cli_put(j, "verdict", cli_text(p->verdict));
    cli_put(j, "reason", cli_text(p->reason));
    cli_put(j, "candidate", cli_text(p->candidate));
    cli_put(j, "binary", cli_text(p->binary));
    cli_put(j, "cache", cli_text(p->cache));
}

json_t *cli_profile_json(const struct ws_profile *p)
{
    json_t *j = json_object(), *found = json_array();

    put_subject(j, p);
    cli_put(j, "time_ns", number(p->time_ns));
    cli_put(j, "time_lo_ns", number(p->lo_ns));
    cli_put(j, "time_hi_ns", number(p->hi_ns));
    cli_put(j, "gap", number(p->gap));
    cli_put(j, "floor", floor_json(p));
    cli_put(j, "bound", cli_text(p->bound));
    cli_put(j, "bound_text", cli_text(p->bound_text));
    for (size_t i = 0; i < p->nfinding; i++)
        json_array_append_new(found, finding(&p->finding[i]));
    cli_put(j, "findings", found);
    cli_put(j, "stalls", values(p->stall, p->nstall));
    cli_put(j, "facts", values(p->fact, p->nfact));
    cli_put(j, "not_looked_at", blind_json(p));
    cli_put(j, "resources", resources_json(p));
    cli_put(j, "scaled", scaled_json(p));
    cli_put(j, "counters_from", cli_text(p->counters));
    cli_put(j, "counters_note", cli_text(p->counters_why));
    cli_put(j, "passes", p->passes ? json_integer(p->passes) : json_null());
    cli_put(j, "main_launch",
            p->nlaunch ? json_integer((json_int_t)p->main_launch)
                       : json_null());
    cli_put(j, "launches", launches_json(p));
    return j;
}
