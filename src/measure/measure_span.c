/*
 * measure_span.c: two clocks for one span.
 *
 * A device times its own work, from a first to a last event. The host sees when
 * the work may begin and when nothing runs any more. What the host's clock has
 * beyond the device's is the way there and back, some microseconds; if it is
 * much more each time, work is done that the device's clock does not see (on
 * another queue, or after the last event), or that clock is wrong.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

#define SPANS 3 /* before anything is said */
#define MORE 0.5
/* The way there and back: of a processor, its other programs are in it. */
#define SLACK_GPU_NS 5e5
#define SLACK_CPU_NS 5e6

void ws__span_see(struct ws__span *s, const struct ws__dev_sample *x,
                  uint32_t inner)
{
    double ns = x->ns * inner, host = x->host_ns * inner;

    if (!(host > 0))
        return;
    if (!s->n || host - ns < s->host_ns - s->ns) {
        s->ns = ns;
        s->host_ns = host;
    }
    s->n++;
}

bool ws__span_hides(const struct ws__span *s, bool cpu)
{
    double beyond = s->host_ns - s->ns;

    return s->n >= SPANS && beyond > MORE * s->ns &&
           beyond > (cpu ? SLACK_CPU_NS : SLACK_GPU_NS);
}
