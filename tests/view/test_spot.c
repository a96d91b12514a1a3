/* The keyboard must reach everything that can be clicked. */
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"

typedef struct {
    uint64_t seen[4096][3]; /* command, number, copy */
    uint32_t count;
} reached;

/* UINT64_MAX stands for any copy. */
static bool has(const reached *r, uint64_t command, uint64_t arg, uint64_t copy)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->seen[i][0] == command && r->seen[i][1] == arg &&
            (copy == UINT64_MAX || r->seen[i][2] == copy))
            return true;
    return false;
}

/* Moves with an arrow key until the end. In a long table, moves only part of the way. */
static void walk(mv_view *view, uint32_t arrow, reached *r)
{
    mv_spot before;

    for (uint32_t steps = 0; steps < 200; steps++) {
        before = view->spot;
        if (before.command != MV_DO_NOTHING && !has(r, before.command, before.arg, before.copy)) {
            cr_assert_lt(r->count, 4096);
            r->seen[r->count][0] = before.command;
            r->seen[r->count][1] = before.arg;
            r->seen[r->count++][2] = before.copy;
        }
        mvt_view_key(view, arrow, 0);
        if (memcmp(&before, &view->spot, sizeof before) == 0)
            return;
    }
}

static void check_zones(mv_view *view, const char *what)
{
    static mv_zone zones[4096];
    static reached r;

    mvt_view_frame(view);
    uint32_t count = view->ui.zone_count;
    cr_assert_lt(count, 4096);
    memcpy(zones, view->ui.zones, count * sizeof *zones);
    r.count = 0;
    for (int place = 0; place < MV_PART_COUNT; place++) {
        mvt_view_key(view, MV_KEY_TAB, 0);
        cr_assert(view->spot.is_shown);
        walk(view, MV_KEY_LEFT, &r);
        walk(view, MV_KEY_RIGHT, &r);
    }
    for (uint32_t i = 0; i < count; i++)
        if (zones[i].command != MV_DO_NOTHING)
            cr_assert(has(&r, zones[i].command, zones[i].arg, UINT64_MAX),
                      "%s: %s %llu cannot be reached", what,
                      mv_view_commands[zones[i].command].name, (unsigned long long)zones[i].arg);
}

static void check_view(const char *name)
{
    mv_view *view = mvt_view(name);

    mvt_view_frame(view);
    mv_view_pin(view, mv_view_device(view)->lives.allocs.count / 2);
    for (uint32_t i = 0; i < 9; i++) {
        static const char keys[] = "123456789";
        mvt_view_key(view, (uint32_t)keys[i], 0);
        check_zones(view, mvt_format("%s after %c", name, keys[i]));
    }
}

LongTest(spot, every_zone_is_reached, .timeout = 300)
{
    check_view("gpt_train");
    check_view("sleep");
    check_view("two_devices");
    check_view("frag_pinned_by_small");
}

/* Enter must have the effect of a click, on each finding and on a table row that was not
 * painted. */
Test(spot, enter_is_a_click)
{
    mv_view *by_key = mvt_view("frag_pinned_by_small"),
            *by_click = mvt_view("frag_pinned_by_small");

    for (uint32_t row = 0; row < 3; row++) {
        mvt_view_frame(by_key);
        mvt_view_frame(by_click);
        mvt_view_click_zone(by_click, MV_DO_report_row, row);
        mvt_view_key(by_key, row == 0 ? MV_KEY_HOME : MV_KEY_DOWN, 0);
        cr_assert_eq(by_key->spot.command, MV_DO_report_row);
        cr_assert_eq(by_key->spot.arg, row);
        mvt_view_key(by_key, MV_KEY_ENTER, 0);
        cr_assert_eq(memcmp(by_key->now, by_click->now, sizeof *by_key->now), 0, "row %u", row);
    }
}

static bool is_painted(const mv_view *view)
{
    const mv_zone *zone = mv_spot_zone(view);

    return zone && zone->box.y + zone->box.h <= view->lower_box.y + view->lower_box.h + 1;
}

