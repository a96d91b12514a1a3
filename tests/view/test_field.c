/* Fields: keys, selection, clipboard, the pointer. */
#include "tests/fixture/fixture_view.h"

static void press(mv_text_field *field, uint32_t key, uint8_t mods)
{
    cr_assert(mv_field_input(field, &(mv_input){.kind = MV_INPUT_KEY, .key = key, .mods = mods}));
}

static void expect(const mv_text_field *field, const char *text, uint32_t anchor, uint32_t at)
{
    cr_assert_str_eq(field->text, text);
    cr_assert_eq(field->anchor, anchor, "%s: %u", text, field->anchor);
    cr_assert_eq(field->at, at, "%s: %u", text, field->at);
}

Test(field, shift_selects_and_typing_replaces)
{
    mv_text_field f = {.text = ""};

    mv_field_set(&f, "train.py:62");
    expect(&f, "train.py:62", 11, 11);
    press(&f, MV_KEY_LEFT, MV_MOD_SHIFT);
    press(&f, MV_KEY_LEFT, MV_MOD_SHIFT);
    expect(&f, "train.py:62", 11, 9);
    mv_field_type(&f, "7");
    expect(&f, "train.py:7", 10, 10);
    press(&f, MV_KEY_HOME, MV_MOD_SHIFT);
    press(&f, MV_KEY_RIGHT, 0); /* to the end of the selection */
    expect(&f, "train.py:7", 10, 10);
    press(&f, 'A', MV_MOD_CTRL);
    press(&f, MV_KEY_LEFT, 0);
    expect(&f, "train.py:7", 0, 0);
    press(&f, MV_KEY_END, MV_MOD_SHIFT);
    press(&f, MV_KEY_DELETE, 0);
    expect(&f, "", 0, 0);
}

Test(field, words)
{
    mv_text_field f = {.text = ""};

    mv_field_set(&f, "/a/b.c size>64M");
    press(&f, MV_KEY_LEFT, MV_MOD_CTRL);
    expect(&f, f.text, 12, 12);
    press(&f, MV_KEY_LEFT, MV_MOD_CTRL);
    expect(&f, f.text, 7, 7);
    press(&f, MV_KEY_LEFT, MV_MOD_CTRL | MV_MOD_SHIFT);
    expect(&f, f.text, 7, 5);
    press(&f, MV_KEY_RIGHT, MV_MOD_CTRL);
    press(&f, MV_KEY_RIGHT, MV_MOD_CTRL);
    expect(&f, f.text, 11, 11);
    press(&f, MV_KEY_BACKSPACE, MV_MOD_CTRL);
    expect(&f, "/a/b.c >64M", 7, 7);
    press(&f, MV_KEY_DELETE, MV_MOD_CTRL);
    expect(&f, "/a/b.c ", 7, 7);
    press(&f, 'U', MV_MOD_CTRL);
    expect(&f, "", 0, 0);
}

/* Two, three and four bytes: the caret is never inside, and nothing is half deleted. */
Test(field, characters_are_whole)
{
    mv_text_field f = {.text = ""};
    static const char text[] = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    static const uint32_t ends[] = {9, 5, 2, 0};

    mv_field_set(&f, text);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(f.at, ends[i]);
        press(&f, MV_KEY_LEFT, 0);
    }
    press(&f, MV_KEY_RIGHT, 0);
    press(&f, MV_KEY_DELETE, 0);
    expect(&f, "\xc3\xa9\xf0\x9f\x98\x80", 2, 2);
    press(&f, MV_KEY_RIGHT, MV_MOD_SHIFT);
    press(&f, MV_KEY_BACKSPACE, 0);
    expect(&f, "\xc3\xa9", 2, 2);
}

