/* Actions for the panes next to the timeline, which show the heap, one allocation and the
 * reports. */

#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"
#include "view/timeline/plot.h"

void mv_do_history_row(mv_view *view, uint64_t arg)
{
    const mv_explanation_answer *a = view->panels->details_shown;

    if (a && arg < a->history.count)
        mv_view_pin(view, a->history.history[arg]);
}

void mv_do_pin_user(mv_view *view, uint64_t is_next)
{
    const mv_event_explanation *s = mv_details_explanation(view);

    if (!s)
        mv_view_say(view, false, "still looking for users of the address");
    else if ((is_next ? s->next : s->previous) == MV_NO_ROW)
        mv_view_say(view, false,
                    is_next ? "no recorded block uses the address later"
                            : "no recorded block used the address earlier");
    else
        mv_view_point(view, is_next ? s->next : s->previous);
}

void mv_do_details_fold(mv_view *view, uint64_t arg)
{
    mv_view_state *now = mv_view_write(view);
    uint32_t alloc = mv_details_alloc(view);

    if (arg >= MV_MOST_FOLDS)
        return;
    if (now->unfolded_of != alloc)
        now->unfolded = 0;
    now->unfolded_of = alloc;
    now->unfolded ^= (uint64_t)1 << arg;
}

/* Shows the level or device that a verdict refers to. The reports for that level or device give the
 * line of code. */
static void show_elsewhere(mv_view *view, const mv_report_row *row)
{
    char level[MV_SEARCH_TEXT];

    if (row->device_row != MV_NO_ROW) {
        mv_view_choose(view, view->now->file, row->device_row);
        return;
    }
    snprintf(level, sizeof level, "%s", row->level); /* the row is in frame memory, which belongs to
                                                        the old level */
    mv_level_go(view, level);
}

void mv_do_report_row(mv_view *view, uint64_t arg)
{
    const mv_panels *panels = view->panels;
    const mv_findings_answer *a = panels->findings_shown;
    const mv_report_row *row;
    const mv_finding *f;
    const mv_finding_place *seen;
    mv_listing_place place;

    if (!a || arg >= panels->report_count)
        return;
    row = &panels->reports[arg];
    if (row->finding == MV_NO_ROW) {
        show_elsewhere(view, row);
        return;
    }
    f = &a->findings.rows[row->finding];
    seen = &a->places[row->finding];
    mv_view_write(view)->report_row = (uint32_t)arg;
    if (*seen->ticks) {
        memset(mv_view_write(view)->whatif, 0, sizeof view->now->whatif);
        snprintf(mv_view_write(view)->whatif, sizeof view->now->whatif, "%s", seen->ticks);
        mv_do_show_tab(view, MV_TAB_WHATIF);
    }
    if (!f->has_place)
        return;
    place = (mv_listing_place){.has_event = true,
                               .event = f->event,
                               .alloc = seen->alloc,
                               .has_window = seen->to > seen->from,
                               .from = seen->from,
                               .to = seen->to,
                               .search = seen->search,
                               .line = MV_NO_FRAME,
                               .stack = MV_NO_STACK};
    mv_view_go(view, &place, "");
    mv_view_write(view)->main = f->is_about_heap ? MV_MAIN_STATE : MV_MAIN_TIMELINE;
}

void mv_do_whatif_toggle(mv_view *view, uint64_t arg)
{
    if (arg >= view->panels->whatif_count)
        return;
    if (!mv_whatif_toggle(mv_view_write(view)->whatif, view->panels->whatif_items[arg]))
        mv_view_say(view, true, "%s", "too much is ticked: untick something first");
}

void mv_do_whatif_clear(mv_view *view, uint64_t arg)
{
    (void)arg;
    memset(mv_view_write(view)->whatif, 0, sizeof view->now->whatif);
}

void mv_do_legend_row(mv_view *view, uint64_t arg)
{
    char words[MV_SEARCH_TEXT];

    if (mv_legend_search(view, arg, words))
        mv_search_set(view, words);
    else
        mv_view_say(view, false, "%s", "no search exists for this row");
}