ViewTest(spot, a_table_scrolls_to_its_row, mvt_view("gpt_train"))
{
    mvt_view_do(view, MV_DO_table_kind, MV_LISTING_EVENTS);
    mvt_view_frame(view);
    uint32_t last = view->panels->table_shown->table.count - 1;
    mvt_view_key(view, MV_KEY_TAB, 0);
    cr_assert_eq(view->spot.command, MV_DO_table_row);
    mvt_view_key(view, MV_KEY_END, 0);
    cr_assert_eq(view->spot.arg, last);
    cr_assert(is_painted(view));
    mvt_view_key(view, MV_KEY_PAGE_UP, 0);
    mvt_view_key(view, MV_KEY_PAGE_UP, 0);
    cr_assert_lt(view->spot.arg, last - 8);
    cr_assert(is_painted(view));
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_assert_eq(view->now->cursor, view->spot.arg);
    mvt_view_key(view, MV_KEY_HOME, 0);
    cr_assert_eq(view->spot.arg, 0);
    cr_assert(is_painted(view));
    mvt_view_key(view, MV_KEY_UP, 0);
    cr_assert_eq(view->spot.command, MV_DO_table_kind); /* events cannot be sorted */
    mvt_view_do(view, MV_DO_table_kind, MV_LISTING_STACKS);
    mvt_view_key(view, MV_KEY_DOWN, 0);
    cr_assert_eq(view->spot.command, MV_DO_table_sort);
    mvt_view_key(view, MV_KEY_DOWN, 0);
    cr_assert_eq(view->spot.command, MV_DO_table_row);
}

ViewTest(spot, findings_scroll_into_sight, mvt_view("gpt_train"))
{
    mvt_view_frame(view);
    uint32_t rows = view->panels->findings_shown->findings.count;
    cr_assert_gt(rows, 3);
    mv_view_frame(view, 700, 400, 0); /* too low for all of them */
    for (uint32_t i = 0; i < rows; i++) {
        mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = MV_KEY_DOWN});
        mvt_view_sized(view, 700, 400);
        cr_assert(is_painted(view), "row %llu", (unsigned long long)view->spot.arg);
    }
    cr_assert_eq(view->spot.arg, rows - 1);
}

Test(spot, tab_visits_the_places_forward_and_back)
{
    static const uint8_t order[] = {MV_PART_LOWER, MV_PART_TOOLBAR, MV_PART_MAIN, MV_PART_TABS,
                                    MV_PART_LOWER};
    mv_view *view = mvt_view("gpt_train");

    mvt_view_frame(view);
    for (uint32_t i = 0; i < 5; i++) {
        mvt_view_key(view, i % 2 ? MV_KEY_F6 : MV_KEY_TAB, 0);
        cr_assert_eq(view->spot.place, order[i]);
    }
    for (int i = 3; i >= 0; i--) {
        mvt_view_key(view, MV_KEY_TAB, MV_MOD_SHIFT);
        cr_assert_eq(view->spot.place, order[i]);
    }
    mvt_view_key(view, MV_KEY_TAB, MV_MOD_CTRL);
    cr_assert_eq(view->now->tab, MV_TAB_WHATIF); /* after the reports */
    mvt_view_key(view, MV_KEY_TAB, MV_MOD_CTRL | MV_MOD_SHIFT);
    cr_assert_eq(view->now->tab, MV_TAB_REPORTS);
}

/* The mark is where the keyboard focus is, and disappears once the mouse is used. */
ViewTest(spot, its_mark, mvt_view("gpt_train"))
{
    uint32_t before = mvt_view_frame(view)->shape_count;
    mvt_view_key(view, MV_KEY_TAB, 0);
    uint32_t with = mvt_view_frame(view)->shape_count;
    cr_assert_eq(with, before + 3);
    mvt_view_click(view, 640, 300);
    cr_assert_not(view->spot.is_shown);
    mvt_view_do(view, MV_DO_show_tables, 0);
    mvt_view_click_zone(view, MV_DO_table_kind, MV_LISTING_SIZES);
    cr_assert_not(view->spot.is_shown);
    mvt_view_key(view, MV_KEY_RIGHT, 0); /* from the clicked item */
    cr_assert_eq(view->spot.command, MV_DO_table_kind);
    cr_assert_eq(view->spot.arg, MV_LISTING_SIZES + 1);
}

/* The user's own keys take precedence over the window's arrow keys. */
ViewTest(spot, own_keys_come_first, mvt_view_new(&(mv_view_opts){.keys = "zoom_in W Up\n"}))
{
    mvt_view_open(view, mvt_snapshot("gpt_train"));
    mvt_view_frame(view);
    mvt_view_key(view, MV_KEY_UP, 0);
    cr_assert_not(view->spot.is_shown);
    cr_assert_lt(view->now->to - view->now->from, 6000);
}
