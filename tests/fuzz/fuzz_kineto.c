/* libFuzzer target: any bytes as a torch.profiler trace. */
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return mvt_one_input(data, size, mv_kineto_read);
}
