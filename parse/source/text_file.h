/* Reads small text files named by a user or in a snapshot: rules, source files, sessions. */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

#define MV_TEXT_FILE_MOST (16u << 20)

/* Returns the contents of a regular file of at most MV_TEXT_FILE_MOST bytes, followed by a NUL that
 * is not counted. Anything else (folders, devices, pipes, larger files) fails with MV_IO or
 * MV_LIMIT, because a path from a snapshot must not make memviz wait or fill its memory. `err` does
 * not contain the file's name. */
mv_code mv_text_file_read(mv_arena *arena, const char *path, mv_span *out, mv_err *err);

/* Returns true if a regular file begins with `text`, which is at most 64 bytes long. Only regular
 * files are opened, so that a pipe keeps its bytes. */
bool mv_text_file_begins(const char *path, const char *text);
