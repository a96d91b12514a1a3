/* The user's own keys: lines in the file replace keys, and other keys stay as they are. */
#include "tests/fixture/fixture_test.h"
#include "view/state/keymap.h"
#include "view/state/user_input.h"

typedef struct {
    mv_keymap map;
    char why[128];
} world;

static world w;

static uint32_t open_world(const char *text)
{
    mv_keymap_init(&w.map);
    return mv_keymap_read(mvt_memory(), &w.map, text, w.why, sizeof w.why);
}

Test(keymap, lines_replace_the_keys_of_their_command)
{
    cr_assert_eq(open_world("# mine\n\n  zoom_in  Up Ctrl+PageUp\t\nquit\r\npan_left H"), 0, "%s",
                 w.why);
    cr_assert_eq(mv_keymap_command(&w.map, MV_KEY_UP, 0), MV_DO_zoom_in);
    cr_assert_eq(mv_keymap_command(&w.map, MV_KEY_PAGE_UP, MV_MOD_CTRL), MV_DO_zoom_in);
    cr_assert_eq(mv_keymap_command(&w.map, 'W', 0), MV_DO_NOTHING);
    cr_assert_eq(mv_keymap_command(&w.map, 'Q', MV_MOD_CTRL), MV_DO_NOTHING);
    cr_assert_eq(mv_keymap_command(&w.map, 'S', 0), MV_DO_zoom_out, "not mentioned");
    cr_assert_str_eq(w.map.keys[MV_DO_zoom_in], "Up Ctrl+PageUp");
    cr_assert_str_eq(w.map.keys[MV_DO_quit], "");
}

Test(keymap, a_key_is_taken_from_whoever_had_it)
{
    cr_assert_eq(open_world("pan_left H\nzoom_in Ctrl+F\npan_right H Shift+/"), 0, "%s", w.why);
    cr_assert_eq(mv_keymap_command(&w.map, 'H', 0), MV_DO_pan_right);
    cr_assert_str_eq(w.map.keys[MV_DO_highlight], "");
    cr_assert_str_eq(w.map.keys[MV_DO_pan_left], "");
    cr_assert_eq(mv_keymap_command(&w.map, '/', 0), MV_DO_search, "its other key remains");
    cr_assert_eq(mv_keymap_command(&w.map, 'F', MV_MOD_CTRL), MV_DO_zoom_in);
    cr_assert_eq(mv_keymap_command(&w.map, '?', MV_MOD_SHIFT), MV_DO_pan_right,
                 "a sign, however it is typed");
    cr_assert_str_eq(w.map.keys[MV_DO_help], "F1");
    for (int i = 1; i < MV_DO_COUNT; i++)
        for (int j = 1; j < i; j++)
            cr_assert(*w.map.keys[i] == 0 || strcmp(w.map.keys[i], w.map.keys[j]) != 0);
}

Test(keymap, invalid_lines_are_reported)
{
    static const struct {
        const char *text, *why;
        uint32_t line;
    } cases[] = {
        {"zoom_in Up\nfly X\nquit", "unknown command fly", 2},
        {"zoom_in Upp", "zoom_in: Upp is not a key", 1},
        {"zoom_in Shift+", "zoom_in: Shift+ is not a key", 1},
        {"NOTHING X", "unknown command NOTHING", 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(open_world(cases[i].text), cases[i].line, "%s", cases[i].text);
        cr_assert_str_eq(w.why, cases[i].why);
        cr_assert_eq(mv_keymap_command(&w.map, 'Q', MV_MOD_CTRL), MV_DO_quit, "lines after it");
    }
}
