
#include "base/escape.h"
#include "base/numbers.h"
#include "export/export.h"

static mv_cell none(void)
{
    return (mv_cell){.kind = MV_CELL_NONE};
}

static mv_cell number(uint64_t value)
{
    return (mv_cell){.kind = MV_CELL_NUMBER, .number = value};
}

static mv_cell bytes_of(uint64_t value)
{
    return value == MV_NO_BYTES ? none() : number(value);
}

/* Returns the cell for a row number or an event. If all its bits are set, there is no such row or
 * event, and the cell is empty. */
static mv_cell row_of(uint32_t value)
{
    return value == UINT32_MAX ? none() : number(value);
}

static mv_cell signed_of(int64_t value)
{
    return (mv_cell){.kind = MV_CELL_NUMBER,
                     .is_negative = value < 0,
                     .number = value < 0 ? 0 - (uint64_t)value : (uint64_t)value};
}

static mv_cell time_of(int64_t time_us)
{
    return time_us == MV_NO_TIME ? none() : signed_of(time_us);
}

static mv_cell text_of(const char *text)
{
    return (mv_cell){.kind = MV_CELL_TEXT, .text = {(const uint8_t *)text, strlen(text)}};
}

static mv_cell string_of(const mv_export *x, mv_string_id id)
{
    if (id.row == MV_NO_ROW)
        return none();
    return (mv_cell){.kind = MV_CELL_TEXT, .text = mv_string_span(x->trace, id)};
}

static mv_cell stream_of(const mv_export *x, mv_stream_id id)
{
    const mv_streams *s = &x->trace->streams;

    return id.row < s->count ? number(s->value[id.row]) : none();
}

static void put_pool(const mv_export *x, mv_pool_id id, mv_cell *cells)
{
    const mv_pools *p = &x->trace->pools;

    cells[0] = id.row < p->count ? number(p->a[id.row]) : none();
    cells[1] = id.row < p->count ? number(p->b[id.row]) : none();
}

static mv_cell ordinal_of(int32_t device)
{
    return device < 0 ? none() : number((uint64_t)device);
}

/* ---- columns of the model ---------------------------------------------------------------- */

static mv_cell cell_of(const mv_export *x, const mv_table_column *column, const void *values,
                       uint64_t row)
{
    uint32_t narrow = column->size == 4 ? ((const uint32_t *)values)[row] : 0;
    uint64_t wide = column->size == 8 ? ((const uint64_t *)values)[row] : 0;

    switch ((mv_kind)column->kind) {
    case MV_KIND_STRING:
        return string_of(x, (mv_string_id){narrow});
    case MV_KIND_STREAM:
        return stream_of(x, (mv_stream_id){narrow});
    case MV_KIND_DEVICE:
        return ordinal_of((int32_t)narrow);
    case MV_KIND_RESULT:
        return signed_of((int32_t)narrow);
    case MV_KIND_TIME:
    case MV_KIND_EVENT_TIME:
        return time_of((int64_t)wide);
    case MV_KIND_LINE:
        return (int64_t)wide == MV_NO_LINE ? none() : signed_of((int64_t)wide);
    case MV_KIND_FLAG:
        return number(((const uint8_t *)values)[row]);
    default:
        break;
    }
    if (column->ref == MV_REF_CODE)
        return text_of(mv_kind_code_name(column->kind, ((const uint8_t *)values)[row]));
    return column->size == 8 ? bytes_of(wide) : row_of(narrow);
}

/* Whether a column is exported. A pool would need two cells, and floats occur only in the
 * settings. */
static bool is_listed(const mv_table_column *column)
{
    return !column->is_rare && !column->is_unlisted && column->kind != MV_KIND_FIRST &&
           column->kind != MV_KIND_COUNT && column->kind != MV_KIND_POOL &&
           column->kind != MV_KIND_REAL;
}

static bool is_named(const mv_table_column *column, const char *name)
{
    return strcmp(column->name, name) == 0 || (column->label && strcmp(column->label, name) == 0);
}

static void add_column(mv_export_columns *columns, const char *name, size_t length, bool is_text,
                       const mv_table_column *from)
{
    mv_export_column *column = &columns->column[columns->count++];

    if (length >= sizeof column->name)
        length = sizeof column->name - 1;
    memcpy(column->name, name, length);
    column->name[length] = 0;
    column->is_text = is_text;
    column->from = from;
}

static bool has_column(const mv_export_columns *columns, const mv_table_column *from)
{
    for (uint32_t i = 0; i < columns->count; i++)
        if (columns->column[i].from == from)
            return true;
    return false;
}

