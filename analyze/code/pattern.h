/* Matches POSIX extended regular expressions in bounded time. The C library's matcher takes
 * quadratic time in the length of a string, and memory for each state that a string reaches. That
 * is not acceptable here, because our strings come from untrusted files.
 *
 *     const char *why;
 *     const mv_pattern *pattern = mv_pattern_read(arena, mv_text_span("conv[0-9]+\\.py"), &why);
 *     if (pattern && mv_pattern_is_in(pattern, text)) ...
 *
 * Supports all of POSIX except equivalence classes with more than one character, and the GNU
 * extensions \w \W \s \S \b \B \< \>. Back-references are not supported, because they need
 * exponential time. Characters are UTF-8; an invalid byte is a separate character. Classes such as
 * [:alpha:] are ASCII only. Matching is case-sensitive. */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"

enum {
    MV_PATTERN_MOST_BYTES = 1000, /* maximum length of an expression in bytes */
    MV_PATTERN_MOST_DEPTH = 50,   /* maximum depth of nested parentheses */
    MV_PATTERN_MOST_PARTS = 2000  /* maximum number of steps, with repetitions expanded: a{9} has
                                   * nine, (ab)* has four */
};

typedef struct mv_pattern mv_pattern;

/* Compiles an expression. Returns NULL if the string is not a valid expression, exceeds the limits
 * above, or memory runs out; *why is then a sentence without a full stop. */
const mv_pattern *mv_pattern_read(mv_arena *arena, mv_span text, const char **why);

/* Returns true if the expression matches any part of the string. Takes at most one step for each
 * combination of a character and a step of the expression, and no memory except about 24 KiB of
 * stack. Threads may share a pattern. */
bool mv_pattern_is_in(const mv_pattern *pattern, mv_span text);
