/* The number of processors that this program may use at a time. */
#ifndef MV_BASE_PROCESSORS_H
#define MV_BASE_PROCESSORS_H

#include <stdint.h>

/* At least 1; fewer than the machine has if the program is restricted to some of them (taskset,
 * cpuset cgroups). */
uint32_t mv_processors(void);

#endif