static bool is_text(const mv_table_column *column)
{
    return column->kind == MV_KIND_STRING ||
           (column->ref == MV_REF_CODE && column->kind != MV_KIND_FLAG);
}

void mv_export_columns_of(const mv_export_table *table, mv_export_columns *out)
{
    const mv_model_table *model = mv_table_find(table->model);

    out->count = 0;
    for (const char *at = table->columns; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " "), end = strcspn(at, ": ");
        add_column(out, at, end, end < length, NULL);
        at += length;
        for (uint32_t i = 0; model && i < model->column_count; i++) {
            mv_export_column *last = &out->column[out->count - 1];
            if (!is_named(&model->columns[i], last->name))
                continue;
            last->from = &model->columns[i];
            last->is_text = is_text(last->from);
        }
    }
    for (uint32_t i = 0; model && i < model->column_count; i++) {
        const mv_table_column *column = &model->columns[model->order[i]];
        if (is_listed(column) && !has_column(out, column))
            add_column(out, column->name, strlen(column->name), is_text(column), column);
    }
    for (out->device = 0; out->device < out->count; out->device++)
        if (strcmp(out->column[out->device].name, "device") == 0)
            return;
}

/* ---- device tables ----------------------------------------------------------------------- */

static uint64_t count_events(const mv_export *x, uint32_t device)
{
    return x->devices[device].lives.events.count;
}

static void read_event(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    const mv_export_device *d = &x->devices[device];
    const mv_events *e = &d->lives.events;
    const mv_tags *t = &x->trace->tags;
    mv_tag_id tag = e->tag[row];
    bool is_other = e->action[row] == MV_ACTION_OTHER;

    c[0] = number(d->lives.device);
    c[1] = number(row);
    if (is_other)
        c[2] = string_of(x, t->action[tag.row]);
    c[8] = is_other ? none() : row_of(d->lives.alloc_of[row]);
    c[9] = number(d->series.allocated[row]);
    c[10] = number(d->series.active[row]);
    c[11] = number(d->series.requested[row]);
    c[12] = number(d->series.reserved[row]);
    c[13] = string_of(x, t->compile_context[tag.row]);
    c[14] = string_of(x, t->user_metadata[tag.row]);
}

static uint64_t count_allocations(const mv_export *x, uint32_t device)
{
    return x->devices[device].lives.allocs.count;
}

static void read_allocation(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    const mv_export_device *d = &x->devices[device];
    const mv_alloc_lives *a = &d->lives.allocs;

    c[0] = number(d->lives.device);
    c[1] = number(row);
    c[2] = number(a->addr[row]);
    c[3] = number(a->requested[row]);
    c[4] = number(a->block[row]);
    c[5] = number(!a->inexact[row]);
    c[6] = row_of(a->birth[row]);
    c[7] = row_of(a->freed[row]);
    c[8] = row_of(a->completed[row]);
    c[9] = row_of(a->segment[row]);
    c[10] = row_of(a->stack[row].row);
    c[11] = number(d->leaks.is_leaked[row]);
    c[12] = text_of(d->categories.name[d->categories.of_alloc[row]]);
    c[13] = string_of(x, x->trace->tags.op[mv_alloc_tag(&d->lives, row).row]);
    c[14] = string_of(x, x->trace->tags.shapes[mv_alloc_tag(&d->lives, row).row]);
}

static uint64_t count_segments(const mv_export *x, uint32_t device)
{
    return x->devices[device].lives.segments.count;
}

static void read_segment(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    const mv_export_device *d = &x->devices[device];
    const mv_segment_lives *s = &d->lives.segments;

    c[0] = number(d->lives.device);
    c[1] = number(row);
    c[2] = number(s->addr[row]);
    c[3] = number(s->size[row]);
    c[4] = stream_of(x, s->stream[row]);
    put_pool(x, s->pool[row], &c[5]);
    c[7] = text_of(mv_segment_kind_name(s->kind[row]));
    c[8] = number(s->is_expandable[row]);
    c[9] = row_of(s->birth[row]);
    c[10] = row_of(s->death[row]);
    c[11] = row_of(s->stack[row].row);
}

/* ---- file tables -------------------------------------------------------------------------- */

static uint64_t count_blocks(const mv_export *x, uint32_t device)
{
    (void)device;
    return x->blocks_before[x->trace->segments.count];
}

/* Finds a row of the table of blocks, which contains the blocks of the device's segments but not
 * those of the host. */
