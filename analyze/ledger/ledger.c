#include "analyze/ledger/ledger.h"

#include "analyze/code/libraries.h"
#include "analyze/totals/moment.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"
#include "parse/model/event_times.h"
#include "parse/model/shared_memory.h"

/* ---- sentences --------------------------------------------------------------------------- */

enum { SENTENCE = 640, MOST_NAMES = 4 };

/* Adds the names of the libraries that hold the most, and the sum over the others. */
static void add_names(const mv_trace *trace, const mv_ledger *ledger, char text[SENTENCE])
{
    char names[MOST_NAMES][MV_LIBRARY_NAME], name[MV_LIBRARY_NAME], size[MV_SIZE_TEXT];
    uint64_t sums[MOST_NAMES] = {0}, named = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < ledger->count; i++) {
        uint32_t k = 0;
        mv_library_name(mv_string_text(trace, ledger->by[i].library), name);
        while (k < count && strcmp(names[k], name) != 0)
            k++;
        if (k == MOST_NAMES)
            continue;
        if (k == count)
            memcpy(names[count++], name, sizeof name);
        sums[k] += ledger->by[i].bytes;
    }
    for (uint32_t k = 0; k < count; k++) {
        mv_text_append(text, SENTENCE, "%s%s %s", k ? ", " : "", names[k],
                       mv_size_text(size, sums[k]));
        named += sums[k];
    }
    if (ledger->by_sum > named)
        mv_text_append(text, SENTENCE, ", others %s", mv_size_text(size, ledger->by_sum - named));
    if (ledger->by_sum == 0)
        mv_text_append(text, SENTENCE, "nothing held by calls");
}

static const char *find_verdict(mv_arena *arena, const mv_trace *trace, const mv_ledger *ledger)
{
    bool is_known = ledger->used != MV_NO_BYTES;
    char size[MV_SIZE_TEXT], text[SENTENCE] = "";

    if (ledger->is_missing_calls)
        return mv_arena_printf(arena, "%s used; who holds it is unknown: %s",
                               is_known ? mv_size_text(size, ledger->used) : "unknown",
                               ledger->why);
    mv_text_append(text, SENTENCE,
                   "%s %s: ", mv_size_text(size, is_known ? ledger->used : ledger->by_sum),
                   is_known ? "used" : "requested");
    add_names(trace, ledger, text);
    if (is_known) {
        mv_text_append(text, SENTENCE, ", context and code %s",
                       mv_size_signed_text(size, ledger->context_estimate));
        mv_text_append(text, SENTENCE, ", unexplained %s",
                       mv_size_signed_text(size, ledger->unexplained));
        if (ledger->used > 0)
            mv_text_append(text, SENTENCE, " (%.0f %%)",
                           (double)ledger->unexplained / (double)ledger->used * 100);
    }
    return mv_arena_text(arena, text, strlen(text));
}

static const char *find_basis(mv_arena *arena, const mv_ledger *ledger)
{
    char total[MV_SIZE_TEXT], others[MV_SIZE_TEXT];
    bool has_others = ledger->others != MV_NO_BYTES;

    if (ledger->why && !ledger->is_missing_calls) /* the verdict already includes `why` */
        return mv_arena_printf(arena, "use of the device is unknown: %s", ledger->why);
    if (ledger->total == MV_NO_BYTES)
        return "";
    return mv_arena_printf(
        arena, "the device has %s%s%s%s; \"used\" counts %s", mv_size_text(total, ledger->total),
        has_others ? ", " : "", has_others ? mv_size_text(others, ledger->others) : "",
        has_others ? " of it in use by others" : "",
        ledger->is_process ? "this process" : "the device, less its use before the program");
}

static const char *find_check(mv_arena *arena, const mv_ledger *ledger)
{
    char says[MV_SIZE_TEXT], holds[MV_SIZE_TEXT];
    uint64_t framework = 0;

    for (uint32_t i = 0; i < ledger->count; i++)
        framework += ledger->by[i].is_framework ? ledger->by[i].bytes : 0;
    mv_size_text(says, ledger->framework_reserved);
    if (ledger->framework_reserved != framework)
        return mv_arena_printf(arena, "PyTorch's allocator reports %s reserved; its calls hold %s",
                               says, mv_size_text(holds, framework));
    return framework
               ? mv_arena_printf(arena, "PyTorch's allocator reports the same: %s reserved", says)
               : "nothing is reserved by PyTorch's allocator";
}

