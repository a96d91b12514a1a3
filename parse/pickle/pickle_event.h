/* A fast path for what nearly all of a big pickle is: event dicts, in the two forms that PyTorch's
 * writers use. It decodes exactly what the opcodes mean. Whatever it does not expect it leaves,
 * untouched, to the machine of read_pickle.c. */
#ifndef MV_PICKLE_EVENT_H
#define MV_PICKLE_EVENT_H

#include "parse/values/machine.h"

/* What the last events looked like, byte for byte. Nearly every event writes its keys, its texts
 * and its stack as an earlier one did, and equal bytes mean equal things as long as no memo entry
 * is overwritten. */
typedef struct mv_pickle_memory mv_pickle_memory;

mv_pickle_memory *mv_pickle_memory_new(mv_arena *scratch); /* NULL when memory is out */

/* `at` is the byte after an EMPTY_DICT. Decodes that dict and further ones that follow directly,
 * and pushes each as an event, as long as they end before `safe`. Returns the byte after the last
 * one decoded; `at` itself when even the first is something else. */
const uint8_t *mv_pickle_events(mv_machine *m, mv_pickle_memory *memory, const uint8_t *at,
                                const uint8_t *safe);

#endif
