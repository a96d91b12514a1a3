/* Writes results to standard output, or to the file that -o names, which is written completely or
 * not at all.
 *
 * Everything is buffered here, and numbers are written without printf, because `trace` and `dump`
 * print millions of lines. After a failed write, all further writes do nothing, and closing reports
 * the failure.
 *
 * With a `pager`, nothing is written until the output ends or fills the terminal. Output that fills
 * the terminal goes to the pager. It is not a failure if the user quits the pager early. */
#pragma once

#include "base/escape.h"
#include "base/numbers.h"
#include "cli/report/pager.h"
#include "parse/source/sink.h"

#define MV_OUT_BUFFER (64u << 10)

typedef enum {
    MV_STYLE_NONE,
    MV_STYLE_BOLD,
    MV_STYLE_DIM,
    MV_STYLE_RED,
    MV_STYLE_GREEN,
    MV_STYLE_YELLOW,
    MV_STYLE_COUNT
} mv_style;

typedef struct {
    mv_sink sink;
    bool color;             /* mv_out_style has an effect */
    uint32_t columns, rows; /* size of the terminal; 0: unknown */
    mv_pager pager;         /* shows output that is longer than the screen */
    bool is_paged;          /* the pager receives all output */
    uint32_t used;
    char buffer[MV_OUT_BUFFER];
} mv_out;

/* Opens the file at `path`. NULL or "-" stands for standard output. */
mv_code mv_out_open(mv_out *out, const char *path, mv_err *err);
mv_code mv_out_close(mv_out *out, mv_err *err);

/* Writes the buffer to the output, for readers that follow a running command. From then on, no
 * pager is used. */
void mv_out_flush(mv_out *out);

/* Whether a write has failed or the user has quit the pager, so that no more output is needed. */
bool mv_out_is_lost(const mv_out *out);

/* Discards buffered output and an unfinished file. Does nothing if `out` is zeroed or closed. */
void mv_out_abort(mv_out *out);

/* Writes bytes unchanged, such as JSON and numbers. Text from a file must be written by one of the
 * functions below. */
void mv_out_bytes(mv_out *out, const void *data, uint64_t length);

/* Writes a string literal. This is inline because JSON contains millions of them. */
static inline void mv_out_words(mv_out *out, const char *literal)
{
    mv_out_bytes(out, literal, strlen(literal));
}

/* Writes memviz's own sentences and line breaks. If they contain text from a file by mistake, only
 * its line breaks and tabs reach the terminal unchanged; all other control characters are
 * replaced. */
void mv_out_text(mv_out *out, const char *text);
void mv_out_char(mv_out *out, char c);
void mv_out_spaces(mv_out *out, int64_t count);
void mv_out_u64(mv_out *out, uint64_t value);
void mv_out_i64(mv_out *out, int64_t value);
void mv_out_hex(mv_out *out, uint64_t value); /* 0x7f00 */
void mv_out_format(mv_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a number, right-aligned in `width` columns. */
void mv_out_u64_wide(mv_out *out, uint64_t value, int width);

/* Starts a style. MV_STYLE_NONE ends it. Has no effect without color. */
void mv_out_style(mv_out *out, mv_style style);
void mv_out_styled(mv_out *out, mv_style style, const char *text); /* mv_out_text in a style */

/* Writes text from a file, escaped in the given manner so that it is harmless. */
void mv_out_escaped(mv_out *out, mv_span text, mv_escape manner);

/* Writes text from a file, escaped for a terminal: hidden characters, and bytes that are not valid
 * UTF-8, become \xNN. */
void mv_out_clean(mv_out *out, mv_span text);
void mv_out_clean_text(mv_out *out, const char *text);

/* Writes text like mv_out_clean, but between double quotes and with " and \ escaped, so that
 * different texts never look the same. */
void mv_out_quoted(mv_out *out, mv_span text);
