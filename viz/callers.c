#include <stdlib.h>

#include "analyze/culprit.h"
#include "analyze/size.h"
#include "viz/painter.h"

enum { LEGEND_ROWS = 14 };

/* Stacks by the frame that their reader can act on. */
static bool group_stacks(mv_arena *arena, mv_painter *p)
{
    const mv_trace *t = p->trace;
    mv_callers *c = &p->callers;
    uint32_t *caller_of_frame = mv_push_array(arena, uint32_t, (uint64_t)t->frames.count + 1);

    c->site_of_stack = mv_push_array(arena, uint32_t, (uint64_t)t->stacks.count + 1);
    c->callers = mv_push_array(arena, mv_caller, (uint64_t)t->frames.count + 2);
    if (!caller_of_frame || !c->site_of_stack || !c->callers)
        return false;
    c->callers[0].frame = c->callers[1].frame = MV_NO_FRAME;
    c->site_of_stack[MV_EMPTY_STACK.row + 1] = 1;
    c->count = 2;
    for (uint32_t i = 0; i < t->stacks.count; i++) {
        mv_frame_id frame = mv_culprit_frame(t, p->frame_kinds, (mv_stack_id){i});
        if (frame.row == MV_NO_ROW)
            continue;
        if (caller_of_frame[frame.row] == 0) {
            c->callers[c->count].frame = frame;
            caller_of_frame[frame.row] = c->count++;
        }
        c->site_of_stack[i + 1] = caller_of_frame[frame.row];
    }
    return true;
}

static bool lives_at_peak(const mv_painter *p, uint32_t alloc)
{
    const mv_alloc_lives *a = &p->lives->allocs;

    if (p->peak_event == MV_BEFORE)
        return a->birth[alloc] == MV_BEFORE;
    return (a->birth[alloc] == MV_BEFORE || a->birth[alloc] <= p->peak_event) &&
           a->freed[alloc] > p->peak_event;
}

static int most_bytes_first(const void *left, const void *right, void *callers)
{
    const mv_caller *a = (const mv_caller *)callers + *(const uint32_t *)left;
    const mv_caller *b = (const mv_caller *)callers + *(const uint32_t *)right;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->frame.row < b->frame.row ? -1 : a->frame.row > b->frame.row;
}

bool mv_callers_find(mv_arena *arena, mv_painter *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    mv_callers *c = &p->callers;

    if (!group_stacks(arena, p))
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t stack = a->stack[i].row;
        mv_caller *caller = &c->callers[c->site_of_stack[stack == MV_NO_ROW ? 0 : stack + 1]];
        if (!lives_at_peak(p, i))
            continue;
        caller->bytes += a->block[i];
        caller->blocks++;
    }
    c->by_rank = mv_push_array(arena, uint32_t, c->count);
    if (!c->by_rank)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        c->by_rank[i] = i;
    qsort_r(c->by_rank, c->count, sizeof *c->by_rank, most_bytes_first, c->callers);
    for (uint32_t i = 0; i < c->count; i++)
        c->callers[c->by_rank[i]].rank = i;
    return true;
}

/* "train.py:62 forward", cut in the middle of long names so that both ends can be read. */
static const char *fitted_label(mv_painter *p, const mv_caller *caller, float width, float size)
{
    char label[256], cut[256];
    size_t length;

    if (caller == &p->callers.callers[1])
        mv_culprit_label(p->trace, p->frame_kinds, MV_EMPTY_STACK, label, sizeof label);
    else
        mv_frame_label(p->trace, caller->frame, label, sizeof label);
    length = strlen(label);
    if (mv_text_width(label, size) <= width)
        return mv_scene_format(p->scene, "%s", label);
    for (size_t keep = length; keep > 8; keep--) {
        size_t head = keep / 2, tail = keep - head;
        while (head > 0 && ((unsigned char)label[head] & 0xc0) == 0x80)
            head--;
        while (tail > 0 && ((unsigned char)label[length - tail] & 0xc0) == 0x80)
            tail--;
        snprintf(cut, sizeof cut, "%.*s\xe2\x80\xa6%s", (int)head, label, label + length - tail);
        if (mv_text_width(cut, size) <= width)
            return mv_scene_format(p->scene, "%s", cut);
    }
    return "\xe2\x80\xa6";
}

