/* The devices of all open files, ordered by file and device, with their names. The view's lists,
 * legend and lanes use the same names as `memviz ranks`. */
#pragma once

#include "view/frame/view.h"

enum {
    MV_FILE_SHIFT = 16, /* a device is encoded as a number: file << MV_FILE_SHIFT | device */
    MV_MOST_DEVICE_ROWS = 4096
};

typedef struct {
    uint32_t file, device; /* `device` is MV_NO_ROW if the file has not been read yet, or has no
                              devices */
    const mv_document *document;
    const mv_document_device *shown; /* the device's data; NULL: the device is not shown yet */
    uint64_t peak;                   /* highest number of allocated bytes; 0 until the device is
                                        shown */
    const char *name;                /* name of the device (analyze/ranks/rank_names.h) */
    const char *level;               /* the row's memory level if it is not the shown one
                                        (rank_lanes.h), otherwise NULL */
} mv_device_row;

/* Returns the rows, allocated in frame memory; NULL when out of memory. The names are kept until
 * another file is opened or another device is found. */
mv_device_row *mv_device_rows(mv_view *view, uint32_t *count);

/* Returns the row of one device, without its name. */
mv_device_row mv_device_row_of(const mv_document *document, uint32_t file, uint32_t device);

/* Returns the rows sorted by peak, highest first. Equal peaks are sorted by file and device. While the
 * user chooses a device to compare with, the shown one is left out. */
mv_device_row *mv_device_rows_by_peak(mv_view *view, uint32_t *count);

/* Returns the name of a device; "" if there is no such device. */
const char *mv_device_name(mv_view *view, uint32_t file, uint32_t device);
