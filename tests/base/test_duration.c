#include "base/duration.h"

#include "tests/fixture/fixture_test.h"

static void expect(int64_t us, const char *text)
{
    char out[MV_DURATION_TEXT];

    cr_expect_str_eq(mv_duration_text(out, us), text, "%lld us: %s", (long long)us, out);
}

Test(duration, duration_has_three_digits_in_the_largest_unit_that_fits)
{
    expect(0, "0 us");
    expect(850, "850 us");
    expect(1000, "1 ms");
    expect(12640, "12.6 ms");
    expect(999400, "999 ms");
    expect(12000000, "12 s");
    expect(90000000, "1.5 min");
    expect(12600000000, "3.5 h");
    expect(172800000000, "2 days");
}

Test(duration, has_no_exponent_at_the_edge_of_a_unit)
{
    expect(999, "999 us");
    expect(999600, "1 s");
    expect(86400000000 * 12345, "12345 days");
}

Test(duration, is_read_with_its_unit)
{
    static const struct {
        const char *text;
        uint64_t us;
    } right[] = {{"60s", 60000000},   {"1.5h", 5400000000}, {"250ms", 250000},   {"2m", 120000000},
                 {"2min", 120000000}, {"7us", 7},           {"1d", 86400000000}, {"0s", 0}};
    static const char *const wrong[] = {
        "",     "60",   "s",  "1.5.5s",   "-1s",
        "1e9s", "60 s", "5y", "9999999d", "1111111111111111111111111111111111s"};
    uint64_t us = 12;

    for (unsigned i = 0; i < sizeof right / sizeof *right; i++) {
        cr_expect(mv_duration_read(right[i].text, &us), "%s", right[i].text);
        cr_expect_eq(us, right[i].us, "%s", right[i].text);
    }
    us = 12;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect(!mv_duration_read(wrong[i], &us) && us == 12, "%s", wrong[i]);
}
