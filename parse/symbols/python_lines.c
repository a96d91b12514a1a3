#include "parse/symbols/python_lines.h"

#include "parse/model/trace.h"

/* State of the walk over the table: a range of bytecode, which ends before `end`, and its line. */
typedef struct {
    mv_cursor table;
    uint64_t end;    /* first byte of code after the range */
    int64_t line;    /* current line, which is the sum of the differences */
    bool has_line;   /* whether the code has a line; false: the compiler added the code */
    bool is_damaged; /* the table is damaged, so there are no more ranges */
} line_walk;

/* Reads the next range of the table. Returns false at the end of the table. */
typedef bool (*line_step)(line_walk *w);

/* Python 3.8 and 3.9. A pair contains the end of the previous range and the line difference after
 * it; the last range has no end. */
static bool step_lnotab(line_walk *w)
{
    const uint8_t *pair;

    if (w->end == UINT64_MAX)
        return false;
    if (w->table.at > 0)
        w->line += (int8_t)w->table.span.data[w->table.at - 1];
    w->has_line = true;
    if (w->table.at == w->table.span.length) {
        w->end = UINT64_MAX;
        return true;
    }
    pair = mv_take_bytes(&w->table, 2);
    if (!pair) {
        w->is_damaged = true;
        return false;
    }
    w->end += pair[0];
    return true;
}

/* 3.10. */
static bool step_linetable(line_walk *w)
{
    const uint8_t *pair;

    if (w->table.at == w->table.span.length)
        return false;
    pair = mv_take_bytes(&w->table, 2);
    if (!pair) {
        w->is_damaged = true;
        return false;
    }
    w->end += pair[0];
    w->has_line = (int8_t)pair[1] != INT8_MIN;
    if (w->has_line)
        w->line += (int8_t)pair[1];
    return true;
}

/* Reads a number with six bits in each byte, lowest first; the bit 64 is set if more bytes
 * follow. */
static uint32_t take_varint(line_walk *w)
{
    uint32_t value = 0;

    for (unsigned shift = 0; shift <= 30; shift += 6) {
        uint8_t byte = mv_take_u8(&w->table);
        if (w->table.overrun || byte & 0x80)
            break;
        value |= (uint32_t)(byte & 63) << shift;
        if (!(byte & 64))
            return value;
    }
    w->is_damaged = true;
    return 0;
}

/* Reads a signed number, whose sign is in the lowest bit. */
static int64_t take_signed(line_walk *w)
{
    uint32_t value = take_varint(w);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Python 3.11 and later. An entry is one byte with the highest bit set, followed by bytes without
 * it. */
static bool step_locations(line_walk *w)
{
    enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    mv_cursor *c = &w->table;
    unsigned form;
    uint8_t head;

    if (c->at == c->span.length)
        return false;
    head = mv_take_u8(c);
    form = head >> 3 & 15;
    w->has_line = form != NONE;
    if (!(head & 0x80))
        w->is_damaged = true;
    else if (form >= ONE_LINE_0 && form <= ONE_LINE_2)
        w->line += form - ONE_LINE_0;
    else if (form == NO_COLUMNS || form == LONG)
        w->line += take_signed(w);
    if (w->is_damaged)
        return false;
    while (c->at < c->span.length && !(c->span.data[c->at] & 0x80))
        c->at++;
    w->end += ((head & 7) + 1) * 2;
    return true;
}

static line_step step_of(uint32_t version)
{
    if (version >> 8 != 3 || (version & 0xff) < 8)
        return NULL;
    if ((version & 0xff) < 10)
        return step_lnotab;
    return (version & 0xff) == 10 ? step_linetable : step_locations;
}

bool mv_python_lines_find(const mv_python_lines *code, const uint32_t *offsets, uint64_t count,
                          int64_t *lines)
{
    line_step step = step_of(code->version);
    line_walk w = {.table = mv_cursor_over(code->table), .line = code->first_line};
    bool is_inside = step != NULL;

    for (uint64_t i = 0; i < count; i++) {
        while (is_inside && w.end <= offsets[i])
            is_inside = step(&w);
        lines[i] = is_inside && w.has_line && w.line >= 0 ? w.line : MV_NO_LINE;
    }
    return step && !w.is_damaged;
}
