/* cpus.c: see cpus.h. */
#include "base/cpus.h"

#include <sched.h>
#include <unistd.h>

#include "base/banned.h"

unsigned ws__processors(void)
{
    cpu_set_t set;
    long n;

    if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    n = sysconf(_SC_NPROCESSORS_ONLN); /* more than fit into a set */
    return n > 0 ? (unsigned)n : 1;
}
