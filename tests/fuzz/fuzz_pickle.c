/* libFuzzer target: any bytes as a pickle. One input in eight is read again in short blocks, by two
 * threads. */
#include "parse/pickle/read_pickle.h"
#include "tests/fuzz/target.h"

static mv_code read_in_blocks(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                              mv_trace *out, mv_err *err)
{
    return mv_pickle_read_in_blocks(arena, source, opts, 100, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[size - 1] % 8 == 0)
        mvt_one_input(data, size, read_in_blocks);
    return mvt_one_input(data, size, mv_pickle_read);
}
