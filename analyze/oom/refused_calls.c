#include "analyze/oom/refused_calls.h"

#include <stdio.h>

#include "analyze/ledger/ledger.h"
#include "analyze/levels/levels.h"
#include "analyze/oom/oom_words.h"
#include "analyze/steps/low_points.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"
#include "parse/model/event_times.h"
#include "parse/model/shared_memory.h"

enum { OUT_OF_MEMORY = 2, SHARE_OF_OTHERS = 20 };

#define LEAST_OF_OTHERS ((uint64_t)2 << 30)

typedef struct {
    mv_arena *arena;
    const mv_trace *read;
    uint32_t device;
    mv_events events; /* the events of the trace's level of calls */
    mv_window window;
    mv_ooms *out;
} listing;

typedef struct {
    mv_arena *arena;
    const mv_trace *read;
    const mv_lives *lives; /* the lives of the trace's level of calls */
    const mv_sites *sites;
} search;

/* ---- which calls ------------------------------------------------------------------------- */

static bool requests_memory(const listing *l, uint32_t call)
{
    const mv_api_calls *c = &l->read->api_calls;

    return c->device[call] == (int32_t)l->device && mv_is_device_alloc(c->action[call]);
}

/* Whether the next call of the same library replaces a refused call. */
static bool is_replaced_by(const mv_api_calls *c, uint32_t refused, uint32_t next)
{
    if (c->size[next] == c->size[refused])
        return true; /* if the next call is refused, too, it is listed instead */
    return c->size[next] < c->size[refused] && c->stack[next].row == c->stack[refused].row &&
           c->stack[next].row != MV_NO_ROW;
}

static void add(listing *l, uint32_t call)
{
    const mv_api_calls *c = &l->read->api_calls;

    l->out->ooms[l->out->count++] = (mv_oom){.event = mv_event_after(&l->events, c->time_us[call]),
                                             .api_call = call,
                                             .time_us = c->time_us[call],
                                             .stack = c->stack[call],
                                             .requested = c->size[call],
                                             .segment = c->size[call],
                                             .device_free = MV_NO_BYTES};
}

/* Puts the failures, which were listed from the last to the first, in order, numbers them, and
 * keeps those in the window. */
static void put_in_order(listing *l)
{
    mv_ooms *out = l->out;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < out->count / 2; i++) {
        mv_oom swapped = out->ooms[i];
        out->ooms[i] = out->ooms[out->count - 1 - i];
        out->ooms[out->count - 1 - i] = swapped;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        out->ooms[i].number = i + 1;
        if (out->ooms[i].event >= l->window.first && out->ooms[i].event <= l->window.end)
            out->ooms[kept++] = out->ooms[i];
    }
    out->count = kept;
}

/* Lists the refused calls from the last to the first, so that the next call of the same library is
 * always known. */
static bool list_calls(listing *l)
{
    const mv_api_calls *c = &l->read->api_calls;
    uint64_t libraries = (uint64_t)l->read->strings.count + 1;
    uint32_t *next_of, refused = 0;
    mv_arena scratch;

    for (uint32_t i = 0; i < c->count; i++)
        refused += c->result[i] == OUT_OF_MEMORY;
    mv_arena_init(&scratch, l->arena->budget);
    next_of = mv_push_array(&scratch, uint32_t, libraries);
    l->out->ooms = mv_push_array(l->arena, mv_oom, refused);
    for (uint32_t i = c->count; next_of && l->out->ooms && refused && i-- > 0;) {
        uint32_t library = c->library[i].row, *next;
        if (!requests_memory(l, i))
            continue;
        next = &next_of[library < libraries - 1 ? library : libraries - 1];
        if (c->result[i] == OUT_OF_MEMORY && (*next == 0 || !is_replaced_by(c, i, *next - 1)))
            add(l, i);
        *next = i + 1;
    }
    put_in_order(l);
    mv_arena_release(&scratch);
    return next_of && l->out->ooms;
}

/* ---- holders at a failure ---------------------------------------------------------------- */

