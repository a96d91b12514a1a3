#include "analyze/lives/digests.h"

#include "analyze/lives/lives.h"
#include "base/text.h"

static_assert((int)MV_HISTORY_COUNT == (int)MV_DIGEST_HISTORIES, "raise MV_DIGEST_RULES");

mv_code mv_digest_find(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_digest *out,
                       mv_err *err)
{
    mv_events events = mv_trace_events(trace, device);
    mv_code code = MV_OK;
    mv_arena work;
    mv_lives lives;

    if (trace->digests && events.count > 0) {
        *out = trace->digests[device];
        return MV_OK;
    }
    mv_arena_init(&work, arena->budget);
    if (!mv_digest_events(&work, trace, &events, out))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (code == MV_OK)
        code = mv_lives_find(&work, trace, device, &lives, err);
    if (code == MV_OK) {
        out->history = lives.history;
        out->ring = lives.ring;
        mv_text_append(out->history_why, sizeof out->history_why, "%s", lives.history_why);
    }
    mv_arena_release(&work);
    return code;
}

const mv_digest *mv_digests_make(mv_arena *arena, const mv_trace *trace, mv_err *err)
{
    mv_digest *digests = mv_push_array(arena, mv_digest, trace->device_count);

    if (!digests)
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", trace->device_count);
    for (uint32_t i = 0; digests && i < trace->device_count; i++)
        if (mv_digest_find(arena, trace, i, &digests[i], err) != MV_OK)
            return NULL;
    return digests;
}
