/* For fuzz targets: the files that the program finds in its folder in memory (in_process.h), and an
 * environment without other programs, the shim, a window or a cache. */
#pragma once

#include "base/cursor.h"

/* Returns the folder's path. The first call to any of these functions sets the environment. */
const char *mvt_memory_folder(void);

/* Puts a file into the folder. `bytes` must stay valid until the file is replaced. */
void mvt_memory_file(const char *name, mv_span bytes);

/* Copies a file from testdata/ into the folder unless it is already there. */
void mvt_memory_copy(const char *name, const char *from);

/* Removes every file in the folder that the two functions above did not put there, and restores the
 * files that have changed. Returns the number of unexpected or changed files. */
unsigned mvt_memory_tidy(void);