static uint64_t managed_bytes(const mv_trace *trace, const mv_ledger *ledger)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < ledger->count; i++)
        if (strstr(mv_string_text(trace, ledger->by[i].api), "Managed"))
            bytes += ledger->by[i].bytes;
    return bytes;
}

/* Explains why the unexplained bytes are negative. The parts never really exceed the device's use,
 * so one of the figures must be too high. */
static const char *find_residue(mv_arena *arena, const mv_trace *trace, const mv_ledger *ledger)
{
    char excess[MV_SIZE_TEXT], size[MV_SIZE_TEXT];
    uint64_t managed = managed_bytes(trace, ledger);

    if (ledger->used == MV_NO_BYTES || ledger->unexplained >= 0 || ledger->is_missing_calls)
        return "";
    mv_size_text(excess, -(uint64_t)ledger->unexplained);
    if (ledger->by_sum > ledger->held_at_sample)
        return mv_arena_printf(arena,
                               "the parts exceed the use by %s: the sample is older than this "
                               "moment, and calls hold %s more since then",
                               excess, mv_size_text(size, ledger->by_sum - ledger->held_at_sample));
    if (managed > 0)
        return mv_arena_printf(arena,
                               "the parts exceed the use by %s: %s is managed memory, which "
                               "need not be on the device",
                               excess, mv_size_text(size, managed));
    return mv_arena_printf(arena,
                           "the parts exceed the use by %s: the estimate of context and code "
                           "is too high, or memory was freed without a recorded call",
                           excess);
}

static const char *find_pools(mv_arena *arena, const mv_ledger *ledger)
{
    char size[MV_SIZE_TEXT];

    if (ledger->context_pools == 0)
        return "";
    return mv_arena_printf(
        arena,
        "pools (cudaMallocAsync, graphs) keep freed memory, and no call shows how "
        "much: at most %s of context and code, and part of the unexplained rest",
        mv_size_text(size, ledger->context_pools));
}

/* Sets the sentences from the other fields. Returns false when out of memory. */
static bool fill_sentences(mv_arena *arena, const mv_trace *trace, mv_ledger *ledger)
{
    ledger->verdict = find_verdict(arena, trace, ledger);
    ledger->basis = find_basis(arena, ledger);
    ledger->check = find_check(arena, ledger);
    ledger->residue = find_residue(arena, trace, ledger);
    ledger->pools = find_pools(arena, ledger);
    return ledger->verdict && ledger->basis && ledger->check && ledger->residue && ledger->pools;
}

/* ---- moments ----------------------------------------------------------------------------- */

static uint32_t calls_until(const mv_trace *trace, int64_t time_us)
{
    uint32_t i = 0;

    while (i < trace->api_calls.count && trace->api_calls.time_us[i] <= time_us)
        i++;
    return i;
}

static uint32_t events_until(const mv_trace *trace, uint32_t device, int64_t time_us)
{
    mv_events events = mv_trace_events(trace, device);
    uint32_t i = 0;

    while (i < events.count && mv_event_time(&events, i) <= time_us)
        i++;
    return i;
}

mv_ledger_query mv_ledger_after_event(const mv_trace *trace, uint32_t device, uint32_t event)
{
    mv_events events = mv_trace_events(trace, device);
    uint32_t until = event == MV_BEFORE ? 0 : event + 1, calls = 0;
    const mv_api_calls *c = &trace->api_calls;

    int64_t time_us =
        until && until <= events.count ? mv_event_time(&events, until - 1) : MV_NO_TIME;

    /* calls of this device record how many events come before them; other calls only have a time */
    while (calls < c->count &&
           (c->device[calls] == (int32_t)device ? c->event[calls] < until
                                                : until && c->time_us[calls] <= time_us))
        calls++;
    return (mv_ledger_query){MV_LEDGER_AFTER, calls, until, time_us};
}

mv_ledger_query mv_ledger_at_time(const mv_trace *trace, uint32_t device, int64_t time_us)
{
    return (mv_ledger_query){MV_LEDGER_AFTER, calls_until(trace, time_us),
                             events_until(trace, device, time_us), time_us};
}

/* ---- the device's use ---------------------------------------------------------------------- */

