/* The viewer's tables. They contain rows of numbers and strings, and each row has a place that a
 * click on it goes to.
 *
 *     stacks      memory at the cursor, by line of code           memviz peak --at EVENT
 *     leaks       memory that grows and is never freed            memviz leaks
 *     fragments   the holes at the cursor and their neighbours    memviz fragmentation
 *     sizes       blocks by powers of two, at the cursor and ever
 *     events      every event of the trace
 *     markers     annotations, marks, steps, failed requests, peaks
 *     lines       changes in an interval, by line of code         memviz lines --from A --to B
 *     categories  changes in an interval, by category
 *     ledger      holders of all device memory, at the cursor     memviz ledger --at EVENT
 *
 * All tables are built completely and sorted by a column, except for events: since a trace may have
 * very many of them, their rows are built when they are shown. */
#pragma once

#include "analyze/filter/filter.h"
#include "view/document/document.h"
#include "view/state/view_state.h"
#include "viz/core/heap_moment.h"

#define MV_LISTING_LIST(X)      \
    X(STACKS, "stacks")         \
    X(LEAKS, "leaks")           \
    X(FRAGMENTS, "fragments")   \
    X(SIZES, "sizes")           \
    X(EVENTS, "events")         \
    X(MARKERS, "markers")       \
    X(LINES, "lines")           \
    X(CATEGORIES, "categories") \
    X(LEDGER, "ledger")

typedef enum {
#define MV_LISTING_ENUM(name, text) MV_LISTING_##name,
    MV_LISTING_LIST(MV_LISTING_ENUM) MV_LISTING_COUNT
} mv_listing_kind;

enum { MV_ROW_FILTER = 128 /* size of a row filter in bytes */ };

/* What a cell's number means, and how it is formatted. Strings have no number. */
typedef enum {
    MV_CELL_TEXT,
    MV_CELL_BYTES,
    MV_CELL_CHANGE, /* bytes, as int64_t */
    MV_CELL_SIGNED, /* bytes, as int64_t, shown without a plus sign */
    MV_CELL_COUNT,  /* a count; MV_NO_BYTES: no number */
    MV_CELL_SHARE,  /* a fraction in millionths (ten-thousandths of a per cent) */
    MV_CELL_EVENT,  /* an event, or MV_BEFORE */
    MV_CELL_ADDR,
    MV_CELL_TIME /* microseconds since the start of the trace, as int64_t, or MV_NO_TIME */
} mv_cell_kind;

typedef struct {
    const char *name;
    uint8_t kind;   /* mv_cell_kind */
    uint16_t width; /* width in pixels at scale 1; 0: an equal part of the width that is left */
} mv_listing_column;

typedef union {
    uint64_t number;
    const char *text; /* string of an MV_CELL_TEXT cell; never NULL */
} mv_cell;

/* Where a click on a row goes. */
typedef struct {
    bool has_event;
    uint32_t event; /* event to move the cursor to */
    uint32_t alloc; /* allocation to pin, or MV_NO_ROW */
    bool has_window;
    uint32_t from, to; /* the events [from, to) to show in the window */
    /* A filter for the row's blocks: `line`, followed by `search`. Only mv_listing_words combines
     * the two, because finding the term for a line takes time. */
    const char *search; /* search for the row's blocks; "": none */
    const char *level;  /* memory level to show first; NULL: any level */
    uint64_t hole;      /* address of a hole to show in the allocator's state; 0: none */
    uint32_t segment;   /* segment with the hole, which is pinned */
    bool has_line;
    mv_frame_id line;  /* line of code to filter by; MV_NO_FRAME: filter by `stack` */
    mv_stack_id stack; /* filter by the stacks that have the same line as this stack */
} mv_listing_place;

/* Writes the filter of a place. `only` is a search if the table counts only its hits, or "" if the
 * table counts all blocks. Writes "" if there is no filter. O(frames) with a line. Returns
 * `out`. */
const char *mv_listing_words(const mv_trace *trace, const mv_listing_place *place, const char *only,
                             char out[MV_SEARCH_TEXT]);

