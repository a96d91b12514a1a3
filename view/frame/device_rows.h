/* The devices of all opened files, in order of file and device, and what each is called: the lists,
 * the legend and the lanes of a view use the same names as `memviz ranks` does. */
#ifndef MV_DEVICE_ROWS_H
#define MV_DEVICE_ROWS_H

#include "view/frame/view.h"

enum {
    MV_FILE_SHIFT = 16, /* a device as a number: file << MV_FILE_SHIFT | device */
    MV_MOST_DEVICE_ROWS = 4096
};

typedef struct {
    uint32_t file, device; /* device MV_NO_ROW: the file is not that far yet, or has none */
    const mv_document *document;
    const mv_document_device *shown; /* NULL: not shown yet */
    uint64_t peak;                   /* allocated; 0 until it is shown */
    const char *name;                /* analyze/ranks/rank_names.h */
} mv_device_row;

/* In the frame's memory; NULL when memory is out. Names are kept until another file or device
 * arrives. */
mv_device_row *mv_device_rows(mv_view *view, uint32_t *count);

/* Highest peak first; equal ones by file and device. */
mv_device_row *mv_device_rows_by_peak(mv_view *view, uint32_t *count);

/* The name of one of them; "" when there is no such row. */
const char *mv_device_name(mv_view *view, uint32_t file, uint32_t device);

#endif
