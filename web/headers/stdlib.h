/* Functions missing from wasi-libc. */
#ifndef MV_WEB_STDLIB_H
#define MV_WEB_STDLIB_H

#include_next <stdlib.h>

char *realpath(const char *path, char *out);

#endif
