/* The tokenizer: it must produce the same tokens from any JSON, wherever the window ends. */
#include "parse/kineto/json.h"

#include "base/texts.h"
#include "tests/fixture/fixture.h"

static mv_json over(const char *text)
{
    mv_source *source = mv_push_struct(mvt_memory(), mv_source);

    mvt_ok(mv_source_over(mvt_memory(), mv_text_span(text), source, mvt_err()));
    return (mv_json){.source = source, .err = mvt_err()};
}

static const char *text_of(const mv_json *j, mv_json_token t)
{
    static uint8_t out[256];
    mv_span text = mv_json_text(j, t, out, sizeof out - 1);

    memmove(out, text.data, text.length);
    out[text.length] = 0;
    return (const char *)out;
}

Test(json, members_and_elements_are_walked)
{
    mv_json j = over("{ \"a\" : 1 ,\"b\":[true, \"x\" ,{}], \"c\":{\"d\":[[]]}}");
    mv_json_token key, value;

    cr_assert(mv_json_enter(&j, '{'));
    cr_assert(mv_json_key(&j, &key) && mv_json_is(&j, key, "a"));
    cr_assert(mv_json_take(&j, &value) && mv_json_is(&j, value, "1"));
    cr_assert(mv_json_key(&j, &key) && mv_json_is(&j, key, "b") && mv_json_enter(&j, '['));
    cr_assert(mv_json_element(&j) && mv_json_take(&j, &value) && mv_json_is(&j, value, "true"));
    cr_assert(mv_json_element(&j) && mv_json_take(&j, &value) && value.has_quotes);
    cr_assert(mv_json_element(&j) && mv_json_pass(&j));
    cr_assert_not(mv_json_element(&j));
    cr_assert(mv_json_key(&j, &key) && mv_json_is(&j, key, "c") && mv_json_take(&j, &value));
    cr_assert_eq(value.length, 0);
    cr_assert_not(mv_json_key(&j, &key));
    cr_assert_not(j.failed);
}

Test(json, escapes_are_undone)
{
    mv_json j = over("[\"a\\\"\\\\\\n\\u00e9\\ud83d\\ude00\\ud83d.\\u12\\/\"]");
    mv_json_token t;

    cr_assert(mv_json_enter(&j, '[') && mv_json_element(&j) && mv_json_take(&j, &t));
    cr_expect_str_eq(text_of(&j, t), "a\"\\\n\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd.u12/");
    cr_expect_not(mv_json_element(&j));
}

/* The window may end anywhere: inside a text, an escape or a number, or between a key and its
 * colon. */
Test(json, the_window_may_end_anywhere)
{
    static const char part[] = "{\"key\\\\\" : \"te\\\"xt\", \"n\":-12.5 ,\"l\":[[\"]\"],{}]}";
    const uint64_t most = MV_SOURCE_WINDOW + 64;
    char *text = mv_push_array(mvt_memory(), char, most + sizeof part + 8);

    for (uint64_t blanks = MV_SOURCE_WINDOW - sizeof part; blanks < MV_SOURCE_WINDOW + 2;
         blanks++) {
        mv_json_token key, value;
        memset(text, ' ', blanks);
        text[0] = '[';
        snprintf(text + blanks, sizeof part + 2, "%s]", part);
        mv_json j = over(text);
        cr_assert(mv_json_enter(&j, '[') && mv_json_element(&j));
        mv_json_keep(&j, blanks % 2);
        cr_assert(mv_json_enter(&j, '{') && mv_json_key(&j, &key));
        cr_assert_str_eq(text_of(&j, key), "key\\");
        cr_assert(mv_json_take(&j, &value));
        cr_assert_str_eq(text_of(&j, value), "te\"xt");
        cr_assert(mv_json_key(&j, &key) && mv_json_is(&j, key, "n") && mv_json_take(&j, &value));
        cr_assert_str_eq(text_of(&j, value), "-12.5");
        cr_assert(mv_json_key(&j, &key) && mv_json_is(&j, key, "l") && mv_json_pass(&j));
        cr_assert_not(mv_json_key(&j, &key));
        cr_assert_not(mv_json_element(&j));
        cr_assert_not(j.failed, "%s", mvt_err()->detail);
    }
}

