#include "analyze/lives/lives.h"

#include "analyze/lives/lives_sweep.h"
#include "base/names.h"
#include "base/size.h"
#include "base/text.h"

struct mv_lives_search {
    mv_arena scratch;
    mv_lives_sweep sweep;
    mv_address_search *addresses; /* NULL once the addresses are found */
    enum { ADDRESSES, UNDO, BEGIN, APPLY, SETTLE, HISTORY } piece;
};

static mv_code fail(const mv_lives_search *s, mv_err *err)
{
    static const char *const texts[] = {[UNDO] = "addresses",
                                        [BEGIN] = "lives",
                                        [APPLY] = "lives",
                                        [SETTLE] = "segments of the final heap",
                                        [HISTORY] = "annotations"};

    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s of device %u", texts[s->piece],
                   s->sweep.lives->device);
}

static void end_addresses(mv_lives_search *s)
{
    if (s->addresses)
        mv_address_search_end(s->addresses);
    s->addresses = NULL;
}

static bool undo(mv_lives_sweep *r)
{
    if (!mv_lives_init(r))
        return false;
    r->spans = mv_lives_spans_for(r);
    mv_lives_undo(r);
    return true;
}

static bool keep_ranks(mv_lives_sweep *r)
{
    mv_address_ranks *ranks = mv_push_struct(r->arena, mv_address_ranks);

    if (ranks)
        *ranks = r->ranks;
    r->lives->ranks = ranks;
    return ranks != NULL;
}

mv_code mv_lives_search_some(mv_lives_search *s, uint32_t events, bool *again, mv_err *err)
{
    mv_lives_sweep *r = &s->sweep;
    bool is_unfinished = false, has_memory = true;

    *again = s->piece != HISTORY;
    switch (s->piece) {
    case ADDRESSES:
        if (mv_address_search_some(s->addresses, events, &is_unfinished, err) != MV_OK)
            return err->code;
        if (!is_unfinished)
            end_addresses(s);
        break;
    case UNDO:
        has_memory = undo(r);
        break;
    case BEGIN:
        has_memory = mv_lives_begin_apply(r);
        break;
    case APPLY:
        has_memory = mv_lives_apply_some(r, events, &is_unfinished);
        break;
    case SETTLE:
        has_memory = mv_lives_settle(r);
        break;
    default:
        has_memory = mv_lives_history(r) && (!r->keeps_ranks || keep_ranks(r));
        if (has_memory && r->trace->living && mv_lives_of_part(r, err) != MV_OK)
            return err->code;
    }
    if (!has_memory)
        return fail(s, err);
    s->piece += *again && !is_unfinished;
    return MV_OK;
}

static mv_lives_search *begin(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              bool keeps_ranks, mv_lives *out)
{
    mv_arena scratch;
    mv_lives_search *s;

    *out = (mv_lives){.device = device};
    mv_arena_init(&scratch, arena->budget);
    s = mv_push_struct(&scratch, mv_lives_search);
    if (!s)
        return NULL;
    *s = (mv_lives_search){
        .scratch = scratch,
        .sweep = {.arena = arena, .trace = trace, .lives = out, .keeps_ranks = keeps_ranks}};
    s->sweep.scratch = &s->scratch;
    s->addresses =
        mv_address_search_begin(keeps_ranks ? arena : &s->scratch, trace, device, &s->sweep.ranks);
    if (s->addresses)
        return s;
    mv_lives_search_end(s);
    return NULL;
}

mv_lives_search *mv_lives_search_begin(mv_arena *arena, const mv_trace *trace, uint32_t device,
                                       mv_lives *out)
{
    return begin(arena, trace, device, true, out);
}

void mv_lives_search_end(mv_lives_search *s)
{
    mv_arena scratch = s->scratch; /* the search `s` itself is allocated in this arena */

    end_addresses(s);
    mv_arena_release(&scratch);
}

static mv_code find(mv_arena *arena, const mv_trace *trace, uint32_t device, bool keeps_ranks,
                    mv_lives *out, mv_err *err)
{
    mv_lives_search *s = begin(arena, trace, device, keeps_ranks, out);
    mv_code code = MV_OK;

    if (!s)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "lives of device %u", device);
    for (bool again = true; again && code == MV_OK;)
        code = mv_lives_search_some(s, UINT32_MAX, &again, err);
    mv_lives_search_end(s);
    return code;
}

mv_code mv_lives_find(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_lives *out,
                      mv_err *err)
{
    return find(arena, trace, device, false, out, err);
}

mv_code mv_lives_find_ranked(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_lives *out,
                             mv_err *err)
{
    return find(arena, trace, device, true, out, err);
}

bool mv_alloc_lives_push(mv_arena *arena, uint64_t rows, mv_alloc_lives *out)
{
    out->addr = mv_push_unset(arena, uint64_t, rows);
    return out->addr && mv_alloc_lives_push_rest(arena, rows, out);
}

bool mv_alloc_lives_push_rest(mv_arena *arena, uint64_t rows, mv_alloc_lives *out)
{
    out->requested = mv_push_unset(arena, uint64_t, rows);
    out->block = mv_push_unset(arena, uint64_t, rows);
    out->stack = mv_push_unset(arena, mv_stack_id, rows);
    out->birth = mv_push_unset(arena, uint32_t, rows);
    out->freed = mv_push_unset(arena, uint32_t, rows);
    out->completed = mv_push_unset(arena, uint32_t, rows);
    out->segment = mv_push_unset(arena, uint32_t, rows);
    out->inexact = mv_push_unset(arena, uint8_t, rows);
    return out->requested && out->block && out->stack && out->birth && out->freed &&
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

/* Returns "; 85 allocations ended without a free event: before that, figures may be too high". */
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
