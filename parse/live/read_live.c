#include "parse/live/read_live.h"

#include <inttypes.h>

#include "parse/live/live_facts.h"
#include "parse/live/live_rows.h"

enum { LEAST_RECORD = 2 /* size in bytes of the smallest record that makes an id */ };

static void read_facts(mv_live_rows *l, const mv_live_chunks *chunks)
{
    for (uint32_t i = 0; i < chunks->count; i++)
        if (chunks->rows[i].kind == MV_LIVE_FACTS &&
            !mv_live_facts_read(&l->build, chunks->rows[i].records))
            mv_build_note(&l->build, MV_NOTE_DAMAGED, "facts at byte %" PRIu64, chunks->rows[i].at);
    if (!l->build.trace->facts.count)
        mv_live_fact_add(&l->build, "facts", "lost");
}

static bool read_records(mv_live_rows *l, const mv_live_chunks *chunks)
{
    bool has_ended = mv_live_facts_have_end(l->build.trace);
    mv_live_merge merge;
    mv_live_record record;

    if (!mv_live_merge_init(&l->scratch, chunks, has_ended, &l->build, &merge)) {
        l->build.code = MV_NOMEM;
        return false;
    }
    while (mv_live_merge_next(&merge, &record))
        if (!mv_live_rows_add(l, &record))
            return false;
    mv_live_rows_note_missing(l, &merge.missing);
    return true;
}

static mv_code read_all(mv_live_rows *l, mv_span file, const mv_live_opts *opts, mv_err *err)
{
    mv_live_chunks chunks;

    if (!mv_live_chunks_find(&l->scratch, file, &l->build, &chunks))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "list of chunks");
    if (chunks.count == 0)
        return mv_fail(err, MV_CORRUPT, sizeof(mv_wire_header), "no intact chunk");
    read_facts(l, &chunks);
    if (!mv_live_names_read(&l->scratch, &chunks, file.length / LEAST_RECORD, &l->build, l->names))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "names");
    if (mv_live_rows_know(l, opts && opts->looks_here, err) != MV_OK)
        return err->code;
    if (!read_records(l, &chunks))
        return mv_fail(err, l->build.code, MV_NO_OFFSET, "%u events", l->build.events.count);
    for (uint32_t i = 0; opts && i < opts->fact_count; i++)
        mv_live_fact_add(&l->build, opts->facts[i].key, opts->facts[i].value);
    return mv_live_rows_finish(l, err);
}

bool mv_live_probe(mv_span file)
{
    mv_wire_chunk head;

    for (uint64_t at = sizeof(mv_wire_header); at < file.length;
         at = (at / MV_LIVE_CHUNK_BYTES + 1) * MV_LIVE_CHUNK_BYTES)
        if (mv_live_chunk_head(file, at, &head))
            return head.kind >= MV_WIRE_LIVE_KINDS;
    return false;
}

static mv_code convert(mv_live_rows *l, const mv_live_kept *kept, mv_err *err)
{
    if (mv_live_rows_know(l, false, err) != MV_OK)
        return err->code;
    for (uint64_t i = 0; i < kept->count; i++) {
        l->launches = kept->rows[i].launches;
        l->waits = kept->rows[i].waits;
        if (!mv_live_rows_add(l, &kept->rows[i].record))
            return mv_fail(err, l->build.code, MV_NO_OFFSET, "%u events", l->build.events.count);
    }
    l->gpus = kept->gpus > l->gpus ? kept->gpus : l->gpus;
    l->has_cpu = kept->has_cpu;
    return mv_live_rows_finish(l, err);
}

/* The source of a trace, which is the file itself or, if `kept` is not NULL, records that were kept
 * from it. */
typedef struct {
    const mv_live_kept *kept;
    mv_span file;
    const mv_live_opts *opts;
} origin;

static mv_code make(mv_arena *arena, mv_live_names *names, const origin *from, mv_trace *out,
                    mv_err *err)
{
    mv_arena scratch;
    mv_code code;
    mv_live_rows *l;

    mv_arena_init(&scratch, arena->budget);
    l = mv_live_rows_begin(&scratch, arena, out);
    if (!l)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    l->names = names;
    code = from->kept ? convert(l, from->kept, err) : read_all(l, from->file, from->opts, err);
    mv_live_rows_end(l);
    mv_arena_release(&scratch);
    return code;
}

mv_code mv_live_read(mv_arena *arena, mv_span file, const mv_live_opts *opts, mv_trace *out,
                     mv_err *err)
{
    mv_live_names names;

    return make(arena, &names, &(origin){.file = file, .opts = opts}, out, err);
}

mv_code mv_live_convert(mv_arena *arena, mv_live_names *names, const mv_live_kept *kept,
                        mv_trace *out, mv_err *err)
{
    mv_code code = make(arena, names, &(origin){.kept = kept}, out, err);

    out->origin.format = MV_FORMAT_BIN;
    out->origin.first_call_frame = out->frames.count;
    return code;
}
