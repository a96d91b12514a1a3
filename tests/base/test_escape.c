#include "base/escape.h"

#include "tests/fixture/fixture_test.h"

static const char *escaped(const char *text, uint64_t length, mv_escape manner)
{
    static char out[256];
    mv_span whole = {(const uint8_t *)text, length};
    mv_escaped piece;
    uint64_t used = 0;

    for (uint64_t at = 0; mv_escape_next(whole, &at, manner, &piece);) {
        cr_assert_lt(used + piece.plain.length + piece.length, sizeof out);
        memcpy(out + used, piece.plain.data, piece.plain.length);
        used += piece.plain.length;
        memcpy(out + used, piece.escape, piece.length);
        used += piece.length;
    }
    out[used] = 0;
    return out;
}

Test(escape, each_place_has_its_own_escapes)
{
    static const mv_escape manners[] = {MV_ESCAPE_WORD, MV_ESCAPE_LINES, MV_ESCAPE_QUOTED,
                                        MV_ESCAPE_JSON, MV_ESCAPE_CSV,   MV_ESCAPE_DATABASE};
    /* A text, and the text in each manner. */
    static const char *const all[][7] = {
        {"", "", "", "", "", "", ""},
        {"plain", "plain", "plain", "plain", "plain", "plain", "plain"},
        {"a\"b\\c", "a\"b\\c", "a\"b\\c", "a\\\"b\\\\c", "a\\\"b\\\\c", "a\"\"b\\c", "a\"b\\c"},
        {"\n\t", "\\x0a\\x09", "\n\t", "\\x0a\\x09", "\\n\\u0009", "\\x0a\\x09", "\n\t"},
        {"\x1b[m", "\\x1b[m", "\\x1b[m", "\\x1b[m", "\\u001b[m", "\\x1b[m", "\x1b[m"},
        {"\xc2\x9b", "\\xc2\\x9b", "\\xc2\\x9b", "\\xc2\\x9b", "\\u009b", "\\xc2\\x9b", "\xc2\x9b"},
        {"\xff.", "\\xff.", "\\xff.", "\\xff.", "\\\\xff.", "\\xff.", "\\xff."},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80",
         "\\\\xed\\\\xa0\\\\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80"},
        {"\xe2\x80\xae.", "\\xe2\\x80\\xae.", "\\xe2\\x80\\xae.", "\\xe2\\x80\\xae.", "\\u202e.",
         "\\xe2\\x80\\xae.", "\xe2\x80\xae."},
        {"\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81", "\\xf3\\xa0\\x81\\x81", "\\xf3\\xa0\\x81\\x81",
         "\\udb40\\udc41", "\\xf3\\xa0\\x81\\x81", "\xf3\xa0\x81\x81"},
        {"\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80",
         "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80",
         "\xc3\xa9\xf0\x9f\x98\x80"},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        for (unsigned k = 0; k < sizeof manners / sizeof *manners; k++)
            cr_expect_str_eq(escaped(all[i][0], strlen(all[i][0]), manners[k]), all[i][k + 1]);
    cr_expect_str_eq(escaped("a\0b", 3, MV_ESCAPE_DATABASE), "a\\x00b");
    cr_expect_str_eq(escaped("a\0b", 3, MV_ESCAPE_JSON), "a\\u0000b");
}

Test(escape, formulas_for_spreadsheets_are_recognized)
{
    static const struct {
        const char *text;
        bool is_formula, is_quoted;
    } all[] = {{"=1", true, true},
               {"''@x", true, true},
               {"\xef\xbc\x9d"
                "1",
                true, true},
               {"\xef\xbc\x8b", true, true},
               {"\n", true, true},
               {"", false, true},
               {"a;=1", false, true},
               {"a,b", false, true},
               {"'x", false, false},
               {"a=b", false, false},
               {"\xef\xbc\x9e", false, false},
               {"\xff", false, false}};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mv_span text = {(const uint8_t *)all[i].text, strlen(all[i].text)};
        cr_expect_eq(mv_escape_is_formula(text), all[i].is_formula, "%s", all[i].text);
        cr_expect_eq(mv_escape_needs_quotes(text), all[i].is_quoted, "%s", all[i].text);
    }
}
