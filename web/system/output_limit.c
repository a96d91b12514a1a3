#include "cli/output_limit.h"

/* No limit is needed, because a page writes its files to memory, which is limited anyway. */
void mv_output_limit(uint64_t input_bytes)
{
    (void)input_bytes;
}
