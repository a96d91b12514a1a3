/* Sentences: wrapped between words at the terminal's width. */
#ifndef MV_PROSE_H
#define MV_PROSE_H

#include "cli/report/out.h"

/* The width of lines, unless the terminal is narrower or wider; longer lines are hard to read. */
#define MV_PROSE_COLUMNS 80
#define MV_PROSE_MOST    100

/* Prints a sentence that begins at the current column `column`. Further lines begin with `indent`
 * spaces. Ends the line. Text from a file is safe in it. Cut after 2 KiB. */
void mv_prose_put(mv_out *out, uint32_t column, uint32_t indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A sentence as an item below another one: 2 blanks before it, 4 before its further lines. */
void mv_prose_put_item(mv_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints like mv_prose_put, but does not end the line, for sentences in several styles. A part that
 * does not begin with a blank is never separated from the previous part. Returns the column after
 * it. */
uint32_t mv_prose_part(mv_out *out, uint32_t column, uint32_t indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Prints a name that ends such a sentence, in one piece: on a new line if the rest of this line is
 * too short, and cut, as by mv_prose_put_cut, if the terminal is. Ends the line. */
void mv_prose_put_name(mv_out *out, uint32_t column, uint32_t indent, const char *name);

/* Appends to a text in a buffer of `size` bytes; text that does not fit is cut. */
void mv_prose_add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the number of characters in a text, which is approximately its width in columns. */
uint32_t mv_prose_width(const char *text);

/* Columns left on a terminal's line after `used` ones; no limit if the width is unknown. */
static inline uint32_t mv_prose_room(const mv_out *out, uint32_t used)
{
    return out->columns > used ? out->columns - used : UINT32_MAX;
}

/* Prints at most `room` characters (but at least ".."). A text that does not fit is cut at its
 * least important place, marked with "..":
 *
 *     train.py:62 a_very_l..ed_name     the line always stays; the file's name is cut last
 *     train.py:3 > util.py:5 make       calls: first names go, then the beginning
 *     backward of..ddmmBackward0)       others: the middle */
void mv_prose_put_cut(mv_out *out, uint32_t room, const char *text);

/* Prints a text in the same way whose end is its most important part. */
void mv_prose_put_end(mv_out *out, uint32_t room, const char *text);

#endif
