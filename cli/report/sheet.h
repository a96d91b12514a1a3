/* Sheets are text tables. Cells are collected first, and then printed in columns as wide as their
 * contents. */
#pragma once

#include "base/arena.h"
#include "cli/report/out.h"

/* How a column's values are formatted. */
typedef enum {
    MV_UNIT_TEXT,       /* left-aligned, unlike all other units */
    MV_UNIT_COUNT,      /* a number, a percentage or an event */
    MV_UNIT_BYTES,      /* "1.50 MiB"; negative values with a sign */
    MV_UNIT_CHANGE,     /* "+1.50 MiB", "-3 B", "0 B" */
    MV_UNIT_KIND = 15,  /* mask for the units above */
    MV_UNIT_SPARE = 16, /* flag: dropped first if the terminal is too narrow */
    MV_UNIT_END = 32,   /* flag for text: the end is most important, so the beginning is cut */
    MV_UNIT_NAME = 64   /* flag for text: identifies the row, so it is never dropped. Default: the
                       * last column if that is text, else the first */
} mv_unit;

typedef struct {
    const char *name;
    mv_unit unit;
    uint32_t width; /* minimum width in characters */
} mv_column;

#define MV_SHEET_COLUMNS 12

/* A sheet's cells are filled row by row, and column by column within a row. */
typedef struct {
    mv_arena *arena;
    const mv_column *columns;
    uint32_t count; /* columns */
    uint64_t cells;
    uint64_t capacity;
    const char **text;      /* [cells] */
    bool ran_out_of_memory; /* there was no memory for a cell, so the table will not be printed */
} mv_sheet;

void mv_sheet_init(mv_sheet *sheet, mv_arena *arena, const mv_column *columns, uint32_t count);
void mv_sheet_text(mv_sheet *sheet, const char *text);
void mv_sheet_span(mv_sheet *sheet, mv_span text);
void mv_sheet_size(mv_sheet *sheet, uint64_t bytes);
void mv_sheet_count(mv_sheet *sheet, uint64_t value);

/* Prints a dimmed line of headings and then each row, after `indent` spaces. If the terminal's
 * width is known, no line is longer than that. To make lines fit, spare columns are dropped, the
 * last one first, until the name and the last text column are wide enough. If that is not
 * sufficient, these two columns are cut, and finally other columns are dropped. If memory ran out,
 * only marks `out` as failed. */
void mv_sheet_print(const mv_sheet *sheet, mv_out *out, uint32_t indent);
