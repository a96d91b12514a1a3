/* Keeps snapshots in memory for the next command in the same process (memviz mcp). Several
 * questions about one file, or about two files being compared, then read each file only once.
 *
 * A file that has changed is read again. The traces are read-only, so a command that needs a
 * different level copies the struct first (mv_level_take). */
#pragma once

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

/* The cache. It is empty when all bytes are zero. */
typedef struct mv_kept_files {
    mv_kept_file file[2];
    uint64_t uses;
} mv_kept_files;

/* Returns a file's trace, as mv_trace_read would. If it is not in the cache, reads the file with at
 * most `limit` bytes of memory and replaces the least recently used entry. */
mv_code mv_kept_files_read(mv_kept_files *kept, const char *path, uint64_t limit,
                           const mv_read_opts *opts, mv_trace *out, mv_err *err);

void mv_kept_files_release(mv_kept_files *kept);
