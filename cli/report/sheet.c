#include "cli/report/sheet.h"

#include "base/grow.h"
#include "base/size.h"
#include "base/texts.h"
#include "cli/report/prose.h"

void mv_sheet_init(mv_sheet *sheet, mv_arena *arena, const mv_column *columns, uint32_t count)
{
    *sheet = (mv_sheet){.arena = arena, .columns = columns, .count = count};
}

void mv_sheet_span(mv_sheet *sheet, mv_span text)
{
    const char *cell = mv_arena_text(sheet->arena, (const char *)text.data, text.length);

    if (!cell || !mv_append(sheet->arena, sheet->text, sheet->cells, sheet->capacity, cell))
        sheet->ran_out_of_memory = true;
}

void mv_sheet_text(mv_sheet *sheet, const char *text)
{
    mv_sheet_span(sheet, mv_text_span(text));
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

/* ---- widths ------------------------------------------------------------------------------ */

/* Widths that the name and another text column at the end should keep before spare columns are
 * dropped, and their minimum. */
enum { NAME_WANTED = 30, NAME_LEAST = 12, TEXT_WANTED = 16, TEXT_LEAST = 8 };

typedef struct {
    uint32_t width[MV_SHEET_COLUMNS]; /* width of each column; 0: dropped */
    uint32_t name, last; /* the columns that can be cut; `last` equals `name` if there is only
                          * one */
} layout;

static bool is_text(const mv_sheet *sheet, uint32_t column)
{
    return (sheet->columns[column].unit & MV_UNIT_KIND) == MV_UNIT_TEXT;
}

static void measure(const mv_sheet *sheet, layout *l)
{
    for (uint32_t i = 0; i < sheet->count; i++) {
        l->width[i] = mv_prose_width(sheet->columns[i].name);
        if (l->width[i] < sheet->columns[i].width)
            l->width[i] = sheet->columns[i].width;
    }
    for (uint64_t i = 0; i < sheet->cells; i++) {
        uint32_t width = mv_prose_width(sheet->text[i]);
        if (width > l->width[i % sheet->count])
            l->width[i % sheet->count] = width;
    }
    l->last = sheet->count - 1;
    l->name = is_text(sheet, l->last) ? l->last : 0;
    for (uint32_t i = 0; i < sheet->count; i++)
        if (sheet->columns[i].unit & MV_UNIT_NAME)
            l->name = i;
    if (!is_text(sheet, l->last))
        l->last = l->name;
}

/* Returns the width of all columns, including the gaps between them. */
static uint32_t width_of(const mv_sheet *sheet, const layout *l, uint32_t indent)
{
    uint32_t width = indent, shown = 0;

    for (uint32_t i = 0; i < sheet->count; i++) {
        width += l->width[i];
        shown += l->width[i] > 0;
    }
    return width + (shown ? 2 * (shown - 1) : 0);
}

/* Reduces a column by the excess width, but not below `least`. Returns the excess that remains. */
static uint32_t narrow(layout *l, uint32_t column, uint32_t least, uint32_t too_much)
{
    uint32_t spare = l->width[column] > least ? l->width[column] - least : 0;
    uint32_t taken = spare < too_much ? spare : too_much;

    l->width[column] -= taken;
    return too_much - taken;
}

static uint32_t excess(const mv_sheet *sheet, const layout *l, uint32_t indent, uint32_t columns)
{
    uint32_t width = width_of(sheet, l, indent);

    return width > columns ? width - columns : 0;
}

/* Narrows the columns that can be cut to these widths. Returns whether the sheet then fits. */
static bool cut(const mv_sheet *sheet, layout *l, uint32_t indent, uint32_t columns, uint32_t text,
                uint32_t name)
{
    uint32_t too_much = excess(sheet, l, indent, columns);

    if (l->last != l->name)
        too_much = narrow(l, l->last, text, too_much);
    return narrow(l, l->name, name, too_much) == 0;
}

/* Whether the sheet fits if these two columns have the desired widths. */
static bool fits(const mv_sheet *sheet, const layout *l, uint32_t indent, uint32_t columns)
{
    layout tried = *l;

    return cut(sheet, &tried, indent, columns, TEXT_WANTED, NAME_WANTED);
}

static void fit(const mv_sheet *sheet, layout *l, uint32_t indent, uint32_t columns)
{
    for (uint32_t i = sheet->count; i-- > 0 && !fits(sheet, l, indent, columns);)
        if ((sheet->columns[i].unit & MV_UNIT_SPARE) && i != l->name)
            l->width[i] = 0;
    if (cut(sheet, l, indent, columns, TEXT_WANTED, NAME_WANTED) ||
        cut(sheet, l, indent, columns, TEXT_LEAST, NAME_LEAST))
        return;
    for (uint32_t i = sheet->count; i-- > 1 && excess(sheet, l, indent, columns);)
        if (i != l->name)
            l->width[i] = 0;
}

/* ---- printing ---------------------------------------------------------------------------- */

/* Whether all cells in a row after this one are empty or belong to dropped columns. */
static bool is_rest_empty(const mv_sheet *sheet, const layout *l, uint64_t row, uint32_t column)
{
    while (++column < sheet->count)
        if (l->width[column] && *sheet->text[row * sheet->count + column])
            return false;
    return true;
}

static bool is_last(const mv_sheet *sheet, const layout *l, uint32_t column)
{
    for (column++; column < sheet->count; column++)
        if (l->width[column])
            return false;
    return true;
}

static void print_cell(const mv_sheet *sheet, mv_out *out, const layout *l, uint32_t column,
                       const char *text, bool is_end)
{
    uint32_t room = l->width[column], used = mv_prose_width(text);

    if (room == 0)
        return;
    used = used < room ? used : room;
    if (!is_text(sheet, column))
        mv_out_spaces(out, (int64_t)room - used);
    if (sheet->columns[column].unit & MV_UNIT_END)
        mv_prose_put_end(out, room, text);
    else
        mv_prose_put_cut(out, room, text);
    if (is_end)
        return;
    if (is_text(sheet, column))
        mv_out_spaces(out, (int64_t)room - used);
    mv_out_spaces(out, 2);
}

void mv_sheet_print(const mv_sheet *sheet, mv_out *out, uint32_t indent)
{
    layout l = {0};

    if (sheet->ran_out_of_memory || sheet->count == 0)
        return;
    measure(sheet, &l);
    if (out->columns)
        fit(sheet, &l, indent, out->columns);
    mv_out_spaces(out, indent);
    mv_out_style(out, MV_STYLE_DIM);
    for (uint32_t i = 0; i < sheet->count; i++)
        print_cell(sheet, out, &l, i, sheet->columns[i].name, is_last(sheet, &l, i));
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_char(out, '\n');
    for (uint64_t row = 0; row < sheet->cells / sheet->count; row++) {
        mv_out_spaces(out, indent);
        for (uint32_t i = 0; i < sheet->count; i++) {
            bool is_end = is_rest_empty(sheet, &l, row, i);
            print_cell(sheet, out, &l, i, sheet->text[row * sheet->count + i], is_end);
            if (is_end)
                break;
        }
        mv_out_char(out, '\n');
    }
}
