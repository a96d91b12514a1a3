/* Tables of text: cells are gathered, then printed in columns as wide as they need. */
#ifndef MV_TABLE_H
#define MV_TABLE_H

#include "cli/out.h"
#include "parse/base/arena.h"

typedef enum {
    MV_UNIT_TEXT,  /* left-aligned */
    MV_UNIT_COUNT, /* right-aligned */
    MV_UNIT_BYTES  /* right-aligned */
} mv_unit;

typedef struct {
    const char *name;
    mv_unit unit;
    uint32_t width; /* at least so wide */
} mv_column;

#define MV_TABLE_COLUMNS 12

/* Cells are filled row by row, column by column. */
typedef struct {
    mv_arena *arena;
    const mv_column *columns;
    uint32_t count; /* columns */
    uint64_t cells;
    uint64_t capacity;
    const char **text; /* [cells] NULL: memory was out */
} mv_table;

void mv_table_init(mv_table *table, mv_arena *arena, const mv_column *columns, uint32_t count);
void mv_table_text(mv_table *table, const char *text);
void mv_table_size(mv_table *table, uint64_t bytes);
void mv_table_count(mv_table *table, uint64_t value);

/* Each row behind `indent` spaces; the head is dimmed. */
void mv_table_print(const mv_table *table, mv_out *out, uint32_t indent);

#endif
