/* Stacks that the plain form has written before.
 *
 * The plain form repeats every stack at every event, so nineteen bytes in twenty have been read
 * before. A stack with the bytes of an earlier one is that stack: it is compared instead of parsed.
 * The two stacks before it give a guess which one to compare with; if that fails, a hash of the
 * bytes finds it. */
#ifndef MV_READ_MSGPACK_SPELLED_H
#define MV_READ_MSGPACK_SPELLED_H

#include "base/intern.h"
#include "parse/model/trace.h"

typedef struct {
    const uint8_t *bytes;
    uint32_t length;
    mv_stack_id stack;
} mv_spelling;

typedef struct {
    mv_arena *scratch; /* owns everything here */
    mv_intern by_bytes;
    mv_spelling *known; /* [count] */
    uint32_t count;
    uint64_t bytes;         /* of all that are known */
    uint32_t *guesses;      /* [1 << MV_GUESS_BITS] row + 1, by the two rows before */
    uint32_t last, earlier; /* those rows + 1 */
    uint64_t wasted;        /* bytes that were searched without result */
} mv_spelled;

enum { MV_GUESS_BITS = 12 };

/* False when memory is out. */
bool mv_spelled_init(mv_spelled *s, mv_arena *scratch);

/* The known stack that `rest` begins with, or NULL; then `*length` is how many bytes of `rest` are
 * an array worth remembering, 0 if none. `seen` bytes of the file have been read: the search costs
 * at most a share of them. */
const mv_spelling *mv_spelled_find(mv_spelled *s, mv_span rest, uint64_t seen, uint64_t *length);

/* Remembers that these bytes are this stack. Does nothing when there is no room. */
void mv_spelled_learn(mv_spelled *s, mv_span bytes, mv_stack_id stack);

#endif
