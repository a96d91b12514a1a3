/* Which device of one file is compared with which of the other. */
#ifndef MV_DEVICE_PAIRS_H
#define MV_DEVICE_PAIRS_H

#include "analyze/ranks/summary.h"

#define MV_NO_DEVICE UINT32_MAX

/* A device of [before, after]; one of the two may be MV_NO_DEVICE. */
typedef struct {
    uint32_t device[2];
} mv_device_pair;

/* Devices of one ordinal belong together; but a process that uses one device alone is compared by
 * that one, whichever it is: ranks name theirs by their number. Devices that neither file uses are
 * left out. `out` has room for a pair for each device of the trace that has more, and for one.
 * Returns how many there are. */
uint32_t mv_device_pairs_find(const mv_trace *before, const mv_trace *after, mv_device_pair *out);

#endif