/* Returns the middle of the longest period with the highest use. Near the ends of this period,
 * memory is being allocated or freed, and a call may be recorded after its effect is visible on the
 * device. */
static int64_t most_used_time(const mv_trace *trace, const mv_device_use *use)
{
    const mv_samples *s = &trace->samples;
    int64_t best = -1, middle = MV_NO_TIME;
    uint64_t highest = 0;
    uint32_t end;

    for (uint32_t i = 0; i < use->count; i++)
        highest = use->used[i] > highest ? use->used[i] : highest;
    for (uint32_t i = 0; i < use->count; i = end) {
        int64_t first, last;
        end = i + 1;
        if (use->used[i] != highest)
            continue;
        while (end < use->count && use->used[end] == highest)
            end++;
        first = s->time_us[use->row[i]];
        last = s->time_us[use->row[end - 1]];
        if ((int64_t)((uint64_t)last - (uint64_t)first) > best) {
            best = (int64_t)((uint64_t)last - (uint64_t)first);
            middle = (int64_t)((uint64_t)first + (uint64_t)best / 2);
        }
    }
    return middle;
}

/* Returns the first call that may cause a pool to take memory from the device; the number of calls
 * if there is none. */
static uint32_t first_of_pools(const mv_api_calls *c, uint32_t device)
{
    uint32_t i = 0;

    while (i < c->count &&
           (c->result[i] || c->device[i] != (int32_t)device ||
            (c->action[i] != MV_API_ALLOC_ASYNC && c->action[i] != MV_API_GRAPH_ALLOC)))
        i++;
    return i;
}

/* Returns the upper bound of the context's memory at sample k that pools may keep, which is the
 * growth after the last sample before a pool's first call. */
static uint64_t most_of_pools(const mv_trace *trace, const mv_device_use *use, uint32_t device,
                              uint32_t k)
{
    uint32_t first = first_of_pools(&trace->api_calls, device), j = 0;
    int64_t before;

    while (j <= k && use->calls[j] <= first)
        j++;
    before = j ? use->context[j - 1] : 0;
    return use->context[k] > before ? (uint64_t)use->context[k] - (uint64_t)before : 0;
}

