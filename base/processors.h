/* Finds out how many CPUs this program may use at the same time. */
#ifndef MV_BASE_PROCESSORS_H
#define MV_BASE_PROCESSORS_H

#include <stdint.h>

/* Returns at least 1. The number is less than the number of CPUs in the machine if the program is
 * restricted to some of them (taskset, cpuset cgroups). */
uint32_t mv_processors(void);

#endif
