#include "parse/tools/block_log.h"

#include "base/grow.h"
#include "base/sort.h"
#include "parse/model/sums.h"
#include "parse/tools/block_balance.h"

enum {
    MOST_SKEW_US = 1000000
}; /* times of different threads are put in order if they differ by no
                                  * more than this */

void mv_block_log_begin(mv_block_log *log, mv_build *build, mv_arena *scratch)
{
    *log = (mv_block_log){.build = build, .scratch = scratch, .next_address = MV_BLOCK_LOG_ADDRESS};
    mv_live_holdings_init(scratch, &log->held);
}

/* ---- events ------------------------------------------------------------------------------ */

static int64_t ordered_us(mv_block_log *log, int64_t time_us)
{
    if (time_us < log->last_us && (uint64_t)log->last_us - (uint64_t)time_us < MOST_SKEW_US)
        time_us = log->last_us;
    log->last_us = time_us;
    return time_us;
}

static mv_event_row row_of(mv_block_log *log, const mv_block_entry *entry)
{
    mv_event_row row = MV_EVENT_ROW;

    row.addr = entry->addr;
    row.stream = mv_build_stream(log->build, entry->stream);
    row.tag = entry->tag;
    row.time_us = ordered_us(log, entry->time_us);
    row.stack = entry->stack;
    row.call = entry->stack.row == MV_NO_ROW || entry->stack.row == MV_EMPTY_STACK.row
                   ? MV_NO_CALL
                   : log->build->trace->calls++;
    return row;
}

static void add(mv_block_log *log, mv_event_row *row, mv_action action, uint64_t size)
{
    row->action = (uint8_t)action;
    row->size = size;
    mv_build_event(log->build, row);
    log->ranges[log->list].count++;
}

static void hold(mv_block_log *log, const mv_block_entry *entry, uint64_t order, uint32_t call)
{
    mv_live_holding block = {.addr = entry->addr,
                             .size = entry->bytes,
                             .order = order,
                             .stack = entry->stack,
                             .call = call,
                             .list = log->list};
    mv_live_holding old;

    log->failed |= !mv_live_hold(&log->held, &block, &old);
}

static void write_alloc(mv_block_log *log, const mv_block_entry *entry)
{
    mv_event_row row = row_of(log, entry);

    add(log, &row, MV_ACTION_SEGMENT_ALLOC, entry->bytes);
    add(log, &row, MV_ACTION_ALLOC, entry->requested);
    hold(log, entry, log->build->events.count, row.call);
}

static void write_free(mv_block_log *log, const mv_block_entry *entry)
{
    mv_event_row row = row_of(log, entry);
    mv_live_holding block;

    mv_live_release(&log->held, log->list, entry->addr, &block);
    add(log, &row, MV_ACTION_FREE_REQUESTED, entry->requested);
    add(log, &row, MV_ACTION_FREE_COMPLETED, entry->requested);
    add(log, &row, MV_ACTION_SEGMENT_FREE, entry->bytes);
}

static void write_failure(mv_block_log *log, const mv_block_entry *entry)
{
    mv_event_row row = row_of(log, entry);

    row.addr = MV_NO_BYTES;
    add(log, &row, MV_ACTION_OOM, entry->requested);
}

/* ---- entries ----------------------------------------------------------------------------- */

/* Gives addresses to the blocks that are not in the log. Returns false if no address space is
 * left. */
static bool place_made(mv_block_log *log, mv_block *blocks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!blocks[i].is_made)
            continue;
        if (blocks[i].bytes > MV_BLOCK_LOG_CACHE - log->next_address)
            return false;
        blocks[i].addr = log->next_address;
        log->next_address += blocks[i].bytes;
    }
    return true;
}

static void write_action(mv_block_log *log, const mv_block_balance *found,
                         const mv_block_action *action)
{
    const mv_block_step *step = &log->steps[action->at];
    mv_block_entry entry = step->entry;

    if (action->kind == MV_BLOCK_ACTION_FAILURE) {
        write_failure(log, &entry);
        return;
    }
    if (found->blocks[action->block].is_void)
        return;
    entry.addr = found->blocks[action->block].addr;
    entry.bytes = found->blocks[action->block].bytes;
    entry.requested = found->blocks[action->block].requested;
    if (!action->is_own) {
        entry.stack = MV_NO_STACK;
        entry.stream = 0;
        entry.tag = MV_PLAIN_TAG;
    }
    if (action->kind == MV_BLOCK_ACTION_ALLOC)
        write_alloc(log, &entry);
    else
        write_free(log, &entry);
}

/* ---- reserved bytes ------------------------------------------------------------------------ */

/* Returns the number of reserved bytes that are not in blocks after an entry; MV_NO_BYTES if it is
 * unknown. */
