/* Sets the search, and steps through its hits. */

#include "base/utf8.h"
#include "view/document/search_text.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"

/* Sets the search. The hits of a new search are highlighted. Without a search, everything is
 * shown. */
static void set_words(mv_view *view, const char *words)
{
    size_t length = mv_utf8_cut(words, sizeof view->now->search - 1);

    memset(mv_view_write(view)->search, 0, sizeof view->now->search);
    memcpy(mv_view_write(view)->search, words, length);
    if (length == 0)
        mv_view_write(view)->show = MV_SHOW_ALL;
    else if (view->now->show == MV_SHOW_ALL)
        mv_view_write(view)->show = MV_SHOW_HIGHLIGHT;
}

void mv_search_set(mv_view *view, const char *words)
{
    set_words(view, words);
    mv_field_set(&view->chrome->search, view->now->search);
}

void mv_search_typed(mv_view *view)
{
    const char *words = view->chrome->search.text;

    if (strcmp(view->now->search, words) == 0)
        return;
    mv_change_begin(view);
    mv_change_is(view, MV_STEPS_WORDS);
    set_words(view, words);
    mv_change_end(view);
}

/* ---- from hit to hit --------------------------------------------------------------------- */

static uint32_t next_match(const mv_filter_bits *bits, uint32_t from)
{
    for (uint32_t i = 0, row = from; i < bits->rows; i++, row++) {
        if (row >= bits->rows)
            row = 0;
        if ((row & 63) == 0 && bits->words[row >> 6] == 0 && row + 64 <= bits->rows) {
            row += 63;
            i += 63;
        } else if (mv_filter_has(bits, row)) {
            return row;
        }
    }
    return MV_NO_ROW;
}

static uint32_t match_before(const mv_filter_bits *bits, uint32_t from)
{
    for (uint32_t i = 0, row = from; i < bits->rows; i++) {
        row = row == 0 ? bits->rows - 1 : row - 1;
        if (mv_filter_has(bits, row))
            return row;
    }
    return MV_NO_ROW;
}

void mv_search_go(mv_view *view, bool is_back)
{
    const mv_filter_bits *bits = view->matches;
    uint32_t from = view->now->pinned, row;

    if (!bits)
        return;
    if (from >= bits->rows)
        from = is_back ? 0 : MV_NO_ROW;
    row = is_back ? match_before(bits, from) : next_match(bits, from + 1);
    if (row == MV_NO_ROW)
        mv_view_say(view, true, "nothing matches %.200s", view->now->search);
    else
        mv_view_pin(view, row);
}

void mv_do_go_to_hit(mv_view *view, uint64_t arg)
{
    mv_search_go(view, (int64_t)arg < 0);
}

void mv_do_search_line(mv_view *view, uint64_t arg)
{
    const mv_trace *trace = &mv_view_document(view)->trace;
    mv_stack_id stack = mv_view_pinned_stack(view);
    char words[MV_SEARCH_LINE];

    (void)arg;
    mv_search_set(
        view, mv_search_of_line(trace,
                                mv_culprit_frame(trace, mv_view_document(view)->sites.kinds, stack),
                                stack, words));
}
