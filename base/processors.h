/* What this program may use of its machine. */
#pragma once

#include <stdint.h>

/* Returns at least 1. The number is less than the number of CPUs in the machine if the program is
 * restricted to some of them (taskset, cpuset cgroups). */
uint32_t mv_processors(void);

/* Returns the limit on the address space (`ulimit -v`) in bytes, or UINT64_MAX if there is none. */
uint64_t mv_address_space(void);

/* Returns the memory limit of the program's control group and of the groups around it, in bytes, or
 * UINT64_MAX if there is none. Containers and batch systems set such limits, and the kernel ends
 * programs that exceed them. `root` is the folder that contains proc and sys; "": the system's. */
uint64_t mv_group_memory(const char *root);
