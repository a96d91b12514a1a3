/* Prints sentences, wrapped between words at the terminal's width. */
#pragma once

#include "cli/report/out.h"

/* The width of lines. A narrower terminal reduces it, but a wider one does not increase it, because
 * longer lines are hard to read. */
#define MV_PROSE_COLUMNS 80
#define MV_PROSE_MOST    100

/* Prints a sentence that begins at column `column`, and ends the line. Lines after the first begin
 * with `indent` spaces. Text from a file is safe in the sentence. The sentence is cut after 2
 * KiB. */
void mv_prose_put(mv_out *out, uint32_t column, uint32_t indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Prints a sentence as an item below another one, with its first line indented by 2 blanks and the
 * lines after that by 4. */
void mv_prose_put_item(mv_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints advice below a sentence, with an arrow. */
void mv_prose_put_advice(mv_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints like mv_prose_put, but does not end the line, so that a sentence can have parts in
 * different styles. No line break is inserted before a part that does not begin with a blank.
 * Returns the column after the part. */
uint32_t mv_prose_part(mv_out *out, uint32_t column, uint32_t indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Prints a name at the end of a sentence without breaking it, and ends the line. The name starts a
 * new line if it does not fit on the current one, and is cut like in mv_prose_put_cut if it does
 * not fit on any line. */
void mv_prose_put_name(mv_out *out, uint32_t column, uint32_t indent, const char *name);

/* Appends to the string in a buffer of `size` bytes. What does not fit is cut. */
void mv_prose_add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the number of characters in a string, which is approximately its width in columns. */
uint32_t mv_prose_width(const char *text);

/* Returns how many columns are left on a terminal line after `used` of them. There is no limit if
 * the terminal's width is unknown. */
static inline uint32_t mv_prose_room(const mv_out *out, uint32_t used)
{
    return out->columns > used ? out->columns - used : UINT32_MAX;
}

/* Prints at most `room` characters (but at least ".."). If the text does not fit, ".." replaces its
 * least important part:
 *
 *     train.py:62 a_very_l..ed_name     the line always stays; the file's name is cut last
 *     train.py:3 > util.py:5 make       calls: first names go, then the beginning
 *     backward of..ddmmBackward0)       others: the middle */
void mv_prose_put_cut(mv_out *out, uint32_t room, const char *text);

/* Prints at most `room` characters of a text whose end is its most important part. */
void mv_prose_put_end(mv_out *out, uint32_t room, const char *text);
