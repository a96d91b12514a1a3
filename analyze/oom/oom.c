#include "analyze/oom/oom.h"

#include "analyze/code/stack_marks.h"
#include "analyze/events/same_call.h"
#include "analyze/heap/segment_growth.h"
#include "analyze/oom/oom_failures.h"
#include "analyze/oom/oom_outlook.h"
#include "analyze/oom/oom_words.h"
#include "analyze/oom/request_pool.h"
#include "analyze/replay/alloc_conf.h"
#include "analyze/steps/step_ranges.h"
#include "base/names.h"
#include "base/search.h"
#include "base/sort.h"
#include "parse/model/shared_memory.h"

#define MIB ((uint64_t)1 << 20)

/* The total memory that cudaMemGetInfo reports for common GPUs of 4 to 288 GB, in MiB, rounded
 * up. */
static const uint32_t common_totals[] = {
    4096,  6144,  8192,  10240, 11264, 12288, 15360,  16384,  20480,  22732,  24576,  32768,
    40960, 46068, 49152, 65536, 81559, 97871, 143771, 183359, 196608, 262144, 275040, 294912};

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    mv_block_rules rules;
    mv_heap heap;
    mv_request_pools pools;
    uint64_t most_reserved; /* largest number of bytes that were within a limit so far */
    uint64_t least_refused; /* lowest level that a limit of the process refused; UINT64_MAX: none */
    uint64_t most_seen;     /* largest number of bytes reserved and free together at any failure */
    bool has_call_ids;      /* mv_calls_have_ids */
    uint32_t release;       /* last release event of the current call that releases memory, or
                             * MV_NO_ROW */
    uint64_t held;          /* bytes reserved before that call */
    uint64_t page;          /* bytes of a large page of an expandable segment */
    uint64_t grown;    /* bytes reserved before the maps of the current call; UINT64_MAX: none */
    uint32_t maps_end; /* the event after these maps */
    bool collects;     /* segments may also be released because of garbage_collection_threshold */
    uint64_t *most;    /* [events] largest number of bytes allocated so far */
    mv_oom_prospect prospect;
    bool only_last; /* only the last failure is evaluated; for the others, only the figures are
                     * computed */
    mv_ooms *out;
} oom_state;

MV_NAMES(mv_oom_verdict_name, mv_oom_verdict, MV_OOM_VERDICT_LIST, MV_SECOND, "unknown")

const char *mv_oom_refuser_name(mv_oom_refuser refuser)
{
    static const char *const refusers[] = {"unknown", "device", "limit"};

    return refusers[refuser];
}

uint64_t mv_oom_likely_total(uint64_t bytes)
{
    for (uint32_t i = 0; i < sizeof common_totals / sizeof *common_totals; i++)
        if (common_totals[i] * MIB >= bytes)
            return common_totals[i] * MIB;
    return 0;
}

/* ---- figures ----------------------------------------------------------------------------- */

static mv_pool_id pool_of(const oom_state *t, const mv_oom *o)
{
    return o->api_call != MV_NO_ROW
               ? MV_DEFAULT_POOL
               : mv_domain_pool(mv_request_pool(&t->pools, t->trace, t->lives, o->event));
}

static uint32_t domain_of(const oom_state *t, const mv_oom *o)
{
    const mv_events *ev = &t->lives->events;
    bool is_small = o->requested <= MV_SMALL_REQUEST ||
                    (o->api_call != MV_NO_ROW && o->segment == MV_SMALL_SEGMENT);
    uint8_t kind = is_small ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;

    if (o->api_call != MV_NO_ROW)
        return mv_domain_of(&t->heap.domains, kind, MV_DEFAULT_POOL, (mv_stream_id){0});
    return mv_domain_of(&t->heap.domains, kind, pool_of(t, o), ev->stream[o->event]);
}

/* Returns the free bytes that the request's pool could use. The free memory of a private pool is
 * available only to that pool, because a CUDA graph uses it at each replay. */
