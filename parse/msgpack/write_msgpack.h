/* What the two msgpack writers share: msgpack-c's packer, writing to a sink. */
#ifndef MV_WRITE_MSGPACK_H
#define MV_WRITE_MSGPACK_H

#include <msgpack/pack.h>

#include "parse/model/trace.h"
#include "parse/writers.h"

enum { MV_PACKING_BUFFER = 64 << 10 };

/* msgpack-c writes pieces of a few bytes, which are gathered here. Failures stay in the sink. */
typedef struct {
    msgpack_packer packer;
    const mv_trace *trace;
    mv_sink *sink;
    char *buffer; /* [MV_PACKING_BUFFER] */
    uint32_t used;
    const mv_write_opts *opts;
    uint64_t events_done, events_all;
} mv_packing;

/* The buffer comes from `scratch`. */
mv_code mv_packing_init(mv_packing *w, mv_arena *scratch, const mv_trace *trace,
                        const mv_write_opts *opts, mv_sink *sink, mv_err *err);

/* Hands the rest to the sink. The sink's own failure is reported by mv_sink_commit. */
void mv_packing_flush(mv_packing *w);

/* Counts written events for the caller's progress report. */
void mv_packing_progress(mv_packing *w, uint64_t events);

static inline void mv_pack_map(mv_packing *w, uint32_t pairs)
{
    msgpack_pack_map(&w->packer, pairs);
}

static inline void mv_pack_array(mv_packing *w, uint32_t items)
{
    msgpack_pack_array(&w->packer, items);
}

static inline void mv_pack_nil(mv_packing *w)
{
    msgpack_pack_nil(&w->packer);
}

static inline void mv_pack_bool(mv_packing *w, bool value)
{
    if (value)
        msgpack_pack_true(&w->packer);
    else
        msgpack_pack_false(&w->packer);
}

static inline void mv_pack_real(mv_packing *w, double value)
{
    msgpack_pack_double(&w->packer, value);
}

/* Integers take the shortest form. */
static inline void mv_pack_int(mv_packing *w, int64_t value)
{
    msgpack_pack_int64(&w->packer, value);
}

static inline void mv_pack_uint(mv_packing *w, uint64_t value)
{
    msgpack_pack_uint64(&w->packer, value);
}

static inline void mv_pack_text(mv_packing *w, const char *text)
{
    size_t length = strlen(text);

    msgpack_pack_str(&w->packer, length);
    msgpack_pack_str_body(&w->packer, text, length);
}

/* A string of the trace, its bytes as they are; nil for MV_NO_STRING. */
void mv_pack_string(mv_packing *w, mv_string_id id);

/* allocator_settings as a map, nested where the file's was, in both forms. */
void mv_pack_settings(mv_packing *w);

#endif
