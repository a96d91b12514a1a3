#include "analyze/oom.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/block_size.h"
#include "analyze/oom_failures.h"
#include "analyze/segment_growth.h"
#include "analyze/size.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static const char *const verdict_names[MV_OOM_VERDICT_COUNT] = {
#define MV_OOM_VERDICT_NAME(name, text) text,
    MV_OOM_VERDICT_LIST(MV_OOM_VERDICT_NAME)
#undef MV_OOM_VERDICT_NAME
};

/* What cudaMemGetInfo gives as the total of common GPUs, in MiB and rounded up: 4 to 288 GB. */
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
    uint64_t most_reserved; /* so far */
    uint64_t most_seen;     /* reserved and free together, at any failure */
    mv_ooms *out;
    bool failed;
} trial;

const char *mv_oom_verdict_name(mv_oom_verdict verdict)
{
    return verdict_names[verdict];
}

uint64_t mv_oom_likely_total(uint64_t bytes)
{
    for (uint32_t i = 0; i < sizeof common_totals / sizeof *common_totals; i++)
        if (common_totals[i] * MIB >= bytes)
            return common_totals[i] * MIB;
    return 0;
}

__attribute__((format(printf, 2, 3))) static const char *say(trial *t, const char *format, ...)
{
    char text[768];
    const char *kept;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kept = mv_arena_text(t->arena, text, strlen(text));
    t->failed = t->failed || !kept;
    return kept;
}

/* ---- figures ----------------------------------------------------------------------------- */

static uint32_t domain_of(const trial *t, const mv_oom *o)
{
    const mv_events *ev = &t->lives->events;
    bool is_small = o->requested <= MV_SMALL_REQUEST ||
                    (o->api_call != MV_NO_ROW && o->segment == MV_SMALL_SEGMENT);
    uint8_t kind = is_small ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;

    if (o->api_call != MV_NO_ROW)
        return mv_domain_of(&t->heap.domains, kind, MV_DEFAULT_POOL, (mv_stream_id){0});
    return mv_domain_of(&t->heap.domains, kind, t->trace->tags.pool[ev->tag[o->event].row],
                        ev->stream[o->event]);
}

static void measure(trial *t, mv_oom *o, uint32_t domain)
{
    o->bytes = mv_heap_total(&t->heap);
    if (domain != MV_NO_ROW) {
        o->usable = mv_heap_domain(&t->heap, domain).free;
        o->largest_hole = mv_holes_largest(&t->heap.now, (mv_domain_span){domain, domain + 1});
    }
    o->limited = o->device_free != MV_NO_BYTES && o->device_free >= o->segment;
}

/* The device's own word where there is one, else the smallest GPU that could hold what all
 * failures together show. */
static void find_outside(const trial *t, mv_oom *o)
{
    uint64_t held = o->bytes.reserved;

    if (o->device_free == MV_NO_BYTES)
        return;
    held += o->device_free;
    if (o->total == 0) {
        o->total = mv_oom_likely_total(t->most_seen);
        o->total_source = o->total ? MV_TOTAL_GUESSED : MV_TOTAL_UNKNOWN;
    }
    o->outside = o->total > held ? o->total - held : 0;
}

/* Bytes of the device that a new segment could have had, as far as is certain. */
static uint64_t available(const trial *t, const mv_oom *o)
{
    if (o->limited)
        return t->most_reserved - o->bytes.reserved;
    return o->device_free == MV_NO_BYTES ? 0 : o->device_free;
}

/* ---- the verdict ------------------------------------------------------------------------- */

/* Free bytes that are most of the request, and with what the device had would have been enough. */
static bool would_do(const mv_oom *o, uint64_t free, uint64_t rest)
{
    return free >= o->requested / 2 && free + rest >= o->requested;
}

/* A CUDA context, libraries and other small processes take so much anywhere. */
static bool is_mostly_outside(const mv_oom *o)
{
    return !o->limited && o->outside > 2 * GIB + o->total / 20 &&
           o->outside + o->device_free >= o->segment;
}

