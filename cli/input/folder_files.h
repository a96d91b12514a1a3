/* Folders on the command line: the snapshots in them take their place. */
#ifndef MV_FOLDER_FILES_H
#define MV_FOLDER_FILES_H

#include "base/arena.h"
#include "base/err.h"

/* Whether a file begins as a snapshot or a summary of some does. Pages are snapshots only if they
 * are named. */
bool mv_is_snapshot_file(mv_budget *budget, const char *path, bool or_summary);

/* `paths` with each folder replaced by the snapshots right in it (if `or_summary`, also summaries),
 * by name: 2 < 10. Files that are named as a snapshot are among them, whatever they contain:
 * *.pickle, *.msgpack and *.bin, compressed or not, and *.summary if `or_summary`. Reading one says
 * what is wrong with it. Hidden files are left out. Other paths stay as they are. *out has *count
 * texts, in `arena` or those of `paths`. Fails when a folder has none or cannot be read, or memory
 * is out. */
mv_code mv_folder_files(mv_arena *arena, char **paths, int paths_count, bool or_summary,
                        char ***out, int *count, mv_err *err);

#endif
