/* Stacks for testing the recorder, in place of the stacks that capture/ finds. Each thread sets its
 * stack itself. */
#pragma once

#include "capture/record/stack.h"

/* Sets the calling thread's Python frames, innermost first, as code numbers and offsets. Function n
 * is named "fN", is in "model.py", has the first line 10 n, and has a line table that is n bytes
 * long. */
void stand_stack_set(uint32_t count, const uint32_t *codes, const uint32_t *offsets);

/* Sets the calling thread's native frames. For n from 1 to 15, addresses from n << 20 are in module
 * "/lib/libN.so" with bias n << 20. Addresses from 16 << 20 are in "/lib/libnccl.so", and other
 * addresses are in no module. */
void stand_stack_set_native(uint32_t count, const uint64_t *addresses);
