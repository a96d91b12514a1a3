/* All devices of all open files, as rows of lists. */
#ifndef MV_DEVICE_ROWS_H
#define MV_DEVICE_ROWS_H

#include "view/frame/view.h"

enum { MV_FILE_SHIFT = 16 }; /* a device as a number: file << MV_FILE_SHIFT | device */

typedef struct {
    uint32_t file, device; /* device MV_NO_ROW: the file is not that far yet */
    const mv_document *document;
    const mv_document_device *shown; /* NULL: not shown yet */
    uint64_t peak;
} mv_device_row;

/* In order of file and device; in the frame's memory. NULL when it is out. */
mv_device_row *mv_device_rows(mv_view *view, uint32_t *count);

/* Highest first; equal ones by file and device. */
mv_device_row *mv_device_rows_by_peak(mv_view *view, uint32_t *count);

#endif
