/* Whether two names refer to one file: an output must not overwrite an input. */
#ifndef MV_SAME_FILE_H
#define MV_SAME_FILE_H

#include <stdbool.h>

/* By device and inode, so through links of either kind. "-" is standard input as `input`, and
 * standard output as `output`, which may name a descriptor as in mv_sink. Only regular files
 * matter: writing to a terminal, a pipe or /dev/null does no harm. */
bool mv_is_same_file(const char *input, const char *output);

#endif
