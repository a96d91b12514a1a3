#include "view/panes/listing.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/grow.h"
#include "base/names.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "view/document/level_calls.h"
#include "view/document/search_text.h"
#include "view/panes/listing_parts.h"
#include "viz/scene/axis.h"

const char *mv_listing_name(uint32_t kind)
{
    static const char *const names[] = {MV_LISTING_LIST(MV_SECOND)};

    return kind < MV_LISTING_COUNT ? names[kind] : "";
}

/* ---- for files that fill tables ---------------------------------------------------------- */

bool mv_listing_reserve(mv_listing_maker *maker, const mv_listing_column *columns,
                        uint32_t column_count, uint32_t rows)
{
    mv_listing *t = maker->out;

    t->columns = columns;
    t->column_count = column_count;
    t->cells = mv_push_array(maker->words.arena, mv_cell, (uint64_t)rows * column_count);
    t->places = mv_push_array(maker->words.arena, mv_listing_place, rows);
    t->order = mv_push_array(maker->words.arena, uint32_t, rows);
    return t->cells && t->places && t->order;
}

mv_cell *mv_listing_next(mv_listing_maker *maker)
{
    mv_listing *t = maker->out;

    t->places[t->count] = (mv_listing_place){
        .alloc = MV_NO_ROW, .search = "", .line = MV_NO_FRAME, .stack = MV_NO_STACK};
    return t->cells + (uint64_t)t->count * t->column_count;
}

const char *mv_listing_label(mv_listing_maker *maker, mv_stack_id stack)
{
    char label[256];

    return mv_make_text(
        &maker->words, "%s",
        mv_culprit_label(maker->trace, maker->sites->kinds, stack, label, sizeof label));
}

const char *mv_listing_words(const mv_trace *trace, const mv_listing_place *place, const char *only,
                             char out[MV_SEARCH_TEXT])
{
    char line[MV_SEARCH_LINE] = "";
    const char *rest = place->search;
    int length;

    if (place->has_line)
        mv_search_of_line(trace, place->line, place->stack, line);
    rest += *rest == ' ' && !*line;
    length = snprintf(out, MV_SEARCH_TEXT, "%s%s%s%s", only, *only && (*line || *rest) ? " " : "",
                      line, rest);
    if (length >= MV_SEARCH_TEXT) /* a truncated filter would have a different meaning */
        *out = 0;
    return out;
}

/* ---- order ------------------------------------------------------------------------------- */

typedef struct {
    const mv_listing *table;
    uint32_t column;
    int sign;
} table_order;

static int by_cell(const void *left, const void *right, const void *context)
{
    const table_order *s = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    mv_cell x = s->table->cells[(uint64_t)a * s->table->column_count + s->column];
    mv_cell y = s->table->cells[(uint64_t)b * s->table->column_count + s->column];
    int order;

    switch (s->table->columns[s->column].kind) {
    case MV_CELL_TEXT:
        order = strcmp(x.text, y.text);
        break;
    case MV_CELL_EVENT: /* MV_BEFORE counts as the smallest */
        order = ((uint32_t)(x.number + 1) > (uint32_t)(y.number + 1)) -
                ((uint32_t)(x.number + 1) < (uint32_t)(y.number + 1));
        break;
    case MV_CELL_CHANGE:
    case MV_CELL_SIGNED:
    case MV_CELL_TIME:
        order = ((int64_t)x.number > (int64_t)y.number) - ((int64_t)x.number < (int64_t)y.number);
        break;
    default:
        order = (x.number > y.number) - (x.number < y.number);
    }
    return order * s->sign;
}

static void sort(mv_arena *arena, mv_listing *table, uint32_t column, bool is_ascending)
{
    table_order s = {table, column, is_ascending ? 1 : -1};

    for (uint32_t i = 0; i < table->count; i++)
        table->order[i] = i;
    if (column < table->column_count && table->count > 1)
        mv_sort_by(arena, table->order, table->count, sizeof *table->order, by_cell, &s);
}

/* ---- the row filter ---------------------------------------------------------------------- */

static bool has_text(const char *cell, const char *words)
{
    return strcasestr(cell, words) != NULL;
}

static void keep_rows(const mv_listing_query *ask, mv_listing *table)
{
    uint32_t kept = 0;
    char text[MV_CELL_SIZE];

    for (uint32_t i = 0; i < table->count; i++) {
        const mv_cell *cells = table->cells + (uint64_t)table->order[i] * table->column_count;
        bool is_kept = false;
        for (uint32_t c = 0; c < table->column_count && !is_kept; c++)
            is_kept = has_text(mv_cell_text((mv_cell_kind)table->columns[c].kind, cells[c], text),
                               ask->rows);
        if (is_kept)
            table->order[kept++] = table->order[i];
    }
    table->count = kept;
}