static bool list_holders(search *s, mv_oom *o)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t before = mv_oom_moment(o), *row_of, alive = 0;
    mv_arena scratch;

    for (uint32_t i = 0; i < a->count; i++)
        alive += mv_alloc_is_allocated(s->lives, i, before);
    mv_arena_init(&scratch, s->arena->budget);
    row_of = mv_push_array(&scratch, uint32_t, s->sites->groups);
    o->holders =
        mv_push_array(s->arena, mv_pin, alive < s->sites->groups ? alive : s->sites->groups);
    /* backwards, so that the stack is that of the latest of equally large blocks */
    for (uint32_t i = a->count; row_of && o->holders && i-- > 0;) {
        uint32_t group = s->sites->group[mv_site_of(s->sites, a->stack[i])];
        if (!mv_alloc_is_allocated(s->lives, i, before))
            continue;
        if (row_of[group] == 0) {
            row_of[group] = ++o->holder_count;
            o->holders[o->holder_count - 1] = (mv_pin){.group = group};
        }
        mv_pin_add(&o->holders[row_of[group] - 1], a, i, a->block[i]);
    }
    if (row_of && o->holders)
        mv_sort_rows(&scratch, o->holders, o->holder_count, MV_FALLING(mv_pin, bytes),
                     MV_RISING(mv_pin, group));
    mv_arena_release(&scratch);
    return row_of && o->holders;
}

static mv_oom_verdict evaluate(const mv_oom *o)
{
    if (o->device_free == MV_NO_BYTES || o->device_free >= o->requested)
        return MV_OOM_UNKNOWN;
    return o->outside >= LEAST_OF_OTHERS && o->outside >= o->total / SHARE_OF_OTHERS &&
                   o->outside >= o->requested - o->device_free
               ? MV_OOM_OTHERS
               : MV_OOM_CAPACITY;
}

static bool write_why(search *s, mv_oom *o, const mv_ledger *ledger)
{
    char asked[MV_SIZE_TEXT], left[MV_SIZE_TEXT], outside[MV_SIZE_TEXT], total[MV_SIZE_TEXT];

    mv_size_text(asked, o->requested);
    mv_size_text(outside, o->outside);
    mv_size_text(total, o->total);
    if (o->device_free == MV_NO_BYTES) {
        o->why = mv_arena_printf(s->arena,
                                 "%s was refused; how much the device had left is unknown: the "
                                 "file has no samples of it; this process: %s",
                                 asked, ledger->verdict);
        o->advice = mv_shares_memory(s->read)
                        ? "the device uses the host's memory: free -h shows how much programs hold "
                          "and how much the page cache could release"
                        : "record with memviz run where NVML is installed, or check in nvidia-smi "
                          "which other processes use the device";
        return o->why != NULL;
    }
    mv_size_text(left, o->device_free);
    o->why = mv_arena_printf(
        s->arena, "%s was refused; the device had %s left of %s, others used %s; this process: %s",
        asked, left, total, outside, ledger->verdict);
    if (o->verdict == MV_OOM_CAPACITY)
        o->advice = "use less memory, or a larger device: start with the largest holder";
    else if (o->verdict == MV_OOM_OTHERS)
        o->advice = mv_arena_printf(
            s->arena,
            "others on the device use %s, enough for the request: stop them, or use another device",
            outside);
    else
        o->advice = "the device had room for it when it was sampled: look for a limit (MIG, MPS, a "
                    "memory pool), or for memory that other programs took briefly";
    return o->why && o->advice;
}

static mv_code look_at(search *s, const mv_lives *read_lives, mv_oom *o, mv_err *err)
{
    mv_ledger_query ask = {MV_LEDGER_AFTER, o->api_call + 1, 0, o->time_us};
    mv_ledger ledger;

    if (mv_ledger_find(s->arena, s->read, read_lives, ask, &ledger, err) != MV_OK)
        return err->code;
    o->bytes.reserved = o->bytes.allocated = ledger.by_sum;
    if (ledger.used != MV_NO_BYTES && ledger.others != MV_NO_BYTES) {
        uint64_t in_use = ledger.used + ledger.others;
        o->total = ledger.total;
        o->total_source = MV_TOTAL_SAMPLED;
        o->outside = ledger.others;
        o->device_free = in_use < ledger.total ? ledger.total - in_use : 0;
    }
    o->refused_by = o->device_free == MV_NO_BYTES  ? MV_REFUSED_UNKNOWN
                    : o->device_free >= o->segment ? MV_REFUSED_LIMIT
                                                   : MV_REFUSED_DEVICE;
    o->outlook.limit = o->outlook.limit_least = o->outlook.limit_most = ledger.by_sum;
    if (o->device_free != MV_NO_BYTES)
        o->outlook.limit = o->outlook.limit_least = o->outlook.limit_most += o->device_free;
    o->outlook.margin = (int64_t)(o->outlook.limit - ledger.by_sum - o->requested);
    o->verdict = evaluate(o);
    o->decided_by = MV_OOM_BY_FIGURES;
    o->enough = "";
    o->detailed = true;
    o->change.biggest = MV_NO_ROW;
    if (o->verdict != MV_OOM_UNKNOWN)
        o->change.smaller_by = o->change.more_memory = o->requested - o->device_free;
    if (!write_why(s, o, &ledger) || !list_holders(s, o))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "refused calls");
    return MV_OK;
}