static uint64_t cached_after(const mv_block_entry *e)
{
    if (!e->has_reserved || !e->has_total || e->reserved >= MV_SUM_LIMIT ||
        e->total >= MV_SUM_LIMIT || e->bytes >= MV_SUM_LIMIT)
        return MV_NO_BYTES;
    return e->reserved > e->total ? e->reserved - e->total : 0;
}

/* Sets the number of reserved bytes that are not in blocks before the first entry that contains the
 * number of reserved bytes. It is assumed that the same number of bytes was reserved before and
 * after this entry, so the number of bytes outside blocks changes only by the size of the entry's
 * block. If nothing was allocated before, the result is 0. */
static void begin_cache(mv_block_log *log)
{
    const mv_block_step *s = log->steps, *end = s + log->step_count;

    log->cached = 0;
    while (s < end && cached_after(&s->entry) == MV_NO_BYTES)
        s++;
    if (s == end || (s->kind == MV_BLOCK_STEP_ALLOC && s->entry.total == s->entry.bytes))
        return;
    log->cached = cached_after(&s->entry);
    if (s->kind == MV_BLOCK_STEP_ALLOC)
        log->cached += s->entry.bytes;
    else if (s->kind == MV_BLOCK_STEP_FREE)
        log->cached -= log->cached < s->entry.bytes ? log->cached : s->entry.bytes;
}

/* Changes the number of reserved bytes that are not in blocks; MV_NO_BYTES leaves it unchanged. */
static void set_cache(mv_block_log *log, int64_t time_us, uint64_t cached)
{
    bool is_more = cached > log->cached;
    uint64_t low = is_more ? log->cached : cached;
    mv_block_entry entry = {.time_us = time_us, .addr = MV_BLOCK_LOG_CACHE + low};
    mv_event_row row;

    entry.stack = MV_NO_STACK;
    if (cached == log->cached || cached == MV_NO_BYTES)
        return;
    row = row_of(log, &entry);
    add(log, &row, is_more ? MV_ACTION_SEGMENT_MAP : MV_ACTION_SEGMENT_UNMAP,
        is_more ? cached - low : log->cached - low);
    log->cached = cached;
}

/* Writes the events of an entry. The segments never add up to more than was reserved before or
 * after the entry, because the reserved bytes outside blocks shrink before blocks begin, and grow
 * after blocks end. With the block of the entry, the segments add up to the number of reserved
 * bytes in the entry. */
static uint64_t write_step(mv_block_log *log, const mv_block_balance *found, uint32_t at,
                           uint64_t next)
{
    int64_t time_us = log->steps[at].entry.time_us;
    uint64_t cached = cached_after(&log->steps[at].entry);

    if (cached < log->cached)
        set_cache(log, time_us, cached);
    for (; next < found->action_count && found->actions[next].at == at; next++) {
        const mv_block_action *action = &found->actions[next];
        if (action->is_own && action->kind == MV_BLOCK_ACTION_ALLOC)
            set_cache(log, time_us, cached);
        write_action(log, found, action);
    }
    set_cache(log, time_us, cached);
    return next;
}

static void hold_cache(mv_block_log *log)
{
    mv_block_entry rest = {.addr = MV_BLOCK_LOG_CACHE, .bytes = log->cached};

    rest.stack = MV_NO_STACK;
    if (log->cached > 0)
        hold(log, &rest, 0, MV_NO_CALL);
}

/* Writes a list when all its entries are known. */
static void write_list(mv_block_log *log)
{
    mv_arena own;
    mv_block_balance found;
    uint64_t next = 0;

    if (log->step_count == 0 || log->failed)
        return;
    mv_arena_init(&own, log->scratch->budget);
    log->failed |= !mv_block_balance_find(&own, log->build, log->steps, log->step_count, &found) ||
                   !place_made(log, found.blocks, found.count);
    begin_cache(log);
    for (uint32_t i = 0; !log->failed && i < log->step_count && log->build->code == MV_OK; i++)
        next = write_step(log, &found, i, next);
    hold_cache(log);
    for (uint32_t i = 0; !log->failed && i < found.count; i++) {
        mv_block *b = &found.blocks[i];
        mv_block_entry entry = {.addr = b->addr, .bytes = b->bytes, .stack = MV_NO_STACK};
        if (b->birth == MV_BLOCK_BEFORE && b->end == MV_BLOCK_NEVER)
            hold(log, &entry, 0, MV_NO_CALL);
    }
    log->unsure += log->failed ? 0 : found.unsure;
    log->step_count = 0;
    mv_arena_release(&own);
}

void mv_block_log_device(mv_block_log *log, uint32_t list)
{
    write_list(log);
    log->list = list;
    log->last_us = INT64_MIN;
    log->ranges[list].first = log->build->events.count;
    if (list != MV_BLOCK_LOG_HOST && list >= log->devices)
        log->devices = list + 1;
}

