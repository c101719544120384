/* clock.c: see clock.h. */
#include "base/clock.h"

#include <time.h>

#include "base/banned.h"

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t ws__now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t ws__wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void ws__sleep_ns(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
                         .tv_nsec = (long)(ns % 1000000000u)};

    nanosleep(&t, NULL);
}
