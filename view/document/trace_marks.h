/* Named events and ranges in a device's trace: the program's annotations, and out-of-memory
 * events. */
#pragma once

#include "analyze/lives/lives.h"

/* Maximum number of ranges that can be open at the same time. Deeper ranges are omitted. */
enum { MV_LANDMARK_DEEPEST = 16 };

/* An annotated range, or a mark at a single point in time. */
typedef struct {
    uint32_t from; /* first event at or after the start of the range */
    uint32_t to;   /* first event at or after the end of the range; the number of events if the
                      range does not end; equal to `from` for a mark */
    uint8_t depth; /* number of ranges around this one */
    bool is_moment;
    mv_string_id name;
} mv_mark;

typedef struct {
    uint32_t mark_count;
    mv_mark *marks; /* [mark_count] sorted by start, outer ranges first */
    uint32_t oom_count;
    uint32_t *ooms; /* [oom_count] out-of-memory events, in ascending order */
} mv_trace_marks;

/* Finds the marks. Files without times have none. O(n + annotations x log n). Fails only when out
 * of memory. */
mv_code mv_trace_marks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            mv_trace_marks *out, mv_err *err);
