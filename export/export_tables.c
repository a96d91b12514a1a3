#include <string.h>

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

/* A row number or an event; what stands for "none" is all ones. */
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

/* A pool is two columns. */
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

static const char *kind_name(uint8_t kind)
{
    return kind == MV_SEGMENT_SMALL ? "small" : kind == MV_SEGMENT_LARGE ? "large" : "unknown";
}

/* ---- of a device ------------------------------------------------------------------------- */

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
    c[2] = is_other ? string_of(x, t->action[tag.row])
                    : text_of(mv_action_name((mv_action)e->action[row]));
    c[3] = bytes_of(e->addr[row]);
    c[4] = bytes_of(e->size[row]);
    c[5] = stream_of(x, e->stream[row]);
    c[6] = time_of(e->time_us[row]);
    c[7] = row_of(e->stack[row].row);
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
    c[7] = text_of(kind_name(s->kind[row]));
    c[8] = number(s->is_expandable[row]);
    c[9] = row_of(s->birth[row]);
    c[10] = row_of(s->death[row]);
    c[11] = row_of(s->stack[row].row);
}

/* ---- of the file ------------------------------------------------------------------------- */

static uint64_t count_blocks(const mv_export *x, uint32_t device)
{
    (void)device;
    return x->blocks_before[x->trace->segments.count];
}

