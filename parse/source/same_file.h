/* Whether two names mean one file: an output must not overwrite an input. */
#ifndef MV_SAME_FILE_H
#define MV_SAME_FILE_H

#include <stdbool.h>

/* By device and inode, hence through links of either kind. "-" is standard input as `input`, and
 * standard output as `output`, which may name a descriptor as mv_sink does. Only regular files
 * count: writing to a terminal, a pipe or /dev/null does no harm. */
bool mv_is_same_file(const char *input, const char *output);

#endif
