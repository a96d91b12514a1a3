/* An output file that is either complete or absent. Bytes go to a file without a name (or, if the
 * system does not support such files, to a temporary file in the same folder), which mv_sink_commit
 * moves into place. The path "-" is standard output, which is written directly.
 *
 * A replaced file keeps its mode, so that restricted access stays restricted. If the old file
 * belongs to another user, the mode has no more bits than that of a new file. */
#pragma once

#include <stdio.h>

#include "base/cursor.h"
#include "base/err.h"

typedef struct {
    FILE *file;
    char path[4096];           /* path of the output, for messages */
    uint32_t at;               /* offset in `path` of the file's name in `folder` */
    int folder;                /* descriptor of the folder, or AT_FDCWD */
    char temporary[4096 + 32]; /* temporary name in `folder`; "": there is none */
    bool is_nameless;          /* the file receives its name at commit */
    uint64_t bytes;            /* number of bytes written so far */
    bool failed;
    int why; /* errno of the write that failed */
} mv_sink;

mv_code mv_sink_open(mv_sink *sink, const char *path, mv_err *err);

/* Returns true if the output is written in place, because a rename must not replace it. This
 * applies to a device, a named pipe, and a descriptor (/dev/stdout, /dev/fd/3, /dev/fd/3.png) of
 * any file. */
bool mv_sink_is_in_place(const char *path);

/* Returns the number of this process's descriptor in a path such as "/dev/fd/3", or "/dev/fd/3.png"
 * for code that checks extensions; -1 if the path does not contain one. */
int mv_sink_descriptor_of(const char *path);

/* Opens the file at the end of `path` in an open folder, so that it does not matter whether the
 * folder's path changes. The caller keeps the folder open. Only a regular file is replaced; a
 * device, a pipe or a folder with that name is an error, and the target of a link is not
 * touched. */
mv_code mv_sink_open_in(mv_sink *sink, int folder, const char *path, mv_err *err);

/* Records that a write has just failed, for the reason in errno. */
void mv_sink_fail(mv_sink *sink);

/* After a failed write, all further writes do nothing; commit reports the failure. */
void mv_sink_write(mv_sink *sink, const void *data, uint64_t bytes);
void mv_sink_printf(mv_sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Flushes the output, and moves the file into place. On failure the temporary file is removed, and
 * the target is unchanged. */
mv_code mv_sink_commit(mv_sink *sink, mv_err *err);

/* Removes the temporary file. Safe to call on a zeroed, committed or aborted sink. */
void mv_sink_abort(mv_sink *sink);
