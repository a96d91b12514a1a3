#include "parse/sample.h"

static const uint8_t bytes[] = {
#include "parse/sample_bytes.h" /* made by CMake from sample.bin */
};

bool mv_sample_is(const char *path)
{
    return strcmp(path, MV_SAMPLE_NAME) == 0;
}

mv_span mv_sample(void)
{
    return (mv_span){bytes, sizeof bytes};
}
