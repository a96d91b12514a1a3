/* The devices of all opened files, ordered by file and device, with their names: the lists, the
 * legend and the lanes of a view use the same names as `memviz ranks`. */
#ifndef MV_DEVICE_ROWS_H
#define MV_DEVICE_ROWS_H

#include "view/frame/view.h"

enum {
    MV_FILE_SHIFT = 16, /* a device as a number: file << MV_FILE_SHIFT | device */
    MV_MOST_DEVICE_ROWS = 4096
};

typedef struct {
    uint32_t file, device; /* device MV_NO_ROW: the file is not read yet, or has none */
    const mv_document *document;
    const mv_document_device *shown; /* NULL: not shown yet */
    uint64_t peak;                   /* allocated; 0 until it is shown */
    const char *name;                /* analyze/ranks/rank_names.h */
    const char *level;               /* another level than the shown one (rank_lanes.h); NULL */
} mv_device_row;

/* In frame memory; NULL when out of memory. Names are kept until another file or device arrives. */
mv_device_row *mv_device_rows(mv_view *view, uint32_t *count);

/* Without a name. */
mv_device_row mv_device_row_of(const mv_document *document, uint32_t file, uint32_t device);

/* Highest peak first; equal peaks by file and device. */
mv_device_row *mv_device_rows_by_peak(mv_view *view, uint32_t *count);

/* The name of a row; "" when there is no such row. */
const char *mv_device_name(mv_view *view, uint32_t file, uint32_t device);

#endif
