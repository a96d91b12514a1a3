/* Private to this folder: one error in the text, without the characters that a terminal, a logger
 * or an author put between its words. */
#pragma once

#include "parse/error_text/error_text.h"

enum {
    MV_ERROR_BYTES = 8 << 10, /* largest number of bytes of text per error; a summary table with a
                               * prefix of 60 characters on each line takes 6 KiB */
    MV_ERROR_LINE = 256,      /* longest prefix of a line, in bytes */
    MV_ERROR_BACK = 1 << 10,  /* bytes of text before the error that are searched for a time */
    MV_ERROR_GAP = 160        /* largest number of bytes between two sizes of one error; PyTorch
                               * writes at most 100 */
};

typedef struct {
    char text[MV_ERROR_BYTES + 1]; /* the squeezed text: ASCII without blanks and quotes,
                                    * NUL-terminated */
    uint32_t length;
    uint32_t begins;              /* position of the error; the rest of its line comes before it */
    char line[MV_ERROR_LINE + 1]; /* prefix of the error's line, including its blanks */
    uint32_t line_length;
} mv_error_window;

/* Copies text without blanks, quotes, colours, line ends written as \n and non-ASCII characters,
 * which is the form that the search needs. Returns the number of bytes copied. `from` receives the
 * original position of each byte, and may be NULL. */
uint32_t mv_error_squeeze(mv_span text, char *out, uint32_t *from);

/* Makes the window for the error that begins at byte `at` of `text` and ends before byte `end`, or
 * after MV_ERROR_BYTES. The error's line begins at byte `line`. */
void mv_error_window_make(mv_span text, uint64_t line, uint64_t at, uint64_t end,
                          mv_error_window *out);

/* Returns true if `text`, which points into a squeezed text, begins with the words. */
static inline bool mv_error_has(const char *text, const char *words)
{
    return strncmp(text, words, strlen(words)) == 0;
}

static inline bool mv_error_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* If position `at` of a squeezed text has an error that is printed without sizes, returns the
 * error's name; NULL otherwise. */
const char *mv_error_bare(const char *text, uint32_t at);

/* Reads the error in the window. Returns false if the error is not about memory. *end is the first
 * byte after it. */
bool mv_error_read(const mv_error_window *w, mv_error_text *out, uint32_t *end);

/* Returns the rank that a line mentions, or -1. */
int64_t mv_error_rank(const char *line);

/* Returns the last time of day in the text, with its date if there is one, for comparisons only;
 * MV_NO_TIME if the text has no time. */
int64_t mv_error_time(const char *text, uint64_t length);
