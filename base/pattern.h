/* POSIX extended regular expressions in bounded time. The C library's take time with the square of
 * a text's length, and memory with each state that a text leads to; texts come from files.
 *
 *     const char *why;
 *     const mv_pattern *pattern = mv_pattern_read(arena, mv_text_span("conv[0-9]+\\.py"), &why);
 *     if (pattern && mv_pattern_is_in(pattern, text)) ...
 *
 * All of POSIX but equivalence classes of more than one character; of the GNU extensions
 * \w \W \s \S \b \B \< \>. There are no references back, which need exponential time. A character
 * is one of UTF-8, a byte that is none is a character of its own; classes such as [:alpha:] are
 * ASCII's. Upper and lower case differ. */
#ifndef MV_BASE_PATTERN_H
#define MV_BASE_PATTERN_H

#include "base/arena.h"
#include "base/cursor.h"

enum {
    MV_PATTERN_MOST_BYTES = 1000, /* of an expression */
    MV_PATTERN_MOST_DEPTH = 50,   /* nested parentheses */
    MV_PATTERN_MOST_PARTS = 2000  /* with repetitions written out: a{9} has nine, (ab)* four */
};

typedef struct mv_pattern mv_pattern;

/* NULL when the text is no such expression, or larger than those limits, or memory is out: then
 * *why is a sentence without a full stop. */
const mv_pattern *mv_pattern_read(mv_arena *arena, mv_span text, const char **why);

/* Whether it matches a part of the text. At most a step for each character and part; no memory
 * but some 24 KiB of the stack. Threads may share a pattern. */
bool mv_pattern_is_in(const mv_pattern *pattern, mv_span text);

#endif