static uint64_t free_of_pool(const oom_state *t, const mv_oom *o)
{
    const mv_domains *d = &t->heap.domains;
    mv_pool_id pool = pool_of(t, o);
    uint64_t free = 0;

    for (uint32_t i = 0; i < d->count; i++)
        if (mv_domain_pool(d->pool[i]).row == pool.row)
            free += t->heap.now.free[i];
    return free;
}

/* Returns the bytes that the device must provide. An expandable segment grows by whole pages,
 * although a limit of the process is compared with the size of an ordinary segment. */
static uint64_t mapped_for(const oom_state *t, const mv_oom *o)
{
    if (!t->rules.expandable || o->api_call != MV_NO_ROW || o->requested <= MV_SMALL_REQUEST)
        return o->segment;
    return (o->requested + t->page - 1) / t->page * t->page;
}

/* Returns the largest size of a block that is not larger than `bytes`. */
static uint64_t round_down(const mv_block_rules *rules, uint64_t bytes)
{
    mv_bisect b = mv_bisect_over(0, bytes);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, mv_round_request(rules, b.middle + 1) <= bytes);
    return b.low ? mv_round_request(rules, b.low) : 0;
}

/* Returns the largest smaller request of the same kind that the largest hole or the device, or the
 * limit, would have served; 0: none. */
static uint64_t largest_that_fits(const oom_state *t, const mv_oom *o)
{
    uint64_t available = mv_oom_unreserved(o, o->outlook.limit_least);
    bool is_mapped = t->rules.expandable && o->refused_by != MV_REFUSED_LIMIT;
    uint64_t unit = is_mapped ? t->page : MV_SMALL_SEGMENT, hole, segment;

    if (o->api_call != MV_NO_ROW)
        return o->largest_hole > available ? o->largest_hole : available;
    hole = round_down(&t->rules, o->largest_hole);
    if (o->requested > MV_SMALL_REQUEST &&
        (hole <= MV_SMALL_REQUEST ||
         (hole < t->rules.max_split && o->largest_hole >= t->rules.max_split)))
        hole = 0;
    segment = round_down(&t->rules, available / unit * unit);
    if (segment <= MV_SMALL_REQUEST || mv_segment_size_for(segment) > available ||
        segment >= o->requested) /* a request of 5 MiB needs more than one of 18 MiB */
        segment = 0;
    return hole > segment ? hole : segment;
}

static void measure(oom_state *t, mv_oom *o, uint32_t domain)
{
    o->bytes = mv_heap_total(&t->heap);
    if (domain != MV_NO_ROW) {
        o->usable = mv_heap_domain(&t->heap, domain).free;
        o->largest_hole = mv_holes_largest(&t->heap.now, (mv_domain_span){domain, domain + 1});
    }
    o->joinable = free_of_pool(t, o);
    o->refused_by = o->device_free == MV_NO_BYTES        ? MV_REFUSED_UNKNOWN
                    : o->device_free >= mapped_for(t, o) ? MV_REFUSED_LIMIT
                                                         : MV_REFUSED_DEVICE;
    if (o->refused_by == MV_REFUSED_DEVICE)
        o->segment = mapped_for(t, o);
}

/* Finds the bytes used outside PyTorch, computed from the device's size, either as reported by the
 * device or as the size of the smallest GPU that could hold the bytes of every failure. Host memory
 * that is not free may be page cache, so it is not counted. */
static void find_outside(const oom_state *t, mv_oom *o)
{
    uint64_t held = o->bytes.reserved;

    if (o->device_free == MV_NO_BYTES || mv_shares_memory(t->trace))
        return;
    held += o->device_free;
    if (o->total == 0) {
        o->total = mv_oom_likely_total(t->most_seen);
        o->total_source = o->total ? MV_TOTAL_GUESSED : MV_TOTAL_UNKNOWN;
    }
    o->outside = o->total > held ? o->total - held : 0;
}

/* Finds the limit. If the process has a limit, PyTorch could reserve at least as much as it has
 * reserved so far, and less than it would have reserved for this request. Otherwise the limit is
 * the reserved memory plus the memory left on the device. */
