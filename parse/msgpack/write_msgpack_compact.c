#include "parse/msgpack/compact.h"
#include "parse/msgpack/write_msgpack.h"

static void pack_row(mv_packing *w, uint32_t row)
{
    if (row == MV_NO_ROW)
        mv_pack_int(w, -1);
    else
        mv_pack_uint(w, row);
}

static void pack_section(mv_packing *w, mv_compact_section section)
{
    mv_pack_text(w, mv_compact_section_name(section));
}

/* These tables are spelled out value by value, in a way that readers of version 1 know. */
#define ONE_MORE(...) +1
static_assert(0 MV_STRING_COLUMNS(ONE_MORE, ) == 1 && 0 MV_STACK_COLUMNS(ONE_MORE, ) == 1 &&
                  0 MV_FRAME_COLUMNS(ONE_MORE, ) == 4 && 0 MV_FX_COLUMNS(ONE_MORE, ) == 4 &&
                  0 MV_STREAM_COLUMNS(ONE_MORE, ) == 1 && 0 MV_POOL_COLUMNS(ONE_MORE, ) == 2,
              "bump MV_COMPACT_VERSION: docs/internals/model.md");

/* ---- interned tables --------------------------------------------------------------------- */

static void pack_strings(mv_packing *w)
{
    uint32_t count = w->trace->strings.count;

    pack_section(w, MV_SECTION_STRINGS);
    mv_pack_array(w, count);
    for (uint32_t i = 0; i < count; i++)
        mv_pack_string(w, (mv_string_id){i});
}

/* [function, file, line], and what torch.fx knows as four more strings where there is any. */
static void pack_frames(mv_packing *w)
{
    const mv_frames *f = &w->trace->frames;
    const mv_fx *fx = &w->trace->fx;

    pack_section(w, MV_SECTION_FRAMES);
    mv_pack_array(w, f->count);
    for (uint32_t i = 0; i < f->count; i++) {
        uint32_t row = f->fx[i];
        mv_pack_array(w, row == MV_NO_ROW ? 3 : 7);
        pack_row(w, f->function[i].row);
        pack_row(w, f->file[i].row);
        mv_pack_int(w, f->line[i]);
        if (row == MV_NO_ROW)
            continue;
        pack_row(w, fx->op[row].row);
        pack_row(w, fx->name[row].row);
        pack_row(w, fx->target[row].row);
        pack_row(w, fx->trace[row].row);
    }
}

static void pack_stacks(mv_packing *w)
{
    const mv_stacks *s = &w->trace->stacks;

    pack_section(w, MV_SECTION_STACKS);
    mv_pack_array(w, s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        mv_pack_array(w, (uint32_t)(s->first[i + 1] - s->first[i]));
        for (uint64_t j = s->first[i]; j < s->first[i + 1]; j++)
            mv_pack_uint(w, s->frame[j].row);
    }
}

static void pack_streams(mv_packing *w)
{
    const mv_streams *s = &w->trace->streams;

    pack_section(w, MV_SECTION_STREAMS);
    mv_pack_array(w, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        mv_pack_uint(w, s->value[i]);
}

static void pack_pools(mv_packing *w)
{
    const mv_pools *p = &w->trace->pools;

    pack_section(w, MV_SECTION_POOLS);
    mv_pack_array(w, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        mv_pack_array(w, 2);
        mv_pack_uint(w, p->a[i]);
        mv_pack_uint(w, p->b[i]);
    }
}

/* Maps with the fields that are there. Every column of a tag is a row number. */
static void pack_tags(mv_packing *w)
{
    const mv_tags *t = &w->trace->tags;
    const mv_model_table *table = mv_table_find(MV_WIRE_TAGS);

    pack_section(w, MV_SECTION_TAGS);
    mv_pack_array(w, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t present = 0;
        for (uint32_t c = 0; c < table->column_count; c++)
            present += ((const uint32_t *)mv_column_of(t, &table->columns[c]))[i] != MV_NO_ROW;
        mv_pack_map(w, present);
        for (uint32_t c = 0; c < table->column_count; c++) {
            const mv_table_column *column = &table->columns[table->order[c]];
            uint32_t row = ((const uint32_t *)mv_column_of(t, column))[i];
            if (row == MV_NO_ROW)
                continue;
            mv_pack_text(w, mv_compact_column_name(column));
            mv_pack_uint(w, row);
        }
    }
}

/* ---- tables of columns ------------------------------------------------------------------- */

static void pack_bytes(mv_packing *w, const uint64_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == MV_NO_BYTES)
            mv_pack_nil(w);
        else
            mv_pack_uint(w, values[i]);
    }
}

