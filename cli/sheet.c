#include "cli/sheet.h"

#include <stdio.h>

#include "analyze/size.h"

void mv_sheet_init(mv_sheet *sheet, mv_arena *arena, const mv_column *columns, uint32_t count)
{
    *sheet = (mv_sheet){.arena = arena, .columns = columns, .count = count};
}

void mv_sheet_text(mv_sheet *sheet, const char *text)
{
    if (sheet->cells == sheet->capacity) {
        uint64_t capacity = sheet->capacity ? sheet->capacity * 2 : 64;
        void *grown = mv_arena_grow(sheet->arena, sheet->text, capacity * sizeof *sheet->text);
        if (!grown)
            return;
        sheet->text = grown;
        sheet->capacity = capacity;
    }
    sheet->text[sheet->cells++] = mv_arena_text(sheet->arena, text, strlen(text));
}

void mv_sheet_size(mv_sheet *sheet, uint64_t bytes)
{
    char text[MV_SIZE_TEXT];

    mv_sheet_text(sheet, mv_size_text(text, bytes));
}

void mv_sheet_count(mv_sheet *sheet, uint64_t value)
{
    char digits[21];

    digits[mv_digits(digits, value)] = 0;
    mv_sheet_text(sheet, digits);
}

/* Columns that a text takes on a terminal, near enough: its characters. */
static uint32_t width_of(const char *text)
{
    uint32_t width = 0;

    for (; *text; text++)
        width += ((uint8_t)*text & 0xc0) != 0x80;
    return width;
}

static const char *cell_text(const mv_sheet *sheet, uint64_t cell)
{
    return sheet->text[cell] ? sheet->text[cell] : "?";
}

static void print_cell(const mv_sheet *sheet, mv_out *out, uint32_t column, uint32_t width,
                       const char *text)
{
    uint32_t used = width_of(text);
    bool last = column + 1 == sheet->count;

    if (last && used == 0)
        return;
    if (column > 0)
        mv_out_spaces(out, 2);
    if (sheet->columns[column].unit != MV_UNIT_TEXT)
        mv_out_spaces(out, (int64_t)width - used);
    mv_out_clean(out, (mv_span){(const uint8_t *)text, strlen(text)});
    if (sheet->columns[column].unit == MV_UNIT_TEXT && !last)
        mv_out_spaces(out, (int64_t)width - used);
}

void mv_sheet_print(const mv_sheet *sheet, mv_out *out, uint32_t indent)
{
    uint32_t widths[MV_SHEET_COLUMNS];

    for (uint32_t i = 0; i < sheet->count; i++) {
        widths[i] = width_of(sheet->columns[i].name);
        if (widths[i] < sheet->columns[i].width)
            widths[i] = sheet->columns[i].width;
    }
    for (uint64_t i = 0; i < sheet->cells; i++)
        if (width_of(cell_text(sheet, i)) > widths[i % sheet->count])
            widths[i % sheet->count] = width_of(cell_text(sheet, i));

    mv_out_spaces(out, indent);
    mv_out_style(out, MV_STYLE_DIM);
    for (uint32_t i = 0; i < sheet->count; i++)
        print_cell(sheet, out, i, widths[i], sheet->columns[i].name);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_char(out, '\n');
    for (uint64_t i = 0; i < sheet->cells; i++) {
        uint32_t column = (uint32_t)(i % sheet->count);
        if (column == 0)
            mv_out_spaces(out, indent);
        print_cell(sheet, out, column, widths[column], cell_text(sheet, i));
        if (column + 1 == sheet->count)
            mv_out_char(out, '\n');
    }
}
