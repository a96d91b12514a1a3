/* An output file that is either whole or not there: bytes go to a file without a name (where the
 * system has such; else to a temporary beside the target), which mv_sink_commit puts in place. "-"
 * is standard output, which cannot be taken back.
 *
 * What is replaced keeps its mode: a file that no one else may read stays so. If it is another
 * user's, the mode is at most that of a new file. */
#ifndef MV_SINK_H
#define MV_SINK_H

#include <stdio.h>

#include "base/cursor.h"
#include "base/err.h"

typedef struct {
    FILE *file;
    char path[4096];           /* as messages have it */
    uint32_t at;               /* path + at is what it is called in `folder` */
    int folder;                /* AT_FDCWD, or a folder's descriptor */
    char temporary[4096 + 32]; /* in `folder`; "": none exists */
    bool is_nameless;          /* the file gets its name at commit */
    uint64_t bytes;            /* written so far */
    bool failed;
} mv_sink;

mv_code mv_sink_open(mv_sink *sink, const char *path, mv_err *err);

/* The same for a name in an open folder (which stays the caller's), whatever becomes of the
 * folder's path meanwhile. `path` ends with the name. Nothing but a file is replaced: a device, a
 * pipe or a folder of that name is an error, and what a link points to is left alone. */
mv_code mv_sink_open_in(mv_sink *sink, int folder, const char *path, mv_err *err);

/* After a failed write further ones do nothing; commit reports it. */
void mv_sink_write(mv_sink *sink, const void *data, uint64_t bytes);
void mv_sink_printf(mv_sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Flushes and renames. On failure the temporary is removed and the target is as it was. */
mv_code mv_sink_commit(mv_sink *sink, mv_err *err);

/* Gives up: removes the temporary. Safe on a zeroed, committed or aborted sink. */
void mv_sink_abort(mv_sink *sink);

#endif
