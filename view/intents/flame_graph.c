/* What the flame graph shows, and what a click on a box of it does. */
#include "view/document/search_text.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"

void mv_do_flame_source(mv_view *view, uint64_t arg)
{
    mv_view_write(view)->flame_source = (uint8_t)(arg % MV_FLAMES_COUNT);
    view->panels->flame_first = 0;
}

void mv_do_flame_weight(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_view_write(view)->by_blocks = !view->now->by_blocks;
}

void mv_do_flame_invert(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_view_write(view)->is_inverted = !view->now->is_inverted;
    mv_view_write(view)->flame_focus = 0;
    view->panels->flame_first = 0;
}

void mv_do_flame_frames(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_view_write(view)->has_all_frames = !view->now->has_all_frames;
    mv_view_write(view)->flame_focus = 0;
    view->panels->flame_first = 0;
}

/* Where a path ends, the largest block is the one that is meant. */
static void pin_leaf(mv_view *view, const mv_flames_answer *a, uint32_t node)
{
    const mv_document *d = mv_view_document(view);
    mv_arena scratch;
    uint32_t alloc;

    if (a->flames.tree.nodes[node].child || a->ask.source == MV_FLAMES_CHANGE)
        return;
    mv_arena_init(&scratch, view->budget);
    alloc = mv_flames_largest(&scratch, &d->trace, &d->sites, &a->ask.device->index,
                              mv_flames_question_ask(&a->ask), &a->flames, node);
    mv_arena_release(&scratch);
    if (alloc != MV_NO_ROW)
        mv_view_pin(view, alloc);
}

/* Shows which blocks the node is about: by its frame, or the largest block. */
static void show_node(mv_view *view, const mv_flames_answer *a, uint32_t node)
{
    const mv_flame_node *n = &a->flames.tree.nodes[node];
    char words[MV_SEARCH_TEXT - 8] = "";

    if (n->kind == MV_FLAME_FRAME)
        mv_search_of_frame(a->ask.source == MV_FLAMES_CHANGE && n->side == 0
                               ? &a->ask.other->trace
                               : &a->ask.document->trace,
                           n->frame, words, sizeof words);
    if (*words)
        mv_search_set(view, words);
    pin_leaf(view, a, node);
}

/* Focusing on the focused node moves the focus to its caller. */
void mv_do_flame_focus(mv_view *view, uint64_t arg)
{
    mv_panels *p = view->panels;
    const mv_flames_answer *a = p->flames_shown;
    uint32_t node = (uint32_t)arg;

    p->flame_first = 0;
    if (arg == 0 || !a || arg >= a->flames.tree.count) {
        mv_view_write(view)->flame_focus = 0;
        return;
    }
    if (a->flames.path[node] == view->now->flame_focus) {
        mv_view_write(view)->flame_focus = a->flames.path[a->flames.tree.nodes[node].parent];
        return;
    }
    mv_view_write(view)->flame_focus = a->flames.path[node];
    show_node(view, a, node);
}
