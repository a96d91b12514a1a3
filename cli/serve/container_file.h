/* Converts a snapshot of any format to a container file, which `serve` sends: a pickle of 148 MB
 * becomes 2 MB. Nothing is written to disk, because the file is in memory (memfd_create). */
#pragma once

#include "parse/readers.h"

typedef struct {
    int fd; /* descriptor of the container file, which the caller closes */
    uint64_t bytes;
    bool is_original; /* the input was already a container, so `fd` refers to the input itself */
} mv_container_file;

/* Makes the container. Reports the progress to `progress` in thousandths of the work. The trace's
 * memory comes from `budget`, and is returned to it afterwards. */
mv_code mv_container_file_make(mv_budget *budget, const char *path, mv_progress_fn *progress,
                               void *user, mv_container_file *out, mv_err *err);
