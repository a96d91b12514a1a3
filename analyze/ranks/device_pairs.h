/* Pairs of devices of two files, to be compared. */
#ifndef MV_DEVICE_PAIRS_H
#define MV_DEVICE_PAIRS_H

#include "analyze/ranks/summary.h"

#define MV_NO_DEVICE UINT32_MAX

/* A device of [before, after]; one of them may be MV_NO_DEVICE. */
typedef struct {
    uint32_t device[2];
} mv_device_pair;

/* Devices of the same ordinal belong together, but a process that uses a single device is compared
 * by that one: ranks use the device of their own number. Devices that neither file uses are
 * skipped. `out` has room for one pair for each device of the trace with more devices, and at least
 * one. Returns the number of pairs. */
uint32_t mv_device_pairs_find(const mv_trace *before, const mv_trace *after, mv_device_pair *out);

#endif