static void fill_use(const mv_trace *trace, const mv_device_use *use, mv_ledger *out)
{
    uint32_t k = mv_device_use_at(trace, use, out->time_us, out->by_sum);
    uint64_t device;

    if (k == use->count)
        return;
    out->why = out->is_missing_calls ? out->why : NULL;
    out->used = use->used[k];
    out->is_process = use->is_process;
    out->sample_us = trace->samples.time_us[use->row[k]];
    out->total = trace->samples.total[use->row[k]];
    device = trace->samples.used[use->row[k]];
    if (device != MV_NO_BYTES)
        out->others = device > out->used ? device - out->used : 0;
    out->context_estimate = use->context[k];
    out->context_pools = most_of_pools(trace, use, out->device, k);
    out->unexplained = mv_unexplained(out->used, out->by_sum, out->context_estimate);
    out->held_at_sample = use->held[k];
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Merges the rows of allocations, either into one row per stack or, later, into one row per library
 * and API. */
static uint32_t merge_rows(mv_ledger_row *rows, uint32_t count, bool by_stack)
{
    uint32_t kept = 0;
    uint64_t largest = 0;

    for (uint32_t i = 0; i < count; i++) {
        mv_ledger_row *last = kept > 0 ? &rows[kept - 1] : NULL;
        bool same = last && last->library.row == rows[i].library.row &&
                    last->api.row == rows[i].api.row &&
                    (!by_stack || last->stack.row == rows[i].stack.row);
        if (!same) {
            largest = rows[i].bytes;
            rows[kept++] = rows[i];
            continue;
        }
        if (rows[i].bytes > largest) {
            largest = rows[i].bytes;
            last->stack = rows[i].stack;
        }
        last->bytes += rows[i].bytes;
        last->count += rows[i].count;
    }
    return kept;
}

static mv_code fill_rows(mv_arena *arena, const mv_holdings *h, mv_ledger *out, mv_err *err)
{
    const mv_api_calls *c = &h->trace->api_calls;
    mv_ledger_row *rows = mv_push_array(arena, mv_ledger_row, h->held[MV_LOT_DEVICE].count);
    uint32_t count = 0;

    if (!rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "ledger");
    for (uint32_t at = h->first[MV_LOT_DEVICE]; at != MV_NO_ROW; at = h->lots[at].next) {
        uint32_t call = h->lots[at].call;
        rows[count++] = (mv_ledger_row){
            .library = c->library[call],
            .api = c->api[call],
            .bytes = h->lots[at].bytes,
            .count = 1,
            .stack = c->stack[call],
            .is_framework = mv_library_is_framework(mv_string_text(h->trace, c->library[call]))};
    }
    mv_sort_rows(arena, rows, count, MV_RISING(mv_ledger_row, library.row),
                 MV_RISING(mv_ledger_row, api.row), MV_RISING(mv_ledger_row, stack.row));
    count = merge_rows(rows, count, true);
    count = merge_rows(rows, count, false);
    mv_sort_rows(arena, rows, count, MV_FALLING(mv_ledger_row, bytes),
                 MV_RISING(mv_ledger_row, library.row), MV_RISING(mv_ledger_row, api.row),
                 MV_RISING(mv_ledger_row, stack.row));
    out->by = rows;
    out->count = count;
    out->by_sum = h->held[MV_LOT_DEVICE].bytes;
    out->host = h->held[MV_LOT_HOST];
    out->foreign = h->held[MV_LOT_FOREIGN];
    return MV_OK;
}

/* ---- addresses ---------------------------------------------------------------------------- */

/* Counts the address ranges that the first `calls` calls reserved and did not free. */
static mv_code count_addresses(mv_arena *arena, const mv_api_calls *c, uint32_t calls,
                               mv_ledger_addresses *out, mv_err *err)
{
    mv_map ranges = {.arena = arena}; /* maps the address of a range to its call */

    for (uint32_t i = 0; i < calls; i++) {
        bool is_made = c->action[i] == MV_API_RESERVE;
        uint32_t made;
        if (!is_made && c->action[i] != MV_API_UNRESERVE)
            continue;
        if (c->result[i]) {
            out->refused += is_made;
            continue;
        }
        made = mv_map_take(&ranges, c->addr[i]);
        if (made != MV_NOT_IN_MAP) {
            out->held.bytes -= c->size[made];
            out->held.count--;
        }
        if (!is_made)
            continue;
        if (!mv_map_put(&ranges, c->addr[i], i))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "reserved addresses");
        out->held.bytes += c->size[i];
        out->held.count++;
        out->peak = out->held.bytes > out->peak ? out->held.bytes : out->peak;
    }
    return MV_OK;
}

/* ---- the whole ledger -------------------------------------------------------------------- */

static mv_ledger_query settle(const mv_trace *trace, uint32_t device, const mv_device_use *use,
                              mv_ledger_query ask)
{
    const mv_api_calls *c = &trace->api_calls;
    uint32_t most = use->most;
    int64_t time_us = MV_NO_TIME;

    if (ask.when == MV_LEDGER_AFTER)
        return ask;
    if (ask.when == MV_LEDGER_MOST_USED && use->count > 0)
        return mv_ledger_at_time(trace, device, most_used_time(trace, use));
    if (ask.when == MV_LEDGER_END)
        most = c->count;
    if (most > 0)
        time_us = c->time_us[most - 1];
    return (mv_ledger_query){MV_LEDGER_AFTER, most,
                             ask.when == MV_LEDGER_END ? mv_trace_events(trace, device).count
                                                       : events_until(trace, device, time_us),
                             time_us};
}

/* Handles files without calls and samples: uses the moment at which PyTorch's allocator held the
 * most. */
static mv_code settle_without_calls(mv_arena *arena, const mv_lives *lives, mv_ledger_query *ask,
                                    mv_err *err)
{
    mv_moment_query highest = {.kind = MV_MOMENT_RESERVED_PEAK, .window = {0, lives->events.count}};
    mv_moment moment;

    if (mv_moment_find(arena, lives, highest, &moment, err) != MV_OK)
        return err->code;
    *ask = (mv_ledger_query){MV_LEDGER_AFTER, 0, moment.event == MV_BEFORE ? 0 : moment.event + 1,
                             moment.time_us};
    return MV_OK;
}

/* Returns the number of calls before the moment. If no call lies between a sample and the moment,
 * the moment moves to the sample's position, which may be next to an unfinished call. */
