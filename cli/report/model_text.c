#include "cli/report/model_text.h"

#include <ctype.h>

#include "base/search.h"
#include "base/sort.h"
#include "parse/model/tables.h"

/* The table columns that are printed, in their printed order. */
typedef struct {
    const mv_table_column *columns[MV_TABLE_COLUMNS];
    uint32_t count;
} shown_columns;

typedef struct {
    mv_out *out;
    const mv_trace *trace;
    bool is_line_start;   /* nothing was printed on the line yet, so no separator is needed */
    uint32_t *stack_name; /* [stacks.count] the stack's number in the text; MV_NO_ROW: none yet */
    uint32_t *call;       /* [calls] the call numbers that occur, sorted */
    uint32_t *call_name;  /* [calls] the number in the text of each entry of `call` */
    uint32_t calls;
    uint32_t stacks_named, calls_named;
    shown_columns shown[MV_WIRE_KINDS]; /* indexed by mv_wire_kind */
} dump;

static void put_row(dump *d, uint16_t kind, const void *rows, uint64_t row);

/* ---- values ------------------------------------------------------------------------------ */

/* Prints a space, and then the column's name unless the value speaks for itself. */
static void put_label(dump *d, const mv_table_column *column)
{
    const char *label = column->label ? column->label : column->name;

    if (!d->is_line_start)
        mv_out_char(d->out, ' ');
    d->is_line_start = false;
    mv_out_text(d->out, label);
    if (*label)
        mv_out_char(d->out, ' ');
}

static void put_number(dump *d, const mv_table_column *column, uint64_t number)
{
    put_label(d, column);
    if (number == MV_NO_BYTES && column->form == MV_FORM_BYTES)
        mv_out_char(d->out, '-');
    else if (column->kind == MV_KIND_BYTES || column->kind == MV_KIND_EVENT)
        mv_out_u64(d->out, number);
    else
        mv_out_hex(d->out, number);
}

static void put_signed(dump *d, const mv_table_column *column, int64_t number)
{
    put_label(d, column);
    if (number == MV_NO_TIME)
        mv_out_char(d->out, '-');
    else
        mv_out_i64(d->out, number);
}

static void put_code(dump *d, const mv_table_column *column, uint8_t code)
{
    if (column->kind == MV_KIND_FLAG) {
        if (code)
            mv_out_char(d->out, ' ');
        if (code)
            mv_out_text(d->out, column->label);
        return;
    }
    put_label(d, column);
    for (const char *c = mv_kind_code_name(column->kind, code); *c; c++)
        mv_out_char(d->out, (char)tolower((unsigned char)*c));
}

static void put_string(dump *d, mv_string_id id)
{
    if (id.row == MV_NO_ROW)
        mv_out_char(d->out, '-');
    else
        mv_out_quoted(d->out, mv_string_span(d->trace, id));
}

static void put_call(dump *d, const mv_table_column *column, uint32_t call)
{
    uint32_t row;

    if (!d->call_name)
        return;
    put_label(d, column);
    if (call >= d->trace->calls) {
        mv_out_char(d->out, '-');
        return;
    }
    row = mv_lower_bound_u32(d->call, d->calls, call);
    if (d->call_name[row] == MV_NO_ROW)
        d->call_name[row] = d->calls_named++;
    mv_out_char(d->out, 'C');
    mv_out_u64(d->out, d->call_name[row]);
}