Test(json, numbers_are_exact)
{
    static const struct {
        const char *text;
        int64_t ns;
    } times[] = {{"1414456661820.89", 1414456661820890},
                 {"4909733316309.231", 4909733316309231},
                 {"-2.5", -2500},
                 {"7", 7000},
                 {"0.0019", 1},
                 {"1.5e3", 1500000},
                 {"1752825292909663.123", 1752825292909663123}};
    mv_json_token t;
    uint64_t size;
    int64_t ns;
    bool below;

    for (unsigned i = 0; i < sizeof times / sizeof *times; i++) {
        const char *padded = mvt_format("%s ", times[i].text);
        mv_json j = over(padded);
        cr_assert(mv_json_take(&j, &t) && mv_json_ns(&j, t, &ns), "%s", padded);
        cr_expect_eq(ns, times[i].ns, "%s: %lld", padded, (long long)ns);
    }
    mv_json j = over(
        "[-18446744073709551615, 18446744073709551616, \"12\", 1.5, NaN, 99999999999999999999e9 ]");
    cr_assert(mv_json_enter(&j, '[') && mv_json_take(&j, &t));
    cr_expect(mv_json_whole(&j, t, &size, &below) && below && size == UINT64_MAX);
    cr_assert(mv_json_element(&j) && mv_json_take(&j, &t));
    cr_expect_not(mv_json_whole(&j, t, &size, &below));
    cr_assert(mv_json_element(&j) && mv_json_take(&j, &t));
    cr_expect(mv_json_whole(&j, t, &size, &below) && !below && size == 12);
    cr_assert(mv_json_element(&j) && mv_json_take(&j, &t));
    cr_expect_not(mv_json_whole(&j, t, &size, &below));
    for (int i = 0; i < 2; i++) {
        cr_assert(mv_json_element(&j) && mv_json_take(&j, &t));
        cr_expect_not(mv_json_ns(&j, t, &ns));
    }
}

/* A million brackets are skipped without more memory than the window. */
Test(json, depth_takes_no_memory)
{
    const uint64_t depth = 1 << 20;
    char *text = mv_push_array(mvt_memory(), char, 2 * depth + 1);
    mv_arena *small = mvt_arena_of(2 * MIB);
    mv_source source;
    mv_json j = {.source = &source, .err = mvt_err()};

    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    mvt_ok(mv_source_over(small, mv_text_span(text), &source, mvt_err()));
    cr_expect(mv_json_pass(&j));
    cr_expect_eq(mv_json_next(&j), 0);
}

Test(json, damage_is_reported_with_its_byte)
{
    static const struct {
        const char *text;
        const char *why;
        uint64_t at;
    } cases[] = {
        {"{\"a\":}", "a value is missing", 5},  {"{\"a\" 1}", "a colon is missing", 5},
        {"{1:2}", "a key is missing", 1},       {"{\"a\":[1,2", "the JSON ends too early", 9},
        {"{\"a", "the JSON ends too early", 3}, {"{\"a\":1 \"b\\", "the JSON ends too early", 10}};

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_json j = over(cases[i].text);
        mv_json_token key;
        mv_json_enter(&j, '{');
        while (mv_json_key(&j, &key) && mv_json_pass(&j))
            ;
        cr_expect(j.failed, "%s", cases[i].text);
        cr_expect_not_null(strstr(mvt_err()->detail, cases[i].why), "%s: %s", cases[i].text,
                           mvt_err()->detail);
        cr_expect_eq(mvt_err()->offset, cases[i].at, "%s: %llu", cases[i].text,
                     (unsigned long long)mvt_err()->offset);
    }
}
