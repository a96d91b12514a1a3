/* Sizes in binary units, written for people. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MV_SIZE_TEXT  32
#define MV_SIZE_UNITS 7

/* The units "B", "KiB", ..., "EiB", each of which is 1024 times the unit before it. For callers
 * that do their own rounding, such as axis labels. */
extern const char *const mv_size_units[MV_SIZE_UNITS];

/* Writes "512 B", "2.00 KiB", "1.19 GiB", with three significant digits. Returns `text`. */
const char *mv_size_text(char text[MV_SIZE_TEXT], uint64_t bytes);

/* Writes a size that may be negative: "-3.00 MiB". */
const char *mv_size_signed_text(char text[MV_SIZE_TEXT], int64_t bytes);

/* Writes a difference: "+312 MiB", "-1.00 KiB", "0 B". */
const char *mv_size_change_text(char text[MV_SIZE_TEXT], int64_t bytes);

/* Writes `part` as a percentage of `whole`: "27 %", "0.4 %". 0 % if the whole is 0. */
const char *mv_percent_text(char text[MV_SIZE_TEXT], uint64_t part, uint64_t whole);

/* Reads "4096", "512M", "1.5GiB", "2 kb". Units are binary, and may be in upper or lower case.
 * Returns false if the string is not a size. */
bool mv_size_parse(const char *text, uint64_t *bytes);
