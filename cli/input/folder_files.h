/* Folders on the command line: replaced by the snapshots in them. */
#ifndef MV_FOLDER_FILES_H
#define MV_FOLDER_FILES_H

#include "base/arena.h"
#include "base/err.h"

/* Whether a file begins like a snapshot or a summary file. Pages are snapshots only if they are
 * named. */
bool mv_is_snapshot_file(mv_budget *budget, const char *path, bool or_summary);

/* Whether a file has a snapshot's name: *.pickle, *.msgpack or *.bin, compressed or not; if
 * `or_summary`, also *.summary. */
bool mv_is_named_as_snapshot(const char *name, bool or_summary);

/* `paths` with each folder replaced by the snapshots directly in it (if `or_summary`, also
 * summaries), sorted by name: 2 < 10. Files with a snapshot's name are always included: reading one
 * reports its error. Hidden files are skipped. Other paths are unchanged. *out has *count texts, in
 * `arena` or from `paths`. Fails if a folder contains none or cannot be read, or memory runs
 * out. */
mv_code mv_folder_files(mv_arena *arena, char **paths, int paths_count, bool or_summary,
                        char ***out, int *count, mv_err *err);

#endif