static uint64_t row_of_block(const mv_export *x, uint64_t row, uint32_t *segment)
{
    const mv_segments *s = &x->trace->segments;

    *segment = (uint32_t)mv_upper_bound_u64(x->blocks_before, s->count, row) - 1;
    return s->first_block[*segment] + (row - x->blocks_before[*segment]);
}

static void read_block(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    const mv_segments *s = &x->trace->segments;
    uint32_t segment;
    uint64_t at = row_of_block(x, row, &segment);

    (void)device;
    c[0] = ordinal_of(s->device[segment]);
    c[1] = bytes_of(s->address[segment]);
    if (x->trace->blocks.state[at] == MV_BLOCK_INACTIVE)
        c[4] = none();
}

static uint64_t count_stacks(const mv_export *x, uint32_t device)
{
    const mv_stacks *s = &x->trace->stacks;

    (void)device;
    return s->count ? s->first[s->count] : 0;
}

static void read_stack(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    const mv_stacks *s = &x->trace->stacks;
    uint32_t stack = (uint32_t)mv_upper_bound_u64(s->first, s->count, row) - 1;

    (void)device;
    c[0] = number(stack);
    c[1] = number(row - s->first[stack]);
    c[2] = number(s->frame[row].row);
}

static void read_frame(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    static const char *const kinds[] = {
        [MV_FRAME_USER] = "user",           [MV_FRAME_PACKAGE] = "package",
        [MV_FRAME_FRAMEWORK] = "framework", [MV_FRAME_INFORMATIVE] = "telling",
        [MV_FRAME_NATIVE] = "native",       [MV_FRAME_NOISE] = "noise"};

    (void)device;
    c[0] = number(row);
    c[4] = text_of(kinds[x->kinds[row]]);
}

static void read_call(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    (void)x;
    (void)device;
    c[0] = number(row);
}

/* ---- the list ---------------------------------------------------------------------------- */

const mv_export_table mv_export_tables[] = {
    {.name = "allocations",
     .columns = "device allocation addr requested block is_exact born freed completed segment "
                "stack is_leaked category:text op:text shapes:text",
     .by_device = true,
     .rows = count_allocations,
     .read = read_allocation},
    {.name = "events",
     .columns = "device event action addr size stream time_us stack row allocated active "
                "requested reserved compile_context:text user_metadata:text",
     .model = MV_WIRE_EVENTS,
     .by_device = true,
     .rows = count_events,
     .read = read_event},
    {.name = "segments",
     .columns = "device segment addr size stream pool_a pool_b kind:text is_expandable born died "
                "stack",
     .by_device = true,
     .rows = count_segments,
     .read = read_segment},
    {.name = "blocks",
     .columns = "device segment_addr addr size requested state stack",
     .model = MV_WIRE_BLOCKS,
     .rows = count_blocks,
     .read = read_block},
    {.name = "stacks", .columns = "stack depth frame", .rows = count_stacks, .read = read_stack},
    {.name = "frames",
     .columns = "frame function file line kind:text",
     .model = MV_WIRE_FRAMES,
     .read = read_frame},
    {.name = "annotations", .columns = "name time_us device stage", .model = MV_WIRE_ANNOTATIONS},
    {.name = "tensors",
     .columns = "name role slot shape dtype device addr size",
     .model = MV_WIRE_TENSORS},
    {.name = "api_calls",
     .columns = "api_call api library device time_us addr size handle result event stack",
     .model = MV_WIRE_API_CALLS,
     .read = read_call},
    {.name = "heap_calls",
     .columns = "heap action library device time_us addr size stack",
     .model = MV_WIRE_HEAP_CALLS},
    {.name = "samples", .columns = "device time_us used total process", .model = MV_WIRE_SAMPLES},
    {.name = "facts", .columns = "key value", .model = MV_WIRE_FACTS},
    {0},
};

