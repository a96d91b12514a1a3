/* For fuzz targets: the files that the program finds in its folder in memory (in_process.h), and an
 * environment without other programs, shim, window and cache. */
#ifndef MV_MEMORY_FILES_H
#define MV_MEMORY_FILES_H

#include "base/cursor.h"

/* The folder's path. The first of these calls sets the environment. */
const char *mvt_memory_folder(void);

/* A file in the folder. `bytes` must last until it is replaced. */
void mvt_memory_file(const char *name, mv_span bytes);

/* Copies a file of testdata/ into the folder, if it is not there yet. */
void mvt_memory_copy(const char *name, const char *from);

/* Removes every file in the folder that the two functions above did not put there, and restores
 * those that have changed. Returns the number of unexpected or changed files. */
unsigned mvt_memory_tidy(void);

#endif
