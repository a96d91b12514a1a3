/* Tells whether two names refer to the same file, because an output must not overwrite an input. */
#pragma once

#include <stdbool.h>

/* Compares device and inode, so that hard and symbolic links are recognized too. "-" is standard
 * input as `input`, and standard output as `output`, which may name a descriptor as in mv_sink.
 * Only regular files count: writing to a terminal, a pipe or /dev/null does no harm. */
bool mv_is_same_file(const char *input, const char *output);
