#include "viz/html/page_sites.h"

#include <stdio.h>
#include <string.h>

#include "analyze/code/labels.h"
#include "analyze/lives/alive.h"
#include "base/sort.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { LEGEND_ROWS = 13, LABEL_SIZE = 256, NO_STACK = 0, NO_FRAME = 1 };

/* ---- grouping ---------------------------------------------------------------------------- */

/* Groups stacks by the frame that the reader can act on. */
static bool group_stacks(mv_arena *arena, mv_page_sites *p, uint32_t *caller_of_stack)
{
    const mv_trace *t = p->trace;
    mv_callers *c = &p->callers;
    uint32_t *caller_of_frame = mv_push_array(arena, uint32_t, (uint64_t)t->frames.count + 1);

    /* Each frame may have a second row for what leaks. */
    c->callers = mv_push_array(arena, mv_caller, ((uint64_t)t->frames.count + 2) * 2);
    if (!caller_of_frame || !c->callers)
        return false;
    c->callers[NO_STACK].frame = c->callers[NO_FRAME].frame = MV_NO_FRAME;
    c->count = 2;
    for (uint32_t i = 0; i < t->stacks.count; i++) {
        mv_frame_id frame = mv_culprit_frame(t, p->frame_kinds, (mv_stack_id){i});
        caller_of_stack[i] = NO_FRAME;
        if (frame.row == MV_NO_ROW)
            continue;
        if (caller_of_frame[frame.row] == 0) {
            c->callers[c->count].frame = frame;
            c->callers[c->count].stack = (mv_stack_id){i};
            caller_of_frame[frame.row] = c->count++;
        }
        caller_of_stack[i] = caller_of_frame[frame.row];
    }
    return true;
}

static uint32_t leak_twin(mv_callers *c, uint32_t caller)
{
    if (c->callers[caller].twin == 0) {
        c->callers[c->count] = (mv_caller){
            .frame = c->callers[caller].frame, .stack = c->callers[caller].stack, .is_leak = true};
        c->callers[caller].twin = c->count++;
    }
    return c->callers[caller].twin;
}

static bool lives_at_peak(const mv_page_sites *p, uint32_t alloc)
{
    const mv_alloc_lives *a = &p->lives->allocs;

    if (p->peak_event == MV_BEFORE)
        return a->birth[alloc] == MV_BEFORE &&
               (!p->leaks || !mv_alloc_was_pending(p->lives, alloc));
    return (a->birth[alloc] == MV_BEFORE || a->birth[alloc] <= p->peak_event) &&
           a->freed[alloc] > p->peak_event;
}

static bool group_allocs(mv_arena *arena, mv_page_sites *p, const uint32_t *caller_of_stack)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    const mv_leaks *leaks = p->leaks;
    mv_callers *c = &p->callers;

    c->of_alloc = mv_push_array(arena, uint32_t, a->count);
    if (!c->of_alloc)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t caller = NO_STACK;
        if (a->stack[i].row < p->trace->stacks.count)
            caller = caller_of_stack[a->stack[i].row];
        if (leaks && leaks->is_leaked[i])
            caller = leak_twin(c, caller);
        c->of_alloc[i] = caller;
        if (lives_at_peak(p, i))
            c->callers[caller].bytes += a->block[i];
    }
    return true;
}

/* ---- ranks and colours ------------------------------------------------------------------- */

static int leaks_then_most_bytes(const void *left, const void *right, const void *callers)
{
    const mv_caller *a = (const mv_caller *)callers + *(const uint32_t *)left;
    const mv_caller *b = (const mv_caller *)callers + *(const uint32_t *)right;

    if (a->is_leak != b->is_leak)
        return a->is_leak ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->frame.row < b->frame.row ? -1 : a->frame.row > b->frame.row;
}

static bool rank(mv_arena *arena, mv_callers *c)
{
    c->by_rank = mv_push_array(arena, uint32_t, c->count);
    if (!c->by_rank)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        c->by_rank[i] = i;
    mv_sort_by(arena, c->by_rank, c->count, sizeof *c->by_rank, leaks_then_most_bytes, c->callers);
    for (uint32_t i = 0; i < c->count; i++)
        c->callers[c->by_rank[i]].rank = i;
    return true;
}

static void choose_colours(mv_page_sites *p)
{
    mv_callers *c = &p->callers;
    char label[LABEL_SIZE];
    uint32_t used = 0;

    for (uint32_t i = 0; i < c->count; i++) {
        mv_caller *caller = &c->callers[c->by_rank[i]];
        uint64_t hash = 0;
        if (caller->frame.row != MV_NO_ROW) {
            mv_page_site_label(p, caller, label, sizeof label);
            hash = XXH3_64bits(label, strlen(label));
        }
        if (caller->is_leak)
            caller->colour = p->theme->leak;
        else if (caller->frame.row == MV_NO_ROW)
            caller->colour = caller == &c->callers[NO_STACK] ? p->theme->unknown : p->theme->native;
        else
            caller->colour = i < c->named ? mv_site_colour(mv_site_hue(hash, &used))
                                          : mv_muted_colour((uint32_t)(hash % 251));
    }
}

/* Rows of the legend: those with bytes, and leaks even if they have none at the peak. */
static uint32_t count_named(const mv_callers *c)
{
    uint32_t named = 0;

    while (named < c->count && named < LEGEND_ROWS) {
        const mv_caller *caller = &c->callers[c->by_rank[named]];
        if (caller->bytes == 0 && !caller->is_leak)
            break;
        named++;
    }
    return named;
}

/* Labels of the legend's rows: lines of files with the same name get different labels. */
static bool label_named(mv_arena *arena, mv_page_sites *p)
{
    mv_labelled rows[LEGEND_ROWS] = {0};
    mv_caller *named[LEGEND_ROWS];
    uint32_t count = 0;
    const char **labels;

    for (uint32_t i = 0; i < p->callers.named; i++) {
        mv_caller *caller = &p->callers.callers[p->callers.by_rank[i]];
        if (caller->frame.row == MV_NO_ROW)
            continue;
        named[count] = caller;
        rows[count++] = (mv_labelled){.trace = p->trace,
                                      .kinds = p->frame_kinds,
                                      .stack = caller->stack,
                                      .key = caller->is_leak,
                                      .bytes = caller->bytes};
    }
    labels = mv_labels_find(arena, rows, count, false);
    for (uint32_t i = 0; labels && i < count; i++)
        named[i]->label = labels[i];
    return labels != NULL;
}

bool mv_page_sites_find(mv_arena *arena, mv_page_sites *p)
{
    uint32_t *of_stack = mv_push_array(arena, uint32_t, (uint64_t)p->trace->stacks.count + 1);

    if (!of_stack || !group_stacks(arena, p, of_stack) || !group_allocs(arena, p, of_stack) ||
        !rank(arena, &p->callers))
        return false;
    p->callers.named = count_named(&p->callers);
    choose_colours(p);
    return label_named(arena, p);
}

const char *mv_page_site_label(const mv_page_sites *p, const mv_caller *caller, char *out,
                               size_t size)
{
    if (caller == &p->callers.callers[NO_FRAME])
        return mv_culprit_label(p->trace, p->frame_kinds, MV_EMPTY_STACK, out, size);
    if (caller->label)
        snprintf(out, size, "%s", caller->label);
    else
        mv_frame_label(p->trace, caller->frame, out, size);
    return out;
}
