/* A fast path for event dicts, which are nearly all of a large pickle, in the two forms that
 * PyTorch's writers use. It decodes the opcodes exactly as the machine in read_pickle.c would, and
 * leaves anything unexpected to that machine. */
#pragma once

#include "parse/values/machine.h"

/* The bytes of recent events. Nearly every event writes its keys, strings and stack with the same
 * bytes as an earlier event, and equal bytes have equal meanings as long as no memo entry is
 * overwritten. */
typedef struct mv_pickle_memory mv_pickle_memory;

mv_pickle_memory *mv_pickle_memory_new(mv_arena *scratch); /* NULL when out of memory */

/* Decodes the dict at `at`, the byte after EMPTY_DICT, and any dicts directly after it, as long as
 * they end before `safe`. Pushes an event for each dict. Returns the byte after the last one
 * decoded, which is `at` if the first is not an event. */
const uint8_t *mv_pickle_events(mv_machine *m, mv_pickle_memory *memory, const uint8_t *at,
                                const uint8_t *safe);
