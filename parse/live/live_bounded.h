/* A bounded recording in one piece (docs/recorder.md): the live file, with its holes, and its folded
 * part become the bytes of one live file. */
#ifndef MV_LIVE_BOUNDED_H
#define MV_LIVE_BOUNDED_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

/* The folded part of the live file at `path`, opened; -1: it has none. */
int mv_live_folded_open(const char *path);

/* `live` and `folded` are open files, and stay open. *out is in `arena`, at most as long as the two
 * files without their holes. Fails when memory is out, or `folded` is not a folded part. */
mv_code mv_live_bounded_bytes(mv_arena *arena, int live, int folded, mv_span *out, mv_err *err);

#endif