static mv_oom_verdict judge(const trial *t, const mv_oom *o, uint32_t domain)
{
    uint64_t rest = available(t, o), pending = 0;

    if (domain != MV_NO_ROW) {
        mv_domain_span own = {domain, domain + 1};
        pending = t->heap.of[domain].pending;
        if (o->largest_hole >= o->requested)
            return t->rules.max_split == UINT64_MAX ? MV_OOM_PENDING_FREE : MV_OOM_FRAGMENTATION;
        if (pending && mv_holes_largest(mv_heap_settled(&t->heap), own) >= o->requested)
            return MV_OOM_PENDING_FREE;
    }
    if (would_do(o, o->usable, rest))
        return MV_OOM_FRAGMENTATION;
    if (pending && would_do(o, o->usable + pending, rest))
        return MV_OOM_PENDING_FREE;
    if (would_do(o, o->bytes.free, rest))
        return MV_OOM_STREAM_OR_POOL;
    return is_mostly_outside(o) ? MV_OOM_OUTSIDE : MV_OOM_CAPACITY;
}

/* Whether no emptier device of its kind, or of any, could serve the request. */
static bool is_beyond_device(const mv_oom *o)
{
    if (o->total_source == MV_TOTAL_SAMPLED)
        return o->requested > o->total;
    return mv_oom_likely_total(o->requested) == 0;
}

static const char *why(trial *t, const mv_oom *o)
{
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT], c[MV_SIZE_TEXT];

    mv_size_text(a, o->requested);
    switch (o->verdict) {
    case MV_OOM_FRAGMENTATION:
        if (o->largest_hole >= o->requested)
            return say(t, "a hole of %s is free, but max_split_size_mb keeps it from being cut",
                       mv_size_text(b, o->largest_hole));
        return say(t, "%s are free in the right pool and stream, but the largest hole is %s",
                   mv_size_text(b, o->usable), mv_size_text(c, o->largest_hole));
    case MV_OOM_STREAM_OR_POOL:
        return say(t, "%s are free, but only %s of it in the pool and stream of the request",
                   mv_size_text(b, o->bytes.free), mv_size_text(c, o->usable));
    case MV_OOM_PENDING_FREE:
        return o->largest_hole >= o->requested
                   ? say(t, "a hole of %s became free while the request waited, too late for it",
                         mv_size_text(b, o->largest_hole))
                   : say(t, "%s were freed, but other streams may still use them",
                         mv_size_text(b, o->bytes.pending));
    case MV_OOM_OUTSIDE:
        return say(t, "PyTorch holds %s and the device has %s left: others hold the rest, %s%s",
                   mv_size_text(a, o->bytes.reserved), mv_size_text(b, o->device_free),
                   mv_size_text(c, o->outside),
                   o->total_source == MV_TOTAL_GUESSED ? " or more" : "");
    default:
        if (is_beyond_device(o))
            return o->total_source == MV_TOTAL_SAMPLED
                       ? say(t, "the request alone is more than the device's %s",
                             mv_size_text(b, o->total))
                       : say(t, "no GPU has %s", a);
        if (o->limited)
            return say(t,
                       "the device has %s left: a memory limit of the process refused %s "
                       "beyond the %s that PyTorch holds",
                       mv_size_text(b, o->device_free), mv_size_text(a, o->segment),
                       mv_size_text(c, o->bytes.reserved));
        return say(t, "%s are in use and %s are left", mv_size_text(b, o->bytes.allocated),
                   mv_size_text(c, o->device_free == MV_NO_BYTES ? 0 : o->device_free));
    }
}

static const char *advice(trial *t, const mv_oom *o)
{
    switch (o->verdict) {
    case MV_OOM_FRAGMENTATION:
        if (o->largest_hole >= o->requested)
            return "raise max_split_size_mb, or leave it out";
        if (t->rules.expandable)
            return "free or move the blocks that pin the holes before the large request";
        return "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or free the blocks that pin "
               "the holes first";
    case MV_OOM_STREAM_OR_POOL:
        return "let one stream and one pool do the large allocations; delete CUDA graphs and "
               "MemPools that are done, then torch.cuda.empty_cache()";
    case MV_OOM_PENDING_FREE:
        return "synchronise the streams that use the tensors (record_stream) before asking for "
               "more, or try the request again";
    case MV_OOM_OUTSIDE:
        return "look for other processes (nvidia-smi) and for libraries that allocate by "
               "themselves "
               "(memviz run, then memviz ledger)";
    default:
        if (is_beyond_device(o))
            return "look at the shape that is asked for there: nothing that could be freed makes "
                   "room for it";
        return "use less: a smaller batch, activation checkpointing, sharded or offloaded state; "
               "memviz peak --at oom shows who holds the memory";
    }
}

/* ---- details ----------------------------------------------------------------------------- */

