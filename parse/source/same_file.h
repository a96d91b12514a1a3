/* Whether two names are those of one file: what an output must not be of an input. */
#ifndef MV_SAME_FILE_H
#define MV_SAME_FILE_H

#include <stdbool.h>

/* By device and inode, hence through links of either kind. "-" is standard input as `input`, and
 * standard output as `output`. Only regular files count: what is written to a terminal, a pipe or
 * /dev/null does no harm there. */
bool mv_is_same_file(const char *input, const char *output);

#endif
