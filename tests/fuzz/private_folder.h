/* For fuzz targets: a folder in memory, of this process alone, in which programs read and write
 * files while one input is tried. */
#ifndef MV_PRIVATE_FOLDER_H
#define MV_PRIVATE_FOLDER_H

#include "base/cursor.h"

/* Its path. It is made when it is asked for the first time, and removed with all that is in it when
 * the process ends; the folders of processes that have crashed go then, too. Its path is HOME,
 * XDG_CACHE_HOME and XDG_CONFIG_HOME of the process. */
const char *mvt_folder_path(void);
int mvt_folder_file(void); /* a descriptor of it */

/* It becomes the current folder until mvt_folder_leave. */
const char *mvt_folder_enter(void);
void mvt_folder_leave(void);

/* Removes all that is in it. */
void mvt_folder_empty(void);

/* Writes a file of the folder. */
void mvt_folder_put(const char *name, mv_span bytes);

/* A file of the folder, or of any path. NULL data: there is no such file. free() takes `data` back;
 * one byte after it is 0. */
mv_span mvt_folder_read(const char *name);

/* The same; the file is removed. */
mv_span mvt_folder_take(const char *name);

/* For a finding: says what is wrong, and of what, and aborts. */
_Noreturn void mvt_finding(const char *what, const char *of);

#endif
