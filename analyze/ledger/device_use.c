#include "analyze/ledger/device_use.h"

#include "base/numbers.h"
#include "base/search.h"
#include "base/size.h"
#include "base/text.h"
#include "parse/live/read_live.h"

uint64_t mv_ledger_devices(const mv_trace *trace)
{
    const mv_api_calls *c = &trace->api_calls;
    uint64_t devices = 0;

    for (uint32_t i = 0; i < trace->device_count && i < 64; i++)
        devices |= trace->devices[i].events.count ? 1ull << i : 0;
    for (uint32_t i = 0; i < c->count; i++)
        devices |= c->device[i] >= 0 && c->device[i] < 64 ? 1ull << c->device[i] : 0;
    for (uint32_t i = 0; i < trace->samples.count; i++) {
        int32_t device = trace->samples.device[i];
        devices |= device >= 0 && device < 64 ? 1ull << device : 0;
    }
    return devices;
}

void mv_device_holdings(mv_holdings *holdings, mv_arena *arena, const mv_trace *trace,
                        uint32_t device)
{
    uint64_t devices = mv_ledger_devices(trace);

    mv_holdings_init(holdings, arena, trace, (int32_t)device, (devices & (devices - 1)) == 0);
}

static mv_code push_rows(mv_arena *arena, const mv_holdings *h, mv_device_use *out, mv_err *err)
{
    const mv_samples *s = &h->trace->samples;
    uint64_t rows = (uint64_t)s->count + 1; /* including one spare row */

    *out = (mv_device_use){.row = mv_push_array(arena, uint32_t, rows),
                           .calls = mv_push_array(arena, uint32_t, rows),
                           .used = mv_push_array(arena, uint64_t, rows),
                           .held = mv_push_array(arena, uint64_t, rows),
                           .context = mv_push_array(arena, int64_t, rows)};
    if (!out->row || !out->calls || !out->used || !out->held || !out->context)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "samples");
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->device[i] != h->device)
            continue;
        out->is_process = out->is_process || s->process[i] != MV_NO_BYTES;
        out->row[out->count++] = i;
    }
    return MV_OK;
}

/* Returns the bytes used by other processes before this process's first call; 0 if no sample is
 * that old. */
static uint64_t others_at_first(const mv_trace *trace, const mv_device_use *use)
{
    const mv_samples *s = &trace->samples;
    bool is_early = use->count > 0 && (trace->api_calls.count == 0 ||
                                       s->time_us[use->row[0]] <= trace->api_calls.time_us[0]);

    return is_early ? s->used[use->row[0]] : 0;
}

/* Returns the time at which the program ended normally, on the clock of the samples, or MV_NO_TIME.
 * After this time, its memory is freed without calls. */
static int64_t ended_at(const mv_trace *trace)
{
    const char *text = mv_fact_find(trace, "end_us");
    uint64_t end;

    return text && mv_number_read(text, &end) && end < INT64_MAX / 4
               ? (int64_t)end + mv_live_to_epoch_us(trace)
               : MV_NO_TIME;
}

static void fill_used(const mv_trace *trace, mv_device_use *use)
{
    const mv_samples *s = &trace->samples;
    uint64_t others = others_at_first(trace, use);
    int64_t ended = ended_at(trace);
    uint32_t end = 0;

    for (uint32_t i = 0; i < use->count; i++) {
        bool is_later = ended != MV_NO_TIME && s->time_us[use->row[i]] > ended;
        uint64_t process = s->process[use->row[i]], used = s->used[use->row[i]];
        if (use->is_process)
            use->used[i] = process == MV_NO_BYTES ? 0 : process;
        else
            use->used[i] = used > others ? used - others : 0;
        end = use->used[i] && !is_later ? i + 1 : end;
    }
    use->count = end ? end : use->count; /* the process had ended before the remaining samples were
                                          * taken */
}

/* ---- unfinished calls ---------------------------------------------------------------------- */

/* A position in the order of calls, with the bytes that calls hold there. is_one: the position
 * exists. */
typedef struct {
    uint64_t held;
    uint32_t calls;
    bool is_one;
} cut;

/* The possible positions of a sample. A call is numbered after it allocates memory and before it
 * frees memory, so a sample may already include memory of the next call, or still include memory
 * freed by the last call. */
typedef struct {
    cut before, at, after;
} place;

