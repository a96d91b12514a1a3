/* Pairs of devices in two files, for comparison. */
#ifndef MV_DEVICE_PAIRS_H
#define MV_DEVICE_PAIRS_H

#include "analyze/ranks/summary.h"

#define MV_NO_DEVICE UINT32_MAX

/* The devices [before, after] of a pair; one of them may be MV_NO_DEVICE. */
typedef struct {
    uint32_t device[2];
} mv_device_pair;

/* Pairs devices with the same ordinal. However, if each process uses a single device, these two are
 * a pair: ranks use the device with their own number. Devices that neither file uses are skipped.
 * `out` must have room for one pair per device of the trace with more devices, and for at least
 * one. Returns the number of pairs. */
uint32_t mv_device_pairs_find(const mv_trace *before, const mv_trace *after, mv_device_pair *out);

#endif
