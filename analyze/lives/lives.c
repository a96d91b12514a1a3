#include "analyze/lives/lives.h"

#include "analyze/lives/lives_sweep.h"
#include "base/names.h"
#include "base/size.h"
#include "base/text.h"

static mv_code build(mv_lives_sweep *r, mv_err *err)
{
    mv_lives *out = r->lives;

    if (!mv_lives_init(r, out->device, err))
        return err->code;
    out->events = r->ev;
    r->spans = mv_lives_spans_for(r);
    if (!mv_lives_undo(r) || !mv_lives_apply(r))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "lives of %u allocs", r->alloc_events);
    if (!mv_lives_settle(r))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "segments of the final heap");
    if (!mv_lives_history(r))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "annotations");
    return r->trace->living ? mv_lives_of_part(r, err) : MV_OK;
}

static mv_code find(mv_lives_sweep *r, uint32_t device, mv_err *err)
{
    mv_arena scratch;
    mv_code code;

    *r->lives = (mv_lives){.device = device};
    mv_arena_init(&scratch, r->arena->budget);
    r->scratch = &scratch;
    code = build(r, err);
    mv_arena_release(&scratch);
    r->scratch = NULL;
    return code;
}

mv_code mv_lives_find(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_lives *out,
                      mv_err *err)
{
    mv_lives_sweep r = {.arena = arena, .trace = trace, .lives = out};

    return find(&r, device, err);
}

mv_code mv_lives_find_ranked(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_lives *out,
                             mv_err *err)
{
    mv_address_ranks *ranks = mv_push_struct(arena, mv_address_ranks);
    mv_lives_sweep r = {.arena = arena, .trace = trace, .lives = out, .keeps_ranks = true};

    if (!ranks)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (find(&r, device, err) != MV_OK)
        return err->code;
    *ranks = r.ranks;
    out->ranks = ranks;
    return MV_OK;
}

bool mv_alloc_lives_push(mv_arena *arena, uint64_t rows, mv_alloc_lives *out)
{
    out->addr = mv_push_array(arena, uint64_t, rows);
    out->requested = mv_push_array(arena, uint64_t, rows);
    out->block = mv_push_array(arena, uint64_t, rows);
    out->stack = mv_push_array(arena, mv_stack_id, rows);
    out->birth = mv_push_array(arena, uint32_t, rows);
    out->freed = mv_push_array(arena, uint32_t, rows);
    out->completed = mv_push_array(arena, uint32_t, rows);
    out->segment = mv_push_array(arena, uint32_t, rows);
    out->inexact = mv_push_array(arena, uint8_t, rows);
    return out->addr && out->requested && out->block && out->stack && out->birth && out->freed &&
           out->completed && out->segment && out->inexact;
}

void mv_alloc_lives_copy(const mv_alloc_lives *from, uint32_t row, mv_alloc_lives *to, uint32_t as)
{
    to->addr[as] = from->addr[row];
    to->requested[as] = from->requested[row];
    to->block[as] = from->block[row];
    to->stack[as] = from->stack[row];
    to->birth[as] = from->birth[row];
    to->freed[as] = from->freed[row];
    to->completed[as] = from->completed[row];
    to->segment[as] = from->segment[row];
    to->inexact[as] = from->inexact[row];
}

bool mv_segment_lives_push(mv_arena *arena, uint64_t rows, mv_segment_lives *out)
{
    out->addr = mv_push_array(arena, uint64_t, rows);
    out->size = mv_push_array(arena, uint64_t, rows);
    out->stack = mv_push_array(arena, mv_stack_id, rows);
    out->stream = mv_push_array(arena, mv_stream_id, rows);
    out->pool = mv_push_array(arena, mv_pool_id, rows);
    out->birth = mv_push_array(arena, uint32_t, rows);
    out->death = mv_push_array(arena, uint32_t, rows);
    out->kind = mv_push_array(arena, uint8_t, rows);
    out->is_expandable = mv_push_array(arena, uint8_t, rows);
    return out->addr && out->size && out->stack && out->stream && out->pool && out->birth &&
           out->death && out->kind && out->is_expandable;
}

void mv_segment_lives_copy(const mv_segment_lives *from, uint32_t row, mv_segment_lives *to,
                           uint32_t as)
{
    to->addr[as] = from->addr[row];
    to->size[as] = from->size[row];
    to->stack[as] = from->stack[row];
    to->stream[as] = from->stream[row];
    to->pool[as] = from->pool[row];
    to->birth[as] = from->birth[row];
    to->death[as] = from->death[row];
    to->kind[as] = from->kind[row];
    to->is_expandable[as] = from->is_expandable[row];
}

MV_NAMES(mv_history_name, mv_history_kind, MV_HISTORY_LIST, MV_SECOND, "unknown")

/* "; 85 allocations ended without a free event: before that, figures may be too high". */
static const char *missing_text(mv_arena *arena, const mv_lives *lives, const char *joint)
{
    uint64_t lost = lives->doubts.lost_frees, unrequested = lives->doubts.unrequested;
    uint64_t count = lost ? lost : unrequested;

    if (count == 0)
        return "";
    return mv_arena_printf(arena, "%s%llu allocation%s %s: before that, figures may be too high",
                           joint, (unsigned long long)count, mv_plural(count),
                           lost ? "ended without a free event"
                                : "ended with only a free_completed");
}

const char *mv_residual_text(mv_arena *arena, const mv_lives *lives)
{
    int64_t residual = lives->doubts.residual;
    const char *missing = missing_text(arena, lives, residual ? "; " : "");
    char size[MV_SIZE_TEXT];

    if (residual == 0 || !missing)
        return missing;
    return mv_arena_printf(
        arena, "the final heap holds %s %s than the events account for%s",
        mv_size_text(size, residual < 0 ? 0 - (uint64_t)residual : (uint64_t)residual),
        residual < 0 ? "less" : "more", missing);
}
