#include "parse/msgpack/write_msgpack.h"

enum { PROGRESS_STEP = 1 << 16 };

void mv_packing_flush(mv_packing *w)
{
    mv_sink_write(w->sink, w->buffer, w->used);
    w->used = 0;
}

static int append(void *data, const char *bytes, size_t length)
{
    mv_packing *w = data;

    if (length > MV_PACKING_BUFFER - w->used) {
        mv_packing_flush(w);
        if (length > MV_PACKING_BUFFER) {
            mv_sink_write(w->sink, bytes, length);
            return 0;
        }
    }
    if (length > 0)
        memcpy(w->buffer + w->used, bytes, length);
    w->used += (uint32_t)length;
    return 0;
}

mv_code mv_packing_init(mv_packing *w, mv_arena *scratch, const mv_trace *trace,
                        const mv_write_opts *opts, mv_sink *sink, mv_err *err)
{
    *w = (mv_packing){.trace = trace, .sink = sink, .opts = opts};
    w->buffer = mv_push_array(scratch, char, MV_PACKING_BUFFER);
    if (!w->buffer)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "output buffer");
    msgpack_packer_init(&w->packer, w, append);
    for (uint32_t i = 0; i < trace->device_count; i++)
        w->events_all += trace->devices[i].events.count;
    w->events_all += trace->host_events.count;
    return MV_OK;
}

void mv_packing_progress(mv_packing *w, uint64_t events)
{
    uint64_t before = w->events_done / PROGRESS_STEP;

    w->events_done += events;
    if (w->opts && w->opts->progress && w->events_done / PROGRESS_STEP != before)
        w->opts->progress(w->opts->user, w->events_done, w->events_all);
}

void mv_pack_string(mv_packing *w, mv_string_id id)
{
    mv_span text = mv_string_span(w->trace, id);

    if (id.row == MV_NO_ROW) {
        mv_pack_nil(w);
        return;
    }
    msgpack_pack_str(&w->packer, text.length);
    msgpack_pack_str_body(&w->packer, text.data, text.length);
}

/* Rows from `row` on that are in the same nested table. */
static uint32_t run_of(const mv_settings *s, uint32_t row)
{
    uint32_t end = row + 1;

    while (end < s->count && s->parent[end].row == s->parent[row].row)
        end++;
    return end - row;
}

static void pack_setting(mv_packing *w, uint32_t row)
{
    const mv_settings *s = &w->trace->settings;

    mv_pack_string(w, s->key[row]);
    switch ((mv_setting_kind)s->kind[row]) {
    case MV_SETTING_INT:
        mv_pack_int(w, s->integer[row]);
        break;
    case MV_SETTING_BOOL:
        mv_pack_bool(w, s->integer[row] != 0);
        break;
    case MV_SETTING_FLOAT:
        mv_pack_real(w, s->real[row]);
        break;
    case MV_SETTING_TEXT:
        mv_pack_string(w, s->text[row]);
        break;
    case MV_SETTING_NONE:
        mv_pack_nil(w);
        break;
    }
}

void mv_pack_settings(mv_packing *w)
{
    const mv_settings *s = &w->trace->settings;
    uint32_t pairs = 0;

    for (uint32_t i = 0; i < s->count; pairs++)
        i += s->parent[i].row == MV_NO_ROW ? 1 : run_of(s, i);
    mv_pack_map(w, pairs);
    for (uint32_t i = 0; i < s->count;) {
        uint32_t run = 1;
        if (s->parent[i].row != MV_NO_ROW) {
            run = run_of(s, i);
            mv_pack_string(w, s->parent[i]);
            mv_pack_map(w, run);
        }
        for (uint32_t end = i + run; i < end; i++)
            pack_setting(w, i);
    }
}
