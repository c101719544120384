/*
 * cuda_nvml.c: the clock of the multiprocessors, and why it is not higher.
 *
 * NVML answers from what it sampled last, in about 1 us, and takes up to 3 ms
 * when it has to ask the card: so it is asked at most once in ASK_NS, and a
 * sample in between has what the last answer said. What is asked for is read
 * only; nothing here sets anything.
 */
#include "device/cuda/cuda.h"

#include "base/clock.h"
#include "base/banned.h"

#define ASK_NS 5000000u

void ws__cuda_watch(struct ws__cuda *d, const char *bus_id)
{
    if (d->nvml.lib && d->nvml.DeviceGetHandleByPciBusId(bus_id, &d->watched))
        d->watched = NULL;
}

static uint32_t reasons(unsigned long long bits)
{
    uint32_t slowed = 0;

    if (bits & NVML__SLOW_POWER_CAP)
        slowed |= WS__SLOW_POWER;
    if (bits & (NVML__SLOW_SW_THERMAL | NVML__SLOW_HW_THERMAL))
        slowed |= WS__SLOW_THERMAL;
    if (bits & (NVML__SLOW_HW | NVML__SLOW_HW_BRAKE))
        slowed |= WS__SLOW_HARDWARE;
    return slowed;
}

void ws__cuda_look(struct ws__cuda *d, struct ws__dev_sample *s)
{
    uint64_t now = ws__now_ns();
    unsigned long long bits = 0;
    unsigned mhz = 0;

    if (!d->watched)
        return;
    if (!d->watched_ns || now - d->watched_ns >= ASK_NS) {
        d->watched_ns = now;
        if (d->nvml.DeviceGetClockInfo(d->watched, NVML__CLOCK_SM, &mhz))
            mhz = 0;
        if (d->nvml.DeviceGetCurrentClocksThrottleReasons(d->watched, &bits))
            bits = 0;
        d->mhz = mhz;
        d->slowed = reasons(bits);
    }
    s->mhz = d->mhz;
    s->slowed = d->slowed;
}
