#include "base/duration.h"

#include "tests/fixture/fixture_test.h"

static void expect(int64_t us, const char *text)
{
    char out[MV_DURATION_TEXT];

    cr_expect_str_eq(mv_duration_text(out, us), text, "%lld us: %s", (long long)us, out);
}

Test(duration, has_three_digits_in_the_largest_unit_that_fits)
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
