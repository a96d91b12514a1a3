/* The heading of a printed picture of the allocator's state, and the choice of blocks that are
 * coloured. */
#include "base/size.h"
#include "base/sort.h"
#include "view/panes/panels.h"
#include "view/paper/paper.h"

/* ---- which blocks ------------------------------------------------------------------------ */

mv_heading_part mv_paper_part(const mv_view *view)
{
    const mv_paper_sheet *sheet = view->sheet;
    const mv_lives *lives = &mv_view_device(view)->lives;
    mv_heading_part part = {.filter = sheet->opts.filter};

    for (uint32_t i = 0; i < lives->allocs.count; i++) {
        bool is_kept = !sheet->opts.only || mv_filter_has(sheet->opts.only, i);
        if (!mv_alloc_is_allocated(lives, i, sheet->opts.event))
            continue;
        part.rows++;
        part.all += lives->allocs.block[i];
        part.matches += is_kept;
        part.bytes += is_kept ? lives->allocs.block[i] : 0;
    }
    return part;
}

/* Lists the rows of blocks that are allocated and match the filter. */
static uint32_t *list_rows(mv_arena *scratch, mv_view *view)
{
    const mv_paper_sheet *sheet = view->sheet;
    const mv_lives *lives = &mv_view_device(view)->lives;
    uint32_t *list = mv_push_array(scratch, uint32_t, lives->allocs.count), count = 0;

    for (uint32_t i = 0; list && i < lives->allocs.count; i++)
        if (mv_alloc_is_allocated(lives, i, sheet->opts.event) &&
            (!sheet->opts.only || mv_filter_has(sheet->opts.only, i)))
            list[count++] = i;
    return list;
}

static int largest_first(const void *left, const void *right, const void *context)
{
    const uint64_t *bytes = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    if (bytes[a] != bytes[b])
        return bytes[a] < bytes[b] ? 1 : -1;
    return a < b ? -1 : a > b;
}

/* Chooses the blocks to colour, which --filter and --top select. All other blocks are grey. */
static bool choose(mv_arena *scratch, mv_view *view, const mv_heading_part *part)
{
    mv_paper_sheet *sheet = view->sheet;
    const mv_alloc_lives *a = &mv_view_device(view)->lives.allocs;
    uint64_t *bits = mv_push_array(&view->arena, uint64_t, (uint64_t)a->count / 64 + 1);
    uint32_t *list = list_rows(scratch, view), count;

    if (!bits || !list)
        return false;
    count = (uint32_t)part->matches;
    if (sheet->opts.top && sheet->opts.top < count) {
        mv_sort_by(scratch, list, count, sizeof *list, largest_first, a->block);
        count = sheet->opts.top;
    }
    for (uint32_t i = 0; i < count; i++)
        bits[list[i] >> 6] |= (uint64_t)1 << (list[i] & 63);
    sheet->others = (uint32_t)part->rows - count;
    if (sheet->others)
        sheet->largest = bits;
    return true;
}

/* ---- text -------------------------------------------------------------------------------- */

static const mv_heap_answer *heap_of(mv_view *view)
{
    mv_box any = {0, 0, view->ui.scene.width, view->ui.scene.height};
    mv_heap_query ask = mv_state_question(view, any);
    bool is_current;

    return mv_slot_query(view->panels->heap, &ask, &is_current);
}

static const char *oom_text(mv_view *view, const mv_heap_moment *heap)
{
    const mv_events *e = &mv_view_device(view)->lives.events;
    char size[MV_SIZE_TEXT], hole[MV_SIZE_TEXT], idle[MV_SIZE_TEXT];

    if (heap->event >= e->count || e->action[heap->event] != MV_ACTION_OOM)
        return NULL;
    return mv_scene_format(&view->ui.scene,
                           "out of memory: requested %s; %s is free here, the largest hole %s",
                           mv_size_text(size, e->size[heap->event]),
                           mv_size_text(idle, heap->sums.free), mv_size_text(hole, heap->largest));
}

static void say(mv_view *view, const mv_heap_answer *a, mv_paper_heading *out)
{
    const mv_lives *lives = &mv_view_device(view)->lives;
    mv_scene *scene = &view->ui.scene;
    const char *oom = oom_text(view, &a->heap), *history = mv_heading_history(lives);
    const char *holes = mv_state_holes_text(scene, &mv_view_document(view)->trace, lives,
                                            &a->heap.sums, a->heap.largest);

    mv_paper_heading_add(out, mv_heading_moment(scene, &mv_view_document(view)->trace, lives,
                                                view->sheet->opts.event));
    mv_paper_heading_add(out, mv_state_sums_text(scene, &mv_view_document(view)->trace,
                                                 &a->heap.sums, a->state.whole));
    if (*history) /* " · recording began late" */
        mv_paper_heading_add(out, history + 4);
    mv_paper_add_headline(view, false, out);
    if (oom)
        mv_paper_add_verdict(out, oom, true);
    if (*holes)
        mv_paper_add_verdict(out, holes, false);
}

static void describe(mv_view *view, mv_paper_heading *out)
{
    mv_paper_sheet *sheet = view->sheet;
    mv_heading_part part = mv_paper_part(view);
    const mv_heap_answer *a = heap_of(view);
    mv_arena scratch;

    mv_arena_init(&scratch, view->budget);
    if (!a || !choose(&scratch, view, &part))
        view->ui.ran_out_of_memory = true;
    else
        say(view, a, out);
    mv_arena_release(&scratch);
    sheet->events = mv_view_device(view)->lives.events.count;
    if (sheet->opts.only)
        out->part = mv_heading_part_line(&view->ui.scene, part, "blocks", "the allocated");
}

const mv_paper_kind mv_paper_state = {.main = MV_MAIN_STATE,
                                      .is_of_moment = true,
                                      .is_cropped = true,
                                      .describe = describe,
                                      .paint = mv_state_paint};
