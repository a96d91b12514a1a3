/* A snapshot of any format as a container file, which `serve` sends: a pickle of 148 MB becomes 2
 * MB. Nothing is written to disk: the file is in memory (memfd_create). */
#ifndef MV_CONTAINER_FILE_H
#define MV_CONTAINER_FILE_H

#include "parse/readers.h"

typedef struct {
    int fd; /* the caller's to close */
    uint64_t bytes;
    bool is_original; /* the file is already a container, so `fd` is the file itself */
} mv_container_file;

/* Makes the container. `progress` receives how many thousandths of the work are done. The trace's
 * memory comes from `budget`, and is returned to it afterwards. */
mv_code mv_container_file_make(mv_budget *budget, const char *path, mv_progress_fn *progress,
                               void *user, mv_container_file *out, mv_err *err);

#endif
