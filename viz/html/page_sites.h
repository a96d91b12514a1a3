/* Call sites of a page: which allocations share a colour and a row of its legend. Only viz/html
 * includes this. */
#ifndef MV_PAGE_SITES_H
#define MV_PAGE_SITES_H

#include "analyze/code/culprit.h"
#include "analyze/leaks/leaks.h"
#include "viz/scene/palette.h"

/* A call site: all stacks with the same user frame. Row 0 is for allocations without a recorded
 * stack, row 1 for stacks without frames. Leaked allocations of a frame have a row of their own. */
typedef struct {
    mv_frame_id frame; /* MV_NO_FRAME in rows 0 and 1 */
    bool is_leak;
    uint64_t bytes;    /* allocated at the peak of the window */
    uint32_t rank;     /* leaks first, then by bytes */
    uint32_t colour;   /* chosen by the frame's label: the same in other pictures, if it is free */
    uint32_t twin;     /* the row for leaked allocations of the same frame; 0: none */
    mv_stack_id stack; /* the first with that frame */
    const char *label; /* of the legend's rows, all different; NULL: the frame's label */
} mv_caller;

typedef struct {
    uint32_t count;
    mv_caller *callers; /* [count] */
    uint32_t *by_rank;  /* [count] rows of callers */
    uint32_t *of_alloc; /* [allocs.count] rows of callers */
    uint32_t named;     /* ranks below this have a row in the legend */
} mv_callers;

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_leaks *leaks; /* of these lives; NULL: the rows are segments */
    const mv_theme *theme;
    const uint8_t *frame_kinds; /* mv_frame_kinds */
    uint32_t peak_event;        /* MV_BEFORE: before the first event */
    mv_callers callers;         /* found */
} mv_page_sites;

/* False when memory is out. */
bool mv_page_sites_find(mv_arena *arena, mv_page_sites *p);

const char *mv_page_site_label(const mv_page_sites *p, const mv_caller *caller, char *out,
                               size_t size);

#endif
