/* The viewer's tables: rows of numbers and texts, each with its place in the picture.
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
 * All tables except events are built completely and sorted by a column; a trace may have very many
 * events, so their rows are built when they are shown. */
#ifndef MV_LISTING_H
#define MV_LISTING_H

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

enum { MV_ROW_FILTER = 128 /* bytes of it that count */ };

/* The meaning of a cell's number, and its format; texts have no number. */
typedef enum {
    MV_CELL_TEXT,
    MV_CELL_BYTES,
    MV_CELL_CHANGE, /* bytes, as int64_t */
    MV_CELL_SIGNED, /* bytes, as int64_t, without a plus */
    MV_CELL_COUNT,  /* MV_NO_BYTES: none */
    MV_CELL_SHARE,  /* in millionths: ten-thousandths of a per cent */
    MV_CELL_EVENT,  /* MV_BEFORE: before the first */
    MV_CELL_ADDR,
    MV_CELL_TIME /* microseconds since the trace's start, as int64_t; or MV_NO_TIME */
} mv_cell_kind;

typedef struct {
    const char *name;
    uint8_t kind;   /* mv_cell_kind */
    uint16_t width; /* pixels at scale 1; 0: a share of the rest */
} mv_listing_column;

typedef union {
    uint64_t number;
    const char *text; /* for MV_CELL_TEXT; never NULL */
} mv_cell;

/* The place of a row in the picture. */
typedef struct {
    bool has_event;
    uint32_t event; /* where to move the cursor */
    uint32_t alloc; /* to pin, or MV_NO_ROW */
    bool has_window;
    uint32_t from, to; /* events to show in the window */
    /* A filter for the row's blocks: `line`, then `search`. Only mv_listing_words joins them,
     * because finding a line's term takes time. */
    const char *search; /* "": none */
    const char *level;  /* memory level, to be shown first; NULL: any */
    uint64_t hole;      /* address of free memory, to be shown in the allocator's state; 0: none */
    uint32_t segment;   /* the segment with the hole, to pin */
    bool has_line;
    mv_frame_id line;  /* filter by this line of code; MV_NO_FRAME: by `stack` */
    mv_stack_id stack; /* filter by the stacks with the same line as this one */
} mv_listing_place;

/* The filter of a place. `only`: the only hits that the table counts; "": it counts all blocks. ""
 * without a filter. O(frames) with a line. Returns `out`. */
const char *mv_listing_words(const mv_trace *trace, const mv_listing_place *place, const char *only,
                             char out[MV_SEARCH_TEXT]);

enum { MV_LISTING_COLUMNS = 8 };

typedef struct {
    uint8_t kind; /* mv_listing_kind */
    uint32_t column_count;
    const mv_listing_column *columns;
    uint32_t count;           /* rows */
    mv_cell *cells;           /* [count][column_count]; NULL: events */
    mv_listing_place *places; /* [count]; NULL: events */
    uint32_t
        *order;   /* [count] rows in sorted order. Events: only those that pass the filter of rows,
                   * and of each call only the last event. NULL: all */
    uint32_t all; /* rows without a filter of rows */
    const mv_cell *total; /* [column_count] a last row that is not sorted; NULL: none */
    const char *note;     /* one line: the content of the table, and its sums */
} mv_listing;

enum { MV_LISTING_SIZE_ROWS = 65 }; /* 0 bytes, and each power of two */

/* All blocks of a device from one power of two to the next. */
typedef struct {
    uint64_t blocks, bytes;
    uint32_t largest; /* row of lives->allocs, or MV_NO_ROW */
} mv_listing_size;

/* O(allocations): once for each device. `only` as below. */
void mv_listing_count_sizes(const mv_lives *lives, const mv_filter_bits *only,
                            mv_listing_size out[MV_LISTING_SIZE_ROWS]);

/* Whether a table counts drawn blocks: `only` applies to these tables. */
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
    uint32_t event;              /* the cursor */
    uint32_t a, b;               /* LINES, CATEGORIES: events [a, b) */
    bool of_segments;            /* LINES, CATEGORIES: count segments instead of blocks */
    uint32_t sort;               /* column; MV_NO_ROW: sorted as in the report */
    bool is_ascending;           /* otherwise descending */
    const mv_index *active;      /* FRAGMENTS: see heap_moment.h */
    const mv_listing_size *ever; /* SIZES: [MV_LISTING_SIZE_ROWS], filtered by `only` */
    const mv_filter_bits *only;  /* by row of lives->allocs: only these are counted; NULL: all */
    const char *rows; /* only rows with this text in a cell as shown, ignoring case; NULL, "":
                       * all */
} mv_listing_query;

/* O(rows alive, sorted); LINES and CATEGORIES also read the events of the interval. Everything is
 * allocated in `arena`. Fails only when out of memory. */
mv_code mv_listing_find(mv_arena *arena, const mv_listing_query *ask, mv_listing *out, mv_err *err);

/* One row in sorted order: its cells and its place. Rows of events are built in `arena`. */
void mv_listing_row(mv_arena *arena, const mv_listing_query *ask, const mv_listing *table,
                    uint32_t row, mv_cell cells[MV_LISTING_COLUMNS], mv_listing_place *place);

enum { MV_CELL_SIZE = 64 };

/* A cell as shown: "2.00 MiB", "12,345", "27.1 %". A text is returned unchanged. */
const char *mv_cell_text(mv_cell_kind kind, mv_cell cell, char out[MV_CELL_SIZE]);

/* The table as tab-separated lines with exact numbers, names in the first line. NULL when out of
 * memory. At most `most` rows. */
const char *mv_listing_tsv(mv_arena *arena, const mv_listing_query *ask, const mv_listing *table,
                           uint32_t most);

const char *mv_listing_name(uint32_t kind); /* "stacks" */

#endif
