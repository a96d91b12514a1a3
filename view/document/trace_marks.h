/* Named places in a device's trace: annotations by the program, and out-of-memory events. */
#ifndef MV_TRACE_MARKS_H
#define MV_TRACE_MARKS_H

#include "analyze/lives/lives.h"

enum { MV_LANDMARK_DEEPEST = 16 }; /* most ranges open at one time; deeper ranges are omitted */

/* An annotated range, or a mark: a moment. */
typedef struct {
    uint32_t from; /* first event at or after its beginning */
    uint32_t to;   /* first event at or after its end; the number of events if it does not end; for
                      a mark, equal to `from` */
    uint8_t depth; /* number of ranges around it */
    bool is_moment;
    mv_string_id name;
} mv_mark;

typedef struct {
    uint32_t mark_count;
    mv_mark *marks; /* [mark_count] by beginning, outer ranges first */
    uint32_t oom_count;
    uint32_t *ooms; /* [oom_count] events, ascending */
} mv_trace_marks;

/* O(n + annotations x log n). Files without times have no marks. Fails only when out of memory. */
mv_code mv_trace_marks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            mv_trace_marks *out, mv_err *err);

#endif
