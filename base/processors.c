#include "base/processors.h"

#ifdef MV_POSIX
#include <unistd.h>

uint32_t mv_processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 0 ? (uint32_t)count : 1;
}
#else
#include <sched.h>

uint32_t mv_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}
#endif