/* Keeps the rows of events that pass the filter. The rows are made one at a time, and their arena
 * is rewound. Returns false when out of memory. */
static bool keep_events(mv_arena *arena, mv_arena *scratch, const mv_listing_query *ask,
                        mv_listing *table)
{
    uint32_t *order = mv_push_array(arena, uint32_t, table->count);
    uint32_t kept = 0;
    char text[MV_CELL_SIZE];

    for (uint32_t i = 0; order && i < table->count; i++) {
        mv_arena_mark here = mv_arena_here(scratch);
        mv_cell cells[MV_LISTING_COLUMNS];
        mv_listing_place place;
        uint32_t event = table->order ? table->order[i] : i;
        bool is_kept = false;
        mv_listing_event_row(scratch, ask, event, cells, &place);
        for (uint32_t c = 0; c < table->column_count && !is_kept; c++)
            is_kept = has_text(mv_cell_text((mv_cell_kind)table->columns[c].kind, cells[c], text),
                               ask->rows);
        if (is_kept)
            order[kept++] = event;
        mv_arena_rewind(scratch, here);
    }
    table->order = order;
    table->count = kept;
    return order != NULL;
}

/* ---- all --------------------------------------------------------------------------------- */

/* Lists the calls. A call has one row, that of its last event. */
static bool list_calls(mv_listing_maker *maker)
{
    uint32_t *order = mv_push_array(maker->words.arena, uint32_t, maker->ask->device->calls);
    const mv_events *e = &maker->lives->events;

    maker->out->count = 0;
    for (uint32_t i = 0; order && i < e->count; i++) {
        i = mv_call_last(maker->trace, e, i);
        order[maker->out->count++] = i;
    }
    maker->out->order = order;
    return order != NULL;
}

static bool fill_events(mv_listing_maker *maker)
{
    bool is_of_calls = maker->ask->device->calls > 0;
    char count[MV_TICK_TEXT];

    maker->out->columns = mv_listing_event_columns;
    maker->out->column_count = MV_LISTING_EVENT_COLUMNS;
    maker->out->count = maker->lives->events.count;
    if (is_of_calls && !list_calls(maker))
        return false;
    maker->out->note =
        mv_make_text(&maker->words, "%s %s, in order; the one at the cursor is marked",
                     mv_axis_exact(maker->out->count, count), is_of_calls ? "calls" : "events");
    return true;
}

static bool fill(mv_listing_maker *maker)
{
    static bool (*const fills[MV_LISTING_COUNT])(mv_listing_maker *) = {
        [MV_LISTING_LEAKS] = mv_listing_fill_leaks,
        [MV_LISTING_FRAGMENTS] = mv_listing_fill_fragments,
        [MV_LISTING_SIZES] = mv_listing_fill_sizes,
        [MV_LISTING_EVENTS] = fill_events,
        [MV_LISTING_MARKERS] = mv_listing_fill_markers,
        [MV_LISTING_LINES] = mv_listing_fill_lines,
        [MV_LISTING_CATEGORIES] = mv_listing_fill_categories,
        [MV_LISTING_LEDGER] = mv_listing_fill_ledger};
    uint32_t kind = maker->ask->kind;

    return kind < MV_LISTING_COUNT && fills[kind] ? fills[kind](maker)
                                                  : mv_listing_fill_stacks(maker);
}

mv_code mv_listing_find(mv_arena *arena, const mv_listing_query *ask, mv_listing *out, mv_err *err)
{
    mv_listing_maker maker = {.words.arena = arena,
                              .ask = ask,
                              .trace = &ask->document->trace,
                              .sites = &ask->document->sites,
                              .lives = &ask->device->lives,
                              .out = out};
    bool is_done;

    *out = (mv_listing){.kind = ask->kind, .note = ""};
    mv_arena_init(&maker.scratch, arena->budget);
    is_done = fill(&maker) && !maker.words.failed;
    out->all = out->count;
    if (is_done && out->cells)
        sort(arena, out, ask->sort, ask->is_ascending);
    if (is_done && ask->rows && *ask->rows) {
        if (out->cells)
            keep_rows(ask, out);
        else
            is_done = keep_events(arena, &maker.scratch, ask, out);
    }
    mv_arena_release(&maker.scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "table");
}

void mv_listing_row(mv_arena *arena, const mv_listing_query *ask, const mv_listing *table,
                    uint32_t row, mv_cell cells[MV_LISTING_COLUMNS], mv_listing_place *place)
{
    uint32_t at;

    if (!table->cells) {
        mv_listing_event_row(arena, ask, table->order ? table->order[row] : row, cells, place);
        return;
    }
    at = table->order[row];
    memcpy(cells, table->cells + (uint64_t)at * table->column_count,
           table->column_count * sizeof *cells);
    *place = table->places[at];
}

