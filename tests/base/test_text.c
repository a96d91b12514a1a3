
#include "base/texts.h"
#include "tests/fixture/fixture_test.h"

Test(text, texts_have_any_length)
{
    mv_arena *arena = mvt_arena_of(1 << 20);
    char letters[2000];

    memset(letters, 'x', sizeof letters);
    for (int length = 0; length<2000; length += length> 500 && length < 520 ? 1 : 37) {
        const char *text = mv_arena_printf(arena, "%.*s", length, letters);
        cr_assert_eq(strlen(text), (size_t)length);
        cr_assert_eq(strspn(text, "x"), (size_t)length);
    }
    cr_assert_str_eq(mv_arena_printf(arena, "%u request%s", 1, mv_plural(1)), "1 request");
    cr_assert_str_eq(mv_arena_printf(arena, "%u request%s", 0, mv_plural(0)), "0 requests");
    cr_assert_null(mv_arena_printf(mvt_arena_of(0), "x"));
}

Test(text, endings_of_names_are_found)
{
    cr_assert(mv_text_has_ending("a.svg", ".svg"));
    cr_assert(mv_text_has_ending(".svg.svg", ".svg"));
    cr_assert_not(mv_text_has_ending(".svg", ".svg"));
    cr_assert_not(mv_text_has_ending("a.svgz", ".svg"));
    cr_assert_not(mv_text_has_ending("", ".svg"));
}

Test(text, appended_text_is_cut_between_characters)
{
    char text[8] = "";

    cr_assert(mv_text_append(text, sizeof text, "%s", "ab"));
    cr_assert(mv_text_append(text, sizeof text, "%d", 12345));
    cr_assert_str_eq(text, "ab12345");
    cr_assert_not(mv_text_append(text, sizeof text, "6"));
    cr_assert_str_eq(text, "ab12345");
    *text = 0;
    cr_assert_not(mv_text_append(text, sizeof text, "abcde%s", "\xe2\x80\xa6"));
    cr_assert_str_eq(text, "abcde");
    *text = 0;
    cr_assert(mv_text_append(text, sizeof text, "abcd%s", "\xe2\x80\xa6"));
}

Test(texts, each_text_has_one_number)
{
    mv_arena *arena = mvt_arena_of(16 << 20);
    mv_texts texts = {.arena = arena};
    char name[32];

    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++) {
            snprintf(name, sizeof name, "%u", i * 17);
            cr_assert_eq(mv_texts_add(&texts, mv_text_span(name)), i);
            cr_assert_str_eq((const char *)texts.text[i].data, name);
        }
    cr_assert_eq(texts.count, 5000);
    cr_assert_eq(mv_texts_add(&texts, (mv_span){(const uint8_t *)"17", 3}), 5000, "with its NUL");
    arena->budget->limit = 0;
    while (mv_texts_add(&texts, mv_text_span(name)) != MV_NO_TEXT)
        snprintf(name, sizeof name, "more %u", texts.count);
    cr_assert_eq(mv_texts_add(&texts, mv_text_span("17")), 1, "old ones need no memory");
}