/* The last of `count` numbers in ascending order that is not above `row`. */
static uint32_t last_at_most(const uint64_t *first, uint32_t count, uint64_t row)
{
    uint32_t low = 0, high = count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void read_block(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    static const char *const states[] = {"inactive", "active_allocated", "active_pending_free",
                                         "unknown"};
    const mv_segments *s = &x->trace->segments;
    const mv_blocks *b = &x->trace->blocks;
    uint32_t segment = last_at_most(x->blocks_before, s->count, row);
    uint64_t at = s->first_block[segment] + (row - x->blocks_before[segment]);

    (void)device;
    c[0] = ordinal_of(s->device[segment]);
    c[1] = bytes_of(s->address[segment]);
    c[2] = bytes_of(b->address[at]);
    c[3] = number(b->size[at]);
    c[4] = b->state[at] == MV_BLOCK_INACTIVE ? none() : bytes_of(b->requested[at]);
    c[5] = text_of(states[b->state[at] <= MV_BLOCK_UNKNOWN ? b->state[at] : MV_BLOCK_UNKNOWN]);
    c[6] = row_of(b->stack[at].row);
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
    uint32_t stack = last_at_most(s->first, s->count, row);

    (void)device;
    c[0] = number(stack);
    c[1] = number(row - s->first[stack]);
    c[2] = number(s->frame[row].row);
}

static uint64_t count_frames(const mv_export *x, uint32_t device)
{
    (void)device;
    return x->trace->frames.count;
}

static void read_frame(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    static const char *const kinds[] = {"user", "package", "framework", "native", "noise"};
    const mv_frames *f = &x->trace->frames;

    (void)device;
    c[0] = number(row);
    c[1] = string_of(x, f->function[row]);
    c[2] = string_of(x, f->file[row]);
    c[3] = f->line[row] == MV_NO_LINE ? none() : signed_of(f->line[row]);
    c[4] = text_of(kinds[x->kinds[row]]);
}

static uint64_t count_annotations(const mv_export *x, uint32_t device)
{
    (void)device;
    return x->trace->annotations.count;
}

static void read_annotation(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    static const char *const stages[] = {"START", "END", "OTHER", "MARK"};
    const mv_annotations *a = &x->trace->annotations;

    (void)device;
    c[0] = string_of(x, a->name[row]);
    c[1] = time_of(a->time_us[row]);
    c[2] = ordinal_of(a->device[row]);
    c[3] = text_of(stages[a->stage[row] <= MV_STAGE_MARK ? a->stage[row] : MV_STAGE_OTHER]);
}

static uint64_t count_calls(const mv_export *x, uint32_t device)
{
    (void)device;
    return x->trace->api_calls.count;
}

static void read_call(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    const mv_api_calls *a = &x->trace->api_calls;

    (void)device;
    c[0] = number(row);
    c[1] = string_of(x, a->api[row]);
    c[2] = string_of(x, a->library[row]);
    c[3] = ordinal_of(a->device[row]);
    c[4] = time_of(a->time_us[row]);
    c[5] = bytes_of(a->addr[row]);
    c[6] = number(a->size[row]);
    c[7] = number(a->handle[row]);
    c[8] = signed_of(a->result[row]);
    c[9] = number(a->event[row]);
    c[10] = row_of(a->stack[row].row);
}

static uint64_t count_samples(const mv_export *x, uint32_t device)
{
    (void)device;
    return x->trace->samples.count;
}

static void read_sample(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    const mv_samples *s = &x->trace->samples;

    (void)device;
    c[0] = ordinal_of(s->device[row]);
    c[1] = time_of(s->time_us[row]);
    c[2] = number(s->used[row]);
    c[3] = number(s->total[row]);
    c[4] = bytes_of(s->process[row]);
}

static uint64_t count_facts(const mv_export *x, uint32_t device)
{
    (void)device;
    return x->trace->facts.count;
}

static void read_fact(const mv_export *x, uint32_t device, uint64_t row, mv_cell *c)
{
    (void)device;
    c[0] = string_of(x, x->trace->facts.key[row]);
    c[1] = string_of(x, x->trace->facts.value[row]);
}

/* ---- the list ---------------------------------------------------------------------------- */

const mv_export_table mv_export_tables[] = {
    {"allocations", "one row an allocation: its bytes, from which event to which, by which stack",
     "device allocation addr requested block is_exact born freed completed segment stack is_leaked",
     true, count_allocations, read_allocation},
    {"events", "one row an event of the allocator, with the levels behind it",
     "device event action:text addr size stream time_us stack row allocated active requested "
     "reserved compile_context:text user_metadata:text",
     true, count_events, read_event},
    {"segments", "one row a segment, or a part that was mapped by itself",
     "device segment addr size stream pool_a pool_b kind:text is_expandable born died stack", true,
     count_segments, read_segment},
    {"blocks", "one row a block of the heap when the file was written",
     "device segment_addr addr size requested state:text stack", false, count_blocks, read_block},
    {"stacks", "one row a frame of a stack, innermost first", "stack depth frame", false,
     count_stacks, read_stack},
    {"frames", "one row a line of code", "frame function:text file:text line kind:text", false,
     count_frames, read_frame},
    {"annotations", "one row an end of a range, or a mark", "name:text time_us device stage:text",
     false, count_annotations, read_annotation},
    {"api_calls", "captures: one row a call of the CUDA runtime or driver",
     "api_call api:text library:text device time_us addr size handle result event stack", false,
     count_calls, read_call},
    {"samples", "captures: what the device said of its memory", "device time_us used total process",
     false, count_samples, read_sample},
    {"facts", "captures: the process", "key:text value:text", false, count_facts, read_fact},
    {0},
};

const mv_export_table *mv_export_table_find(const char *name)
{
    for (const mv_export_table *t = mv_export_tables; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

bool mv_export_column(const mv_export_table *table, uint32_t index, char *name, uint32_t size,
                      bool *is_text)
{
    const char *at = table->columns;
    size_t length, end;

    for (; index > 0 && at; index--)
        at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL;
    if (!at)
        return false;
    length = strcspn(at, " ");
    end = strcspn(at, ": ");
    *is_text = end < length;
    if (end >= size)
        end = size - 1;
    memcpy(name, at, end);
    name[end] = 0;
    return true;
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
    return true;
}

/* ---- CSV --------------------------------------------------------------------------------- */

bool mv_csv_is_formula(mv_span text)
{
    uint64_t at = 0;

    while (at < text.length && text.data[at] == '\'')
        at++;
    return at < text.length && text.data[at] && strchr("=+-@\t\r\n", text.data[at]);
}

static void put_quoted(mv_sink *sink, mv_span text)
{
    bool starts_formula = mv_csv_is_formula(text), is_plain = text.length > 0 && !starts_formula;

    for (uint64_t i = 0; i < text.length && is_plain; i++)
        is_plain = !strchr("\",\r\n", text.data[i]) && text.data[i];
    if (is_plain) {
        mv_sink_write(sink, text.data, text.length);
        return;
    }
    mv_sink_write(sink, starts_formula ? "\"'" : "\"", starts_formula ? 2 : 1);
    for (uint64_t i = 0; i < text.length; i++) {
        mv_sink_write(sink, &text.data[i], 1);
        if (text.data[i] == '"')
            mv_sink_write(sink, "\"", 1);
    }
    mv_sink_write(sink, "\"", 1);
}

static void put_number(mv_sink *sink, const mv_cell *cell)
{
    char digits[21];
    uint32_t at = sizeof digits;
    uint64_t rest = cell->number;

    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (cell->is_negative)
        digits[--at] = '-';
    mv_sink_write(sink, digits + at, sizeof digits - at);
}

static void put_row(mv_sink *sink, const mv_cell *cells, uint32_t columns)
{
    for (uint32_t i = 0; i < columns; i++) {
        if (i > 0)
            mv_sink_write(sink, ",", 1);
        if (cells[i].kind == MV_CELL_NUMBER)
            put_number(sink, &cells[i]);
        else if (cells[i].kind == MV_CELL_TEXT)
            put_quoted(sink, cells[i].text);
    }
    mv_sink_write(sink, "\r\n", 2);
}

void mv_csv_write(const mv_export *export, const mv_export_table *table, mv_sink *sink)
{
    uint32_t devices = table->by_device ? export->device_count : 1, columns = 0;
    mv_cell cells[MV_MOST_CELLS];
    char name[32];
    bool is_text;

    for (; mv_export_column(table, columns, name, sizeof name, &is_text); columns++) {
        if (columns > 0)
            mv_sink_write(sink, ",", 1);
        mv_sink_write(sink, name, strlen(name));
    }
    mv_sink_write(sink, "\r\n", 2);
    for (uint32_t d = 0; d < devices; d++) {
        uint64_t rows = table->rows(export, d);
        for (uint64_t i = 0; i < rows; i++) {
            table->read(export, d, i, cells);
            put_row(sink, cells, columns);
            if (export->progress && i % 65536 == 0)
                export->progress(export->user, i, rows);
        }
    }
}
