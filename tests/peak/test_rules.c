/* Rule files: valid rules, the errors for invalid ones, and which rule wins. */
#include "analyze/peak/rules.h"
#include "tests/fixture/fixture.h"

static bool read_rules(mv_arena *arena, const char *text, mv_rules *rules, char *why)
{
    mv_span span = {(const uint8_t *)text, strlen(text)};

    return mv_rules_read(arena, span, rules, why, 200);
}

static mvt_trace *two_stacks(void)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x1000, .bytes = 512, .stack = "forward:/w/moe.py:12;step:/w/train.py:7");
    mvt_alloc(t, .addr = 0x2000, .bytes = 512, .stack = "load data:/w/data.py:3");
    return t;
}

/* Returns the rule for the frame whose function is `function`. */
static uint32_t rule_of(mvt_trace *t, const mv_rules *rules, const char *function)
{
    const mv_trace *trace = mvt_done(t);
    uint32_t *rule = mv_rules_match(mvt_arena(t), rules, trace);

    cr_assert(rule);
    for (uint32_t i = 0; i < trace->frames.count; i++)
        if (strcmp(mv_string_text(trace, trace->frames.function[i]), function) == 0)
            return rule[i];
    cr_assert_fail("no frame %s", function);
    return MV_NO_ROW;
}

Test(rules, first_match_wins)
{
    mvt_trace *t = two_stacks();
    mv_rules rules;
    char why[200];

    cr_assert(read_rules(mvt_arena(t),
                         "# a remark\n"
                         "\n"
                         "moe\\.py:1[0-9] forward$   experts\n"
                         "moe\\.py\tthe rest of it\r\n"
                         "  data\\.py:3 load data  input  \n"
                         "data second",
                         &rules, why),
              "%s", why);
    cr_assert_eq(rules.count, 4);
    cr_expect_str_eq(rules.name[0], "experts");
    cr_expect_str_eq(rules.name[1], "the rest of it");
    cr_expect_str_eq(rules.name[2], "input");
    cr_expect_eq(rule_of(t, &rules, "forward"), 0);
    cr_expect_eq(rule_of(t, &rules, "load data"), 2);
    cr_expect_eq(rule_of(t, &rules, "step"), MV_NO_ROW);
}

Test(rules, faults_name_their_line)
{
    static const struct {
        const char *text, *why;
    } all[] = {
        {"a b\nlonely\n", "line 2: expected a regular expression and a category"},
        {"\tname\n", "line 1: expected a regular expression and a category"},
        {"# x\n\n( name\n", "line 3: "},
        {"a[ name", "line 1: "},
        {"a \001\002", "line 1: the category's name"},
        {"a aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "line 1: the category's name"},
    };
    mvt_trace *t = two_stacks();

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mv_rules rules;
        char why[200] = "";
        cr_expect(!read_rules(mvt_arena(t), all[i].text, &rules, why), "%s", all[i].text);
        cr_expect(strstr(why, all[i].why) == why, "%s: %s", all[i].text, why);
    }
}

Test(rules, too_many_rules_are_refused)
{
    mvt_trace *t = two_stacks();
    char *text = mv_push_array(mvt_arena(t), char, 4 * (MV_RULES_MOST + 2)), why[200] = "";
    mv_rules rules;

    for (unsigned i = 0; i <= MV_RULES_MOST; i++)
        memcpy(text + 4 * i, "a b\n", 4);
    cr_expect(!read_rules(mvt_arena(t), text, &rules, why));
    cr_expect_str_eq(why, "line 513: too many rules");
    text[4 * MV_RULES_MOST] = 0;
    cr_expect(read_rules(mvt_arena(t), text, &rules, why));
}
