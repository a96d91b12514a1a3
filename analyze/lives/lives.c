#include "analyze/lives/lives.h"

#include "analyze/lives/lives_sweep.h"

static mv_code build(mv_lives_sweep *r, mv_err *err)
{
    mv_lives *out = r->lives;

    if (!mv_lives_init(r, out->device, err))
        return err->code;
    out->events = r->ev;
    mv_lives_undo(r);
    if (!mv_lives_apply(r))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "lives of %u allocs", r->alloc_events);
    mv_lives_settle(r);
    if (!mv_lives_history(r))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "annotations");
    return MV_OK;
}

mv_code mv_lives_find(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_lives *out,
                      mv_err *err)
{
    mv_arena scratch;
    mv_lives_sweep r = {.arena = arena, .scratch = &scratch, .trace = trace, .lives = out};
    mv_code code;

    *out = (mv_lives){.device = device};
    mv_arena_init(&scratch, arena->budget);
    code = build(&r, err);
    mv_arena_release(&scratch);
    return code;
}

const char *mv_history_name(mv_history_kind kind)
{
    static const char *const names[] = {
#define MV_HISTORY_NAME(name, text) text,
        MV_HISTORY_LIST(MV_HISTORY_NAME)
#undef MV_HISTORY_NAME
    };

    return kind < MV_HISTORY_COUNT ? names[kind] : "unknown";
}
