/* A frame's text for a screen reader: everything that can be clicked, with its texts. */
#include "tests/fixture/fixture_view.h"
#include "view/chrome/spoken.h"

typedef struct {
    char group[16], text[700];
    int is_chosen;
    float x, y;
} part;

/* The next line; false at the end. */
static bool next_part(const char **at, part *out)
{
    int read = 0;

    if (!**at)
        return false;
    cr_assert_eq(sscanf(*at, "%15[^\t]\t%d\t%f\t%f\t%n", out->group, &out->is_chosen, &out->x,
                        &out->y, &read),
                 4, "%s", *at);
    *at += read;
    snprintf(out->text, sizeof out->text, "%.*s", (int)strcspn(*at, "\n"), *at);
    *at += strcspn(*at, "\n") + 1;
    return true;
}

/* The text of the n-th part of a group, or NULL. */
static const char *spoken_text(mv_view *view, const char *group, uint32_t n)
{
    const char *at = mv_view_spoken(view);
    static part p;

    while (next_part(&at, &p))
        if (strcmp(p.group, group) == 0 && n-- == 0)
            return p.text;
    return NULL;
}

ViewTest(view_spoken, rows_legend_tabs_and_the_moment_are_told, mvt_view("leak_in_training"))
{
    mvt_view_do(view, MV_DO_show_reports, 0);
    cr_expect_str_eq(spoken_text(view, "tab", 0), "Flame graph");
    cr_assert_not_null(spoken_text(view, "row", 0));
    cr_expect_not_null(
        strstr(spoken_text(view, "row", 0), "LEAK, train.py:62 forward, 2.00 MiB a step"));
    cr_expect_not_null(strstr(spoken_text(view, "legend", 0), "leak: train.py:62"));
    cr_expect_not_null(strstr(spoken_text(view, "legend", 0), "24.0 MiB"));
    cr_expect_not_null(strstr(spoken_text(view, "status", 0), "event 8,407 of 8,945"));
    mvt_view_do(view, MV_DO_show_tables, 0);
    cr_expect_not_null(strstr(spoken_text(view, "heading", 0), "bytes"));
}

/* In every pane, each part must lie on a zone, and every legend row, tab and row in the frame must
 * be a part. */
static void check_places(mv_view *view, mv_command_id pane)
{
    uint32_t zones[MV_DO_COUNT] = {0}, parts[MV_DO_COUNT] = {0};
    static const mv_command_id whole[] = {MV_DO_legend_row, MV_DO_table_row, MV_DO_report_row,
                                          MV_DO_show_tables, MV_DO_table_sort};
    part p;

    mvt_view_do(view, pane, 0);
    for (uint32_t i = 0; i < view->ui.zone_count; i++)
        zones[view->ui.zones[i].command]++;
    const char *at = mv_view_spoken(view);
    while (next_part(&at, &p)) {
        const mv_zone *zone = mv_ui_zone_at(&view->ui, p.x, p.y);
        cr_expect(*p.text);
        if (strcmp(p.group, "status") == 0)
            continue;
        cr_assert_not_null(zone, "%s", p.text);
        parts[zone->command]++;
    }
    for (uint32_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cr_expect_eq(parts[whole[i]], zones[whole[i]], "%s: %u of %u",
                     mv_view_commands[whole[i]].name, parts[whole[i]], zones[whole[i]]);
}

Test(view_spoken, places_are_where_a_click_acts)
{
    static const mv_command_id panes[] = {
        MV_DO_show_flame,    MV_DO_show_tables, MV_DO_show_reports, MV_DO_show_details,
        MV_DO_show_segments, MV_DO_show_state,  MV_DO_show_pools};
    mv_view *view = mvt_view("gpt_train");

    for (uint32_t i = 0; i < sizeof panes / sizeof *panes; i++)
        check_places(view, panes[i]);
}
