/* Which allocations a search is about: the words of --filter and of the viewer's search field.
 *
 *     forward              text: a frame of the stack has it, in letters of either case
 *     "a b"                text with blanks in it, or that would be something else
 *     /conv[0-9]+\.py/     a frame matches the POSIX extended regular expression, case counts
 *     size>64M             bytes of the block; < <= > >= =
 *     life<10              events from birth to free; what is never freed lives longer than that
 *     stream:3  stream:0x7f12   the raw number of the stream
 *     pool:1,0             the pool's id; (0, 0) is the default pool
 *     addr:0x7f1234        the block covers that byte, at whatever time it lived
 *     leak                 part of a leak of the leak report
 *     cat:optimizer        of a category whose name begins so (analyze/peak/category.h)
 *
 *     forward size>1M -/dropout/       all of the terms hold, but not those behind a '-'
 *
 * Text and regular expressions look at each frame as "file:line:function" (a frame without a file
 * is its function; a NUL is a blank), native frames and those of the interpreter too. An
 * allocation without a stack has no frame that could match. What was there before the first event
 * lives from that on. The empty filter matches everything. */
#ifndef MV_FILTER_H
#define MV_FILTER_H

#include <regex.h>

#include "analyze/leaks/leaks.h"

enum {
    MV_FILTER_WHY = 256,
    MV_FILTER_MOST_TERMS = 64,
    MV_FILTER_MOST_REGEX = 1000,   /* bytes of a regular expression */
    MV_FILTER_MOST_DEPTH = 50,     /* its parentheses inside each other */
    MV_FILTER_MOST_PARTS = 2000,   /* its parts once repetitions are written out, as the C library
                                    * does: a{9} has nine, (a+)+ four */
    MV_FILTER_MOST_FRAME = 1 << 16 /* bytes of a frame that are looked at */
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
    MV_FILTER_CATEGORY
} mv_filter_kind;

/* One term: exactly the values of its kind are set. */
typedef struct {
    uint8_t kind; /* mv_filter_kind */
    bool is_negated;
    const char *text; /* TEXT, CATEGORY: as given, without its quotes; A to Z are a to z */
    uint32_t length;  /* of `text` */
    regex_t regex;
    uint64_t least, most; /* SIZE, LIFE, STREAM, ADDR: least <= value <= most */
    uint64_t pool[2];
} mv_filter_term;

typedef struct {
    uint32_t count;
    mv_filter_term *terms; /* [count] */
    uint32_t bad_at;       /* byte of the text at which a bad filter is wrong, from 0 */
    bool has_stacks;       /* a term looks at stacks */
    bool has_leaks;
    bool has_categories;
} mv_filter;

/* One bit for each row of a table. */
typedef struct {
    uint32_t rows;
    uint32_t matches; /* bits that are set */
    uint64_t *words;  /* [(rows + 63) / 64] */
} mv_filter_bits;

static inline bool mv_filter_has(const mv_filter_bits *bits, uint32_t row)
{
    return bits->words[row >> 6] >> (row & 63) & 1;
}

/* Reads the words of a filter. False, with one plain sentence that names the position in `why`
 * and `bad_at` set, when they are no filter; nothing has to be released then. */
bool mv_filter_read(mv_arena *arena, const char *text, mv_filter *out, char why[MV_FILTER_WHY]);

/* Gives back what the C library keeps for regular expressions. A zeroed filter is allowed. */
void mv_filter_release(mv_filter *filter);

/* The stacks of which all terms on stacks are true; row stacks.count is for MV_NO_STACK. A term is
 * tried once on each frame, not once on each stack. Fails only for want of memory. */
mv_code mv_filter_stacks(mv_arena *arena, const mv_trace *trace, const mv_filter *filter,
                         mv_filter_bits *out, mv_err *err);

/* The allocations that match, by row of lives->allocs. `leaks` of these lives; with NULL they are
 * found where a term asks for them. O(n), and what leaks and categories cost where a term asks.
 * Fails only for want of memory. */
mv_code mv_filter_allocs(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_leaks *leaks, const mv_filter *filter, mv_filter_bits *out,
                         mv_err *err);

/* The segments that match, by row of lives->segments: size, life, stream, pool and address are the
 * segment's own, the stack is that of who made it. `leak` and `cat:` name allocations: a filter
 * with such a term (has_leaks, has_categories) matches no segment. */
mv_code mv_filter_segments(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const mv_filter *filter, mv_filter_bits *out, mv_err *err);

#endif