static int by_held(const void *a, const void *b)
{
    const mv_pin *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->group > y->group) - (x->group < y->group);
}

static void hold(trial *t, mv_oom *o, uint32_t *row_of, uint32_t row, uint64_t size)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    uint32_t group = t->sites->group[mv_site_of(t->sites, a->stack[row])];
    mv_pin *holder;

    if (row_of[group] == 0) {
        row_of[group] = ++o->holder_count;
        o->holders[row_of[group] - 1] = (mv_pin){.group = group, .oldest = a->birth[row]};
    }
    holder = &o->holders[row_of[group] - 1];
    holder->bytes += size;
    holder->blocks++;
    if (a->birth[row] + 1 < holder->oldest + 1)
        holder->oldest = a->birth[row];
    if (size > holder->largest) {
        holder->largest = size;
        holder->stack = a->stack[row];
    }
}

/* Every piece in use, by line. */
static bool list_holders(trial *t, mv_arena *scratch, const mv_heap_map *map, mv_oom *o)
{
    uint32_t groups = t->sites->groups, pieces = map->first_piece[map->count];
    uint32_t *row_of = mv_push_array(scratch, uint32_t, groups);

    o->holders = mv_push_array(t->arena, mv_pin, groups < pieces ? groups : pieces);
    if (!row_of || !o->holders)
        return false;
    for (uint32_t i = 0; i < pieces; i++)
        if (map->piece_row[i] != MV_NO_ROW)
            hold(t, o, row_of, map->piece_row[i], map->piece_size[i]);
    qsort(o->holders, o->holder_count, sizeof *o->holders, by_held);
    return true;
}

static mv_code detail(trial *t, mv_oom *o, uint32_t domain, mv_err *err)
{
    mv_oom_need need = {domain, o->requested, o->segment, available(t, o), o->largest_hole};
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
    mv_arena_release(&scratch);
    o->detailed = code == MV_OK;
    return code;
}

/* ---- all --------------------------------------------------------------------------------- */

static mv_code try_one(trial *t, mv_oom *o, bool detailed, mv_err *err)
{
    uint32_t domain = domain_of(t, o);

    measure(t, o, domain);
    find_outside(t, o);
    o->verdict = judge(t, o, domain);
    o->why = why(t, o);
    o->advice = advice(t, o);
    if (t->failed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "out-of-memory events");
    return detailed ? detail(t, o, domain, err) : MV_OK;
}

/* The moment of a refused call is behind the events ahead of it. */
static uint32_t moment_of(const mv_oom *o)
{
    return o->api_call == MV_NO_ROW ? o->event : o->event - 1;
}

static void advance(trial *t, uint32_t event)
{
    while (event != MV_BEFORE && (t->heap.event == MV_BEFORE || t->heap.event < event)) {
        if (!mv_heap_next(&t->heap))
            return;
        if (t->heap.all.reserved > t->most_reserved)
            t->most_reserved = t->heap.all.reserved;
    }
}

/* Failures come first without their figures; what all of them show of the device is known before
 * the first is judged. */
static mv_code try_all(trial *t, mv_err *err)
{
    mv_code code = MV_OK;

    for (uint32_t pass = 0; pass < 2 && code == MV_OK; pass++) {
        mv_arena scratch;
        mv_arena_init(&scratch, t->arena->budget);
        code = mv_heap_init(&scratch, t->trace, t->lives, &t->heap, err);
        t->most_reserved = t->heap.all.reserved;
        for (uint32_t i = 0; i < t->out->count && code == MV_OK; i++) {
            mv_oom *o = &t->out->ooms[i];
            uint64_t seen;
            advance(t, moment_of(o));
            seen = t->heap.all.reserved + (o->device_free == MV_NO_BYTES ? 0 : o->device_free);
            if (seen > t->most_seen)
                t->most_seen = seen;
            if (pass == 1)
                code = try_one(t, o, i < MV_MOST_OOM_DETAILS, err);
        }
        mv_arena_release(&scratch);
    }
    return code;
}

mv_code mv_ooms_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                     const mv_sites *sites, mv_window window, mv_ooms *out, mv_err *err)
{
    trial t = {.arena = arena, .trace = trace, .lives = lives, .sites = sites, .out = out};

    *out = (mv_ooms){0};
    t.rules = mv_block_rules_of(trace);
    if (!mv_oom_failures_list(arena, trace, lives, window, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "out-of-memory events");
    return out->count ? try_all(&t, err) : MV_OK;
}
