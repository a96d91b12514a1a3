/* Labels for the rows of one table, so that no two read the same.
 *
 * A row's label is that of its stack's culprit. Where several rows share one, the frames in which
 * their stacks differ are added, outermost first: the line of another package or of the user's own
 * that it went on to, or one that it was called from; else frames of the framework.
 *
 *     rows                                      labels
 *     train.py:62 forward | linear.py:134       train.py:62 forward > linear.py:134 forward
 *     train.py:62 forward | norm.py:229         train.py:62 forward > norm.py:229 forward
 *     util.py:5 make called by a.py:3 and b.py:9   a.py:3 main > util.py:5 make, b.py:9 ...
 *     x/model.py:7 run, y/model.py:7 run        x/model.py:7 run, y/model.py:7 run
 *
 * Rows whose stacks show no difference have their size added, equal ones a number. */
#ifndef MV_LABELS_H
#define MV_LABELS_H

#include <stddef.h>

#include "analyze/code/culprit.h"

typedef struct {
    const mv_trace *trace; /* rows may be of several traces: what counts is how frames read */
    const uint8_t *kinds;  /* of its frames, from mv_frame_kinds */
    mv_stack_id stack;
    uint32_t key;   /* rows that another column tells apart have different ones */
    uint64_t bytes; /* for rows that nothing else tells apart */
} mv_labelled;

/* [count] labels, in `arena`. With `shows_inner` a label also has the innermost line of another
 * package that the culprit went on to, needed or not. O(frames of the rows that share a label,
 * times log rows). NULL when memory is out. */
const char **mv_labels_find(mv_arena *arena, const mv_labelled *rows, uint32_t count,
                            bool shows_inner);

/* The same for `count` rows of one type, whose members say the stack and the bytes:
 *
 *     mv_labels_of(arena, trace, kinds, found->retained, count, mv_retained, bytes)
 */
#define mv_labels_of(arena, trace, kinds, rows, count, type, bytes)             \
    mv_labels_of_rows((arena), (trace), (kinds), (rows), (count), sizeof(type), \
                      offsetof(type, stack), offsetof(type, bytes))
const char **mv_labels_of_rows(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                               const void *rows, uint32_t count, size_t size, size_t stack,
                               size_t bytes);

#endif
