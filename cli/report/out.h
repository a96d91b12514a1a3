/* The destination of results: standard output, or the file that -o names (whole or not at all).
 *
 * Everything is buffered here and numbers are written without printf, since `trace` and `dump`
 * print millions of lines. After a failed write further ones do nothing; closing reports it.
 *
 * With a `pager` nothing is written until the output fills the terminal or ends: in the first case
 * it goes to the pager. Quitting the pager early is not a failure. */
#ifndef MV_OUT_H
#define MV_OUT_H

#include <string.h>

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
    bool color;             /* whether mv_out_style has an effect */
    uint32_t columns, rows; /* of the terminal; 0: unknown */
    mv_pager pager;         /* for output longer than the screen */
    bool is_paged;          /* receives the whole output */
    uint32_t used;
    char buffer[MV_OUT_BUFFER];
} mv_out;

/* `path` NULL or "-" is standard output. */
mv_code mv_out_open(mv_out *out, const char *path, mv_err *err);
mv_code mv_out_close(mv_out *out, mv_err *err);

/* Writes the buffer, for readers that follow a running command. From then on no pager is used. */
void mv_out_flush(mv_out *out);

/* A write has failed, or the user has quit the pager: the rest need not be produced. */
bool mv_out_is_lost(const mv_out *out);

/* Drops buffered output and an unfinished file. Safe on a zeroed or closed one. */
void mv_out_abort(mv_out *out);

/* Written unchanged: JSON, numbers. Text from a file goes through one of the functions below. */
void mv_out_bytes(mv_out *out, const void *data, uint64_t length);

/* A literal: for JSON, which contains millions. */
static inline void mv_out_words(mv_out *out, const char *literal)
{
    mv_out_bytes(out, literal, strlen(literal));
}

/* memviz's own sentences, in lines. If they contain text from a file after all, only line ends and
 * tabs of its control characters reach the terminal. */
void mv_out_text(mv_out *out, const char *text);
void mv_out_char(mv_out *out, char c);
void mv_out_spaces(mv_out *out, int64_t count);
void mv_out_u64(mv_out *out, uint64_t value);
void mv_out_i64(mv_out *out, int64_t value);
void mv_out_hex(mv_out *out, uint64_t value); /* 0x7f00 */
void mv_out_format(mv_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Right-aligned in `width` columns. */
void mv_out_u64_wide(mv_out *out, uint64_t value, int width);

/* Starts a style, or ends it with MV_STYLE_NONE. No effect without color. */
void mv_out_style(mv_out *out, mv_style style);

/* Text from a file, made harmless in the given style. */
void mv_out_escaped(mv_out *out, mv_span text, mv_escape manner);

/* The style for a terminal: hidden characters, and bytes that are not UTF-8, become \xNN. */
void mv_out_clean(mv_out *out, mv_span text);
void mv_out_clean_text(mv_out *out, const char *text);

/* The same between double quotes, with " and \ escaped: different texts never look alike. */
void mv_out_quoted(mv_out *out, mv_span text);

#endif
