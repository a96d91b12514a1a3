/* The whole device over a window of the timeline: the holders of its memory, and the use sampled by
 * NVML. A worker computes it for the pixel columns of the plot.
 *
 *     events      5    6         7    8        time of a column: from its place on the clock,
 *     columns   |  |  |  |  |  |  |  |  |      between two events in proportion
 *
 * A column shows its moment with the most bytes held by calls (analyze/ledger/ledger_columns.h). */
#ifndef MV_DEVICE_LANE_H
#define MV_DEVICE_LANE_H

#include "analyze/ledger/ledger_columns.h"
#include "view/document/ledger_moment.h"
#include "viz/core/timescale.h"

/* From bottom to top. */
typedef enum {
    MV_DEVICE_ALLOCATED, /* PyTorch's blocks; all PyTorch memory if the level cannot split it */
    MV_DEVICE_UNUSED,    /* reserved by PyTorch beyond its blocks */
    MV_DEVICE_LIBRARY,   /* the libraries that hold most */
    MV_DEVICE_OTHERS = MV_DEVICE_LIBRARY + 3,
    MV_DEVICE_CONTEXT,
    MV_DEVICE_UNEXPLAINED,
    MV_DEVICE_PARTS
} mv_device_part;

/* Bytes of each part; the last two may be negative, as in the ledger. */
typedef struct {
    int64_t bytes[MV_DEVICE_PARTS];
} mv_device_parts;

/* Compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    double x, dx; /* place on the clock at the left edge, and width of a pixel */
    const mv_document *document;
    const mv_document_device *device;
    uint32_t first, end; /* events that are shown */
    uint32_t columns, clock;
} mv_device_lane_query;
MV_PLAIN_END

typedef struct mv_device_lane {
    mv_device_lane_query ask;
    double *border; /* [ask.columns + 1] borders of the columns, in events */
    mv_ledger_columns found;
    mv_device_parts *parts; /* [ask.columns] */
    bool has_unused;        /* MV_DEVICE_UNUSED is known */
} mv_device_lane;

/* Whether the device has a lane. */
bool mv_device_lane_is_there(const mv_document *document, const mv_document_device *device);

/* A mv_job_fn; NULL when out of memory. */
void *mv_device_lane_find(mv_arena *arena, void *context, const void *ask);

/* The name of a part: "PyTorch: allocated", "NCCL"; NULL: this device does not have the part. */
const char *mv_device_part_name(const mv_device_lane *lane, mv_device_part part);

/* The parts of a ledger; `unused` as in mv_document_unused. */
mv_device_parts mv_device_parts_of(const mv_device_lane *lane, const mv_ledger_answer *ledger,
                                   uint64_t unused);

/* The time of a place on the axis, given in events. */
int64_t mv_device_lane_time(const mv_document *document, const mv_document_device *device,
                            double event);

#endif
