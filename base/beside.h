/* Files that come with the program, found from where it is: the shim, the page, fonts. */
#ifndef MV_BESIDE_H
#define MV_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* The path of `name` as seen from the program's folder: "memviz.html", "../lib/x". False when the
 * folder is not known or the path is longer than `size`; whether there is such a file is not asked.
 */
bool mv_beside(char *path, size_t size, const char *name);

#endif
