#include "record/line_history.h"

#include <stdio.h>

#include "base/grow.h"
#include "base/sort.h"

enum { SPAN_US = 1000000, ROW_TEXT = (MV_HISTORY_SPANS + 4) * 21 + 2 };

/* ---- spans ------------------------------------------------------------------------------- */

static uint64_t held(const mv_history_line *line)
{
    return line->born - line->freed;
}

/* Fills spans in which the line has no record with the bytes that it held before. */
static void fill(mv_history_line *line, uint32_t span)
{
    while (line->last < span)
        line->least[++line->last] = held(line);
}

static void halve_line(mv_history_line *line)
{
    fill(line, MV_HISTORY_SPANS - 1);
    for (uint32_t i = 0; i < MV_HISTORY_SPANS / 2; i++) {
        uint64_t a = line->least[2 * i], b = line->least[2 * i + 1];
        line->least[i] = a < b ? a : b;
    }
    line->last = MV_HISTORY_SPANS / 2 - 1;
}

static void halve(mv_line_history *h)
{
    for (uint32_t i = 0; i < MV_HISTORY_LISTS; i++)
        halve_line(&h->total[i]);
    for (uint32_t i = 0; i < h->count; i++)
        halve_line(&h->lines[i]);
    h->span_us *= 2;
}

/* Returns the span that contains a time. Times of different threads may be out of order by
 * microseconds, so the last span never moves back. */
static uint32_t span_of(mv_line_history *h, uint64_t time_us)
{
    uint64_t span;

    if (!h->span_us) {
        h->first_us = time_us;
        h->span_us = SPAN_US;
    }
    h->last_us = time_us > h->last_us ? time_us : h->last_us;
    while ((span = (h->last_us - h->first_us) / h->span_us) >= MV_HISTORY_SPANS)
        halve(h);
    return (uint32_t)span;
}

/* ---- records ----------------------------------------------------------------------------- */

static void change(mv_history_line *line, uint32_t span, uint64_t born, uint64_t freed)
{
    fill(line, span);
    line->allocations += born > 0;
    line->born += born;
    line->freed += freed;
    if (held(line) < line->least[span])
        line->least[span] = held(line);
}

static uint64_t key_of(uint64_t stack, uint32_t list)
{
    return stack * MV_HISTORY_LISTS + list;
}

/* Returns the line of a stack. A new line has held nothing until now. NULL when out of memory. */
static mv_history_line *line_of(mv_line_history *h, uint64_t key, uint32_t span)
{
    uint32_t row = mv_map_find(&h->by_key, key);

    if (row != MV_NOT_IN_MAP)
        return &h->lines[row];
    h->by_key.arena = h->arena;
    if (!mv_append(h->arena, h->lines, h->count, h->capacity, (mv_history_line){.last = span}) ||
        !mv_map_put(&h->by_key, key, h->count - 1))
        return NULL;
    return &h->lines[h->count - 1];
}

static bool count(mv_line_history *h, uint32_t list, const mv_live_record *block, uint32_t span,
                  bool is_born)
{
    mv_history_line *line = line_of(h, key_of(block->stack, list), span);
    uint64_t born = is_born ? block->size : 0, freed = is_born ? 0 : block->size;

    if (!line)
        return false;
    change(line, span, born, freed);
    change(&h->total[list], span, born, freed);
    return true;
}

bool mv_line_history_add(mv_line_history *h, const mv_live_alive *alive, const mv_live_record *r)
{
    uint32_t list = mv_live_alive_list(r), old, span;

    if ((r->kind != MV_LIVE_EVENT_BLOCK && r->kind != MV_LIVE_EVENT_FREE) ||
        list >= MV_HISTORY_LISTS)
        return true;
    span = span_of(h, r->time_us);
    old = mv_map_find(&alive->blocks[list], r->addr);
    if (old != MV_NOT_IN_MAP && !count(h, list, &alive->rows[old].record, span, false))
        return false;
    return r->kind == MV_LIVE_EVENT_FREE || count(h, list, r, span, true);
}

/* ---- the fact ---------------------------------------------------------------------------- */

/* A line that holds memory, with the address of one of its blocks. A reader finds the line's stack
 * through this block, because the block's record remains in the folded part. */
typedef struct {
    const mv_history_line *line;
    uint64_t addr, grown, held;
} held_line;

/* Returns how much the line has grown from the middle span to the last complete span. */
static uint64_t grown_by(const mv_history_line *line)
{
    uint32_t last = line->last ? line->last - 1 : 0, middle = last / 2;

    return line->least[last] > line->least[middle] ? line->least[last] - line->least[middle] : 0;
}

static held_line *list_held(mv_arena *arena, mv_line_history *h, const mv_live_alive *alive,
                            uint32_t list, uint32_t *found)
{
    uint64_t *addrs = mv_push_array(arena, uint64_t, h->count);
    held_line *rows = mv_push_array(arena, held_line, h->count);

    *found = 0;
    for (uint32_t i = 0; addrs && rows && i < alive->count; i++) {
        const mv_live_record *r = &alive->rows[i].record;
        if (!alive->rows[i].is_used || r->kind != MV_LIVE_EVENT_BLOCK ||
            mv_live_alive_list(r) != list)
            continue;
        uint32_t row = mv_map_find(&h->by_key, key_of(r->stack, list));
        if (row != MV_NOT_IN_MAP)
            addrs[row] = r->addr;
    }
    for (uint32_t i = 0; addrs && rows && i < h->count; i++)
        if (addrs[i]) {
            fill(&h->lines[i], h->total[list].last);
            rows[(*found)++] =
                (held_line){&h->lines[i], addrs[i], grown_by(&h->lines[i]), held(&h->lines[i])};
        }
    if (addrs && rows)
        mv_sort_rows(arena, rows, *found, MV_FALLING(held_line, grown),
                     MV_FALLING(held_line, held));
    return rows;
}

static char *put_number(char *at, char before, uint64_t number)
{
    return at + snprintf(at, 22, "%c%llu", before, (unsigned long long)number);
}

static char *put_line(char *at, const mv_history_line *line, uint64_t addr)
{
    at = put_number(at, ';', addr);
    at = put_number(at, ' ', line->allocations);
    at = put_number(at, ' ', line->born);
    at = put_number(at, ' ', line->freed);
    for (uint32_t i = 0; i <= line->last; i++)
        at = put_number(at, ' ', line->least[i]);
    return at;
}

const char *mv_line_history_text(mv_arena *arena, mv_line_history *h, const mv_live_alive *alive,
                                 uint32_t list, uint32_t rows)
{
    uint32_t found;
    held_line *lines;
    char *text, *at;

    if (!h->total[list].allocations)
        return NULL;
    fill(&h->total[list], (uint32_t)((h->last_us - h->first_us) / h->span_us));
    lines = list_held(arena, h, alive, list, &found);
    found = found < rows ? found : rows;
    text = lines ? mv_arena_push(arena, (found + 2) * (uint64_t)ROW_TEXT, 1) : NULL;
    if (!text)
        return NULL;
    at = text + snprintf(text, ROW_TEXT, "%llu %llu", (unsigned long long)h->first_us,
                         (unsigned long long)h->span_us);
    at = put_line(at, &h->total[list], 0);
    for (uint32_t i = 0; i < found; i++)
        at = put_line(at, lines[i].line, lines[i].addr);
    return text;
}
