/* Makes the line profile: for each line of code, how many bytes it allocated, held at its peak,
 * freed, and still holds.
 *
 * The line of an allocation is its culprit (analyze/code/culprit.h): the innermost line of the
 * user's code that led to it. Every allocation has exactly one line, so the following sums over all
 * lines hold:
 *
 *     sum of start = allocated at the window's first moment      sum of total = allocated within it
 *     sum of live  = allocated at its last moment                sum of freed = freed within it
 *     start + total - freed = live, for each line
 *
 * All figures are allocated bytes, that is, block sizes. */
#pragma once

#include "analyze/code/culprit.h"
#include "analyze/lives/position.h"
#include "analyze/peak/grouping.h"
#include "analyze/totals/bounds.h"

typedef struct {
    mv_frame_id frame;   /* frame of the line; MV_NO_FRAME: its stacks have no frames */
    mv_stack_id stack;   /* stack of the line's first allocation that was held or made in the
                          * window; it distinguishes an empty stack from a missing one */
    uint64_t peak;       /* largest number of bytes that the line's blocks held at once */
    uint32_t peak_event; /* first event after which the peak was reached; MV_BEFORE: it was reached
                          * before the first event */
    uint64_t start, total, freed, live;
    uint32_t allocations; /* number of allocations within the window */
    uint64_t largest;     /* size of the largest allocation in bytes */
    mv_tag_id tag;        /* tag of the largest allocation: its operator, and the
                           * operator's inputs */
    bool is_least;        /* the bytes are lower bounds, because some block sizes of the line are
                           * (mv_alloc_lives.inexact) */
    const char *group;    /* name of the group, for mv_lines_by; otherwise NULL */
    /* The highest levels of the whole device directly after an allocation by this line, as shown by
     * profilers that read the device's counters after each line. 0 if the line did not allocate. */
    uint64_t active;
    uint64_t reserved;
} mv_line;

/* How the figures of all lines relate to the true figures (analyze/totals/bounds.h); a line's
 * is_least flag also applies to the line's bytes. Unless the events begin with an empty heap,
 * blocks freed before the first event are missing, and earlier blocks often have no line, so a peak
 * is a lower bound. In a window that begins with the first event, the allocated and freed bytes are
 * lower bounds, too. The live bytes are those that are known to belong to the line. */
typedef struct {
    mv_bound peak, total, live, allocations;
    mv_bound active, reserved; /* for the whole device */
} mv_line_bounds;

typedef struct {
    uint32_t count;
    mv_line *lines; /* [count] lines sorted by peak, highest first */
    mv_line_bounds bounds;
    bool has_all; /* the history is complete, or the window begins after the first event */
    bool has_end; /* the window ends with the last event, so the sizes of live blocks are exact */
} mv_lines;

/* Finds the lines of a trace that is read in pieces (parse/pieces.h), each of which has its own
 * lives:
 *
 *     mv_lines_begin, mv_lines_add for each piece in order, mv_lines_end
 *
 * `window` is the part of the window that the piece covers, as rows of the piece's events; for
 * further pieces, only the end is used. All functions fail only when out of memory. mv_lines_end
 * releases the search even after a failure. `kinds` comes from mv_frame_kinds. O(n + frames of all
 * stacks). */
typedef struct mv_line_search mv_line_search;

mv_line_search *mv_lines_begin(mv_arena *arena, const uint8_t *kinds, mv_lines *out);
mv_code mv_lines_add(mv_line_search *search, const mv_trace *trace, const mv_lives *lives,
                     mv_window window, mv_err *err);
void mv_lines_end(mv_line_search *search);

/* Finds the lines of a trace that consists of a single piece. */
mv_code mv_lines_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      const uint8_t *kinds, mv_window window, mv_lines *out, mv_err *err);

/* Does the same as mv_lines_find, but for groups instead of lines; the frame of each row is
 * MV_NO_FRAME. */
mv_code mv_lines_by(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                    const mv_grouping *grouping, mv_window window, mv_lines *out, mv_err *err);
