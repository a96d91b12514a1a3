/* An output file that is either complete or absent: bytes go to a file without a name (or, where
 * the system has no such files, to a temporary one in the same folder), which mv_sink_commit puts
 * in place. "-" is standard output, which cannot be taken back.
 *
 * A replaced file keeps its mode, and with it restricted access. If it is another user's, the mode
 * has no more bits than a new file's. */
#ifndef MV_SINK_H
#define MV_SINK_H

#include <stdio.h>

#include "base/cursor.h"
#include "base/err.h"

typedef struct {
    FILE *file;
    char path[4096];           /* for messages */
    uint32_t at;               /* path + at is its name in `folder` */
    int folder;                /* AT_FDCWD, or a folder's descriptor */
    char temporary[4096 + 32]; /* name in `folder`; "": there is none */
    bool is_nameless;          /* the file gets its name at commit */
    uint64_t bytes;            /* written so far */
    bool failed;
    int why; /* errno of the write that failed */
} mv_sink;

mv_code mv_sink_open(mv_sink *sink, const char *path, mv_err *err);

/* Whether the output is opened and written, since a rename must not replace it: a device, a named
 * pipe, a descriptor (/dev/stdout, /dev/fd/3, /dev/fd/3.png) of any file. */
bool mv_sink_is_in_place(const char *path);

/* The descriptor of this process that a path names, as "/dev/fd/3", or "/dev/fd/3.png" for code
 * that checks endings; -1: none. */
int mv_sink_descriptor_of(const char *path);

/* Opens a name in an open folder, which stays the caller's, whatever happens to the folder's path.
 * `path` ends with the name. Only a file is replaced: a device, a pipe or a folder of that name is
 * an error, and the target of a link is left alone. */
mv_code mv_sink_open_in(mv_sink *sink, int folder, const char *path, mv_err *err);

/* A write has just failed, with errno as the reason. */
void mv_sink_fail(mv_sink *sink);

/* After a failed write, further ones do nothing; commit reports it. */
void mv_sink_write(mv_sink *sink, const void *data, uint64_t bytes);
void mv_sink_printf(mv_sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Flushes and renames. On failure the temporary is removed and the target is as it was. */
mv_code mv_sink_commit(mv_sink *sink, mv_err *err);

/* Gives up: removes the temporary. Safe on a zeroed, committed or aborted sink. */
void mv_sink_abort(mv_sink *sink);

#endif
