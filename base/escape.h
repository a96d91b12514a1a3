/* Texts that come from a file, made harmless for where they go: one manner for each place.
 *
 *     for (uint64_t at = 0; mv_escape_next(text, &at, MV_ESCAPE_JSON, &piece);)
 *         ... write piece.plain, then piece.escape[0 .. piece.length)
 *
 * "Hidden" characters are those of mv_utf8_is_hidden. Bytes that are no UTF-8 are \xNN in every
 * manner. */
#ifndef MV_BASE_ESCAPE_H
#define MV_BASE_ESCAPE_H

#include "base/utf8.h"

typedef enum {
    MV_ESCAPE_WORD,   /* a part of a line: hidden characters are \xNN, a byte each */
    MV_ESCAPE_LINES,  /* the same, but line ends and tabs stay */
    MV_ESCAPE_QUOTED, /* WORD between double quotes: " and \ have a \ before them */
    MV_ESCAPE_JSON, /* a JSON string: hidden characters are \uNNNN, a line end is \n; \xNN of bytes
                     * that are no UTF-8 is text there, since many parsers refuse \udcNN */
    MV_ESCAPE_CSV,  /* a cell: WORD, and each " twice */
    MV_ESCAPE_DATABASE /* only what a text of a database cannot hold: NUL, and no UTF-8 */
} mv_escape;

typedef struct {
    mv_span plain;   /* as it is */
    char escape[20]; /* then this */
    uint32_t length; /* 0: nothing */
} mv_escaped;

/* The next piece of the text from *at on. False at its end. */
bool mv_escape_next(mv_span text, uint64_t *at, mv_escape manner, mv_escaped *piece);

/* Whether a spreadsheet would take the text for a formula, and run it: what is for one has an
 * apostrophe before it. Texts that already have their apostrophe get another, so that taking one
 * away gives back what the file said. */
bool mv_escape_is_formula(mv_span text);

/* Whether a cell of CSV needs double quotes around it: some programs split at semicolons, too. */
bool mv_escape_needs_quotes(mv_span text);

#endif
