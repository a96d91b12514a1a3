/* Sheets: text tables. Cells are collected, then printed in columns as wide as their contents. */
#ifndef MV_SHEET_H
#define MV_SHEET_H

#include "base/arena.h"
#include "cli/report/out.h"

/* The format of a column's values. */
typedef enum {
    MV_UNIT_TEXT,       /* left-aligned, unlike all others */
    MV_UNIT_COUNT,      /* a number, a percentage or an event */
    MV_UNIT_BYTES,      /* "1.50 MiB"; negative values with a sign */
    MV_UNIT_CHANGE,     /* "+1.50 MiB", "-3 B", "0 B" */
    MV_UNIT_KIND = 15,  /* mask of the above */
    MV_UNIT_SPARE = 16, /* flag: dropped first if the terminal is too narrow */
    MV_UNIT_END = 32,   /* flag for text: the end is most important, so the beginning is cut */
    MV_UNIT_NAME = 64 /* flag for text: identifies the row, and is never dropped. Default: the last
                         column if it is text, else the first */
} mv_unit;

typedef struct {
    const char *name;
    mv_unit unit;
    uint32_t width; /* the least */
} mv_column;

#define MV_SHEET_COLUMNS 12

/* Cells are filled row by row, column by column. */
typedef struct {
    mv_arena *arena;
    const mv_column *columns;
    uint32_t count; /* columns */
    uint64_t cells;
    uint64_t capacity;
    const char **text;      /* [cells] */
    bool ran_out_of_memory; /* no memory for a cell: the table is not printed */
} mv_sheet;

void mv_sheet_init(mv_sheet *sheet, mv_arena *arena, const mv_column *columns, uint32_t count);
void mv_sheet_text(mv_sheet *sheet, const char *text);
void mv_sheet_span(mv_sheet *sheet, mv_span text);
void mv_sheet_size(mv_sheet *sheet, uint64_t bytes);
void mv_sheet_count(mv_sheet *sheet, uint64_t value);

/* Prints each row after `indent` spaces, and a dimmed line of headings before them. If the width of
 * the terminal is known no line is longer: spare columns are dropped, the last ones first, until
 * the name and a last text column are wide enough, then these are cut, then other columns are
 * dropped. If memory ran out, only marks `out`. */
void mv_sheet_print(const mv_sheet *sheet, mv_out *out, uint32_t indent);

#endif
