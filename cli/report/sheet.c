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
        sheet->lacks_memory = true;
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

/* Characters of a last column of text: the least before other columns are left out, and the least
 * after. */
#define LAST_WANTED 28
#define LAST_LEAST  12

typedef struct {
    uint32_t width[MV_SHEET_COLUMNS]; /* 0: left out */
    uint32_t last;                    /* most characters of the last column */
} layout;

static bool is_spare(const mv_sheet *sheet, uint32_t column)
{
    return (sheet->columns[column].unit & MV_UNIT_SPARE) != 0;
}

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
    l->last = l->width[sheet->count - 1];
}

/* The columns before the last one, each with the gap after it. */
static uint32_t width_before_last(const mv_sheet *sheet, const layout *l, uint32_t indent)
{
    uint32_t width = indent;

    for (uint32_t i = 0; i + 1 < sheet->count; i++)
        width += l->width[i] ? l->width[i] + 2 : 0;
    return width;
}

static void fit(const mv_sheet *sheet, layout *l, uint32_t indent, uint32_t columns)
{
    bool is_end = sheet->columns[sheet->count - 1].unit & MV_UNIT_END;
    uint32_t wanted = l->last < LAST_WANTED || is_end ? l->last : LAST_WANTED, before;

    for (uint32_t i = sheet->count - 1; i-- > 0;)
        if (is_spare(sheet, i) && width_before_last(sheet, l, indent) + wanted > columns)
            l->width[i] = 0;
    before = width_before_last(sheet, l, indent);
    if (is_text(sheet, sheet->count - 1) && before + l->last > columns)
        l->last = before + LAST_LEAST < columns ? columns - before : LAST_LEAST;
}

/* ---- printing ---------------------------------------------------------------------------- */

/* Whether a row has only empty cells after this one. */
static bool is_rest_empty(const mv_sheet *sheet, uint64_t row, uint32_t column)
{
    while (++column < sheet->count)
        if (*sheet->text[row * sheet->count + column])
            return false;
    return true;
}

/* The end of a text that fits after "..". */
static const char *tail(const char *text, uint32_t room)
{
    for (uint32_t width = mv_prose_width(text); *text && width + 2 > room; width--)
        for (text++; mv_utf8_is_tail(*text);)
            text++;
    return text;
}

static void print_cell(const mv_sheet *sheet, mv_out *out, const layout *l, uint32_t column,
                       const char *text, bool is_end)
{
    uint32_t used = mv_prose_width(text);

    if (l->width[column] == 0)
        return;
    if (!is_text(sheet, column))
        mv_out_spaces(out, (int64_t)l->width[column] - used);
    if (used > l->last && column + 1 == sheet->count &&
        (sheet->columns[column].unit & MV_UNIT_END)) {
        mv_out_text(out, "..");
        text = tail(text, l->last);
    }
    mv_prose_put_cut(out, column + 1 == sheet->count ? l->last : used, text);
    if (is_end)
        return;
    if (is_text(sheet, column))
        mv_out_spaces(out, (int64_t)l->width[column] - used);
    mv_out_spaces(out, 2);
}

void mv_sheet_print(const mv_sheet *sheet, mv_out *out, uint32_t indent)
{
    layout l = {0};

    if (sheet->lacks_memory) {
        out->lacks_memory = true;
        return;
    }
    if (sheet->count == 0)
        return;
    measure(sheet, &l);
    if (out->columns)
        fit(sheet, &l, indent, out->columns);
    mv_out_spaces(out, indent);
    mv_out_style(out, MV_STYLE_DIM);
    for (uint32_t i = 0; i < sheet->count; i++)
        print_cell(sheet, out, &l, i, sheet->columns[i].name, i + 1 == sheet->count);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_char(out, '\n');
    for (uint64_t row = 0; row < sheet->cells / sheet->count; row++) {
        mv_out_spaces(out, indent);
        for (uint32_t i = 0; i < sheet->count; i++) {
            bool is_end = is_rest_empty(sheet, row, i);
            print_cell(sheet, out, &l, i, sheet->text[row * sheet->count + i], is_end);
            if (is_end)
                break;
        }
        mv_out_char(out, '\n');
    }
}
