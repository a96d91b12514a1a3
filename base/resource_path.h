/* Files installed with the program (the shim, the page, fonts), found relative to the program. */
#ifndef MV_BESIDE_H
#define MV_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* The path of `name` relative to the program's folder: "memviz.html", "../lib/x". False when the
 * folder is unknown or the path is longer than `size`. Does not check that the file exists. */
bool mv_resource_path(char *path, size_t size, const char *name);

#endif
