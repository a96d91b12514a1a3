/* Makes labels for the rows of one table, such that no two labels are equal.
 *
 * A row's label is the label of its stack's culprit. If several rows share a culprit, their labels
 * also contain the frames in which their stacks differ, outermost first. These are lines of the
 * user's code or of other packages that call the culprit or are called by it or, if no such lines
 * differ, frames of the framework.
 *
 *     rows                                         labels
 *     train.py:62 forward | linear.py:134          train.py:62 forward > linear.py:134 forward
 *     train.py:62 forward | norm.py:229            train.py:62 forward > norm.py:229 forward
 *     util.py:5 make called by a.py:3 and b.py:9   a.py:3 main > util.py:5 make, b.py:9 ...
 *     x/model.py:7 run, y/model.py:7 run           x/model.py:7 run, y/model.py:7 run
 *
 * The labels of rows with equal stacks also contain the size, and a number if the sizes are equal,
 * too. */
#pragma once

#include "analyze/code/culprit.h"

typedef struct {
    const mv_trace *trace; /* trace of the stack; rows may come from several traces, because
                            * frames are compared by their labels */
    const uint8_t *kinds;  /* kinds of the trace's frames, from mv_frame_kinds */
    mv_stack_id stack;
    uint32_t key;   /* rows with different keys may have the same label, because another column
                     * tells them apart */
    uint64_t bytes; /* size, which is added to the label if nothing else differs */
} mv_labelled;

/* Returns [count] labels, in `arena`. With `shows_inner`, each label also contains the innermost
 * line of another package that the culprit calls, even if the labels differ without this line.
 * O(frames of the rows that share a label, times log rows). Returns NULL when out of memory. */
const char **mv_labels_find(mv_arena *arena, const mv_labelled *rows, uint32_t count,
                            bool shows_inner);

/* Calls mv_labels_find for `count` rows of a struct that has members for the stack and the bytes:
 *
 *     mv_labels_of(arena, trace, kinds, found->retained, count, mv_retained, bytes) */
#define mv_labels_of(arena, trace, kinds, rows, count, type, bytes)             \
    mv_labels_of_rows((arena), (trace), (kinds), (rows), (count), sizeof(type), \
                      offsetof(type, stack), offsetof(type, bytes))
const char **mv_labels_of_rows(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                               const void *rows, uint32_t count, size_t size, size_t stack,
                               size_t bytes);

/* Adds to each label the operator in the row's tag and the operator's inputs, if they are known:
 * "train.py:62 forward · aten::addmm [64,10] bf16". `tag` is the offset of an mv_tag_id in a row.
 * `labels` may be NULL if an earlier call failed. Returns NULL when out of memory. */
const char **mv_labels_operators(mv_arena *arena, const mv_trace *trace, const char **labels,
                                 const void *rows, uint32_t count, size_t size, size_t tag);
