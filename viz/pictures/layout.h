/* The layout of a timeline's allocations: only numbers, with columns but without pixels.
 *
 * Allocations stack in order of birth, so the offset of an allocation is the sum of the living
 * allocations before it. The caller cuts a window of events into columns; each shows the heap at
 * one instant, where most bytes are allocated in it, so that no peak is lost.
 *
 * An element is an allocation of at least `least` bytes, or a run of smaller allocations born one
 * after another: nothing is between them, so they form one shape at every instant. A run ends where
 * the call site changes, unless it is still smaller than `least`.
 *
 * Elements are the leaves of a tree of sums, 16 in a node. A column is read from the top of the
 * tree, and subtrees too low to be visible are skipped: the work for a column depends on its height
 * in pixels, not on how many allocations are alive. */
#ifndef MV_LAYOUT_H
#define MV_LAYOUT_H

#include "analyze/lives/lives.h"

typedef struct {
    uint32_t first, count; /* allocations [first, first + count) of the lives table */
    uint32_t members;      /* number of allocations that live in the window */
    uint32_t site;         /* the site with most of it, in bytes x events */
    bool is_one_site;      /* no other site has a part of it */
    bool is_mixed;         /* no site has three quarters of it */
    uint32_t samples;      /* first row of mv_layout.samples */
    uint32_t columns;      /* number of samples */
    uint64_t highest;      /* most bytes in a column */
} mv_element;

typedef struct {
    uint32_t column;
    uint32_t element;
    uint64_t offset; /* bytes below it */
    uint64_t bytes;  /* its own */
} mv_sample;

typedef struct {
    uint32_t from, to; /* events of the window */
    uint32_t column_count;
    const uint32_t *instant; /* [column_count] the caller's */
    uint64_t *allocated;     /* [column_count] bytes at that instant: the height of the stack */
    uint64_t *preexisting; /* [column_count] the part of these bytes from before the first event */
    uint32_t element_count;
    mv_element *elements; /* [element_count] in order of birth */
    uint32_t sample_count;
    mv_sample *samples; /* [sample_count] by element, then column */
} mv_layout;

typedef struct {
    uint32_t from, to; /* window of events */
    uint32_t columns;
    uint64_t least;   /* allocations from this size on have their own element; at least 1 */
    uint64_t visible; /* an element with fewer bytes than this in a column has no sample there */
    const uint32_t *instant; /* [columns] the heap after this event is shown, ascending; MV_BEFORE:
                                before the first. Must outlive the layout */
    const uint32_t *site_of; /* [allocs.count] the call site of each allocation: any numbers */
} mv_layout_opts;

/* Uses only the allocations of `lives`, in order of birth, and the number of events. Time: O(n log
 * n) in allocations, and for a column at most the number of its samples times 16 x log n. Fails
 * when out of memory. */
mv_code mv_layout_find(mv_arena *arena, const mv_lives *lives, const mv_layout_opts *opts,
                       mv_layout *out, mv_err *err);

#endif
