/* A fast path for event dicts, nearly all of a big pickle, in the two forms that PyTorch's writers
 * use. It decodes exactly the meaning of the opcodes. Anything unexpected is left untouched for the
 * machine of read_pickle.c. */
#ifndef MV_PICKLE_EVENT_H
#define MV_PICKLE_EVENT_H

#include "parse/values/machine.h"

/* The bytes of recent events. Nearly every event writes its keys, its texts and its stack as an
 * earlier one did, and equal bytes have equal meanings as long as no memo entry is overwritten. */
typedef struct mv_pickle_memory mv_pickle_memory;

mv_pickle_memory *mv_pickle_memory_new(mv_arena *scratch); /* NULL when memory is out */

/* `at` is the byte after an EMPTY_DICT. Decodes that dict and further ones that follow directly,
 * and pushes each as an event, as long as they end before `safe`. Returns the byte after the last
 * one decoded; `at` itself if the first is not an event. */
const uint8_t *mv_pickle_events(mv_machine *m, mv_pickle_memory *memory, const uint8_t *at,
                                const uint8_t *safe);

#endif
