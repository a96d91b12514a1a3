#include "cli/output_limit.h"

/* The page's files are in its memory, which is limited. */
void mv_output_limit(uint64_t input_bytes)
{
    (void)input_bytes;
}
