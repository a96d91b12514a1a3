/* Places with a name in a device's trace: what the program said it was doing, and where memory ran
 * out. */
#ifndef MV_TRACE_MARKS_H
#define MV_TRACE_MARKS_H

#include "analyze/lives/lives.h"

enum {
    MV_LANDMARK_DEEPEST = 16
}; /* most ranges that are open at one time; inner ones are left out */

/* A range of annotations, or a mark: a moment. */
typedef struct {
    uint32_t from; /* first event at or after its begin */
    uint32_t to;   /* first event at or after its end; the number of events when it does not end; a
                      mark: equal to `from` */
    uint8_t depth; /* ranges around it */
    bool is_moment;
    mv_string_id name;
} mv_mark;

typedef struct {
    uint32_t mark_count;
    mv_mark *marks; /* [mark_count] by begin, outer ones first */
    uint32_t oom_count;
    uint32_t *ooms; /* [oom_count] events, ascending */
} mv_trace_marks;

/* O(n + annotations x log n). Files without times have no marks. Fails only when memory runs out.
 */
mv_code mv_trace_marks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            mv_trace_marks *out, mv_err *err);

#endif
