#include "analyze/code/pattern.h"

#include <regex.h>

#include "base/texts.h"
#include "tests/fixture/fixture_test.h"

static const mv_pattern *read(const char *text)
{
    const char *why;
    const mv_pattern *p = mv_pattern_read(mvt_memory(), mv_text_span(text), &why);

    cr_assert(p, "%s: %s", text, why);
    return p;
}

static bool is_in(const char *pattern, const char *text)
{
    return mv_pattern_is_in(read(pattern), mv_text_span(text));
}

Test(pattern, patterns_match_as_posix_defines)
{
    static const struct {
        const char *pattern, *yes, *no;
    } all[] = {
        {"abc", "xabcx", "abxc"},
        {"^a", "ab", "ba"},
        {"a$", "ba", "ab"},
        {"^$", "", "a"},
        {"a|b|cd", "xcd", "xc"},
        {"a.c", "abc", "ac"},
        {"ab*c", "ac", "abbd"},
        {"ab+c", "abbc", "ac"},
        {"ab?c", "ac", "abbc"},
        {"x{2}y", "xxy", "xy"},
        {"^x{2,}$", "xxxx", "x"},
        {"^x{2,3}$", "xxx", "xxxx"},
        {"^x{,2}$", "xx", "xxx"},
        {"^x{0,}y{0}$", "xx", "y"},
        {"^(a|bc){2}$", "abc", "abca"},
        {"^(a{1,2}){2}$", "aaaa", "aaaaa"},
        {"[a-c]x", "bx", "dx"},
        {"[^a-c]x", "dx", "bx"},
        {"[]a]", "]", "b"},
        {"[^]a]", "b", "]"},
        {"[a-]", "-", "b"},
        {"[[:digit:][:upper:]_]z", "Az", "az"},
        {"[[.-.]]", "-", "a"},
        {"a\\.b", "a.b", "axb"},
        {"a)", "a)", "a"},
        {"()", "", NULL},
        {"a|", "", NULL},
        {"\\<wor", "a word", "sword"},
        {"d\\>", "word ", "wordy"},
        {"\\bit\\b", "is it so", "bit"},
        {"o\\Br", "word", "o r"},
        {"^\\w+\\s\\W$", "ab_1 -", "ab 1"},
        {"h[\xc3\xa0-\xc3\xbf]llo", "h\xc3\xa9llo", "hello"},
        {"^.$", "\xc3\xa9", "\xc3\xa9\xc3\xa9"},
        {"^..$", "\xff\xfe", "\xff"},
        {"\xff", "a\xff", "\xc3\xbf"},
        {"(f+)+$", "ff", "ffg"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cr_expect(is_in(all[i].pattern, all[i].yes), "%s: %s", all[i].pattern, all[i].yes);
        if (all[i].no)
            cr_expect(!is_in(all[i].pattern, all[i].no), "%s: %s", all[i].pattern, all[i].no);
    }
}

Test(pattern, faults_are_reported)
{
    static const struct {
        const char *pattern, *why;
    } all[] = {
        {"", "is empty"},
        {"(a", "has no ')'"},
        {"[a", "has no ']'"},
        {"*a", "nothing to"},
        {"a|*", "nothing to"},
        {"({2}a)", "nothing to"},
        {"a{", "repeat count"},
        {"a{x}", "repeat count"},
        {"a{3,2}", "repeat count"},
        {"[b-a]", "before it"},
        {"[[:letter:]]", "unknown character class"},
        {"[[:digit]", "has no ':]'"},
        {"a\\", "ends in"},
        {"(a)\\1", "back-reference"},
        {"a{2001}", "too complex"},
        {"(a{50}){50}", "too complex"},
        {"((a*){999}){999}", "too complex"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *why = NULL;
        cr_expect_null(mv_pattern_read(mvt_memory(), mv_text_span(all[i].pattern), &why), "%s",
                       all[i].pattern);
        cr_expect(why && strstr(why, all[i].why), "%s: %s", all[i].pattern, why);
    }
}

Test(pattern, the_largest_patterns_are_read)
{
    char deep[2 * MV_PATTERN_MOST_DEPTH + 8] = "", wide[MV_PATTERN_MOST_BYTES + 1], text[1 << 12];

    memset(deep, '(', MV_PATTERN_MOST_DEPTH);
    memset(deep + MV_PATTERN_MOST_DEPTH, ')', MV_PATTERN_MOST_DEPTH);
    cr_assert(is_in(deep, ""));
    memset(wide, 'a', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    cr_assert(is_in(wide, text));
    cr_assert(!is_in("(a|aa|a*b{99}){9}c", text));
    cr_assert(is_in("(a{30}){30}$", text));
}

/* Both parsers must either accept or reject the pattern, and an accepted pattern must match the
 * same strings. */
static void compare(const char *pattern, uint64_t *state)
{
    static const char letters[] = "aabbc_ 1-";
    const char *why;
    const mv_pattern *p = mv_pattern_read(mvt_memory(), mv_text_span(pattern), &why);
    regex_t regex;

    if (!p || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return;
    for (int i = 0; i < 30; i++) {
        char text[12];
        uint64_t length = mvt_random(state, sizeof text);
        for (uint64_t k = 0; k < length; k++)
            text[k] = letters[mvt_random(state, sizeof letters - 1)];
        text[length] = 0;
        cr_assert_eq(mv_pattern_is_in(p, mv_text_span(text)),
                     regexec(&regex, text, 0, NULL, 0) == 0, "/%s/ in \"%s\"", pattern, text);
    }
    regfree(&regex);
}

LongTest(pattern, patterns_match_as_in_the_c_library)
{
    static const char *const parts[] = {
        "a",   "b",   "c",   ".",   "[ab]",  "[^a]",  "[[:alpha:]]", "(", ")",   "|",
        "*",   "+",   "?",   "{2}", "{,2}",  "{1,}",  "^",           "$", "\\<", "\\>",
        "\\b", "\\B", "\\w", "\\W", "{1,3}", "(a|b)", "1",           "_"};
    uint64_t state = 5;

    for (uint32_t round = 0; round < 30000; round++) {
        char pattern[120] = "";
        uint64_t count = 1 + mvt_random(&state, 9), repeats = 0;
        for (uint64_t i = 0; i < count; i++) {
            const char *part = parts[mvt_random(&state, sizeof parts / sizeof *parts)];
            repeats += strchr("*+?{", *part) != NULL;
            if (repeats <= 3 || !strchr("*+?{", *part)) /* the C library expands all of them */
                mv_text_append(pattern, sizeof pattern, "%s", part);
        }
        compare(pattern, &state);
        mv_arena_release(mvt_memory());
    }
}