static uint32_t calls_at(const mv_trace *trace, const mv_device_use *use, mv_ledger_query ask)
{
    const int64_t *times = trace->samples.time_us;
    uint32_t k = 0;

    while (k < use->count && times[use->row[k]] <= ask.time_us)
        k++;
    return ask.time_us != MV_NO_TIME && k && calls_until(trace, times[use->row[k - 1]]) == ask.calls
               ? use->calls[k - 1]
               : ask.calls;
}

/* Returns the number of events before the moment as moved by calls_at, including the call's segment
 * event. */
static uint32_t events_at(const mv_trace *trace, const mv_holdings *h, mv_ledger_query ask,
                          uint32_t calls)
{
    mv_events events = mv_trace_events(trace, (uint32_t)h->device);
    const mv_api_calls *c = &trace->api_calls;

    if (calls < ask.calls && c->device[calls] == h->device)
        return c->event[calls] < events.count ? c->event[calls] : events.count;
    if (calls > ask.calls && c->device[calls - 1] == h->device &&
        c->event[calls - 1] < events.count) {
        uint8_t action = events.action[c->event[calls - 1]];
        if (action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_MAP)
            return c->event[calls - 1] + 1;
    }
    return ask.events;
}

static mv_code find_in(mv_arena *arena, mv_holdings *h, const mv_lives *lives, mv_ledger_query ask,
                       mv_ledger *out, mv_err *err)
{
    const mv_trace *trace = h->trace;
    mv_device_use use;
    uint32_t calls;

    if (mv_device_use_find(arena, h, &use, err) != MV_OK)
        return err->code;
    if (ask.when == MV_LEDGER_AFTER || trace->api_calls.count > 0 || use.count > 0)
        ask = settle(trace, out->device, &use, ask);
    else if (settle_without_calls(arena, lives, &ask, err) != MV_OK)
        return err->code;
    calls = calls_at(trace, &use, ask);
    ask.events = events_at(trace, h, ask, calls);
    ask.calls = calls;
    mv_holdings_drop(h);
    mv_device_holdings(h, arena, trace, out->device);
    for (uint32_t i = 0; i < ask.calls; i++)
        if (!mv_holdings_apply(h, i))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "holdings");
    if (fill_rows(arena, h, out, err) != MV_OK ||
        count_addresses(arena, &trace->api_calls, ask.calls, &out->addresses, err) != MV_OK)
        return err->code;
    out->time_us = ask.time_us;
    out->event = ask.events ? ask.events - 1 : MV_BEFORE;
    out->framework_reserved = mv_moment_levels(lives, out->event).reserved;
    fill_use(trace, &use, out);
    return MV_OK;
}

mv_code mv_ledger_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_ledger_query ask, mv_ledger *out, mv_err *err)
{
    mv_holdings h;
    mv_code code;

    *out = (mv_ledger){.device = lives->device,
                       .time_us = MV_NO_TIME,
                       .sample_us = MV_NO_TIME,
                       .event = MV_BEFORE,
                       .used = MV_NO_BYTES,
                       .total = MV_NO_BYTES,
                       .others = MV_NO_BYTES,
                       .why = "no samples: memviz run takes them through NVML, which was missing, "
                              "failed to start, or did not identify the GPUs (see memviz info)"};
    if (mv_shares_memory(trace))
        out->why = MV_SHARED_MEMORY_NOTE;
    if (trace->notes[MV_NOTE_LOST_SAMPLES].count > 0)
        out->why = "samples are lost in damaged parts of the file";
    if (!mv_trace_is_captured(trace))
        out->why = mv_trace_may_be_captured(trace) ? MV_LEDGER_LOST_CAPTURE : MV_LEDGER_NO_CAPTURE;
    out->is_missing_calls = trace->notes[MV_NOTE_LOST_CALLS].count > 0;
    if (out->is_missing_calls)
        out->why = mv_arena_printf(arena, "CUDA calls are lost in damaged parts of the file (%s)",
                                   trace->notes[MV_NOTE_LOST_CALLS].first);
    if (!out->why)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "ledger");
    mv_device_holdings(&h, arena, trace, lives->device);
    code = find_in(arena, &h, lives, ask, out, err);
    mv_holdings_drop(&h);
    if (code == MV_OK && !fill_sentences(arena, trace, out))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "ledger");
    return code;
}