static void keep(mv_block_log *log, const mv_block_entry *entry, mv_block_step_kind kind)
{
    mv_block_step step = {*entry, (uint8_t)kind};

    log->failed |= !mv_append(log->scratch, log->steps, log->step_count, log->step_capacity, step);
}

void mv_block_log_alloc(mv_block_log *log, const mv_block_entry *entry)
{
    keep(log, entry, MV_BLOCK_STEP_ALLOC);
}

void mv_block_log_free(mv_block_log *log, const mv_block_entry *entry)
{
    keep(log, entry, MV_BLOCK_STEP_FREE);
}

void mv_block_log_unread(mv_block_log *log)
{
    log->unsure++;
}

void mv_block_log_failure(mv_block_log *log, const mv_block_entry *entry)
{
    keep(log, entry, MV_BLOCK_STEP_FAILURE);
}

/* ---- the final heap ---------------------------------------------------------------------- */

void mv_block_log_final(mv_build *build, int32_t device, uint64_t addr, uint64_t bytes,
                        uint64_t requested, uint64_t stream, mv_stack_id stack, uint32_t call)
{
    mv_segment_row segment = MV_SEGMENT_ROW;
    mv_block_row block = MV_BLOCK_ROW;

    block.address = segment.address = addr;
    block.size = segment.total_size = segment.allocated = segment.active = bytes;
    block.requested = segment.requested = requested;
    block.state = MV_BLOCK_ALLOCATED;
    block.stack = segment.stack = stack;
    block.call = segment.call = call;
    segment.device = device;
    segment.stream = mv_build_stream(build, stream);
    segment.kind = MV_SEGMENT_LARGE;
    segment.pool = MV_DEFAULT_POOL;
    segment.first_block = build->trace->blocks.count;
    segment.blocks = 1;
    mv_build_block(build, &block);
    mv_build_segment(build, &segment);
}

/* Adds the segment for the reserved bytes that are not in blocks. */
static void add_cache(mv_build *b, const mv_live_holding *h)
{
    mv_segment_row segment = MV_SEGMENT_ROW;
    mv_block_row block = MV_BLOCK_ROW;

    block.address = segment.address = h->addr;
    block.size = segment.total_size = h->size;
    block.state = MV_BLOCK_INACTIVE;
    segment.device = (int32_t)h->list;
    segment.stream = mv_build_stream(b, 0);
    segment.kind = MV_SEGMENT_LARGE;
    segment.pool = MV_DEFAULT_POOL;
    segment.requested = 0;
    segment.is_expandable = 1;
    segment.first_block = b->trace->blocks.count;
    segment.blocks = 1;
    mv_build_block(b, &block);
    mv_build_segment(b, &segment);
}

static void add_final(mv_build *b, const mv_live_holding *h)
{
    uint64_t requested = h->order ? b->events.size[h->order - 1] : h->size, stream = 0;

    if (h->addr >= MV_BLOCK_LOG_CACHE && h->list != MV_BLOCK_LOG_HOST && !h->order) {
        add_cache(b, h);
        return;
    }
    if (h->order)
        stream = b->trace->streams.value[b->events.stream[h->order - 1].row];
    mv_block_log_final(b, h->list == MV_BLOCK_LOG_HOST ? -1 : (int32_t)h->list, h->addr, h->size,
                       requested, stream, h->stack, h->call);
}

/* devices: the segment rows of all devices, which come before those of the host */
static bool build_heap(mv_block_log *log, mv_build_ranges *out)
{
    const mv_live_holdings *held = &log->held;
    mv_live_holding *rows = mv_push_array(log->scratch, mv_live_holding, held->count + 1);
    uint64_t count = 0;

    if (!rows)
        return false;
    for (uint32_t i = 0; i < held->count; i++)
        if (held->rows[i].list != MV_NO_ROW)
            rows[count++] = held->rows[i];
    mv_sort_rows(log->scratch, rows, count, MV_RISING(mv_live_holding, list),
                 MV_RISING(mv_live_holding, addr));
    out->segments.first = log->build->segments.count;
    for (uint64_t i = 0; i < count && log->build->code == MV_OK; i++) {
        add_final(log->build, &rows[i]);
        out->segments.count += rows[i].list != MV_BLOCK_LOG_HOST;
    }
    out->host_segments.first = out->segments.first + out->segments.count;
    out->host_segments.count = log->build->segments.count - out->host_segments.first;
    return true;
}

mv_code mv_block_log_end(mv_block_log *log, mv_err *err)
{
    mv_build_ranges ranges = {.devices = log->ranges};

    write_list(log);
    ranges.device_count = log->devices;
    ranges.host_events = log->ranges[MV_BLOCK_LOG_HOST];
    if (log->unsure)
        mv_live_fact_add_number(log->build, MV_FACT_UNSURE, log->unsure);
    if (log->failed || (log->build->code == MV_OK && !build_heap(log, &ranges)))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u events", log->build->events.count);
    return mv_build_finish(log->build, &ranges, err);
}
