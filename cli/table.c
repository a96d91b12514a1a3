#include "cli/table.h"

#include <stdio.h>

#include "cli/size.h"

void mv_table_init(mv_table *table, mv_arena *arena, const mv_column *columns, uint32_t count)
{
    *table = (mv_table){.arena = arena, .columns = columns, .count = count};
}

void mv_table_text(mv_table *table, const char *text)
{
    if (table->cells == table->capacity) {
        uint64_t capacity = table->capacity ? table->capacity * 2 : 64;
        void *grown = mv_arena_grow(table->arena, table->text, capacity * sizeof *table->text);
        if (!grown)
            return;
        table->text = grown;
        table->capacity = capacity;
    }
    table->text[table->cells++] = mv_arena_text(table->arena, text, strlen(text));
}

void mv_table_size(mv_table *table, uint64_t bytes)
{
    char text[MV_SIZE_TEXT];

    mv_table_text(table, mv_size_text(text, bytes));
}

void mv_table_count(mv_table *table, uint64_t value)
{
    char digits[21];

    digits[mv_digits(digits, value)] = 0;
    mv_table_text(table, digits);
}

/* Columns that a text takes on a terminal, near enough: its characters. */
static uint32_t width_of(const char *text)
{
    uint32_t width = 0;

    for (; *text; text++)
        width += ((uint8_t)*text & 0xc0) != 0x80;
    return width;
}

static const char *cell_text(const mv_table *table, uint64_t cell)
{
    return table->text[cell] ? table->text[cell] : "?";
}

static void print_cell(const mv_table *table, mv_out *out, uint32_t column, uint32_t width,
                       const char *text)
{
    uint32_t used = width_of(text);
    bool last = column + 1 == table->count;

    if (column > 0)
        mv_out_spaces(out, 2);
    if (table->columns[column].unit != MV_UNIT_TEXT)
        mv_out_spaces(out, (int64_t)width - used);
    mv_out_clean(out, (mv_span){(const uint8_t *)text, strlen(text)});
    if (table->columns[column].unit == MV_UNIT_TEXT && !last)
        mv_out_spaces(out, (int64_t)width - used);
}

void mv_table_print(const mv_table *table, mv_out *out, uint32_t indent)
{
    uint32_t widths[MV_TABLE_COLUMNS];

    for (uint32_t i = 0; i < table->count; i++) {
        widths[i] = width_of(table->columns[i].name);
        if (widths[i] < table->columns[i].width)
            widths[i] = table->columns[i].width;
    }
    for (uint64_t i = 0; i < table->cells; i++)
        if (width_of(cell_text(table, i)) > widths[i % table->count])
            widths[i % table->count] = width_of(cell_text(table, i));

    mv_out_spaces(out, indent);
    mv_out_style(out, MV_STYLE_DIM);
    for (uint32_t i = 0; i < table->count; i++)
        print_cell(table, out, i, widths[i], table->columns[i].name);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_char(out, '\n');
    for (uint64_t i = 0; i < table->cells; i++) {
        uint32_t column = (uint32_t)(i % table->count);
        if (column == 0)
            mv_out_spaces(out, indent);
        print_cell(table, out, column, widths[column], cell_text(table, i));
        if (column + 1 == table->count)
            mv_out_char(out, '\n');
    }
}