static void pack_times(mv_packing *w, const int64_t *values, uint32_t count, bool delta)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == MV_NO_TIME) {
            mv_pack_nil(w);
            continue;
        }
        mv_pack_int(w, (int64_t)((uint64_t)values[i] - last));
        if (delta)
            last = (uint64_t)values[i];
    }
}

static void pack_column(mv_packing *w, const mv_table_column *column, const void *data,
                        uint32_t count)
{
    mv_pack_text(w, mv_compact_column_name(column));
    mv_pack_array(w, count);
    switch ((mv_form)column->form) {
    case MV_FORM_BYTES:
        pack_bytes(w, data, count);
        break;
    case MV_FORM_TIME:
    case MV_FORM_DELTA:
        pack_times(w, data, count, column->form == MV_FORM_DELTA);
        break;
    case MV_FORM_DEVICE:
    case MV_FORM_INT:
        for (uint32_t i = 0; i < count; i++)
            mv_pack_int(w, ((const int32_t *)data)[i]);
        break;
    case MV_FORM_CODE:
        for (uint32_t i = 0; i < count; i++)
            mv_pack_uint(w, ((const uint8_t *)data)[i]);
        break;
    case MV_FORM_COUNT:
        for (uint32_t i = 0; i < count; i++)
            mv_pack_uint(w, ((const uint32_t *)data)[i]);
        break;
    case MV_FORM_ROW:
        for (uint32_t i = 0; i < count; i++)
            pack_row(w, ((const uint32_t *)data)[i]);
        break;
    case MV_FORM_NONE:
        break;
    }
}

static void pack_table(mv_packing *w, const mv_model_table *table, uint32_t device)
{
    const void *rows = mv_table_of(w->trace, table, device);
    uint32_t count = (uint32_t)mv_table_rows(w->trace, table, device);

    mv_pack_map(w, table->column_count);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[table->order[i]];
        pack_column(w, column, mv_column_of(rows, column), count);
    }
}

/* Not even empty, so that older readers find no key that they do not know. */
static bool is_left_out(const mv_trace *trace, mv_compact_section section)
{
    return (section == MV_SECTION_HEAP_CALLS && trace->heap_calls.count == 0) ||
           (section == MV_SECTION_TENSORS && trace->tensors.count == 0);
}

static void pack_tables(mv_packing *w)
{
    static const mv_compact_section sections[] = {
        MV_SECTION_HISTORY,       MV_SECTION_BLOCKS,        MV_SECTION_SEGMENTS,
        MV_SECTION_HOST_SEGMENTS, MV_SECTION_DEVICE_TRACES, MV_SECTION_HOST_TRACES,
        MV_SECTION_ANNOTATIONS,   MV_SECTION_API_CALLS,     MV_SECTION_HEAP_CALLS,
        MV_SECTION_SAMPLES,       MV_SECTION_FACTS,         MV_SECTION_TENSORS};

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const mv_model_table *table = mv_compact_table(sections[i]);
        uint32_t times = mv_table_times(w->trace, table);
        if (is_left_out(w->trace, sections[i]))
            continue;
        pack_section(w, sections[i]);
        if (table->kind == MV_WIRE_EVENTS)
            mv_pack_array(w, times);
        for (uint32_t device = 0; device < times; device++) {
            pack_table(w, table, device);
            if (table->kind == MV_WIRE_EVENTS)
                mv_packing_progress(w, w->trace->devices[device].events.count);
        }
    }
}

