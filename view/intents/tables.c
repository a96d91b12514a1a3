/* Chooses which table is shown, and handles clicks on its rows. */

#include "base/utf8.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"

enum { COPY_MOST = 1000000 };

static_assert((int)MV_LISTING_LEDGER == (int)MV_MOST_TABLES &&
                  (int)MV_LISTING_COLUMNS <= (int)MV_MOST_COLUMNS,
              "the state has a member for each sorted table");

void mv_do_table_kind(mv_view *view, uint64_t arg)
{
    mv_view_write(view)->table_kind = (uint8_t)(arg % MV_LISTING_LEDGER);
    mv_view_write(view)->tab = MV_TAB_TABLES;
    mv_view_write_desk(view)->table_cursor = MV_BEFORE; /* the list of events scrolls to the
                                                           cursor's event */
}

void mv_do_filter_rows(mv_view *view, uint64_t arg)
{
    (void)arg;
    if (view->now->tab != MV_TAB_LEDGER)
        mv_view_write(view)->tab = MV_TAB_TABLES;
    mv_chrome_focus(view, MV_FOCUS_ROWS);
}

void mv_rows_typed(mv_view *view)
{
    const char *text = view->row_field->text;
    mv_view_state *now = mv_view_write(view);

    if (strcmp(now->row_filter, text) == 0)
        return;
    mv_change_begin(view);
    mv_change_is(view, MV_STEPS_WORDS);
    memset(now->row_filter, 0, sizeof now->row_filter);
    memcpy(now->row_filter, text, mv_utf8_cut(text, sizeof now->row_filter - 1));
    memset(mv_view_write_desk(view)->table_scroll, 0, sizeof view->desk->table_scroll);
    mv_view_write_desk(view)->ledger_scroll = 0;
    mv_view_write_desk(view)->table_cursor = MV_BEFORE;
    mv_change_end(view);
}

void mv_view_show_interval(mv_view *view)
{
    mv_view_state *now = mv_view_write(view);
    bool is_flame = now->tab == MV_TAB_FLAME && (now->flame_source == MV_FLAMES_HELD ||
                                                 now->flame_source == MV_FLAMES_TEMPORARY);

    if (is_flame)
        return;
    now->tab = MV_TAB_TABLES;
    if (now->table_kind != MV_LISTING_CATEGORIES)
        now->table_kind = MV_LISTING_LINES;
}

void mv_do_table_sort(mv_view *view, uint64_t arg)
{
    mv_view_state *now = mv_view_write(view);
    uint32_t kind = now->table_kind, column = (uint32_t)arg;
    bool is_again = now->table_sort[kind] == column;

    if (column >= MV_LISTING_COLUMNS || now->tab == MV_TAB_LEDGER)
        return;
    now->is_sort_turned[kind] = mv_tables_is_turned(
        kind, is_again && !mv_tables_is_ascending(kind, now->is_sort_turned[kind]));
    now->table_sort[kind] = column;
    mv_view_write_desk(view)->table_scroll[kind] = 0;
}

void mv_do_table_row(mv_view *view, uint64_t arg)
{
    const mv_listing_answer *a = view->panels->table_shown;
    mv_cell cells[MV_LISTING_COLUMNS];
    mv_listing_place place;
    mv_arena scratch;

    if (!a || arg >= a->table.count)
        return;
    mv_arena_init(&scratch, view->budget);
    mv_listing_row(&scratch, &a->ask, &a->table, (uint32_t)arg, cells, &place);
    mv_view_go(view, &place, a->question.only);
    mv_arena_release(&scratch);
    if (a->table.kind == MV_LISTING_EVENTS) /* the list does not move after a click on it */
        mv_view_write_desk(view)->table_cursor = view->now->cursor;
}

void mv_do_table_copy(mv_view *view, uint64_t arg)
{
    const mv_listing_answer *a = view->panels->table_shown;
    mv_arena scratch;
    const char *text;

    (void)arg;
    if (!a)
        return;
    mv_arena_init(&scratch, view->budget);
    text = mv_listing_tsv(&scratch, &a->ask, &a->table, COPY_MOST);
    if (text) {
        mv_view_copy(view, text);
        mv_view_say(view, false, "copied %u rows",
                    a->table.count < COPY_MOST ? a->table.count : COPY_MOST);
    } else {
        mv_view_say(view, true, "not copied: out of memory");
    }
    mv_arena_release(&scratch);
}
