/* libFuzzer target: any bytes as JAX's device memory profile. */
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return mvt_one_input(data, size, mv_pprof_read);
}
