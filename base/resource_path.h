/* Finds files that are installed with the program (the shim, the page, fonts) relative to the
 * program's own location. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of `name` relative to the program's folder: "memviz.html", "../lib/x". Returns
 * false if the folder is unknown or the path is longer than `size`. Does not check whether the file
 * exists. */
bool mv_resource_path(char *path, size_t size, const char *name);