/* ---- the rest ---------------------------------------------------------------------------- */

/* Codes in the columns are positions in these lists: for other programs. */
static void pack_names(mv_packing *w)
{
    static const struct {
        const char *name;
        mv_kind kind;
        uint32_t codes;
    } lists[] = {{"action", MV_KIND_ACTION, MV_ACTION_COUNT},
                 {"segment_type", MV_KIND_SEGMENT_KIND, MV_SEGMENT_UNKNOWN + 1},
                 {"state", MV_KIND_BLOCK_STATE, MV_BLOCK_UNKNOWN + 1},
                 {"stage", MV_KIND_STAGE, MV_STAGE_MARK + 1},
                 {"api_action", MV_KIND_API_ACTION, MV_API_ACTION_COUNT},
                 {"heap_action", MV_KIND_HEAP_ACTION, MV_HEAP_ACTION_COUNT},
                 {"role", MV_KIND_TENSOR_ROLE, MV_TENSOR_NAMED + 1}};

    pack_section(w, MV_SECTION_NAMES);
    mv_pack_map(w, sizeof lists / sizeof *lists);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        mv_pack_text(w, lists[i].name);
        mv_pack_array(w, lists[i].codes);
        for (uint32_t code = 0; code < lists[i].codes; code++)
            mv_pack_text(w, mv_kind_code_name(lists[i].kind, (uint8_t)code));
    }
}

static bool is_kept(const mv_trace *trace, mv_note_code code)
{
    return trace->notes[code].count > 0 && !mv_note_is_found(code);
}

static void pack_notes(mv_packing *w)
{
    uint32_t count = 0;

    for (mv_note_code i = 0; i < MV_NOTE_COUNT; i++)
        count += is_kept(w->trace, i);
    pack_section(w, MV_SECTION_NOTES);
    mv_pack_map(w, count);
    for (mv_note_code i = 0; i < MV_NOTE_COUNT; i++) {
        if (!is_kept(w->trace, i))
            continue;
        mv_pack_text(w, mv_note_name(i));
        mv_pack_map(w, 2);
        mv_pack_text(w, "count");
        mv_pack_uint(w, w->trace->notes[i].count);
        mv_pack_text(w, "first");
        mv_pack_text(w, w->trace->notes[i].first);
    }
}

mv_code mv_compact_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                         mv_sink *sink, mv_err *err)
{
    mv_packing w;

    if (mv_packing_init(&w, scratch, trace, opts, sink, err) != MV_OK)
        return err->code;
    mv_pack_map(&w, MV_SECTION_COUNT - is_left_out(trace, MV_SECTION_HEAP_CALLS) -
                        is_left_out(trace, MV_SECTION_TENSORS));
    pack_section(&w, MV_SECTION_FORMAT);
    mv_pack_text(&w, MV_COMPACT_FORMAT);
    pack_section(&w, MV_SECTION_VERSION);
    mv_pack_uint(&w, MV_COMPACT_VERSION);
    pack_names(&w);
    pack_strings(&w);
    pack_frames(&w);
    pack_stacks(&w);
    pack_streams(&w);
    pack_pools(&w);
    pack_tags(&w);
    pack_section(&w, MV_SECTION_CALLS);
    mv_pack_uint(&w, trace->calls);
    pack_section(&w, MV_SECTION_KEYS);
    mv_pack_uint(&w, trace->keys);
    pack_tables(&w);
    pack_section(&w, MV_SECTION_ALLOCATOR_SETTINGS);
    mv_pack_settings(&w);
    pack_notes(&w);
    mv_packing_flush(&w);
    return MV_OK;
}