static bool is_waited_for(const mv_api_calls *c, uint32_t call)
{
    return c->action[call] != MV_API_FREE_ASYNC; /* a pool may keep the freed memory */
}

/* Finds the positions of all samples in a single replay. */
static bool find_places(mv_holdings *h, mv_device_use *out, place *places)
{
    const mv_api_calls *c = &h->trace->api_calls;
    const mv_samples *s = &h->trace->samples;
    uint32_t k = 0, since = 0; /* the first sample after the last change */
    uint64_t peak = 0;
    cut before = {0};

    for (uint32_t i = 0; i <= c->count; i++) {
        uint64_t was = h->held[MV_LOT_DEVICE].bytes, is;
        for (; k < out->count && (i == c->count || s->time_us[out->row[k]] < c->time_us[i]); k++)
            places[k] = (place){.before = before, .at = {was, i, true}};
        if (i == c->count)
            break;
        if (!mv_holdings_apply(h, i))
            return false;
        is = h->held[MV_LOT_DEVICE].bytes;
        for (uint32_t j = since; j < k && is > was; j++)
            places[j].after = (cut){is, i + 1, true};
        since = is != was ? k : since;
        if (is != was)
            before = (cut){was, i, is < was && is_waited_for(c, i)};
        if (is > peak) {
            peak = is;
            out->most = i + 1;
        }
    }
    return true;
}

enum { ROUNDING = 2 << 20 }; /* unit in which the driver takes memory */
enum { CUTS = 3 };           /* number of cuts in a place: `at`, `before` and `after` */

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static const cut *cut_of(const place *p, int i)
{
    return i == 0 ? &p->at : i == 1 ? &p->before : &p->after;
}

/* Returns the used bytes minus the bytes held by calls, plus 2^63 - 1 because the difference may be
 * negative. */
static uint64_t rest_of(const mv_device_use *use, uint32_t k, const cut *c)
{
    return use->used[k] - c->held + INT64_MAX;
}

/* Returns the cost of the cheapest path to cut `i` of sample k through the cuts of the previous
 * sample. The cost of a path is the sum of the changes, from sample to sample, in the used bytes
 * that calls do not hold. */
static uint64_t cheapest(const mv_device_use *use, const place *places, uint32_t k, int i,
                         const uint64_t *costs, uint8_t *from)
{
    const cut *to = cut_of(&places[k], i);
    uint64_t rest = rest_of(use, k, to), least = UINT64_MAX;
    uint64_t extra = i ? ROUNDING : 0; /* a penalty, because the position differs from that of the
                                        * sample's time */

    if (!to->is_one || (i && k + 1 == use->count)) /* nothing is known about the time after the last
                                                    * sample */
        return UINT64_MAX;
    if (k == 0)
        return apart(rest, INT64_MAX) + extra;
    for (int j = 0; j < CUTS; j++) {
        const cut *was = cut_of(&places[k - 1], j);
        uint64_t changes = apart(rest, rest_of(use, k - 1, was));
        if (costs[j] == UINT64_MAX || was->calls > to->calls || costs[j] + changes + extra >= least)
            continue;
        least = costs[j] + changes + extra;
        *from = (uint8_t)j;
    }
    return least;
}

/* Moves samples so that the used bytes that calls do not hold change as little as possible. If the
 * memory of an unfinished call explains a change, the sample is moved next to this call. `ways` has
 * space for CUTS entries per sample. */
static void place_samples(mv_device_use *use, const place *places, uint8_t *ways)
{
    uint64_t costs[CUTS] = {0}, next[CUTS];
    uint8_t chosen = 0; /* cut chosen for the last sample, to which only a single path leads */

    for (uint32_t k = 0; k < use->count; k++) {
        for (int i = 0; i < CUTS; i++)
            next[i] = cheapest(use, places, k, i, costs, &ways[(size_t)k * CUTS + (size_t)i]);
        memcpy(costs, next, sizeof(costs));
    }
    for (uint32_t k = use->count; k-- > 0; chosen = ways[(size_t)k * CUTS + chosen]) {
        use->held[k] = cut_of(&places[k], chosen)->held;
        use->calls[k] = cut_of(&places[k], chosen)->calls;
    }
}

static bool is_of(const mv_holdings *h, const mv_api_calls *c, uint32_t call)
{
    return c->device[call] == h->device || (c->device[call] < 0 && h->takes_unplaced);
}

