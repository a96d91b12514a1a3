/* Snapshots that were read, kept for the next command of the same process (memviz mcp), so that
 * several questions about one file, or about two compared files, read each file only once.
 *
 * A file that has changed since is read again. Traces are read-only: for another level, a command
 * copies the struct first (mv_level_take). */
#ifndef MV_KEPT_FILES_H
#define MV_KEPT_FILES_H

#include <sys/stat.h>

#include "parse/readers.h"

typedef struct {
    char *path; /* NULL: the slot is empty */
    struct stat state;
    mv_budget budget;
    mv_arena arena;
    mv_trace trace;
    uint64_t used; /* time of the last request */
} mv_kept_file;

/* The cache; it is empty when all bytes are zero. */
typedef struct mv_kept_files {
    mv_kept_file file[2];
    uint64_t uses;
} mv_kept_files;

/* The trace of a file, as from mv_trace_read: cached, or read now with at most `limit` bytes in
 * place of the least recently used one. */
mv_code mv_kept_files_read(mv_kept_files *kept, const char *path, uint64_t limit,
                           const mv_read_opts *opts, mv_trace *out, mv_err *err);

void mv_kept_files_release(mv_kept_files *kept);

#endif
