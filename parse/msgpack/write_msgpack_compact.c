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

static uint32_t tag_row(const mv_tags *tags, const mv_compact_tag_field *field, uint32_t tag)
{
    const uint32_t *rows;

    memcpy(&rows, (const char *)tags + field->offset, sizeof rows);
    return rows[tag];
}

/* Maps with the fields that are there. */
static void pack_tags(mv_packing *w)
{
    const mv_tags *t = &w->trace->tags;

    pack_section(w, MV_SECTION_TAGS);
    mv_pack_array(w, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t present = 0;
        for (const mv_compact_tag_field *f = mv_compact_tag_fields; f->name; f++)
            present += tag_row(t, f, i) != MV_NO_ROW;
        mv_pack_map(w, present);
        for (const mv_compact_tag_field *f = mv_compact_tag_fields; f->name; f++) {
            if (tag_row(t, f, i) == MV_NO_ROW)
                continue;
            mv_pack_text(w, f->name);
            mv_pack_uint(w, tag_row(t, f, i));
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

static void pack_column(mv_packing *w, const mv_compact_column *column, const void *data,
                        uint32_t count)
{
    mv_pack_text(w, column->name);
    mv_pack_array(w, count);
    switch ((mv_cell_kind)column->cell) {
    case MV_CELL_BYTES:
        pack_bytes(w, data, count);
        break;
    case MV_CELL_TIME:
    case MV_CELL_DELTA:
        pack_times(w, data, count, column->cell == MV_CELL_DELTA);
        break;
    case MV_CELL_DEVICE:
    case MV_CELL_INT:
        for (uint32_t i = 0; i < count; i++)
            mv_pack_int(w, ((const int32_t *)data)[i]);
        break;
    case MV_CELL_CODE:
        for (uint32_t i = 0; i < count; i++)
            mv_pack_uint(w, ((const uint8_t *)data)[i]);
        break;
    case MV_CELL_COUNT:
        for (uint32_t i = 0; i < count; i++)
            mv_pack_uint(w, ((const uint32_t *)data)[i]);
        break;
    case MV_CELL_ROW:
        for (uint32_t i = 0; i < count; i++)
            pack_row(w, ((const uint32_t *)data)[i]);
        break;
    }
}

static void pack_table(mv_packing *w, const mv_compact_table *table, const void *rows)
{
    uint32_t count, columns = 0;

    memcpy(&count, (const char *)rows + table->count_offset, sizeof count);
    while (table->columns[columns].name)
        columns++;
    mv_pack_map(w, columns);
    for (uint32_t i = 0; i < columns; i++)
        pack_column(w, &table->columns[i], mv_compact_values(rows, &table->columns[i]), count);
}

static void pack_devices(mv_packing *w)
{
    const mv_trace *t = w->trace;

    pack_section(w, MV_SECTION_DEVICE_TRACES);
    mv_pack_array(w, t->device_count);
    for (uint32_t i = 0; i < t->device_count; i++) {
        pack_table(w, &mv_compact_events, &t->devices[i].events);
        mv_packing_progress(w, t->devices[i].events.count);
    }
}

static void pack_tables(mv_packing *w)
{
    const mv_trace *t = w->trace;

    pack_section(w, MV_SECTION_HISTORY);
    pack_table(w, &mv_compact_history, &t->history);
    pack_section(w, MV_SECTION_BLOCKS);
    pack_table(w, &mv_compact_blocks, &t->blocks);
    pack_section(w, MV_SECTION_SEGMENTS);
    pack_table(w, &mv_compact_segments, &t->segments);
    pack_section(w, MV_SECTION_HOST_SEGMENTS);
    pack_table(w, &mv_compact_segments, &t->host_segments);
    pack_devices(w);
    pack_section(w, MV_SECTION_HOST_TRACES);
    pack_table(w, &mv_compact_events, &t->host_events);
    pack_section(w, MV_SECTION_ANNOTATIONS);
    pack_table(w, &mv_compact_annotations, &t->annotations);
    pack_section(w, MV_SECTION_API_CALLS);
    pack_table(w, &mv_compact_api_calls, &t->api_calls);
    pack_section(w, MV_SECTION_SAMPLES);
    pack_table(w, &mv_compact_samples, &t->samples);
    pack_section(w, MV_SECTION_FACTS);
    pack_table(w, &mv_compact_facts, &t->facts);
}

/* ---- the rest ---------------------------------------------------------------------------- */

/* Codes in the columns are positions in these lists, for readers that are not memviz. */
static void pack_names(mv_packing *w)
{
    pack_section(w, MV_SECTION_NAMES);
    mv_pack_map(w, 5);
    mv_pack_text(w, "action");
    mv_pack_array(w, MV_ACTION_COUNT);
    for (mv_action i = 0; i < MV_ACTION_COUNT; i++)
        mv_pack_text(w, mv_action_name(i));
    mv_pack_text(w, "segment_type");
    mv_pack_array(w, MV_SEGMENT_UNKNOWN + 1);
    for (mv_segment_kind i = 0; i <= MV_SEGMENT_UNKNOWN; i++)
        mv_pack_text(w, mv_segment_kind_name(i));
    mv_pack_text(w, "state");
    mv_pack_array(w, MV_BLOCK_UNKNOWN + 1);
    for (mv_block_state i = 0; i <= MV_BLOCK_UNKNOWN; i++)
        mv_pack_text(w, mv_block_state_name(i));
    mv_pack_text(w, "stage");
    mv_pack_array(w, MV_STAGE_MARK + 1);
    for (mv_stage i = 0; i <= MV_STAGE_MARK; i++)
        mv_pack_text(w, mv_stage_text(i));
    mv_pack_text(w, "api_action");
    mv_pack_array(w, MV_API_ACTION_COUNT);
    for (mv_api_action i = 0; i < MV_API_ACTION_COUNT; i++)
        mv_pack_text(w, mv_api_action_name(i));
}

/* The reader finds these again by itself. */
static bool is_kept(const mv_trace *trace, mv_note_code code)
{
    return trace->notes[code].count > 0 && code != MV_NOTE_UNSORTED_TIME && code != MV_NOTE_UNTILED;
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
    mv_pack_map(&w, MV_SECTION_COUNT);
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