/* Returns the number of calls up to the last one that allocated device memory. */
static uint32_t last_gets(const mv_holdings *h)
{
    const mv_api_calls *c = &h->trace->api_calls;
    uint32_t i = c->count;

    while (i > 0 &&
           !(mv_is_device_alloc(c->action[i - 1]) && c->result[i - 1] == 0 && is_of(h, c, i - 1)))
        i--;
    return i;
}

/* Drops samples at the end that were taken when the program had ended. When a program is killed,
 * its memory is freed without calls. When a program ends normally, the driver destroys the contexts
 * before the memory is freed. Such a sample shows less memory in use than calls hold, or less than
 * the previous sample, and no later call explains the decrease. */
static void drop_end(const mv_holdings *h, mv_device_use *use, const place *places)
{
    uint32_t gets = last_gets(h);

    for (uint32_t k = use->count; k-- > 1 && places[k].at.calls >= gets;) {
        const cut *is = &places[k].at, *was = &places[k - 1].at;
        bool is_short = use->used[k] < is->held && use->used[k - 1] >= was->held;
        bool has_fallen = is->calls == was->calls && use->used[k] + ROUNDING < use->used[k - 1];
        if (is->held != was->held || !(is_short || has_fallen))
            break;
        use->count = k;
    }
}

/* ---- context and code ----------------------------------------------------------------------- */

/* Whether a call makes the driver's own memory grow. */
static bool makes_context(const mv_api_calls *c, uint32_t call)
{
    return c->result[call] == 0 &&
           (c->action[call] == MV_API_CONTEXT_CREATE || c->action[call] == MV_API_LOAD);
}

/* Attributes the growth between samples k - 1 and k to the context. */
static void give_to_context(mv_device_use *use, uint32_t k)
{
    uint64_t before = k ? use->used[k - 1] - use->held[k - 1] : 0;
    uint64_t context = k ? (uint64_t)use->context[k - 1] : 0;

    use->context[k] = (int64_t)(context + use->used[k] - use->held[k] - before);
}

/* Corrects the context. Memory that was attributed to the context at sample k - 1 but is gone at
 * sample k did not belong to the context, but to a pool, or to a call that had not returned yet. */
static void take_from_context(mv_device_use *use, uint32_t k)
{
    int64_t given = use->context[k - 1] - (k > 1 ? use->context[k - 2] : 0);
    int64_t gone = (int64_t)(use->used[k - 1] - use->held[k - 1] - use->used[k] + use->held[k]);

    if (given > 0 && gone > 0)
        use->context[k] -= gone < given ? gone : given;
}

/* Sets the context at sample k. If `grows` is set, the growth since the previous sample is
 * attributed to the context. */
static void take_sample(mv_device_use *use, uint32_t k, bool grows)
{
    use->context[k] = k ? use->context[k - 1] : 0;
    if (grows)
        give_to_context(use, k);
    else if (k)
        take_from_context(use, k);
}

static void find_context(const mv_holdings *h, mv_device_use *out)
{
    const mv_api_calls *c = &h->trace->api_calls;
    const mv_samples *s = &h->trace->samples;
    bool has_allocated = false, grows = true;
    uint32_t k = 0;

    for (uint32_t i = 0; i <= c->count; i++) {
        for (; k < out->count && (i == c->count || s->time_us[out->row[k]] < c->time_us[i]); k++) {
            take_sample(out, k, grows);
            grows = !has_allocated;
        }
        if (i == c->count || !is_of(h, c, i))
            continue;
        has_allocated = has_allocated ||
                        (mv_is_device_alloc(c->action[i]) && c->device[i] >= 0 && !c->result[i]);
        if (!makes_context(c, i))
            continue;
        grows = true;
        if (k > 0 && c->time_us[i] - s->time_us[out->row[k - 1]] <= MV_UNDER_WAY_US)
            give_to_context(out, k - 1);
    }
}

mv_code mv_device_use_find(mv_arena *arena, mv_holdings *h, mv_device_use *out, mv_err *err)
{
    place *places;
    uint8_t *ways;

    if (push_rows(arena, h, out, err) != MV_OK)
        return err->code;
    fill_used(h->trace, out);
    places = mv_push_array(arena, place, (uint64_t)out->count + 1);
    ways = mv_push_array(arena, uint8_t, ((uint64_t)out->count + 1) * CUTS);
    if (!places || !ways || !find_places(h, out, places))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "holdings");
    drop_end(h, out, places);
    place_samples(out, places, ways);
    if (h->trace->notes[MV_NOTE_LOST_CALLS].count == 0)
        find_context(h, out);
    return MV_OK;
}

