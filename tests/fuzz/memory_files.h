/* For fuzz targets: the files that the program finds in its folder in memory (in_process.h), and an
 * environment in which it finds no other program, no shim, no window and no cache. */
#ifndef MV_MEMORY_FILES_H
#define MV_MEMORY_FILES_H

#include "base/cursor.h"

/* The path of the folder. The first of these calls sets the environment. */
const char *mvt_memory_folder(void);

/* A file of the folder. `bytes` must last until it is replaced. */
void mvt_memory_file(const char *name, mv_span bytes);

/* Copies a file of testdata/ into the folder, if it is not there. */
void mvt_memory_copy(const char *name, const char *from);

/* Removes every file of the folder that was not put there by the two functions above, and puts
 * those back that have changed. Returns how many were not as they should be. */
unsigned mvt_memory_tidy(void);

#endif
