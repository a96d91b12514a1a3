/* The whole device's memory over a window of the timeline: what uses the memory, and how much of it
 * NVML reported as used. A worker computes it for the pixel columns of the plot.
 *
 *     events      5    6         7    8        the time of a column follows from its position on
 *     columns   |  |  |  |  |  |  |  |  |      the clock, interpolated between two events
 *
 * A column shows the moment at which calls hold the most bytes
 * (analyze/ledger/ledger_columns.h). */
#pragma once

#include "analyze/ledger/ledger_columns.h"
#include "view/document/ledger_moment.h"
#include "viz/core/timescale.h"

/* The parts, from bottom to top. */
typedef enum {
    MV_DEVICE_ALLOCATED, /* PyTorch's blocks, or all of PyTorch's memory if the level cannot split
                            it */
    MV_DEVICE_UNUSED,    /* reserved by PyTorch but not allocated */
    MV_DEVICE_LIBRARY,   /* the libraries that hold the most memory */
    MV_DEVICE_OTHERS = MV_DEVICE_LIBRARY + 3,
    MV_DEVICE_CONTEXT,
    MV_DEVICE_UNEXPLAINED,
    MV_DEVICE_PARTS
} mv_device_part;

/* The bytes of each part. The last two parts may be negative, as in the ledger. */
typedef struct {
    int64_t bytes[MV_DEVICE_PARTS];
} mv_device_parts;

/* A query; queries are compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    double x, dx; /* position of the left edge on the clock, and width of a pixel */
    const mv_document *document;
    const mv_document_device *device;
    uint32_t first, end; /* the events [first, end) are shown */
    uint32_t columns, clock;
} mv_device_lane_query;
MV_PLAIN_END

typedef struct mv_device_lane {
    mv_device_lane_query ask;
    double *border; /* [ask.columns + 1] borders of the columns, as event numbers with fractions */
    mv_ledger_columns found;
    mv_device_parts *parts; /* [ask.columns] */
    bool has_unused;        /* the bytes of MV_DEVICE_UNUSED are known */
} mv_device_lane;

/* Whether the device has a lane for the whole device's memory. */
bool mv_device_lane_is_there(const mv_document *document, const mv_document_device *device);

/* An mv_job_fn. Returns NULL when out of memory. */
void *mv_device_lane_find(mv_arena *arena, void *context, const void *ask);

/* Returns the name of a part, such as "PyTorch: allocated" or "NCCL"; NULL: this device does not
 * have the part. */
const char *mv_device_part_name(const mv_device_lane *lane, mv_device_part part);

/* Returns the parts of a ledger; `unused` is as in mv_document_unused. */
mv_device_parts mv_device_parts_of(const mv_device_lane *lane, const mv_ledger_answer *ledger,
                                   uint64_t unused);

/* Returns the time at a position on the axis, which is given as an event number with a fraction. */
int64_t mv_device_lane_time(const mv_document *document, const mv_document_device *device,
                            double event);
