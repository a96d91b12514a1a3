/* Replaces directories on the command line with the snapshots in them. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* Whether the file's content begins like a snapshot, or like a summary file if `or_summary`. A page
 * counts as a snapshot only if the user named it. */
bool mv_is_snapshot_file(mv_budget *budget, const char *path, bool or_summary);

/* Whether a file is named like a snapshot (*.pickle, *.msgpack or *.bin, compressed or not) or, if
 * `or_summary`, like a summary (*.summary). */
bool mv_is_named_as_snapshot(const char *name, bool or_summary);

/* Replaces each directory in `paths` with the snapshots directly in it (and with the summaries, if
 * `or_summary`), sorted by name (2 before 10). Files that are named like snapshots are always
 * included, because reading such a file reports what is wrong with it. Hidden files are skipped.
 * Other paths are unchanged. Stores *count strings in *out, which are allocated in `arena` or
 * belong to `paths`. Fails if a directory cannot be read or contains no snapshot, or if memory runs
 * out. */
mv_code mv_folder_files(mv_arena *arena, char **paths, int paths_count, bool or_summary,
                        char ***out, int *count, mv_err *err);