static void put_named_row(dump *d, const mv_table_column *column, uint32_t row)
{
    const mv_trace *t = d->trace;

    if (row == MV_NO_ROW && column->is_rare)
        return;
    put_label(d, column);
    if (row == MV_NO_ROW) {
        mv_out_char(d->out, '-');
        return;
    }
    switch (column->ref) {
    case MV_REF_STRING:
        put_string(d, (mv_string_id){row});
        break;
    case MV_REF_STACK:
        mv_out_char(d->out, 'S');
        mv_out_u64(d->out, d->stack_name[row]);
        break;
    case MV_REF_STREAM:
        mv_out_u64(d->out, t->streams.value[row]);
        break;
    case MV_REF_POOL:
        mv_out_u64(d->out, t->pools.a[row]);
        mv_out_char(d->out, ',');
        mv_out_u64(d->out, t->pools.b[row]);
        break;
    case MV_REF_FX:
        d->is_line_start = true;
        put_row(d, MV_WIRE_FX, &t->fx, row);
        break;
    default:
        break;
    }
}

static void put_value(dump *d, const mv_table_column *column, const void *values, uint64_t row)
{
    const uint32_t *narrow = values;
    const uint64_t *wide = values;

    if (column->ref == MV_REF_CODE)
        put_code(d, column, ((const uint8_t *)values)[row]);
    else if (column->ref == MV_REF_CALL)
        put_call(d, column, narrow[row]);
    else if (column->ref == MV_REF_TAG && narrow[row] == MV_PLAIN_TAG.row)
        return;
    else if (column->ref == MV_REF_TAG)
        put_row(d, MV_WIRE_TAGS, &d->trace->tags, narrow[row]);
    else if (column->ref != MV_REF_NONE)
        put_named_row(d, column, narrow[row]);
    else if (column->form == MV_FORM_DEVICE || column->form == MV_FORM_INT)
        put_signed(d, column, (int32_t)narrow[row]);
    else if (column->form == MV_FORM_COUNT)
        put_number(d, column, narrow[row]);
    else if (column->form == MV_FORM_BYTES)
        put_number(d, column, wide[row]);
    else
        put_signed(d, column, (int64_t)wide[row]);
}

static void put_row(dump *d, uint16_t kind, const void *rows, uint64_t row)
{
    const shown_columns *shown = &d->shown[kind];

    for (uint32_t i = 0; i < shown->count; i++)
        put_value(d, shown->columns[i], mv_column_of(rows, shown->columns[i]), row);
}

/* ---- stacks ------------------------------------------------------------------------------ */

/* Prints a stack before the first row that uses it. */
static void define_stack(dump *d, mv_stack_id stack)
{
    const mv_frame_id *frames;
    uint32_t count;

    if (stack.row == MV_NO_ROW || d->stack_name[stack.row] != MV_NO_ROW)
        return;
    d->stack_name[stack.row] = d->stacks_named++;
    frames = mv_stack_frames(d->trace, stack, &count);
    mv_out_text(d->out, "stack S");
    mv_out_u64(d->out, d->stack_name[stack.row]);
    mv_out_format(d->out, " frames %u\n", count);
    for (uint32_t i = 0; i < count; i++) {
        mv_out_text(d->out, "  ");
        d->is_line_start = true;
        put_row(d, MV_WIRE_FRAMES, &d->trace->frames, frames[i].row);
        mv_out_char(d->out, '\n');
    }
}

static void define_stacks(dump *d, uint16_t kind, const void *rows, uint64_t row)
{
    const shown_columns *shown = &d->shown[kind];

    for (uint32_t i = 0; i < shown->count; i++) {
        const uint32_t *ids = mv_column_of(rows, shown->columns[i]);
        if (shown->columns[i]->ref == MV_REF_STACK)
            define_stack(d, (mv_stack_id){ids[row]});
        else if (shown->columns[i]->ref == MV_REF_TAG)
            define_stacks(d, MV_WIRE_TAGS, &d->trace->tags, ids[row]);
    }
}

/* ---- tables ------------------------------------------------------------------------------ */

static void put_line(dump *d, uint16_t kind, const void *rows, uint64_t row, const char *head)
{
    define_stacks(d, kind, rows, row);
    mv_out_text(d->out, head);
    d->is_line_start = *head == 0 || head[strlen(head) - 1] == ' ';
    put_row(d, kind, rows, row);
    mv_out_char(d->out, '\n');
}

