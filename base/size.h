/* Sizes in binary units, formatted for people. */
#ifndef MV_BASE_SIZE_H
#define MV_BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#define MV_SIZE_TEXT  32
#define MV_SIZE_UNITS 7

/* The units "B", "KiB", ..., "EiB": each is 1024 times the one before. For callers that round
 * themselves, such as axis labels. */
extern const char *const mv_size_units[MV_SIZE_UNITS];

/* "512 B", "2.00 KiB", "1.19 GiB": three significant digits. Returns `text`. */
const char *mv_size_text(char text[MV_SIZE_TEXT], uint64_t bytes);

/* With a sign if negative: "-3.00 MiB". */
const char *mv_size_signed_text(char text[MV_SIZE_TEXT], int64_t bytes);

/* A difference: "+312 MiB", "-1.00 KiB", "0 B". */
const char *mv_size_change_text(char text[MV_SIZE_TEXT], int64_t bytes);

/* "27 %", "0.4 %" of a whole; 0 % if the whole is 0. */
const char *mv_percent_text(char text[MV_SIZE_TEXT], uint64_t part, uint64_t whole);

/* Reads "4096", "512M", "1.5GiB", "2 kb": units are binary, and may be in upper or lower case.
 * False if the text is not a size. */
bool mv_size_parse(const char *text, uint64_t *bytes);

#endif
