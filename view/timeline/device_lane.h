/* The whole device over a window of the timeline: who held its memory, and what NVML saw in use. A
 * worker finds it, for the pixel columns of the plot.
 *
 *     events      5    6         7    8        time of a column: that of its place on the clock,
 *     columns   |  |  |  |  |  |  |  |  |      between two events in proportion
 *
 * A column has the moment when calls held most in it (analyze/ledger/ledger_columns.h). */
#ifndef MV_DEVICE_LANE_H
#define MV_DEVICE_LANE_H

#include "analyze/ledger/ledger_columns.h"
#include "base/plain.h"
#include "view/document/ledger_moment.h"
#include "viz/core/timescale.h"

/* From bottom to top. */
typedef enum {
    MV_DEVICE_ALLOCATED, /* PyTorch's blocks; all of PyTorch where the level does not tell */
    MV_DEVICE_UNUSED,    /* what PyTorch reserves beyond them */
    MV_DEVICE_LIBRARY,   /* those that hold most */
    MV_DEVICE_OTHERS = MV_DEVICE_LIBRARY + 3,
    MV_DEVICE_CONTEXT,
    MV_DEVICE_UNEXPLAINED,
    MV_DEVICE_PARTS
} mv_device_part;

/* Bytes of each; the last two may be negative, as in the ledger. */
typedef struct {
    int64_t bytes[MV_DEVICE_PARTS];
} mv_device_parts;

/* Compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    double x, dx; /* place on the clock at the left edge, and of a pixel */
    const mv_document *document;
    const mv_document_device *device;
    uint32_t first, end; /* events that are shown */
    uint32_t columns, clock;
} mv_device_lane_ask;
MV_PLAIN_END

typedef struct mv_device_lane {
    mv_device_lane_ask ask;
    double *border; /* [ask.columns + 1] of the columns, in events */
    mv_ledger_columns found;
    mv_device_parts *parts; /* [ask.columns] */
    bool has_unused;        /* MV_DEVICE_UNUSED is known */
} mv_device_lane;

/* Whether there is a lane for the device. */
bool mv_device_lane_is_there(const mv_document *document, const mv_document_device *device);

/* A mv_job_fn; NULL when memory is out. */
void *mv_device_lane_find(mv_arena *arena, void *context, const void *ask);

/* The name of a part: "PyTorch: allocated", "NCCL"; NULL: this device has none. */
const char *mv_device_part_name(const mv_device_lane *lane, mv_device_part part);

/* The parts of a ledger; `unused` as mv_document_unused. */
mv_device_parts mv_device_parts_of(const mv_device_lane *lane, const mv_ledger_answer *ledger,
                                   uint64_t unused);

/* The time of a place on the axis, in events. */
int64_t mv_device_lane_time(const mv_document *document, const mv_document_device *device,
                            double event);

#endif
