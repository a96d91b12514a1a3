/* What the flame graph shows, and what a click on a box does. */
#include "view/document/search_text.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"

void mv_do_flame_source(mv_view *view, uint64_t arg)
{
    mv_view_write(view)->flame_source = (uint8_t)(arg % MV_FLAMES_COUNT);
    mv_view_write_desk(view)->flame_scroll = 0;
}

void mv_do_flame_turn(mv_view *view, uint64_t flag)
{
    mv_do_turn(view, flag);
    mv_view_write(view)->flame_focus = 0;
    mv_view_write_desk(view)->flame_scroll = 0;
}

/* Pins the largest block of a node at the end of a path. */
static void pin_leaf(mv_view *view, const mv_flames_answer *a, uint32_t node)
{
    const mv_document *d = mv_view_document(view);
    mv_arena scratch;
    uint32_t alloc;

    if (a->flames.tree.nodes[node].child || a->ask.source == MV_FLAMES_CHANGE ||
        a->ask.source == MV_FLAMES_SEGMENTS)
        return;
    mv_arena_init(&scratch, view->budget);
    alloc = mv_flames_largest(&scratch, &d->trace, &d->sites, &a->ask.device->index,
                              mv_flames_answer_query(a), &a->flames, node);
    mv_arena_release(&scratch);
    if (alloc != MV_NO_ROW)
        mv_view_pin(view, alloc);
}

/* Shows the blocks of a node by searching for its frame, or by pinning its largest block. */
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

/* Focuses on a node. If it already has the focus, the focus moves to its caller. */
void mv_do_flame_focus(mv_view *view, uint64_t arg)
{
    mv_panels *p = view->panels;
    const mv_flames_answer *a = p->flames_shown;
    uint32_t node = (uint32_t)arg;

    mv_view_write_desk(view)->flame_scroll = 0;
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

/* ---- keys -------------------------------------------------------------------------------- */

/* Returns the box of a node; NULL: the node has no separate box. */
static const mv_icicle_box *box_of(const mv_flames_answer *a, uint32_t node)
{
    for (uint32_t i = 0; i < a->boxes.count; i++)
        if (!a->boxes.boxes[i].rest && a->boxes.boxes[i].node == node)
            return &a->boxes.boxes[i];
    return NULL;
}

/* Returns the next box to the left or right at the same depth. */
static const mv_icicle_box *box_beside(const mv_flames_answer *a, const mv_icicle_box *from,
                                       bool is_left)
{
    const mv_icicle_box *best = NULL;

    for (uint32_t i = 0; i < a->boxes.count; i++) {
        const mv_icicle_box *box = &a->boxes.boxes[i];
        if (box->rest || box->depth != from->depth ||
            (is_left ? box->offset >= from->offset : box->offset <= from->offset))
            continue;
        if (!best || (is_left ? box->offset > best->offset : box->offset < best->offset))
            best = box;
    }
    return best;
}

/* Returns the heaviest box below, or the box above. */
static const mv_icicle_box *box_beyond(const mv_flames_answer *a, const mv_icicle_box *from,
                                       bool is_up)
{
    const mv_flame_node *nodes = a->flames.tree.nodes;

    if (is_up)
        return from->depth ? box_of(a, nodes[from->node].parent) : NULL;
    return nodes[from->node].child ? box_of(a, nodes[from->node].child) : NULL;
}

static const mv_icicle_box *box_for(const mv_flames_answer *a, const mv_icicle_box *from,
                                    uint32_t key)
{
    switch (key) {
    case MV_KEY_LEFT:
    case MV_KEY_RIGHT:
        return box_beside(a, from, key == MV_KEY_LEFT);
    case MV_KEY_UP:
    case MV_KEY_DOWN:
        return box_beyond(a, from, key == MV_KEY_UP);
    default:
        return NULL;
    }
}

static void go_to_box(mv_view *view, const mv_icicle_box *box)
{
    mv_panels *p = view->panels;
    uint32_t *first = &mv_view_write_desk(view)->flame_scroll;

    p->flame_spot = p->flames_shown->flames.path[box->node];
    if (box->depth < *first)
        *first = box->depth;
    if (box->depth >= *first + p->flame_room)
        *first = box->depth - p->flame_room + 1;
}

bool mv_flame_key(mv_view *view, const mv_input *input)
{
    const mv_flames_answer *a = view->panels->flames_shown;
    const mv_icicle_box *from, *to;
    uint32_t key = input->key;
    bool was_inside;

    if (!a || a->boxes.count == 0)
        return false;
    from = box_of(a, mv_flames_node(&a->flames, view->panels->flame_spot));
    was_inside = from != NULL && view->spot.is_shown;
    if (!from)
        from = &a->boxes.boxes[0];
    if (key == MV_KEY_ENTER)
        return mv_view_do(view, MV_DO_flame_focus, from->node);
    if (key == MV_KEY_BACKSPACE)
        return a->focus && mv_view_do(view, MV_DO_flame_focus, a->focus);
    to = was_inside ? box_for(a, from, key) : from;
    if (!to)
        return key == MV_KEY_LEFT || key == MV_KEY_RIGHT || key == MV_KEY_DOWN;
    go_to_box(view, to);
    return true;
}
