/* Changes to the state. This code marks where they begin and end, and determines how Back and
 * Forward treat them. */

#include "view/document/level_calls.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"

bool mv_intents_open(mv_view *view)
{
    view->intents = mv_push_struct(&view->arena, mv_intents);
    if (!view->intents)
        return false;
    view->now = mv_view_write(view);
    view->desk = mv_view_write_desk(view);
    view->bookmarks = &view->intents->bookmarks;
    view->history = &view->intents->history;
    *mv_view_write(view) = mv_view_state_first;
    *mv_view_write_desk(view) = mv_view_desk_first;
    mv_view_write_desk(view)->is_dark = view->opts.is_dark;
    if (view->opts.scale > 0)
        mv_view_write_desk(view)->scale = view->opts.scale;
    return mv_level_settle(view);
}

/* ---- changes ------------------------------------------------------------------------------ */

static void begin(mv_change *change, const mv_view_state *now)
{
    change->before = *now;
    change->kind = MV_GOES;
}

/* Records a change in the history. Changes before a file has been read are not recorded, because
 * the view is not at any place yet. */
static void note(mv_view *view)
{
    const mv_change *change = &view->intents->change;

    if (change->before.from < change->before.to)
        mv_history_note(&view->intents->history, (mv_change_kind)change->kind, &change->before,
                        view->now);
}

void mv_change_begin(mv_view *view)
{
    mv_change *change = &view->intents->change;

    if (change->depth++ == 0)
        begin(change, view->now);
}

void mv_change_is(mv_view *view, mv_change_kind kind)
{
    view->intents->change.kind = (uint8_t)kind;
}

void mv_change_end(mv_view *view)
{
    if (--view->intents->change.depth == 0)
        note(view);
}

void mv_change_input(mv_view *view, const mv_input *input)
{
    mv_change *change = &view->intents->change;
    bool is_apart =
        change->depth > 0 && (input->kind == MV_INPUT_KEY || input->kind == MV_INPUT_TEXT);
    uint8_t kind = change->kind;

    if (is_apart) {
        note(view);
        begin(change, view->now);
    }
    mv_view_route(view, input);
    if (is_apart && change->depth > 0) {
        note(view);
        begin(change, view->now);
        change->kind = kind;
    }
}

void mv_view_settle(mv_view *view)
{
    mv_navigation_update(view);
    if (mv_view_device(view)) /* the cursor may be in the middle of a call */
        mv_view_write(view)->cursor = mv_call_last(
            &mv_view_document(view)->trace, &mv_view_device(view)->lives.events, view->now->cursor);
    mv_level_open_lanes(view);
    mv_heap_settle(view);
    mv_tour_offer(view);
    if (view->intents->change.depth == 0) /* otherwise the change is part of a drag, and the whole
                                             drag is one step */
        view->intents->change.before = *view->now;
}

/* ---- going back --------------------------------------------------------------------------- */

void mv_view_put(mv_view *view, const mv_view_state *state)
{
    bool is_other = state->file != view->now->file || state->device != view->now->device ||
                    strcmp(state->level, view->now->level) != 0;

    *mv_view_write(view) = *state;
    mv_level_settle(view);
    mv_field_set(&view->chrome->search, state->search);
    mv_field_set(view->row_field, state->row_filter);
    if (!is_other || state->file >= view->document_count)
        return;
    view->hover = view->hover_segment = MV_NO_ROW;
    mv_loader_prefer(view->loader, view->documents[state->file], state->device);
    mv_navigation_update(view);
}

void mv_do_travel(mv_view *view, uint64_t is_forward)
{
    mv_view_state to = *view->now;

    if (mv_history_go(&view->intents->history, &to, is_forward))
        mv_view_put(view, &to);
}