/* ---- strings ----------------------------------------------------------------------------- */

const char *mv_cell_text(mv_cell_kind kind, mv_cell cell, char out[MV_CELL_SIZE])
{
    int64_t time = (int64_t)cell.number;

    switch (kind) {
    case MV_CELL_TEXT:
        return cell.text;
    case MV_CELL_BYTES:
        if (cell.number == MV_NO_BYTES)
            return "";
        return mv_size_text(out, cell.number);
    case MV_CELL_CHANGE:
        return mv_size_change_text(out, (int64_t)cell.number);
    case MV_CELL_SIGNED:
        return mv_size_signed_text(out, (int64_t)cell.number);
    case MV_CELL_SHARE:
        if (cell.number && cell.number < 1000)
            return "<0.1 %";
        snprintf(out, MV_CELL_SIZE, cell.number && cell.number < 10000 ? "%.1f %%" : "%.0f %%",
                 (double)cell.number / 1e4);
        return out;
    case MV_CELL_EVENT:
        return cell.number == MV_BEFORE ? "before" : mv_axis_exact(cell.number, out);
    case MV_CELL_ADDR:
        if (cell.number == MV_NO_BYTES)
            return "";
        snprintf(out, MV_CELL_SIZE, "0x%" PRIx64, cell.number);
        return out;
    case MV_CELL_TIME:
        if (time == MV_NO_TIME)
            return "";
        snprintf(out, MV_CELL_SIZE, "%.6f s", (double)time / 1e6);
        return out;
    default:
        return cell.number == MV_NO_BYTES ? "" : mv_axis_exact(cell.number, out);
    }
}

/* A string that grows. */
typedef struct {
    mv_arena *arena;
    char *bytes;
    uint64_t length, capacity;
    bool failed;
} table_text;

static void put(table_text *w, const char *text)
{
    uint64_t length = strlen(text);

    if (w->failed)
        return;
    w->failed = !mv_room_for(w->arena, w->bytes, w->length + length + 1, w->capacity);
    if (w->failed)
        return;
    memcpy(w->bytes + w->length, text, length + 1);
    w->length += length;
}

/* Writes a cell. Tabs and line ends would begin new cells and rows, so they are replaced. */
static void put_clean(table_text *w, const char *text)
{
    uint64_t from = w->length;

    put(w, text);
    if (!w->failed)
        mv_utf8_sanitize(w->bytes + from);
}

static void put_cell(table_text *w, mv_cell_kind kind, mv_cell cell)
{
    int64_t time = (int64_t)cell.number;
    char text[MV_CELL_SIZE] = "";

    if (kind == MV_CELL_TEXT) {
        put_clean(w, cell.text);
        return;
    }
    if (kind == MV_CELL_CHANGE || kind == MV_CELL_SIGNED ||
        (kind == MV_CELL_TIME && time != MV_NO_TIME))
        snprintf(text, sizeof text, "%" PRId64, time);
    else if (kind == MV_CELL_SHARE)
        snprintf(text, sizeof text, "%.4f", (double)cell.number / 1e4);
    else if (kind == MV_CELL_EVENT && cell.number == MV_BEFORE)
        snprintf(text, sizeof text, "before");
    else if (kind != MV_CELL_TIME && cell.number != MV_NO_BYTES)
        snprintf(text, sizeof text, kind == MV_CELL_ADDR ? "0x%" PRIx64 : "%" PRIu64, cell.number);
    put(w, text);
}

static void put_row(table_text *w, const mv_listing *table, const mv_cell *cells)
{
    for (uint32_t c = 0; c < table->column_count; c++) {
        put(w, c ? "\t" : "");
        put_cell(w, (mv_cell_kind)table->columns[c].kind, cells[c]);
    }
    put(w, "\n");
}

const char *mv_listing_tsv(mv_arena *arena, const mv_listing_query *ask, const mv_listing *table,
                           uint32_t most)
{
    table_text w = {.arena = arena};
    mv_cell cells[MV_LISTING_COLUMNS];
    mv_listing_place place;
    mv_arena scratch;

    mv_arena_init(&scratch, arena->budget);
    for (uint32_t c = 0; c < table->column_count; c++) {
        put(&w, c ? "\t" : "");
        put(&w, table->columns[c].name);
    }
    put(&w, "\n");
    for (uint32_t i = 0; i < table->count && i < most && !w.failed; i++) {
        mv_arena_mark here = mv_arena_here(&scratch);
        mv_listing_row(&scratch, ask, table, i, cells, &place);
        put_row(&w, table, cells);
        mv_arena_rewind(&scratch, here);
    }
    if (table->total)
        put_row(&w, table, table->total);
    mv_arena_release(&scratch);
    return w.failed ? NULL : w.bytes;
}
