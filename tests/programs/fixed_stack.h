/* Stacks for tests of the recorder, in place of the stacks that capture/ finds: each thread sets
 * its own. */
#ifndef MV_FIXED_STACK_H
#define MV_FIXED_STACK_H

#include "capture/record/stack.h"

/* Python frames of the calling thread, innermost first: code numbers and offsets. Function n is
 * called "fN", in "model.py", first line 10 n, and has a line table of n bytes. */
void stand_stack_set(uint32_t count, const uint32_t *codes, const uint32_t *offsets);

/* Native frames of the calling thread. Addresses from n << 20 are in module "/lib/libN.so" with
 * bias n << 20, for n from 1 to 15; from 16 << 20 in "/lib/libnccl.so"; others are in none. */
void stand_stack_set_native(uint32_t count, const uint64_t *addresses);

#endif
