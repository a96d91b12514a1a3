#include <stdio.h>

#include "analyze/code/labels.h"
#include "analyze/lives/alive.h"
#include "base/size.h"
#include "base/sort.h"
#include "viz/pictures/timeline_painter.h"
#include "viz/scene/axis.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { LEGEND_ROWS = 13, ROW_HEIGHT = 21, LABEL_SIZE = 256, NO_STACK = 0, NO_FRAME = 1 };

/* ---- grouping ---------------------------------------------------------------------------- */

/* Groups stacks by the frame that the reader can act on. */
static bool group_stacks(mv_arena *arena, mv_painter *p, uint32_t *caller_of_stack)
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

static bool lives_at_peak(const mv_painter *p, uint32_t alloc)
{
    const mv_alloc_lives *a = &p->lives->allocs;

    if (p->peak_event == MV_BEFORE)
        return a->birth[alloc] == MV_BEFORE &&
               (p->of_segments || !mv_alloc_was_pending(p->lives, alloc));
    return (a->birth[alloc] == MV_BEFORE || a->birth[alloc] <= p->peak_event) &&
           a->freed[alloc] > p->peak_event;
}

static bool group_allocs(mv_arena *arena, mv_painter *p, const uint32_t *caller_of_stack)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    const mv_leaks *leaks = p->opts->leaks;
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
        if (lives_at_peak(p, i) && (!p->coloured || mv_filter_has(p->coloured, i)))
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

