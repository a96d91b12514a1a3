/* Converts whole numbers to strings, and strings to numbers.
 *
 * The writers are for numbers that are written millions of times; elsewhere printf is fast enough.
 * The readers are strict and accept no sign, no spaces and no overflow. They leave the result
 * unchanged if the string is not a number. Neither readers nor writers depend on the locale. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MV_DIGITS 20 /* number of digits of the largest number; a sign needs one more character */

/* ---- numbers to strings: only mv_count_text and mv_real_text write a NUL --------------------- */

/* Writes "8407". Returns the number of digits. */
uint32_t mv_digits(char digits[MV_DIGITS], uint64_t value);

/* Writes "-8407". Returns the length. */
uint32_t mv_digits_signed(char digits[MV_DIGITS + 1], int64_t value);

/* Writes "000407", which has exactly `width` digits. If the number has more digits, only the lowest
 * ones are written. */
void mv_digits_padded(char *digits, uint32_t width, uint64_t value);

/* Writes "7f3a", without "0x". Returns the number of digits. */
uint32_t mv_digits_hex(char digits[16], uint64_t value);

/* Writes "1,977,515", for people. Returns `text`, which ends in NUL. */
#define MV_COUNT_TEXT 32
const char *mv_count_text(char text[MV_COUNT_TEXT], uint64_t count);

/* Writes "0.1", with the fewest digits from which the same finite number can be read. Returns
 * `text`, which ends in NUL. */
#define MV_REAL_TEXT 32
const char *mv_real_text(char text[MV_REAL_TEXT], double real);

/* ---- strings to numbers ---------------------------------------------------------------------- */

/* Reads all digits at `*at`, in base 10 or 16 (in either case, without "0x"), and moves `*at` past
 * them. Returns false if there are no digits or the number does not fit; `*at` and `*out` are then
 * unchanged. */
bool mv_number_take(const char **at, uint32_t base, uint64_t *out);

/* Reads a string that consists only of digits: "8407". Returns false for any other string. */
bool mv_number_read(const char *text, uint64_t *out);

/* Reads a string that is a finite number, such as "8407", "-.5" or "1e6", but not "nan", "inf" or
 * "0x10". The decimal point is ".", because memviz never sets a locale. */
bool mv_number_read_double(const char *text, double *out);
