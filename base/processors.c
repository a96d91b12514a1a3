#include "base/processors.h"

#include <stdbool.h>
#include <sys/resource.h>

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

uint64_t mv_address_space(void)
{
    struct rlimit limit;
    bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;

    return is_limited ? limit.rlim_cur : UINT64_MAX;
}