static void put_events(dump *d, const mv_events *e)
{
    for (uint32_t i = 0; i < e->count; i++) {
        define_stacks(d, MV_WIRE_EVENTS, e, i);
        mv_out_u64(d->out, i);
        d->is_line_start = false;
        put_row(d, MV_WIRE_EVENTS, e, i);
        mv_out_char(d->out, '\n');
    }
}

static void put_segments(dump *d, const mv_segments *s)
{
    const mv_blocks *b = &d->trace->blocks;

    for (uint32_t i = 0; i < s->count; i++) {
        put_line(d, MV_WIRE_SEGMENTS, s, i, "");
        for (uint32_t j = s->first_block[i]; j < s->first_block[i] + s->blocks[i]; j++) {
            put_line(d, MV_WIRE_BLOCKS, b, j, "  ");
            for (uint32_t k = 0; k < b->histories[j]; k++)
                put_line(d, MV_WIRE_HISTORY, &d->trace->history, b->first_history[j] + k,
                         "    history");
        }
    }
}

static void put_table(dump *d, uint16_t kind, const char *name)
{
    const mv_model_table *table = mv_table_find(kind);
    const void *rows = mv_table_of(d->trace, table, 0);
    uint64_t count = mv_table_rows(d->trace, table, 0);

    mv_out_format(d->out, "%s %llu\n", name, (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++)
        put_line(d, kind, rows, i, "");
}

/* Prints a key and a value, as in PyTorch. */
static void put_setting(dump *d, const mv_settings *s, uint32_t i)
{
    char real[MV_REAL_TEXT];

    if (s->parent[i].row != MV_NO_ROW) {
        put_string(d, s->parent[i]);
        mv_out_char(d->out, ' ');
    }
    put_string(d, s->key[i]);
    switch (s->kind[i]) {
    case MV_SETTING_INT:
        mv_out_text(d->out, " int ");
        mv_out_i64(d->out, s->integer[i]);
        break;
    case MV_SETTING_FLOAT:
        mv_out_text(d->out, " float ");
        mv_out_text(d->out, mv_real_text(real, s->real[i]));
        break;
    case MV_SETTING_BOOL:
        mv_out_text(d->out, s->integer[i] ? " bool true" : " bool false");
        break;
    case MV_SETTING_TEXT:
        mv_out_text(d->out, " text ");
        put_string(d, s->text[i]);
        break;
    default:
        mv_out_text(d->out, " none");
    }
    d->is_line_start = false;
    put_row(d, MV_WIRE_SETTINGS, s, i);
    mv_out_char(d->out, '\n');
}

static void put_settings(dump *d)
{
    const mv_settings *s = &d->trace->settings;

    mv_out_format(d->out, "settings %u\n", s->count);
    for (uint32_t i = 0; i < s->count; i++)
        put_setting(d, s, i);
}

/* Prints the tables that only captures have. */
static void put_captured(dump *d)
{
    if (d->trace->facts.count)
        put_table(d, MV_WIRE_FACTS, "facts");
    if (d->trace->api_calls.count)
        put_table(d, MV_WIRE_API_CALLS, "api_calls");
    if (d->trace->heap_calls.count)
        put_table(d, MV_WIRE_HEAP_CALLS, "heap_calls");
    if (d->trace->samples.count)
        put_table(d, MV_WIRE_SAMPLES, "samples");
}

/* Prints the tables that files of all formats can have. */
static void put_notes(dump *d)
{
    mv_out_text(d->out, "notes\n");
    for (mv_note_code code = 0; code < MV_NOTE_COUNT; code++)
        if (mv_note_is_found(code) && d->trace->notes[code].count)
            mv_out_format(d->out, "%s %llu\n", mv_note_name(code),
                          (unsigned long long)d->trace->notes[code].count);
}

/* ---- all of it --------------------------------------------------------------------------- */

static bool is_shown(const mv_table_column *column)
{
    return !column->is_unshown && column->kind != MV_KIND_FIRST && column->kind != MV_KIND_COUNT;
}

/* Sorts columns by rank. Columns of equal rank stay in the order of the model's list. */
static void order_columns(dump *d, const mv_model_table *table)
{
    shown_columns *shown = &d->shown[table->kind];

    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[table->order[i]];
        uint32_t at = shown->count;
        if (!is_shown(column))
            continue;
        for (; at > 0 && shown->columns[at - 1]->rank > column->rank; at--)
            shown->columns[at] = shown->columns[at - 1];
        shown->columns[at] = column;
        shown->count++;
    }
}