Test(field, takes_no_controls_no_bad_bytes_and_no_more_than_fits)
{
    mv_text_field f = {.text = ""};
    char most[MV_FIELD_TEXT + 10];

    mv_field_set(&f, "a\nb\x7f\xff\xc3"
                     "c\tt");
    expect(&f, "abct", 4, 4);
    memset(most, 'x', sizeof most);
    memcpy(most + MV_FIELD_TEXT - 2, "\xe2\x82\xac", 4); /* does not fit whole */
    mv_field_set(&f, most);
    cr_assert_eq(strlen(f.text), MV_FIELD_TEXT - 2);
    cr_assert_eq(f.text[MV_FIELD_TEXT - 3], 'x');
}

/* ---- in the window ------------------------------------------------------------------------ */

/* `/` selects the old search: letters replace it, an arrow keeps it; Back brings it again. */
ViewTest(field, a_fresh_search, mvt_view("gpt_train"))
{
    mvt_view_key(view, '/', 0);
    mvt_view_type(view, "forward");
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    mvt_view_key(view, '/', 0);
    mvt_view_type(view, "leak");
    cr_assert_str_eq(view->now->search, "leak");
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    mvt_view_key(view, '/', 0);
    mvt_view_key(view, MV_KEY_END, 0);
    mvt_view_type(view, " size>1M");
    cr_assert_str_eq(view->now->search, "leak size>1M");
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_str_eq(view->now->search, "leak");
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_str_eq(view->now->search, "forward");
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_str_eq(view->now->search, "");
}

ViewTest(field, clipboard, mvt_view_with_clipboard(mvt_snapshot("gpt_train")))
{
    mvt_view_key(view, '/', 0);
    mvt_view_type(view, "size>64M forward");
    mvt_view_key(view, MV_KEY_LEFT, MV_MOD_CTRL | MV_MOD_SHIFT);
    mvt_view_key(view, 'C', MV_MOD_CTRL);
    cr_assert_str_eq(mvt_copied, "forward");
    cr_assert_str_eq(view->now->search, "size>64M forward");
    mvt_view_key(view, 'A', MV_MOD_CTRL);
    mvt_view_key(view, 'X', MV_MOD_CTRL);
    cr_assert_str_eq(mvt_copied, "size>64M forward");
    cr_assert_str_eq(view->now->search, "");
    mvt_view_key(view, 'V', MV_MOD_CTRL);
    mvt_view_key(view, 'V', MV_MOD_CTRL);
    cr_assert_str_eq(view->now->search, "size>64M forwardsize>64M forward");
}

static void point(mv_view *view, mv_input_kind kind, float x, uint8_t clicks)
{
    mv_box box = view->chrome->search.box;

    mvt_view_point(view, kind, x, box.y + box.h / 2, clicks);
}

ViewTest(field, the_pointer, mvt_view("gpt_train"))
{
    mv_text_field *f = &view->chrome->search;

    mvt_view_key(view, '/', 0);
    mvt_view_type(view, "train.py:62 forward");
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    mv_view_frame(view, 1920, 720, 0); /* there is room for all of the text */
    float wide = mv_ui_text_width(&view->ui, MV_UI_TEXT, "train.py:62 ");
    point(view, MV_INPUT_PRESS, f->box.x + wide + 1, 1);
    cr_assert_eq(view->desk->focus, MV_FOCUS_SEARCH);
    expect(f, f->text, 12, 12);
    point(view, MV_INPUT_MOVE, f->box.x - 30, 0);
    expect(f, f->text, 12, 0);
    point(view, MV_INPUT_RELEASE, f->box.x - 30, 1);
    point(view, MV_INPUT_MOVE, f->box.x + wide, 0);
    expect(f, f->text, 12, 0); /* the button is up */
    point(view, MV_INPUT_PRESS, f->box.x + wide + 20, 1);
    point(view, MV_INPUT_RELEASE, f->box.x + wide + 20, 1);
    point(view, MV_INPUT_PRESS, f->box.x + wide + 20, 2);
    expect(f, f->text, 12, 19);
    point(view, MV_INPUT_RELEASE, f->box.x + wide + 20, 2);
    mvt_view_type(view, "backward");
    cr_assert_str_eq(view->now->search, "train.py:62 backward");
}
