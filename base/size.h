/* Sizes for people: binary units. */
#ifndef MV_SIZE_H
#define MV_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#define MV_SIZE_TEXT 32

/* "512 B", "2.00 KiB", "1.19 GiB": three significant digits. Returns `text`. */
const char *mv_size_text(char text[MV_SIZE_TEXT], uint64_t bytes);

/* "4096", "512M", "1.5GiB", "2 kb": units are binary, of either case. False when it is none. */
bool mv_size_parse(const char *text, uint64_t *bytes);

#endif
