/* Outlines of the devices in a long trace, which are shown until the devices are ready. An outline
 * is made in one pass over the events as soon as they are read, before lives are known. */
#pragma once

#include "analyze/lives/lives.h"

enum {
    MV_OUTLINE_COLUMNS = 2048,
    MV_OUTLINES = 64 /* maximum number of devices with an outline */
};

/* The extents of a device's events, divided into equal parts. Requested bytes are counted instead
 * of allocated bytes, on top of the memory that must have existed before the first event according
 * to the final heap. */
typedef struct {
    uint32_t device; /* ordinal */
    uint32_t events;
    uint32_t columns;                      /* min(events, MV_OUTLINE_COLUMNS) */
    uint64_t peak;                         /* highest number of requested bytes */
    uint64_t most_reserved;                /* highest number of reserved bytes */
    uint64_t least[MV_OUTLINE_COLUMNS];    /* [columns] lowest number of requested bytes */
    uint64_t most[MV_OUTLINE_COLUMNS];     /* [columns] highest number of requested bytes */
    uint64_t reserved[MV_OUTLINE_COLUMNS]; /* [columns] highest number of reserved bytes */
} mv_outline;

void mv_outline_make(uint32_t device, const mv_trace *trace, mv_outline *out);
