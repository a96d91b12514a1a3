/* How many processors this program may use at a time. */
#ifndef MV_BASE_PROCESSORS_H
#define MV_BASE_PROCESSORS_H

#include <stdint.h>

/* At least 1; fewer than the machine has where the program is bound to some (taskset, cgroups with
 * a set of processors). */
uint32_t mv_processors(void);

#endif
