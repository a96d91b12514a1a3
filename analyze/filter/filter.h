/* Reads filters, whose terms come from --filter or the viewer's search field, and finds the
 * allocations that match them.
 *
 *     forward              a frame of the stack contains this text, ignoring case
 *     "a b"                text with blanks, or text that would be another term without quotes
 *     /conv[0-9]+\.py/     a frame matches the POSIX extended regular expression, with case
 *     size>64M             size of the block in bytes, with < <= > >= =
 *     life<10  life:never  number of events from birth to free; unlimited if never freed
 *     stream:3  stream:0x7f12   the raw number of the stream
 *     pool:1,0             the pool's id; (0, 0) is the default pool
 *     stream:unknown  pool:unknown   the stream or pool is missing from the file
 *     addr:0x7f1234        the block covers this address at any time
 *     leak                 the block is part of a leak in the leak report
 *     leak:2               the block is part of the second leak in this report
 *     cat:optimizer        a category with a name that begins like this (analyze/peak/category.h)
 *     cat:"cuBLAS"         the category with exactly this name, such as a library's
 *     site:train.py:62     the line to blame for the stack (analyze/filter/site_words.h)
 *     stack:17             the stack in this row of the trace's table of stacks
 *     like:17              stacks that reports combine in one line with that stack
 *                          (a group of analyze/code/sites.h)
 *     block:5,9-12         the blocks in these rows of the device's table of allocations
 *     nostack              no stack was recorded
 *     nopython             the recorded stack is empty, as in a thread without Python
 *
 *     forward size>1M -/dropout/       all terms must match; terms after a '-' must not
 *
 * Text and regular expressions are matched against each frame as "file:line:function" (only the
 * function for a frame without a file; a NUL becomes a blank), including native and interpreter
 * frames. An allocation without a stack matches no frame. The life of a preexisting allocation
 * begins with the first event. The empty filter matches everything. */
#pragma once

#include "analyze/code/pattern.h"
#include "analyze/leaks/leaks.h"

enum {
    MV_FILTER_WHY = 256,
    MV_FILTER_MOST_TERMS = 64,
    MV_FILTER_MOST_FRAME = 1 << 16 /* maximum number of bytes of a frame that are compared */
};

typedef enum {
    MV_FILTER_TEXT,
    MV_FILTER_REGEX,
    MV_FILTER_SIZE,
    MV_FILTER_LIFE,
    MV_FILTER_STREAM,
    MV_FILTER_POOL,
    MV_FILTER_ADDR,
    MV_FILTER_LEAK,
    MV_FILTER_CATEGORY,
    MV_FILTER_BLOCK,
    MV_FILTER_SITE,
    MV_FILTER_STACK,
    MV_FILTER_LIKE,
    MV_FILTER_NO_STACK,
    MV_FILTER_NO_PYTHON
} mv_filter_kind;

/* A range of rows from `from` to `to`, both included. */
typedef struct {
    uint64_t from, to;
} mv_filter_range;

/* One term of a filter. Only the fields that its kind uses are set. */
typedef struct {
    uint8_t kind; /* mv_filter_kind */
    bool is_negated;
    bool is_unknown;  /* STREAM, POOL: the term matches blocks for which the file contains no stream
                       * or pool */
    const char *text; /* TEXT, CATEGORY, SITE, BLOCK: the term without quotes, in lower case
                       * except for SITE and CATEGORY */
    uint32_t length;  /* length of `text` */
    bool is_quoted;   /* `text` was in quotation marks */
    uint32_t range_count;
    const mv_filter_range *ranges; /* [range_count] for BLOCK: ranges of rows, ascending */
    const mv_pattern *regex;
    uint64_t least, most; /* SIZE, LIFE, STREAM, ADDR, STACK, LIKE, LEAK: lowest and highest
                           * matching value */
    uint64_t pool[2];
} mv_filter_term;

/* Whether a term depends only on an allocation's stack. */
static inline bool mv_filter_is_on_stacks(const mv_filter_term *term)
{
    return term->kind == MV_FILTER_TEXT || term->kind == MV_FILTER_REGEX ||
           term->kind >= MV_FILTER_SITE;
}

typedef struct {
    uint32_t count;
    mv_filter_term *terms; /* [count] */
    uint32_t bad_at;       /* if the filter is invalid: byte of the string at which the error is,
                            * from 0 */
    bool has_stacks;       /* some term depends on stacks */
    bool has_leaks;
    bool has_categories;
    bool has_blocks; /* some term names rows of allocations (block:) */
} mv_filter;

/* A set of rows, with one bit for each row of a table. */
typedef struct {
    uint32_t rows;
    uint32_t matches; /* number of set bits */
    uint64_t *words;  /* [rows / 64 + 1] bits of the rows */
} mv_filter_bits;

/* Makes a set of `rows` bits, all of them cleared. Returns false when out of memory. */
static inline bool mv_filter_bits_init(mv_arena *arena, uint32_t rows, mv_filter_bits *out)
{
    *out = (mv_filter_bits){.rows = rows,
                            .words = mv_push_array(arena, uint64_t, (uint64_t)rows / 64 + 1)};
    return out->words != NULL;
}

/* Sets the bit of a row, which must be clear. */
static inline void mv_filter_bits_add(mv_filter_bits *bits, uint32_t row)
{
    bits->words[row >> 6] |= UINT64_C(1) << (row & 63);
    bits->matches++;
}

static inline bool mv_filter_has(const mv_filter_bits *bits, uint32_t row)
{
    return bits->words[row >> 6] >> (row & 63) & 1;
}

/* Reads the terms of a filter. Returns false if the filter is invalid; `why` then receives a
 * sentence with the position of the error, and `bad_at` is set. */
bool mv_filter_read(mv_arena *arena, const char *text, mv_filter *out, char why[MV_FILTER_WHY]);

/* Finds the stacks that match all terms that depend on stacks. The last bit, in row stacks.count,
 * is for MV_NO_STACK. Each term is matched once per frame, not once per stack. Fails only when out
 * of memory. */
mv_code mv_filter_stacks(mv_arena *arena, const mv_trace *trace, const mv_filter *filter,
                         mv_filter_bits *out, mv_err *err);

/* Finds the matching allocations, by row of lives->allocs. `leaks` must be from these lives, or
 * NULL. If it is NULL, leaks are computed if a term needs them. O(n), plus the time for leaks and
 * categories if a term needs them. Fails only when out of memory. */
mv_code mv_filter_allocs(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_leaks *leaks, const mv_filter *filter, mv_filter_bits *out,
                         mv_err *err);

/* Finds the matching segments, by row of lives->segments. Size, life, stream, pool, address and
 * stack are compared with those of the segment. `leak`, `cat:` and `block:` apply only to
 * allocations, so a filter with such a term (has_leaks, has_categories, has_blocks) matches no
 * segment. */
mv_code mv_filter_segments(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const mv_filter *filter, mv_filter_bits *out, mv_err *err);