static void choose_colours(mv_painter *p)
{
    mv_callers *c = &p->callers;
    char label[LABEL_SIZE];
    uint32_t used = 0;

    for (uint32_t i = 0; i < c->count; i++) {
        mv_caller *caller = &c->callers[c->by_rank[i]];
        uint64_t hash = 0;
        if (caller->frame.row != MV_NO_ROW) {
            mv_caller_label(p, caller, label, sizeof label);
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
static bool label_named(mv_arena *arena, mv_painter *p)
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

bool mv_callers_find(mv_arena *arena, mv_painter *p)
{
    uint32_t *of_stack = mv_push_array(arena, uint32_t, (uint64_t)p->trace->stacks.count + 1);

    if (!of_stack || !group_stacks(arena, p, of_stack) || !group_allocs(arena, p, of_stack) ||
        !rank(arena, &p->callers))
        return false;
    p->callers.named = count_named(&p->callers);
    choose_colours(p);
    return label_named(arena, p);
}

const char *mv_caller_label(const mv_painter *p, const mv_caller *caller, char *out, size_t size)
{
    if (caller == &p->callers.callers[NO_FRAME])
        return mv_culprit_label(p->trace, p->frame_kinds, MV_EMPTY_STACK, out, size);
    if (caller->label)
        snprintf(out, size, "%s", caller->label);
    else
        mv_frame_label(p->trace, caller->frame, out, size);
    return out;
}

/* ---- the legend -------------------------------------------------------------------------- */

static void key_line(mv_painter *p, float x, float y, uint32_t colour, bool is_dashed,
                     const char *label)
{
    mv_scene_point(p->scene, x, y - 4);
    mv_scene_point(p->scene, x + 24, y - 4);
    mv_scene_add(
        p->scene,
        (mv_shape){.kind = MV_SHAPE_LINE, .stroke = colour, .width = 2, .is_dashed = is_dashed});
    mv_scene_text(p->scene, x + 32, y, 12, p->theme->text, MV_ANCHOR_START, label);
}

static void key_area(mv_painter *p, float x, float y, uint32_t colour, const char *label)
{
    mv_scene_rect(p->scene, x, y - 10, 24, 11, colour);
    mv_scene_text(p->scene, x + 32, y, 12, p->theme->text, MV_ANCHOR_START, label);
}

/* What the kinds of lines and areas mean; returns the last baseline. */
static float legend_keys(mv_painter *p, float x, float y)
{
    if (p->of_segments) {
        key_line(p, x, y, p->theme->outline, false, "reserved: held by PyTorch on the device");
        key_line(p, x, y += 20, p->theme->active, true, "allocated: in use by tensors");
        key_area(p, x, y += 20, p->theme->rest,
                 p->shown.has_others ? "all other segments together"
                                     : "many small segments together");
    } else {
        key_line(p, x, y, p->theme->outline, false,
                 p->shown.is_part ? "allocated, of what matches" : "allocated: in use by tensors");
        if (p->has_pending)
            key_line(p, x, y += 20, p->theme->active, true,
                     "active: and what a stream may still use");
        if (!p->shown.is_part || p->of_pools)
            key_line(p, x, y += 20, p->theme->reserved, true,
                     p->of_pools ? "reserved: held by the pool"
                                 : "reserved: held by PyTorch on the device");
        if (p->of_pools)
            key_area(p, x, y += 20, MV_ENVELOPE_FILL(p->theme), "the most that the pool ever held");
        key_area(p, x, y += 20, p->theme->rest,
                 p->shown.has_others ? "all other allocations together"
                                     : "many small allocations together");
    }
    if (p->lives->allocs.preexisting > 0 && p->lives->events.count > 0) {
        key_area(p, x, y += 20, p->theme->unknown, "hatched: from before the first event");
        mv_scene_point(p->scene, x, y - 10);
        mv_scene_point(p->scene, x + 24, y + 1);
        mv_scene_add(
            p->scene,
            (mv_shape){.kind = MV_SHAPE_RECTS, .is_hatched = true, .stroke = p->theme->hatch});
    }
    return y;
}

/* The most telling part of a label: of "train.py:102 a_long_name" the file and line, of
 * "torch::autograd::generated::MmBackward0::apply" the end. */
static const char *fit_label(mv_painter *p, const char *label, float width)
{
    const char *rest = label, *next, *space = strrchr(label, ' ');
    int place = space ? (int)(space + 1 - label) : 0;
    const char *place_text = mv_scene_format(p->scene, "%.*s", place, label);
    float place_width = mv_text_width(place_text, 12);

    if (place > 0 && place_width < width * 0.8f)
        return mv_scene_format(p->scene, "%s%s", place_text,
                               mv_text_fit(p->scene, space + 1, 12, width - place_width));
    while (mv_text_width(rest, 12) > width && !space && (next = strstr(rest, "::")) != NULL &&
           strstr(next + 2, "::"))
        rest = next + 2;
    return mv_text_fit(p->scene, rest, 12, width);
}

/* "27 %", "<1 %". */
static const char *share_text(mv_scene *scene, uint64_t bytes, uint64_t all)
{
    double share = all ? 100.0 * (double)bytes / (double)all : 0;

    if (bytes > 0 && share < 1)
        return "<1 %";
    return mv_scene_format(scene, "%.0f %%", share);
}

void mv_callers_row(mv_painter *p, float x, float y, float w, const char *label, uint64_t bytes)
{
    const char *share = share_text(p->scene, bytes, p->peak);
    char size[MV_SIZE_TEXT];

    mv_scene_text(p->scene, x + 18, y, 12, p->theme->text, MV_ANCHOR_START,
                  fit_label(p, label, w - 18 - 112));
    mv_scene_text(p->scene, x + w - 44, y, 12, p->theme->text, MV_ANCHOR_END,
                  mv_scene_format(p->scene, "%s", mv_size_text(size, bytes)));
    mv_scene_text(p->scene, x + w, y, 12, p->theme->faint_text, MV_ANCHOR_END, share);
}

static void other_row(mv_painter *p, float x, float y, float w, uint32_t others, uint64_t bytes)
{
    for (uint32_t i = 0; i < MV_MUTED_COLOURS; i++)
        mv_scene_rect(p->scene, x + 3 * (float)i, y - 10, 3, 12, mv_muted_colour(i));
    mv_callers_row(p, x, y, w, mv_scene_format(p->scene, "%u other lines of code", others), bytes);
}

/* What --top left out, so that the rows add up to the peak. */
static void band_row(mv_painter *p, float x, float y, float w)
{
    char count[MV_TICK_TEXT];

    mv_scene_rect(p->scene, x, y - 10, 12, 12, p->theme->rest);
    mv_callers_row(p, x, y, w,
                   mv_scene_format(p->scene, "other: %s %s",
                                   mv_axis_exact(p->shown.matches - p->shown.largest, count),
                                   p->of_segments ? "segments" : "blocks"),
                   mv_shown_others(p));
}

void mv_callers_legend(mv_arena *scratch, mv_painter *p, float x, float y, float w)
{
    char size[MV_SIZE_TEXT];

    y = legend_keys(p, x, y + (p->has_lane ? 8 : 0)) + 34;
    if (p->blocks) {
        y = mv_fullness_legend(scratch, p, x, y, w);
        if (p->shown.has_others)
            band_row(p, x, y + ROW_HEIGHT, w);
        return;
    }
    mv_callers_rows(p, x, y, w,
                    mv_scene_format(p->scene,
                                    p->of_segments                  ? "Who asked for the %s"
                                    : p->shown.is_part              ? "Who holds most of these, %s"
                                    : p->layout.to > p->layout.from ? "Who holds the %s of the peak"
                                                                    : "Who holds the %s in use",
                                    mv_size_text(size, p->peak)));
}

void mv_callers_rows(mv_painter *p, float x, float y, float w, const char *title)
{
    const mv_callers *c = &p->callers;
    char label[LABEL_SIZE + 16];
    float below = (p->shown.has_others ? 3 : 2) * ROW_HEIGHT + 10;
    uint64_t rest = 0;
    uint32_t others = 0;

    mv_scene_text(p->scene, x, y, 12, p->theme->faint_text, MV_ANCHOR_START, title);
    for (uint32_t i = 0; i < c->count; i++) {
        const mv_caller *caller = &c->callers[c->by_rank[i]];
        if (i >= c->named || y + below > p->scene->height) {
            rest += caller->bytes;
            others += caller->bytes > 0;
            continue;
        }
        y += ROW_HEIGHT;
        memcpy(label, "leak: ", 6);
        mv_caller_label(p, caller, label + 6, LABEL_SIZE);
        mv_scene_rect(p->scene, x, y - 10, 12, 12, caller->colour);
        mv_callers_row(p, x, y, w, caller->is_leak ? label : label + 6, caller->bytes);
    }
    if (others)
        other_row(p, x, y += ROW_HEIGHT, w, others, rest);
    if (p->shown.has_others)
        band_row(p, x, y + ROW_HEIGHT, w);
}
