#include <math.h>

#include "base/nearest.h"
#include "base/size.h"
#include "tests/fixture/fixture_test.h"

Test(size, text_has_three_digits_and_a_unit)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } all[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {1536, "1.50 KiB"},
        {10229, "9.99 KiB"},
        {10240, "10.0 KiB"},
        {102348, "99.9 KiB"},
        {102349, "100 KiB"},
        {102400, "100 KiB"},
        {1048063, "1023 KiB"},
        {1048064, "1.00 MiB"}, /* 1023.5 KiB would round to 1024 */
        {2097152, "2.00 MiB"},
        {1277752832, "1.19 GiB"},
        {1ull << 40, "1.00 TiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    char text[MV_SIZE_TEXT];

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        cr_expect_str_eq(mv_size_text(text, all[i].bytes), all[i].text, "%llu: %s",
                         (unsigned long long)all[i].bytes, text);
}

/* The slow and simple way gives the same text for sizes of every magnitude. */
Test(size, text_agrees_with_printf)
{
    char text[MV_SIZE_TEXT], expected[MV_SIZE_TEXT];
    uint64_t random = 12345;

    for (int i = 0; i < 100000; i++) {
        uint64_t bytes = mvt_random_next(&random) >> (i % 54);
        double value = (double)bytes;
        int power = 0;
        if (value < 1024)
            continue;
        for (; value >= 1023.5; value /= 1024)
            power++;
        /* printf rounds halves to even, while this code rounds them up, so halves are left out. */
        double scale = value < 9.995 ? 100 : value < 99.95 ? 10 : 1;
        if (fabs(value * scale - floor(value * scale) - 0.5) < 1e-9)
            continue;
        snprintf(expected, sizeof expected, "%.*f %ciB",
                 value < 9.995   ? 2
                 : value < 99.95 ? 1
                                 : 0,
                 value, "BKMGTPE"[power]);
        mv_size_text(text, bytes);
        cr_assert_str_eq(text, expected);
    }
}

Test(size, sizes_are_read_in_every_unit)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},       {"4096", 4096},       {"4k", 4096},       {"4KB", 4096},
        {"4KiB", 4096}, {"1.5G", 1610612736}, {"2 MiB", 2097152}, {"12B", 12},
    };
    static const char *const bad[] = {"",    "G",    "-1",  "+1",     "1.5X",  "1GG",
                                      "1 x", "1iBs", "nan", "20000P", "1e400", " 1"};
    uint64_t bytes;

    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        cr_expect(mv_size_parse(good[i].text, &bytes), "%s", good[i].text);
        cr_expect_eq(bytes, good[i].bytes, "%s", good[i].text);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(!mv_size_parse(bad[i], &bytes), "%s", bad[i]);
}

Test(size, signs_and_percentages_are_printed)
{
    char text[MV_SIZE_TEXT];

    cr_expect_str_eq(mv_size_signed_text(text, -(3 << 20)), "-3.00 MiB");
    cr_expect_str_eq(mv_size_signed_text(text, 3 << 20), "3.00 MiB");
    cr_expect_str_eq(mv_size_signed_text(text, INT64_MIN), "-8.00 EiB");
    cr_expect_str_eq(mv_size_change_text(text, 312 << 20), "+312 MiB");
    cr_expect_str_eq(mv_size_change_text(text, -1024), "-1.00 KiB");
    cr_expect_str_eq(mv_size_change_text(text, 0), "0 B");
    cr_expect_str_eq(mv_percent_text(text, 27, 100), "27 %");
    cr_expect_str_eq(mv_percent_text(text, 4, 1000), "0.4 %");
    cr_expect_str_eq(mv_percent_text(text, 0, 1000), "0 %");
    cr_expect_str_eq(mv_percent_text(text, 0, 0), "0 %");
}

Test(nearest, distance_counts_edits)
{
    cr_expect_eq(mv_word_distance("trace", "trace"), 0);
    cr_expect_eq(mv_word_distance("tarce", "trace"), 1);
    cr_expect_eq(mv_word_distance("trce", "trace"), 1);
    cr_expect_eq(mv_word_distance("traces", "trace"), 1);
    cr_expect_eq(mv_word_distance("", "trace"), 5);
    cr_expect_eq(mv_word_distance("leaks", "stats"), 3);
}

Test(nearest, the_best_word_is_taken_and_no_distant_one)
{
    mv_nearest nearest = {0};

    mv_nearest_try(&nearest, "leak", "stats");
    cr_expect(nearest.word == NULL);
    mv_nearest_try(&nearest, "leak", "leaks");
    mv_nearest_try(&nearest, "leak", "leap");
    cr_expect_str_eq(nearest.word, "leaks");
}
