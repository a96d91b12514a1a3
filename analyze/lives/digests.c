#include "analyze/lives/digests.h"

#include "analyze/lives/lives.h"
#include "base/text.h"

static_assert((int)MV_HISTORY_COMPLETE == (int)MV_DIGEST_COMPLETE, "as in lives");
static_assert((int)MV_HISTORY_COUNT == (int)MV_DIGEST_HISTORIES, "raise MV_DIGEST_RULES");

/* Whether the lives are certain: the events, together with the blocks alive before the events, must
 * be enough to reproduce the lives. */
static bool are_known(const mv_trace *trace, const mv_lives *lives, const mv_digest *digest)
{
    static const mv_lives sure;
    const mv_events *e = &lives->events;

    return memcmp(&lives->doubts, &sure.doubts, sizeof sure.doubts) == 0 && !lives->has_no_heap &&
           !lives->is_missing_segment_events && !lives->is_missing_memory_events &&
           !lives->is_missing_allocs && e->count > 0 && digest->unsorted == 0 &&
           e->time_us[0] == digest->first_us && trace->api_calls.count == 0 &&
           trace->heap_calls.count == 0 && !mv_trace_is_captured(trace) &&
           !mv_trace_allocator(trace) && trace->notes[MV_NOTE_THINNED].count == 0;
}

mv_spans mv_spans_of(const mv_lives *lives)
{
    const mv_alloc_lives *a = &lives->allocs;
    const mv_segment_lives *s = &lives->segments;

    return (mv_spans){.is_known = true,
                      .allocs = a->count,
                      .addr = a->addr,
                      .requested = a->requested,
                      .block = a->block,
                      .birth = a->birth,
                      .freed = a->freed,
                      .completed = a->completed,
                      .segments = s->count,
                      .segment_addr = s->addr,
                      .segment_size = s->size,
                      .segment_birth = s->birth,
                      .segment_death = s->death};
}

/* Finds the digest; also sets *spans, with columns allocated in `work`, unless `spans` is NULL. */
static mv_code find(mv_arena *work, const mv_trace *trace, uint32_t device, mv_digest *out,
                    mv_spans *spans, mv_err *err)
{
    mv_events events = mv_trace_events(trace, device);
    mv_lives lives;

    if (!mv_digest_events(work, trace, &events, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (mv_lives_find(work, trace, device, &lives, err) != MV_OK)
        return err->code;
    out->history = lives.history;
    out->ring = lives.ring;
    mv_text_append(out->history_why, sizeof out->history_why, "%s", lives.history_why);
    if (spans && are_known(trace, &lives, out))
        *spans = mv_spans_of(&lives);
    return MV_OK;
}

mv_code mv_digest_find(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_digest *out,
                       mv_err *err)
{
    mv_arena work;
    mv_code code;

    if (trace->digests && mv_trace_events(trace, device).count > 0) {
        *out = trace->digests[device];
        return MV_OK;
    }
    mv_arena_init(&work, arena->budget);
    code = find(&work, trace, device, out, NULL, err);
    mv_arena_release(&work);
    return code;
}

const mv_digest *mv_digests_make(mv_arena *arena, const mv_trace *trace, const mv_spans **spans,
                                 mv_err *err)
{
    mv_digest *digests = mv_push_array(arena, mv_digest, trace->device_count);
    mv_spans *found = mv_push_array(arena, mv_spans, trace->device_count);

    if (!digests || !found)
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", trace->device_count);
    for (uint32_t i = 0; digests && found && i < trace->device_count; i++)
        if ((spans ? find(arena, trace, i, &digests[i], &found[i], err)
                   : mv_digest_find(arena, trace, i, &digests[i], err)) != MV_OK)
            return NULL;
    if (spans)
        *spans = found;
    return found ? digests : NULL;
}
