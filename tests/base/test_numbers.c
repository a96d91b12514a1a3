#include "base/numbers.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Numbers near powers of ten and of two, where the number of digits changes. */
static uint32_t edge_values(uint64_t *out)
{
    uint32_t count = 0;

    for (uint64_t power = 1; power && count<60; power = power> UINT64_MAX / 10 ? 0 : power * 10) {
        out[count++] = power - 1;
        out[count++] = power;
        out[count++] = power + 1;
    }
    for (uint32_t bit = 0; bit < 64; bit++) {
        out[count++] = (uint64_t)1 << bit;
        out[count++] = ((uint64_t)1 << bit) - 1;
    }
    out[count++] = UINT64_MAX;
    return count;
}

Test(numbers, written_as_printf_does_and_read_again)
{
    uint64_t values[256];
    uint32_t count = edge_values(values);

    for (uint32_t i = 0; i < count; i++) {
        char text[64], wanted[64];
        const char *at = text;
        uint64_t read = 1;
        text[mv_digits(text, values[i])] = 0;
        snprintf(wanted, sizeof wanted, "%" PRIu64, values[i]);
        cr_assert_str_eq(text, wanted);
        cr_assert(mv_number_read(text, &read) && read == values[i]);
        text[mv_digits_signed(text, (int64_t)values[i])] = 0;
        snprintf(wanted, sizeof wanted, "%" PRId64, (int64_t)values[i]);
        cr_assert_str_eq(text, wanted);
        text[mv_digits_hex(text, values[i])] = 0;
        snprintf(wanted, sizeof wanted, "%" PRIx64, values[i]);
        cr_assert_str_eq(text, wanted);
        cr_assert(mv_number_take(&at, 16, &read) && read == values[i] && *at == 0);
        mv_digits_padded(text, 6, values[i]);
        snprintf(wanted, sizeof wanted, "%06u", (unsigned)(values[i] % 1000000));
        cr_assert(memcmp(text, wanted, 6) == 0);
    }
}

Test(numbers, an_invalid_number_leaves_the_value_unchanged)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "0x1",
                                      "a",
                                      "--1",
                                      "1e3",
                                      "١",
                                      "18446744073709551616",
                                      "99999999999999999999",
                                      "184467440737095516150"};

    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t value = 42;
        cr_assert_not(mv_number_read(bad[i], &value), "%s", bad[i]);
        cr_assert_eq(value, 42);
    }
}

Test(numbers, numbers_are_read_from_the_middle_of_a_text)
{
    const char *at = "12,Ff-", *start = at;
    uint64_t value;

    cr_assert(mv_number_take(&at, 10, &value) && value == 12 && at == start + 2);
    cr_assert_not(mv_number_take(&at, 10, &value));
    at++;
    cr_assert_not(mv_number_take(&at, 10, &value));
    cr_assert_eq(at, start + 3);
    cr_assert(mv_number_take(&at, 16, &value) && value == 255 && *at == '-');
}

Test(numbers, reals_are_as_short_as_they_can_be)
{
    static const struct {
        double real;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {0.5, "0.5"},
                 {1e300, "1e+300"},
                 {-2, "-2"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {7e-324, "4.94065646e-324"}};
    char text[MV_REAL_TEXT];

    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(mv_real_text(text, cases[i].real), cases[i].text);
}

Test(numbers, fractions_are_read)
{
    static const char *const bad[] = {"",      "nan",   "inf", "0x10", " 1", "1 ",
                                      "1e999", "1.5.2", "e",   ".",    "-"};
    double value;

    cr_assert(mv_number_read_double("-.5", &value) && value == -0.5);
    cr_assert(mv_number_read_double("1e6", &value) && value == 1e6);
    cr_assert(mv_number_read_double("+2", &value) && value == 2);
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_not(mv_number_read_double(bad[i], &value), "%s", bad[i]);
    cr_assert_eq(value, 2);
}
