/* Mixes libFuzzer's own mutations with mutations that understand the target's format. MVT_FORMAT is
 * one of the formats in mutate.h. */
#include "tests/fuzz/mutate.h"

enum { ALL = 8, OWN = 6 }; /* the fraction of mutations that understand the format */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t room, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    size_t changed = seed % ALL < OWN ? mvt_mutate(&MVT_FORMAT, data, size, room, seed) : 0;

    return changed ? changed : LLVMFuzzerMutate(data, size, room);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t room, unsigned seed)
{
    return mvt_cross(&MVT_FORMAT, (mv_span){a, a_size}, (mv_span){b, b_size}, out, room, seed);
}