static void find_limit(oom_state *t, mv_oom *o)
{
    mv_oom_outlook *out = &o->outlook;
    uint64_t held = o->bytes.reserved;

    if (o->refused_by == MV_REFUSED_LIMIT) {
        out->limit_least = t->most_reserved;
        out->limit_most = held + o->segment - 1;
        if (t->least_refused < out->limit_most)
            out->limit_most = t->least_refused;
        t->least_refused = out->limit_most;
        if (out->limit_most < out->limit_least) /* the limit was lowered */
            out->limit_least = held;
    } else {
        out->limit_least = held + (o->device_free == MV_NO_BYTES ? 0 : o->device_free);
        out->limit_most = out->limit_least;
    }
    out->limit = out->limit_least + (out->limit_most - out->limit_least) / 2;
    out->margin = (int64_t)(out->limit - held + o->joinable - o->requested);
    out->margin_least = (int64_t)(out->limit_least - held + o->joinable - o->requested);
    out->margin_most = (int64_t)(out->limit_most - held + o->joinable - o->requested);
}

const mv_oom_outlook *mv_ooms_last_limit(const mv_ooms *ooms)
{
    for (uint32_t i = ooms->count; i-- > 0;)
        if (ooms->ooms[i].device_free != MV_NO_BYTES)
            return &ooms->ooms[i].outlook;
    return NULL;
}

/* ---- details ----------------------------------------------------------------------------- */

static void hold(oom_state *t, mv_oom *o, uint32_t *row_of, uint32_t row, uint64_t size)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    uint32_t group = t->sites->group[mv_site_of(t->sites, a->stack[row])];

    if (row_of[group] == 0) {
        row_of[group] = ++o->holder_count;
        o->holders[row_of[group] - 1] = (mv_pin){.group = group};
    }
    mv_pin_add(&o->holders[row_of[group] - 1], a, row, size);
}

/* Adds up all pieces in use, by line. */
static bool list_holders(oom_state *t, mv_arena *scratch, const mv_heap_map *map, mv_oom *o)
{
    uint32_t groups = t->sites->groups, pieces = map->first_piece[map->count];
    uint32_t *row_of = mv_push_array(scratch, uint32_t, groups);

    o->holders = mv_push_array(t->arena, mv_pin, groups < pieces ? groups : pieces);
    if (!row_of || !o->holders)
        return false;
    for (uint32_t i = 0; i < pieces; i++)
        if (map->piece_row[i] != MV_NO_ROW)
            hold(t, o, row_of, map->piece_row[i], map->piece_size[i]);
    mv_sort_rows(scratch, o->holders, o->holder_count, MV_FALLING(mv_pin, bytes),
                 MV_RISING(mv_pin, group));
    return true;
}

static mv_code detail(oom_state *t, const mv_oom_case *this_case, mv_oom *o, mv_err *err)
{
    uint32_t domain = this_case->domain;
    uint64_t least = o->outlook.limit_least, held = o->bytes.reserved;
    mv_oom_need need = {domain, o->requested, o->segment + (held > least ? held - least : 0),
                        mv_oom_unreserved(o, least), largest_that_fits(t, o)};
    mv_arena scratch;
    mv_heap_map map;
    mv_code code;

    mv_arena_init(&scratch, t->arena->budget);
    code = mv_heap_map_make(&scratch, &t->heap, &map, err);
    if (code == MV_OK && domain != MV_NO_ROW)
        code = mv_pins_find(t->arena, &t->heap, &map, t->sites, domain, &o->pins, err);
    if (code == MV_OK && !list_holders(t, &scratch, &map, o))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "who holds memory");
    if (code == MV_OK)
        code = mv_oom_change_find(t->arena, &t->heap, &map, need, &o->change, err);
    if (code == MV_OK && !mv_oom_change_words(this_case, o))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "what would have been enough");
    mv_arena_release(&scratch);
    o->detailed = code == MV_OK;
    return code;
}

/* ---- all failures ------------------------------------------------------------------------ */