const mv_export_table *mv_export_table_find(const char *name)
{
    for (const mv_export_table *t = mv_export_tables; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

uint64_t mv_export_rows(const mv_export *export, const mv_export_table *table, uint32_t device)
{
    if (table->rows)
        return table->rows(export, device);
    return mv_table_rows(export->trace, mv_table_find(table->model), 0);
}

void mv_export_read(const mv_export *export, const mv_export_table *table,
                    const mv_export_columns *columns, uint32_t device, uint64_t row, mv_cell *cells)
{
    const void *rows = NULL;
    uint64_t at = row;
    uint32_t segment;

    if (table->model == MV_WIRE_EVENTS)
        rows = &export->devices[device].lives.events;
    else if (table->model)
        rows = mv_table_of(export->trace, mv_table_find(table->model), 0);
    if (table->model == MV_WIRE_BLOCKS)
        at = row_of_block(export, row, &segment);
    for (uint32_t i = 0; i < columns->count; i++) {
        const mv_table_column *from = columns->column[i].from;
        if (from)
            cells[i] = cell_of(export, from, mv_column_of(rows, from), at);
    }
    if (table->read)
        table->read(export, device, row, cells);
}

bool mv_export_keeps(const mv_export *export, const mv_export_columns *columns,
                     const mv_cell *cells)
{
    const mv_cell *device = &cells[columns->device];

    return columns->device == columns->count || device->kind == MV_CELL_NONE ||
           !export->leaves_out[device->number];
}

static void leave_out(mv_export *export, const int32_t *device, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        if (device[i] >= 0)
            export->leaves_out[device[i]] = true;
}

/* Marks the devices whose rows are left out. An annotation belongs to the device that was current,
 * even if the program did not use that device. Therefore annotations are kept if nothing else
 * happened on their device. */
static void leave_out_others(mv_export *export)
{
    const mv_trace *t = export->trace;

    leave_out(export, t->segments.device, t->segments.count);
    leave_out(export, t->api_calls.device, t->api_calls.count);
    leave_out(export, t->heap_calls.device, t->heap_calls.count);
    leave_out(export, t->samples.device, t->samples.count);
    leave_out(export, t->tensors.device, t->tensors.count);
    for (uint32_t i = 0; i < t->device_count; i++)
        if (t->devices[i].events.count > 0)
            export->leaves_out[i] = true;
    for (uint32_t i = 0; i < export->device_count; i++)
        export->leaves_out[export->devices[i].lives.device] = false;
}

bool mv_export_prepare(mv_arena *arena, mv_export *export)
{
    const mv_segments *s = &export->trace->segments;
    uint64_t *before = mv_push_array(arena, uint64_t, (uint64_t)s->count + 1);

    if (!before)
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        before[i + 1] = before[i] + s->blocks[i];
    export->blocks_before = before;
    if (export->is_part)
        leave_out_others(export);
    return true;
}

/* ---- CSV --------------------------------------------------------------------------------- */

static void put_text(mv_sink *sink, mv_span text)
{
    bool is_quoted = mv_escape_needs_quotes(text);
    mv_escaped piece;

    if (is_quoted)
        mv_sink_write(sink, "\"'", mv_escape_is_formula(text) ? 2 : 1);
    for (uint64_t at = 0; mv_escape_next(text, &at, MV_ESCAPE_CSV, &piece);) {
        mv_sink_write(sink, piece.plain.data, piece.plain.length);
        mv_sink_write(sink, piece.escape, piece.length);
    }
    if (is_quoted)
        mv_sink_write(sink, "\"", 1);
}

static void put_number(mv_sink *sink, const mv_cell *cell)
{
    char digits[MV_DIGITS];

    if (cell->is_negative)
        mv_sink_write(sink, "-", 1);
    mv_sink_write(sink, digits, mv_digits(digits, cell->number));
}

static void put_row(mv_sink *sink, const mv_cell *cells, uint32_t columns)
{
    for (uint32_t i = 0; i < columns; i++) {
        if (i > 0)
            mv_sink_write(sink, ",", 1);
        if (cells[i].kind == MV_CELL_NUMBER)
            put_number(sink, &cells[i]);
        else if (cells[i].kind == MV_CELL_TEXT)
            put_text(sink, cells[i].text);
    }
    mv_sink_write(sink, "\r\n", 2);
}

void mv_csv_write(const mv_export *export, const mv_export_table *table, mv_sink *sink)
{
    uint32_t devices = table->by_device ? export->device_count : 1;
    mv_export_columns columns;
    mv_cell cells[MV_MOST_CELLS];

    mv_export_columns_of(table, &columns);
    for (uint32_t i = 0; i < columns.count; i++) {
        if (i > 0)
            mv_sink_write(sink, ",", 1);
        mv_sink_write(sink, columns.column[i].name, strlen(columns.column[i].name));
    }
    mv_sink_write(sink, "\r\n", 2);
    for (uint32_t d = 0; d < devices; d++) {
        uint64_t rows = mv_export_rows(export, table, d);
        for (uint64_t i = 0; i < rows; i++) {
            mv_export_read(export, table, &columns, d, i, cells);
            if (mv_export_keeps(export, &columns, cells))
                put_row(sink, cells, columns.count);
            if (export->progress && i % 65536 == 0)
                export->progress(export->user, i, rows);
        }
    }
}