static uint32_t *unnamed(mv_arena *arena, uint32_t count)
{
    uint32_t *names = mv_push_array(arena, uint32_t, count);

    for (uint32_t i = 0; names && i < count; i++)
        names[i] = MV_NO_ROW;
    return names;
}

/* Collects the call numbers of all rows, including repetitions, and returns how many there are.
 * With `out` NULL, only counts them. */
static uint64_t take_calls(const mv_trace *trace, uint32_t *out)
{
    uint64_t taken = 0;

    for (const mv_model_table *table = mv_tables; table->kind; table++)
        for (uint32_t c = 0; c < table->column_count; c++)
            for (uint32_t i = 0;
                 table->columns[c].ref == MV_REF_CALL && i < mv_table_times(trace, table); i++) {
                const uint32_t *calls =
                    mv_column_of(mv_table_of(trace, table, i), &table->columns[c]);
                uint64_t rows = mv_table_rows(trace, table, i);
                if (out && calls)
                    memcpy(out + taken, calls, rows * sizeof *calls);
                taken += rows;
            }
    return taken;
}

/* Even a small file may contain call numbers up to 2^32, so memory is allocated by the number of
 * rows. */
static bool name_calls(mv_arena *scratch, dump *d)
{
    uint64_t rows = take_calls(d->trace, NULL), kept = 0;

    d->call = mv_push_array(scratch, uint32_t, rows);
    if (!d->call)
        return false;
    take_calls(d->trace, d->call);
    mv_sort_rows(scratch, d->call, rows, MV_RISING_VALUES(uint32_t));
    for (uint64_t i = 0; i < rows; i++)
        if (kept == 0 || d->call[kept - 1] != d->call[i])
            d->call[kept++] = d->call[i];
    d->calls = (uint32_t)kept;
    d->call_name = unnamed(scratch, d->calls);
    return d->call_name != NULL;
}

bool mv_model_text_write(mv_arena *scratch, const mv_trace *trace, bool with_calls, mv_out *out)
{
    dump d = {.out = out, .trace = trace};

    d.stack_name = unnamed(scratch, trace->stacks.count);
    if (!d.stack_name || (with_calls && !name_calls(scratch, &d)))
        return false;
    for (const mv_model_table *table = mv_tables; table->kind; table++)
        order_columns(&d, table);
    mv_out_text(out, "memviz dump 1\n");
    put_settings(&d);
    if (trace->tensors.count)
        put_table(&d, MV_WIRE_TENSORS, "tensors");
    put_table(&d, MV_WIRE_ANNOTATIONS, "annotations");
    mv_out_format(out, "devices %u\n", trace->device_count);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        mv_out_format(out, "device %u events %u\n", i, trace->devices[i].events.count);
        put_events(&d, &trace->devices[i].events);
    }
    mv_out_format(out, "segments %u\n", trace->segments.count);
    put_segments(&d, &trace->segments);
    mv_out_format(out, "host_events %u\n", trace->host_events.count);
    put_events(&d, &trace->host_events);
    mv_out_format(out, "host_segments %u\n", trace->host_segments.count);
    put_segments(&d, &trace->host_segments);
    put_captured(&d);
    put_notes(&d);
    return true;
}