bool mv_device_use_walk(mv_holdings *h, const mv_device_use *use, mv_sample_watch *watch,
                        void *user)
{
    uint32_t calls = h->trace->api_calls.count, k = 0;

    for (uint32_t i = 0; i <= calls; i++) {
        for (; k < use->count && use->calls[k] == i; k++)
            watch(user, k);
        if (i < calls && !mv_holdings_apply(h, i))
            return false;
    }
    return true;
}

uint32_t mv_device_use_at(const mv_trace *trace, const mv_device_use *use, int64_t time_us,
                          uint64_t held)
{
    const int64_t *times = trace->samples.time_us;
    uint64_t after, before, gap, gap_before;
    mv_bisect b = mv_bisect_over(0, use->count);
    uint32_t next;

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, times[use->row[b.middle]] <= time_us);
    next = (uint32_t)b.low;
    if (next == 0 || next == use->count)
        return next ? next - 1 : 0;
    /* if a process has ended, less memory is in use than its calls hold */
    after = (uint64_t)times[use->row[next]] - (uint64_t)time_us;
    if (use->used[next] < use->held[next] || after > MV_NEAR_US)
        return next - 1;
    gap = apart(use->held[next], held);
    gap_before = apart(use->held[next - 1], held);
    before = (uint64_t)time_us - (uint64_t)times[use->row[next - 1]];
    return gap < gap_before || (gap == gap_before && after <= before) ? next : next - 1;
}

int64_t mv_unexplained(uint64_t used, uint64_t held, int64_t context)
{
    return (int64_t)(used - held - (uint64_t)context);
}

/* ---- for other reports -------------------------------------------------------------------- */

enum { FIFTIETH = 50 };

static bool is_near(const mv_trace *trace, const mv_device_use *use, uint32_t k, int64_t time_us,
                    uint64_t held)
{
    int64_t sample = trace->samples.time_us[use->row[k]];
    bool lasts = time_us >= sample && k + 1 < use->count;
    uint64_t differs = apart(use->held[k], held);

    return (lasts || apart((uint64_t)time_us, (uint64_t)sample) <= MV_NEAR_US) &&
           (differs <= ROUNDING || differs <= held / FIFTIETH);
}

mv_code mv_device_rest_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                            int64_t time_us, uint64_t held, mv_device_rest *out, mv_err *err)
{
    mv_holdings h;
    mv_device_use use;
    mv_arena scratch;
    mv_code code;
    uint32_t k;

    *out = (mv_device_rest){.used = MV_NO_BYTES, .held = held, .sample_us = MV_NO_TIME};
    if (time_us == MV_NO_TIME || trace->samples.count == 0)
        return MV_OK;
    mv_arena_init(&scratch, arena->budget);
    mv_device_holdings(&h, &scratch, trace, device);
    code = mv_device_use_find(&scratch, &h, &use, err);
    k = code == MV_OK ? mv_device_use_at(trace, &use, time_us, held) : 0;
    if (code == MV_OK && k < use.count) {
        out->is_near = is_near(trace, &use, k, time_us, held);
        out->held = out->is_near ? held : use.held[k];
        out->used = use.used[k];
        out->sample_us = trace->samples.time_us[use.row[k]];
        out->context = use.context[k];
        out->unexplained = mv_unexplained(out->used, out->held, out->context);
    }
    mv_arena_release(&scratch);
    return code;
}

const char *mv_device_rest_text(mv_arena *arena, const mv_device_rest *rest, int64_t start_us)
{
    char used[MV_SIZE_TEXT], held[MV_SIZE_TEXT], context[MV_SIZE_TEXT], rests[MV_SIZE_TEXT];

    if (rest->used == MV_NO_BYTES)
        return "use of the device is unknown: there are no samples";
    return mv_arena_printf(
        arena,
        "%s %s in use (sample at %.3f s): %s %s%s, context and code %s "
        "(estimate), unexplained %s",
        rest->is_near ? "the device shows" : "no sample of the device is near; another shows",
        mv_size_text(used, rest->used), ((double)rest->sample_us - (double)start_us) / 1e6,
        rest->is_near ? "these" : "calls held", mv_size_text(held, rest->held),
        rest->is_near ? "" : " then", mv_size_signed_text(context, rest->context),
        mv_size_signed_text(rests, rest->unexplained));
}
