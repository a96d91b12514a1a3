/* The page's core runs in one thread. */
#include "base/processors.h"

uint32_t mv_processors(void)
{
    return 1;
}

uint64_t mv_address_space(void)
{
    return UINT64_MAX;
}

uint64_t mv_group_memory(const char *root)
{
    (void)root;
    return UINT64_MAX;
}
