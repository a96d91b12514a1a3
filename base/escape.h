/* Escapes strings from a file for the format in which they are written. Each format has a separate
 * mode.
 *
 *     for (uint64_t at = 0; mv_escape_next(text, &at, MV_ESCAPE_JSON, &piece);)
 *         ... write piece.plain, then piece.escape[0 .. piece.length)
 *
 * "Hidden" characters are those for which mv_utf8_is_hidden is true. Invalid UTF-8 bytes become
 * \xNN in every mode. */
#pragma once

#include "base/utf8.h"

typedef enum {
    MV_ESCAPE_WORD,    /* a part of a line; each byte of a hidden character becomes \xNN */
    MV_ESCAPE_LINES,   /* like WORD, but line ends and tabs are not changed */
    MV_ESCAPE_QUOTED,  /* WORD between double quotes, in which " and \ are preceded by a \ */
    MV_ESCAPE_JSON,    /* a JSON string, in which hidden characters become \uNNNN and a line end
                        * becomes \n; the \xNN of an invalid UTF-8 byte is plain text, because many
                        * parsers refuse \udcNN */
    MV_ESCAPE_CSV,     /* a cell of a CSV file: like WORD, and each " is doubled */
    MV_ESCAPE_DATABASE /* escapes only what a string in a database cannot contain: NUL and
                        * invalid UTF-8 */
} mv_escape;

typedef struct {
    mv_span plain;   /* bytes to write unchanged */
    char escape[20]; /* bytes to write after `plain` */
    uint32_t length; /* length of `escape`; 0: there is nothing to write */
} mv_escaped;

/* Returns the next piece of the string, starting at *at, and moves *at. False at the end of the
 * string. */
bool mv_escape_next(mv_span text, uint64_t *at, mv_escape manner, mv_escaped *piece);

/* Returns true if a spreadsheet would take the string for a formula and run it. Such a string is
 * written with an apostrophe in front. The result is also true for a string that already starts
 * with such an apostrophe, so that removing one apostrophe restores the original string. */
bool mv_escape_is_formula(mv_span text);

/* Returns true if a CSV cell needs double quotes. Cells with semicolons do, because some programs
 * also split lines at semicolons. */
bool mv_escape_needs_quotes(mv_span text);