enum { MV_LISTING_COLUMNS = 8 };

typedef struct {
    uint8_t kind; /* mv_listing_kind */
    uint32_t column_count;
    const mv_listing_column *columns;
    uint32_t count;           /* number of rows */
    mv_cell *cells;           /* [count][column_count]; NULL for events */
    mv_listing_place *places; /* [count]; NULL for events */
    uint32_t
        *order;   /* [count] rows in sorted order. For events: only those that pass the row filter,
                   * and only the last event of each call. NULL: all rows */
    uint32_t all; /* number of rows before the row filter is applied */
    const mv_cell *total; /* [column_count] a last row, which is not sorted; NULL: none */
    const char *note;     /* one line that describes the table and gives its sums */
} mv_listing;

enum { MV_LISTING_SIZE_ROWS = 65 }; /* one row for 0 bytes, and one for each power of two */

/* All blocks of a device whose sizes are between one power of two and the next. */
typedef struct {
    uint64_t blocks, bytes;
    uint32_t largest; /* row of the largest block in lives->allocs, or MV_NO_ROW */
} mv_listing_size;

/* Counts the blocks of a device by size, once for each device. `only` is as below.
 * O(allocations). */
void mv_listing_count_sizes(const mv_lives *lives, const mv_filter_bits *only,
                            mv_listing_size out[MV_LISTING_SIZE_ROWS]);

/* Whether a table counts blocks that the timeline draws. `only` applies to these tables. */
static inline bool mv_listing_is_of_blocks(uint32_t kind)
{
    return kind == MV_LISTING_STACKS || kind == MV_LISTING_SIZES || kind == MV_LISTING_LINES ||
           kind == MV_LISTING_CATEGORIES;
}

typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint8_t kind;                /* mv_listing_kind */
    bool is_evaluated;           /* the device's reports are ready */
    uint32_t event;              /* position of the cursor */
    uint32_t a, b;               /* LINES, CATEGORIES: the events [a, b) of the interval */
    bool of_segments;            /* LINES, CATEGORIES: segments are counted instead of blocks */
    uint32_t sort;               /* column to sort by; MV_NO_ROW: sorted as in the report */
    bool is_ascending;           /* sorted in ascending order; if false, in descending order */
    const mv_index *active;      /* FRAGMENTS: index of the active blocks, see heap_moment.h */
    const mv_listing_size *ever; /* SIZES: [MV_LISTING_SIZE_ROWS] counts of all blocks that pass
                                    `only` */
    const mv_filter_bits *only;  /* one bit for each row of lives->allocs: only these rows are
                                    counted; NULL: all rows */
    const char *rows; /* show only rows with this string in a cell as shown, ignoring case; NULL or
                       * "": all rows */
} mv_listing_query;

/* Builds a table, which is allocated in `arena`. O(rows alive, sorted); LINES and CATEGORIES also
 * read the events of the interval. Fails only when out of memory. */
mv_code mv_listing_find(mv_arena *arena, const mv_listing_query *ask, mv_listing *out, mv_err *err);

/* Returns the cells and the place of one row, counted in sorted order. Rows of events are built in
 * `arena`. */
void mv_listing_row(mv_arena *arena, const mv_listing_query *ask, const mv_listing *table,
                    uint32_t row, mv_cell cells[MV_LISTING_COLUMNS], mv_listing_place *place);

enum { MV_CELL_SIZE = 64 };

/* Formats a cell as it is shown, such as "2.00 MiB", "12,345" or "27.1 %". A string is returned
 * unchanged. */
const char *mv_cell_text(mv_cell_kind kind, mv_cell cell, char out[MV_CELL_SIZE]);

/* Returns up to `most` rows of the table as tab-separated lines with exact numbers. The first line
 * contains the column names. Returns NULL when out of memory. */
const char *mv_listing_tsv(mv_arena *arena, const mv_listing_query *ask, const mv_listing *table,
                           uint32_t most);

const char *mv_listing_name(uint32_t kind); /* returns a name such as "stacks" */
