/* Finds pairs of devices in two files that are compared with each other. */
#pragma once

#include "analyze/ranks/summary.h"

#define MV_NO_DEVICE UINT32_MAX

/* The devices of a pair: [0] is before, [1] is after. One of them may be MV_NO_DEVICE. */
typedef struct {
    uint32_t device[2];
} mv_device_pair;

/* Pairs devices that have the same ordinal. However, if each process uses a single device, these
 * two devices are a pair, because a rank uses the device with the rank's own number. Devices that
 * neither file uses are skipped. `out` must have room for one pair per device of the trace with
 * more devices, and for at least one pair. Returns the number of pairs. */
uint32_t mv_device_pairs_find(const mv_trace *before, const mv_trace *after, mv_device_pair *out);
