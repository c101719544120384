/* cpus.h: how many processors there are for this process. */
#ifndef WS_CPUS_H
#define WS_CPUS_H

/* Those that it may run on (`taskset`, cpusets of containers), at least 1. */
unsigned ws__processors(void);

#endif
