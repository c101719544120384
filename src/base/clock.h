/* clock.h: monotonic time in nanoseconds. */
#ifndef WS_CLOCK_H
#define WS_CLOCK_H

#include <stdint.h>

uint64_t ws__now_ns(void);      /* monotonic */
uint64_t ws__wall_ns(void);     /* since 1970, UTC */
void ws__sleep_ns(uint64_t ns); /* may return early on a signal */

#endif