static bool is_tried(const oom_state *t, uint32_t index)
{
    uint64_t events = t->lives->events.count;

    return index < MV_MOST_OOM_TRIALS || index + 1 == t->out->count ||
           (index + 1) * events <= MV_MOST_OOM_EVENTS(events);
}

static mv_code try_all(oom_state *t, mv_arena *scratch, mv_oom *o, uint32_t index, mv_err *err)
{
    bool tried = is_tried(t, index);
    mv_steps steps = t->prospect.steps;
    mv_code code = MV_OK;

    if (tried)
        code = mv_oom_find_leak(&t->prospect, o, &steps, err);
    if (code == MV_OK && (tried || index < MV_MOST_OOM_DETAILS))
        code = mv_oom_forecast(&t->prospect, scratch, &steps, o, err);
    if (code == MV_OK && tried)
        code = mv_oom_try_expandable(&t->prospect, o, err);
    if (code == MV_OK && tried && o->suspect == MV_OOM_STREAM_OR_POOL)
        code = mv_oom_try_joined(&t->prospect, o, err);
    t->out->untried += !tried;
    return code;
}

static mv_code find_outlook(oom_state *t, mv_oom *o, uint32_t index, mv_err *err)
{
    mv_arena scratch;
    mv_code code;

    t->prospect.most_reserved = t->most_reserved;
    mv_arena_init(&scratch, t->arena->budget);
    code = try_all(t, &scratch, o, index, err);
    o->outlook.forecast.next = NULL;
    mv_arena_release(&scratch);
    return code;
}

/* Finds the memory that PyTorch could have returned to the device. It returns all of it before a
 * request fails, except during the capture of a CUDA graph. */
static mv_code find_unused(const oom_state *t, mv_oom *o, mv_err *err)
{
    const mv_segment_lives *s = &t->lives->segments;
    mv_arena scratch;
    mv_heap_map map;
    mv_code code;

    mv_arena_init(&scratch, t->arena->budget);
    code = mv_heap_map_make(&scratch, &t->heap, &map, err);
    for (uint32_t i = 0; code == MV_OK && i < map.count; i++)
        if (s->pool[map.segment[i]].row == MV_DEFAULT_POOL.row)
            o->unused += map.whole[i];
    mv_arena_release(&scratch);
    return code;
}

static mv_code evaluate_one(oom_state *t, uint32_t index, mv_err *err)
{
    mv_oom *o = &t->out->ooms[index];
    uint32_t domain = domain_of(t, o);
    mv_oom_case this_case = {t->arena, t->trace, t->sites, &t->heap, &t->rules, domain};
    mv_code code;

    measure(t, o, domain);
    find_limit(t, o);
    find_outside(t, o);
    if (t->only_last && index + 1 < t->out->count)
        return MV_OK;
    mv_oom_suspect(&this_case, o);
    code = find_outlook(t, o, index, err);
    if (code != MV_OK)
        return code;
    mv_oom_evaluate(&this_case, o);
    if (o->verdict == MV_OOM_STREAM_OR_POOL && index < MV_MOST_OOM_DETAILS &&
        find_unused(t, o, err) != MV_OK)
        return err->code;
    if (!mv_oom_words(&this_case, o))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "out-of-memory events");
    return index < MV_MOST_OOM_DETAILS && !t->only_last ? detail(t, &this_case, o, err) : MV_OK;
}

/* Returns the size of the ordinary segment for the request that a segment event serves; 0: another
 * event, or a request that failed. */
static uint64_t segment_of(oom_state *t, uint32_t event)
{
    const mv_events *ev = &t->lives->events;
    uint32_t row = MV_NO_ROW;

    if (ev->action[event] == MV_ACTION_SEGMENT_ALLOC)
        return ev->size[event];
    if (ev->action[event] != MV_ACTION_SEGMENT_MAP)
        return 0;
    if (event >= t->maps_end)
        t->maps_end = event;
    while (t->maps_end < ev->count && ev->action[t->maps_end] == MV_ACTION_SEGMENT_MAP)
        t->maps_end++;
    if (t->maps_end < ev->count && ev->action[t->maps_end] == MV_ACTION_ALLOC)
        row = t->lives->alloc_of[t->maps_end];
    return row == MV_NO_ROW ? 0 : mv_segment_size_for(t->lives->allocs.block[row]);
}

