/* Sentences: broken between words where the terminal ends. */
#ifndef MV_PROSE_H
#define MV_PROSE_H

#include "cli/report/out.h"

/* Where lines end unless the terminal is narrower, or wider: longer ones are hard to read. */
#define MV_PROSE_COLUMNS 80
#define MV_PROSE_MOST    100

/* A sentence from column `column` on, where the line stands now; further lines behind `indent`
 * spaces; then the line ends. Text out of a file is safe in it. Beyond 2 KiB it is cut. */
void mv_prose_put(mv_out *out, uint32_t column, uint32_t indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends to a text in a buffer of `size` bytes; what does not fit is cut. */
void mv_prose_add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Characters of a text: the columns that it takes, near enough. */
uint32_t mv_prose_width(const char *text);

/* Columns that are left of a terminal's line behind `used` ones; no end where that is not known. */
static inline uint32_t mv_prose_room(const mv_out *out, uint32_t used)
{
    return out->columns > used ? out->columns - used : UINT32_MAX;
}

/* One line of `room` characters at most: what does not fit ends in "..". Of lines that call each
 * other, "a.py:3 main > b.py:5 make", names are left out first, then the beginning is. */
void mv_prose_put_cut(mv_out *out, uint32_t room, const char *text);

#endif