mv_code mv_refused_calls_find(mv_arena *arena, const mv_trace *read, const mv_lives *lives,
                              const mv_sites *sites, mv_window window, mv_ooms *out, mv_err *err)
{
    listing l = {arena, read, lives->device, lives->events, window, out};
    search s = {arena, read, lives, sites};
    mv_lives read_lives;

    *out = (mv_ooms){.why = "", .retried = "", .collecting = "", .unlooked = ""};
    if (mv_lives_find(arena, read, lives->device, &read_lives, err) != MV_OK)
        return err->code;
    if (!list_calls(&l))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "refused calls");
    for (uint32_t i = 0; i < out->count && i < MV_MOST_OOM_DETAILS; i++)
        if (look_at(&s, &read_lives, &out->ooms[i], err) != MV_OK)
            return err->code;
    for (uint32_t i = MV_MOST_OOM_DETAILS; i < out->count; i++) {
        out->ooms[i].verdict = MV_OOM_UNKNOWN;
        out->ooms[i].why = "refused like the earlier ones; only the first are examined in detail";
        out->ooms[i].advice = "look at the first failure";
        out->ooms[i].enough = "";
    }
    return mv_ooms_words(arena, lives, window, out)
               ? MV_OK
               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "refused calls");
}

bool mv_ooms_are_of_calls(const mv_trace *trace)
{
    const char *level = trace->origin.level;

    return level && strcmp(level, mv_level_name(MV_LEVEL_CUDA)) == 0 &&
           mv_level_default(mv_trace_as_read(trace)) != MV_LEVEL_PYTORCH;
}

/* ---- moments of failures ----------------------------------------------------------------- */

static bool find_failure(mv_budget *budget, const mv_trace *trace, uint32_t device,
                         mv_window window, uint32_t number, mv_oom *out, char *why,
                         uint32_t why_size)
{
    mv_ooms found = {0};
    mv_arena scratch;
    listing l = {&scratch, mv_trace_as_read(trace), device, mv_trace_events(trace, device), window,
                 &found};
    bool is_listed;

    mv_arena_init(&scratch, budget);
    is_listed = list_calls(&l);
    if (is_listed && number <= found.count)
        *out = found.ooms[number - 1];
    mv_arena_release(&scratch);
    if (!is_listed)
        snprintf(why, why_size, "%s", mv_code_text(MV_NOMEM));
    return is_listed && number <= found.count;
}

bool mv_refused_call_read(mv_budget *budget, const mv_trace *trace, uint32_t device, const char *at,
                          mv_window window, mv_oom *out, char *why, uint32_t why_size)
{
    uint64_t number = mv_moment_oom_number(at);

    window = mv_window_cut(window, mv_trace_events(trace, device).count);
    return number > 0 && number <= UINT32_MAX && mv_ooms_are_of_calls(trace) &&
           find_failure(budget, trace, device, window, (uint32_t)number, out, why, why_size);
}

bool mv_failure_moment_read(mv_budget *budget, const mv_trace *trace, uint32_t device,
                            const char *at, mv_window window, mv_moment_query *out, char *why,
                            uint32_t why_size)
{
    mv_oom oom = {0};
    uint64_t low;

    if (mv_moment_is_low(at, &low)) {
        window = mv_window_cut(window, mv_trace_events(trace, device).count);
        *out = (mv_moment_query){.window = window};
        return mv_low_point_read(budget, trace, device, low, window.first, window.end, &out->event,
                                 why, why_size);
    }
    if (mv_moment_read(trace, device, at, window, out, why, why_size))
        return true;
    if (!mv_refused_call_read(budget, trace, device, at, window, &oom, why, why_size))
        return false;
    out->event = mv_oom_moment(&oom);
    return true;
}