/* Records the level at which a segment was first refused, if the segment was added only after
 * memory had been released. */
static void note_refusal(oom_state *t, uint32_t event, uint64_t held_before)
{
    const mv_events *ev = &t->lives->events;
    uint8_t action = ev->action[event];

    if (action == MV_ACTION_SEGMENT_FREE || action == MV_ACTION_SEGMENT_UNMAP) {
        if (t->release == MV_NO_ROW || !mv_is_same_call(ev, t->has_call_ids, t->release, event))
            t->held = held_before;
        t->release = event;
    } else if (action != MV_ACTION_FREE_COMPLETED) {
        uint64_t segment = segment_of(t, event);
        if (t->release != MV_NO_ROW && !t->collects &&
            mv_is_same_call(ev, t->has_call_ids, t->release, event) && segment &&
            t->held + segment <= t->least_refused)
            t->least_refused = t->held + segment - 1;
        t->release = MV_NO_ROW;
    }
}

/* Raises the memory that was certainly within a limit. PyTorch compares the limit with the size of
 * an ordinary segment, so whole pages of an expandable segment may exceed it. A refused level that
 * is exceeded later is no longer in force. */
static void note_reserved(oom_state *t, uint32_t event, uint64_t held_before)
{
    const mv_events *ev = &t->lives->events;
    uint64_t reserved = t->heap.all.reserved;

    if (ev->action[event] == MV_ACTION_SEGMENT_MAP) {
        uint64_t segment = segment_of(t, event);
        if (t->grown == UINT64_MAX)
            t->grown = held_before;
        if (segment == 0)
            reserved = held_before;
        else if (t->grown + segment < reserved)
            reserved = t->grown + segment;
    } else {
        t->grown = UINT64_MAX;
        if (reserved <= held_before)
            return;
    }
    if (reserved > t->most_reserved)
        t->most_reserved = reserved;
    if (reserved > t->least_refused)
        t->least_refused = UINT64_MAX;
}

static void advance(oom_state *t, uint32_t event)
{
    while (event != MV_BEFORE && (t->heap.event == MV_BEFORE || t->heap.event < event)) {
        uint32_t last = t->heap.event;
        uint64_t held = t->heap.all.reserved;
        uint64_t most = last == MV_BEFORE ? t->heap.all.allocated : t->most[last];
        if (!mv_heap_next(&t->heap))
            return;
        t->most[t->heap.event] = t->heap.all.allocated > most ? t->heap.all.allocated : most;
        note_refusal(t, t->heap.event, held);
        note_reserved(t, t->heap.event, held);
    }
}

/* Makes the heap before the first event. The sizes of holes are sorted only if max_split_size_mb is
 * set, because only then does the smallest hole that fits matter. */
static mv_code start_heap(oom_state *t, mv_arena *scratch, mv_err *err)
{
    mv_code code = mv_heap_init(scratch, t->trace, t->lives, &t->heap, err);

    if (code == MV_OK && t->rules.max_split != UINT64_MAX &&
        !mv_holes_order_sizes(scratch, &t->heap.now))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the sizes of holes");
    return code;
}

/* Finds the time by which the first step had ended. This is the end of the first range of an
 * optimizer, or a time before all events if the heap before the first event contains optimizer
 * state. */
static mv_code find_first_step(oom_state *t, mv_arena *scratch, mv_err *err)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    const uint16_t *marks = mv_stack_marks(scratch, t->trace, t->sites->kinds);
    mv_step_ranges ranges;

    if (!marks)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "out-of-memory events");
    if (mv_step_ranges_find(scratch, t->trace, &ranges, err) != MV_OK)
        return err->code;
    t->prospect.stepped_us = ranges.count ? ranges.end_us[0] : MV_STEP_OPEN;
    for (uint32_t i = 0; i < a->preexisting; i++)
        if (a->stack[i].row != MV_NO_ROW && (marks[a->stack[i].row] & MV_MARK_STATE))
            t->prospect.stepped_us = INT64_MIN;
    return MV_OK;
}

