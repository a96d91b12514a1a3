/* Whole numbers as text, and text as numbers.
 *
 * The writers are for numbers that are written millions of times; elsewhere printf is fine. The
 * readers are strict: no sign, no spaces, no overflow. They leave the result unchanged when the
 * text is not a number. Neither depends on the locale. */
#ifndef MV_BASE_NUMBERS_H
#define MV_BASE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#define MV_DIGITS 20 /* digits of the largest number; a sign is one more */

/* ---- number to text: no NUL is written, except by mv_count_text ------------------------------ */

/* "8407". Returns the number of digits. */
uint32_t mv_digits(char digits[MV_DIGITS], uint64_t value);

/* "-8407". Returns the length. */
uint32_t mv_digits_signed(char digits[MV_DIGITS + 1], int64_t value);

/* "000407": exactly `width` digits, the lowest ones when there are more. */
void mv_digits_padded(char *digits, uint32_t width, uint64_t value);

/* "7f3a": without "0x". Returns the number of digits. */
uint32_t mv_digits_hex(char digits[16], uint64_t value);

/* "1,977,515", for people. Returns `text`, which ends in NUL. */
#define MV_COUNT_TEXT 32
const char *mv_count_text(char text[MV_COUNT_TEXT], uint64_t count);

/* "0.1": the fewest digits that read back as the same finite number. Returns `text`, which ends in
 * NUL. */
#define MV_REAL_TEXT 32
const char *mv_real_text(char text[MV_REAL_TEXT], double real);

/* ---- text to number -------------------------------------------------------------------------- */

/* Reads all digits at `*at`, in base 10 or 16 (either case, without "0x"), and moves `*at` past
 * them. False when there are no digits or the number does not fit: `*at` and `*out` are unchanged
 * then. */
bool mv_number_take(const char **at, uint32_t base, uint64_t *out);

/* The whole text must be digits: "8407". */
bool mv_number_read(const char *text, uint64_t *out);

/* The whole text must be a finite number: "8407", "-.5", "1e6", but not "nan", "inf" or "0x10". The
 * decimal point is ".", since memviz never sets a locale. */
bool mv_number_read_double(const char *text, double *out);

#endif