static void legend_row(mv_painter *p, float x, float y, float w, uint32_t colour, const char *label,
                       const char *bytes)
{
    mv_scene_rect(p->scene, x, y - 10, 12, 12, colour);
    mv_scene_text(p->scene, x + 18, y, 12, p->theme->text, MV_ANCHOR_START, label);
    mv_scene_text(p->scene, x + w, y, 12, p->theme->text, MV_ANCHOR_END, bytes);
}

static void legend_key(mv_painter *p, float x, float y, uint32_t colour, bool is_dashed,
                       const char *label)
{
    mv_scene_point(p->scene, x, y - 4);
    mv_scene_point(p->scene, x + 24, y - 4);
    mv_scene_add(
        p->scene,
        (mv_shape){.kind = MV_SHAPE_LINE, .stroke = colour, .width = 2, .is_dashed = is_dashed});
    mv_scene_text(p->scene, x + 32, y, 12, p->theme->text, MV_ANCHOR_START, label);
}

static float legend_keys(mv_painter *p, float x, float y)
{
    mv_scene *scene = p->scene;
    const mv_alloc_lives *a = &p->lives->allocs;

    legend_key(p, x, y, p->theme->outline, false, "allocated (handed out to tensors)");
    legend_key(p, x, y += 20, p->theme->reserved, true, "reserved (held by the allocator)");
    if (p->has_pending)
        legend_key(p, x, y += 20, p->theme->active, true, "active (a stream may still use it)");
    mv_scene_rect(scene, x, y + 10, 24, 10, p->theme->rest);
    mv_scene_text(scene, x + 32, y += 20, 12, p->theme->text, MV_ANCHOR_START,
                  "allocations too small to draw");
    if (a->preexisting > 0) {
        mv_scene_rect(scene, x, y + 10, 24, 10, p->theme->lane);
        mv_scene_point(scene, x, y + 10);
        mv_scene_point(scene, x + 24, y + 20);
        mv_scene_add(
            scene,
            (mv_shape){.kind = MV_SHAPE_RECTS, .is_hatched = true, .stroke = p->theme->hatch});
        mv_scene_text(scene, x + 32, y += 20, 12, p->theme->text, MV_ANCHOR_START,
                      p->lives->events.count ? "from before the first event" : "in use");
    }
    return y;
}

void mv_callers_legend(mv_painter *p, float x, float y, float w)
{
    const mv_callers *c = &p->callers;
    char text[MV_SIZE_TEXT];
    uint64_t rest = 0;
    uint32_t others = 0;

    y = legend_keys(p, x, y) + 34;
    mv_scene_text(p->scene, x, y, 12, p->theme->faint_text, MV_ANCHOR_START,
                  p->peak_event == MV_BEFORE ? "Who holds it, by line of code"
                                             : "Who holds it at the peak, by line of code");
    for (uint32_t i = 0; i < c->count; i++) {
        const mv_caller *caller = &c->callers[c->by_rank[i]];
        const char *bytes;
        if (caller->bytes == 0)
            break;
        if (i >= LEGEND_ROWS || y + 60 > p->scene->height) {
            rest += caller->bytes;
            others++;
            continue;
        }
        bytes = mv_scene_format(p->scene, "%s", mv_size_text(text, caller->bytes));
        legend_row(p, x, y += 21, w, mv_site_colour(i),
                   fitted_label(p, caller, w - 26 - mv_text_width(bytes, 12), 12), bytes);
    }
    if (others)
        legend_row(p, x, y += 21, w, mv_site_colour(MV_SITE_COLOURS),
                   mv_scene_format(p->scene, "%u other lines", others),
                   mv_scene_format(p->scene, "%s", mv_size_text(text, rest)));
}