/* Evaluates all failures in two passes. The first pass collects facts about the device from all
 * failures; the second evaluates each failure. */
static mv_code evaluate_all(oom_state *t, mv_err *err)
{
    mv_code code = MV_OK;

    for (uint32_t pass = 0; pass < 2 && code == MV_OK; pass++) {
        mv_arena scratch;
        mv_arena_init(&scratch, t->arena->budget);
        code = start_heap(t, &scratch, err);
        t->most_reserved = t->heap.all.reserved;
        t->prospect.before = t->lives->history == MV_HISTORY_COMPLETE ? 0 : t->heap.all.reserved;
        t->least_refused = t->grown = UINT64_MAX;
        t->maps_end = 0;
        t->release = MV_NO_ROW;
        for (uint32_t i = 0; i < t->out->count && code == MV_OK; i++) {
            mv_oom *o = &t->out->ooms[i];
            uint64_t seen;
            advance(t, mv_oom_moment(o));
            seen = t->heap.all.reserved + (o->device_free == MV_NO_BYTES ? 0 : o->device_free);
            if (seen > t->most_seen)
                t->most_seen = seen;
            if (pass == 1)
                code = evaluate_one(t, i, err);
        }
        if (code == MV_OK && t->heap.now.is_missing_sizes)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the sizes of holes");
        mv_arena_release(&scratch);
    }
    return code;
}

static mv_code evaluate_in_scratch(oom_state *t, mv_err *err)
{
    mv_arena scratch;
    mv_code code;

    mv_arena_init(&scratch, t->arena->budget);
    t->most = mv_push_array(&scratch, uint64_t, t->lives->events.count);
    code = t->most ? mv_steps_find(&scratch, t->trace, t->lives, &t->prospect.steps, err)
                   : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "out-of-memory events");
    t->prospect.most = t->most;
    if (code == MV_OK && !mv_request_pools_find(&scratch, t->trace, t->lives, &t->pools))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the pools of requests");
    if (code == MV_OK && t->out->count > 0)
        code = find_first_step(t, &scratch, err);
    if (code == MV_OK)
        code = evaluate_all(t, err);
    mv_oom_prospect_close(&t->prospect);
    mv_arena_release(&scratch);
    return code;
}

static mv_code find_all(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                        const mv_sites *sites, mv_window window, bool only_last, mv_ooms *out,
                        mv_err *err)
{
    oom_state t = {.arena = arena,
                   .trace = trace,
                   .lives = lives,
                   .sites = sites,
                   .only_last = only_last,
                   .out = out};

    *out = (mv_ooms){0};
    t.rules = mv_block_rules_of(trace);
    t.has_call_ids = mv_calls_have_ids(&lives->events);
    t.page = mv_alloc_conf_of(trace).large_segment;
    t.collects = mv_setting_is_on(trace, "garbage_collection_threshold");
    t.prospect = (mv_oom_prospect){
        .arena = arena, .trace = trace, .lives = lives, .sites = sites, .rules = &t.rules};
    if (!mv_oom_failures_list(arena, trace, lives, window, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "out-of-memory events");
    if (out->count && evaluate_in_scratch(&t, err) != MV_OK)
        return err->code;
    return mv_ooms_words(arena, lives, window, out)
               ? MV_OK
               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "out-of-memory events");
}

mv_code mv_ooms_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                     const mv_sites *sites, mv_window window, mv_ooms *out, mv_err *err)
{
    return find_all(arena, trace, lives, sites, window, false, out, err);
}

mv_code mv_oom_last_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, mv_window window, mv_oom *out, bool *found,
                         mv_err *err)
{
    mv_ooms ooms;
    mv_code code = find_all(arena, trace, lives, sites, window, true, &ooms, err);

    *found = code == MV_OK && ooms.count > 0;
    if (*found)
        *out = ooms.ooms[ooms.count - 1];
    return code;
}
