/* The layout of the allocations in a timeline. It consists only of numbers; there are columns, but
 * no pixels.
 *
 * Allocations are stacked in order of birth, so the offset of an allocation is the sum of the
 * living allocations before it. The caller cuts a window of events into columns. Each column shows
 * the heap at the instant at which most bytes are allocated within the column, so that no peak is
 * lost.
 *
 * An element is an allocation of at least `least` bytes, or a run of smaller allocations that were
 * born one after another. Nothing lies between these, so they form one shape at every instant. A
 * run ends where the call site changes, unless the run is still smaller than `least`.
 *
 * Elements are the leaves of a tree of sums with 16 children per node. A column is read from the
 * top of the tree, and subtrees that are too low to be visible are skipped. The work for a column
 * therefore depends on its height in pixels and not on how many allocations are alive. */
#pragma once

#include "analyze/lives/lives.h"

typedef struct {
    uint32_t first, count; /* the allocations [first, first + count) of the lives table */
    uint32_t members;      /* number of allocations that are alive in the window */
    uint32_t site;         /* the call site with the largest part of the element, in bytes x
                              events; of an element without samples, any of its call sites */
    bool is_one_site;      /* the whole element belongs to one call site */
    bool is_mixed;         /* no call site has as much as three quarters of the element */
    uint32_t samples;      /* index of the element's first sample in mv_layout.samples */
    uint32_t columns;      /* number of samples, one for each column */
    uint64_t highest;      /* the largest number of bytes that the element has in any column */
} mv_element;

typedef struct {
    uint32_t column;
    uint32_t element;
    uint64_t offset; /* number of bytes below the element */
    uint64_t bytes;  /* number of bytes of the element */
} mv_sample;

typedef struct {
    uint32_t from, to; /* window of events */
    uint32_t column_count;
    const uint32_t *instant; /* [column_count] the instants that the caller gave */
    uint64_t *allocated;     /* [column_count] allocated bytes at each instant, which is the height
                                of the stack */
    uint64_t *preexisting;   /* [column_count] how many of these bytes existed before the first
                              event */
    uint32_t element_count;
    mv_element *elements; /* [element_count] those that are in a column, in order of birth */
    uint32_t sample_count;
    mv_sample *samples; /* [sample_count] sorted by element, then by column */
} mv_layout;

typedef struct {
    uint32_t from, to; /* window of events */
    uint32_t columns;
    uint64_t least;   /* an allocation of at least this size is an element by itself; at least 1 */
    uint64_t visible; /* an element with fewer bytes than this in a column has no sample there */
    const uint32_t *instant; /* [columns] each column shows the heap after this event; MV_BEFORE:
                                before the first event. Must be in ascending order, and must outlive
                                the layout */
    const uint32_t *site_of; /* [allocs.count] the call site of each allocation, as any number */
} mv_layout_opts;

/* Uses only the allocations of `lives`, in order of birth, and the number of events. O(n log n) in
 * the number of allocations, and for each column at most O(samples of the column x 16 x log n).
 * Fails when out of memory. */
mv_code mv_layout_find(mv_arena *arena, const mv_lives *lives, const mv_layout_opts *opts,
                       mv_layout *out, mv_err *err);
