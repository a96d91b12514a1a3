/* libFuzzer target: any bytes as msgpack, plain or compact. */
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return mvt_one_input(data, size, mv_msgpack_read);
}
