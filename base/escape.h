/* Escapes texts from a file for the place where they are written; each place has its mode.
 *
 *     for (uint64_t at = 0; mv_escape_next(text, &at, MV_ESCAPE_JSON, &piece);)
 *         ... write piece.plain, then piece.escape[0 .. piece.length)
 *
 * "Hidden" characters are those for which mv_utf8_is_hidden is true. Invalid UTF-8 bytes become
 * \xNN in every mode. */
#ifndef MV_BASE_ESCAPE_H
#define MV_BASE_ESCAPE_H

#include "base/utf8.h"

typedef enum {
    MV_ESCAPE_WORD,    /* part of a line: hidden characters become \xNN for each byte */
    MV_ESCAPE_LINES,   /* as WORD, but line ends and tabs stay */
    MV_ESCAPE_QUOTED,  /* WORD between double quotes: " and \ have a \ before them */
    MV_ESCAPE_JSON,    /* a JSON string: hidden characters become \uNNNN, a line end becomes \n; the
                        * \xNN of an invalid UTF-8 byte is plain text, since many parsers refuse
                        * \udcNN */
    MV_ESCAPE_CSV,     /* a cell: as WORD, and each " is doubled */
    MV_ESCAPE_DATABASE /* only what a database text cannot hold: NUL and invalid UTF-8 */
} mv_escape;

typedef struct {
    mv_span plain;   /* to be written unchanged */
    char escape[20]; /* to be written after `plain` */
    uint32_t length; /* of `escape`; 0: nothing to write */
} mv_escaped;

/* The next piece of the text, from *at on. False at the end of the text. */
bool mv_escape_next(mv_span text, uint64_t *at, mv_escape manner, mv_escaped *piece);

/* Whether a spreadsheet would read the text as a formula and run it: such a text gets an apostrophe
 * in front. A text that already starts with such an apostrophe gets another, so that removing one
 * restores the original text. */
bool mv_escape_is_formula(mv_span text);

/* Whether a CSV cell needs double quotes: some programs also split at semicolons. */
bool mv_escape_needs_quotes(mv_span text);

#endif
