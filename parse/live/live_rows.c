#include "parse/live/live_rows.h"

#include <inttypes.h>
#include <sys/utsname.h>

#include "base/grow.h"
#include "parse/live/live_facts.h"
#include "parse/live/read_live.h"

/* Times of different threads are put in order if they differ by no more than this. */
enum { MOST_SKEW_US = 1000000 };

static bool out_of_memory(mv_live_rows *l)
{
    l->build.code = l->build.code == MV_OK ? MV_NOMEM : l->build.code;
    return false;
}

/* ---- devices and times ------------------------------------------------------------------- */

/* Returns the list of a c10::Device; MV_NO_ROW if it has no list. Ordinals belong to the first
 * device type in the records that is not the CPU. */
static uint32_t list_of(mv_live_rows *l, int64_t type, int64_t index)
{
    if (type == 0)
        return MV_LIVE_CPU;
    if (l->accelerator == 0)
        l->accelerator = type;
    if (type == l->accelerator && index >= 0 && index < MV_LIVE_CPU)
        return (uint32_t)index;
    mv_build_note(&l->build, MV_NOTE_LOOSE, "event of device type %lld, index %lld",
                  (long long)type, (long long)index);
    return MV_NO_ROW;
}

static void see_device(mv_live_rows *l, uint32_t list)
{
    if (list < MV_LIVE_CPU && list >= l->gpus)
        l->gpus = list + 1;
}

static int64_t epoch_us(const mv_live_rows *l, uint64_t monotonic_us)
{
    return (int64_t)(monotonic_us + (uint64_t)l->to_epoch_us);
}

/* Puts times in order. A thread takes a number before it takes the time, so the times of
 * neighbouring records may be out of order by microseconds. In this case the later record is given
 * the time of the earlier record. */
static int64_t ordered_us(mv_live_list *d, int64_t time_us)
{
    if (d->count && time_us < d->last_us && (uint64_t)d->last_us - (uint64_t)time_us < MOST_SKEW_US)
        time_us = d->last_us;
    d->last_us = time_us;
    return time_us;
}

/* ---- events ------------------------------------------------------------------------------ */

/* Moves the events if there is no room for another one, but a trace uses them where they are. */
static bool make_room(mv_live_rows *l)
{
    if (!l->is_lent || l->build.events.count < l->build.capacity[MV_WIRE_EVENTS])
        return true;
    l->is_lent = false;
    return mv_build_move_events(&l->build);
}

static bool append_event(mv_live_rows *l, uint32_t list, mv_event_row *row, const mv_live_record *r)
{
    mv_live_list *d = &l->lists[list];

    see_device(l, list);
    row->time_us = ordered_us(d, epoch_us(l, r->time_us));
    d->last_stack = r->stack;
    d->last_thread = r->thread;
    if (l->straight == MV_NO_ROW)
        l->straight = list;
    if (l->straight == list) {
        if (!make_room(l))
            return false;
        mv_build_event(&l->build, row);
    } else {
        if (!mv_room(&l->scratch, d->rows, d->count, d->capacity))
            return out_of_memory(l);
        d->rows[d->count] = *row;
    }
    d->count++;
    return l->build.code == MV_OK;
}

static uint8_t last_action(const mv_live_rows *l, uint32_t list)
{
    const mv_live_list *d = &l->lists[list];

    if (d->count == 0)
        return MV_ACTION_OTHER;
    return l->straight == list ? l->build.events.action[d->count - 1]
                               : d->rows[d->count - 1].action;
}

static uint32_t last_call(const mv_live_rows *l, uint32_t list)
{
    const mv_live_list *d = &l->lists[list];

    return l->straight == list ? l->build.events.call[d->count - 1] : d->rows[d->count - 1].call;
}

static bool is_segment_action(uint8_t action)
{
    return action >= MV_ACTION_SEGMENT_ALLOC && action <= MV_ACTION_SEGMENT_UNMAP;
}

/* Returns the call number of an event. Segment events and the alloc after them are one allocator
 * call if they have the same thread and the same stack; every other event is a separate call. */
static uint32_t call_of(mv_live_rows *l, uint32_t list, mv_stack_id stack, const mv_live_record *r)
{
    const mv_live_list *d = &l->lists[list];

    if (stack.row == MV_NO_ROW || stack.row == MV_EMPTY_STACK.row)
        return MV_NO_CALL;
    if (d->count && is_segment_action(last_action(l, list)) && d->last_stack == r->stack &&
        d->last_thread == r->thread)
        return last_call(l, list);
    return l->build.trace->calls++;
}

static mv_event_row event_row(mv_live_rows *l, uint32_t list, mv_action action,
                              const mv_live_record *r)
{
    mv_event_row row = MV_EVENT_ROW;

    row.action = (uint8_t)action;
    row.addr = r->addr;
    row.size = r->size;
    row.stack = mv_live_names_stack(l->names, r->stack);
    row.call = call_of(l, list, row.stack, r);
    return row;
}

/* ---- blocks ------------------------------------------------------------------------------ */

static bool add_block(mv_live_rows *l, uint32_t list, const mv_live_record *r)
{
    mv_event_row row = event_row(l, list, MV_ACTION_ALLOC, r);
    mv_live_holding block = {.addr = r->addr, .size = r->size, .order = l->order++, .list = list};
    mv_live_holding old;

    block.stack = row.stack;
    block.call = row.call;
    if (!mv_live_hold(&l->blocks, &block, &old))
        return out_of_memory(l);
    if (old.size)
        mv_build_note(&l->build, MV_NOTE_LOST, "a free of %#" PRIx64 " on device %u", r->addr,
                      list);
    l->lists[list].allocated += r->size - old.size;
    return append_event(l, list, &row, r);
}

/* Adds both free events at once, with the stack of the alloc, as PyTorch's recorder does. */
static bool end_block(mv_live_rows *l, uint32_t list, const mv_live_record *r)
{
    mv_event_row row = MV_EVENT_ROW;
    mv_live_holding block = {.stack = MV_NO_STACK, .call = MV_NO_CALL};

    if (mv_live_release(&l->blocks, list, r->addr, &block))
        l->lists[list].allocated -= block.size;
    else
        mv_build_note(&l->build, MV_NOTE_LOST, "the alloc of %#" PRIx64 " on device %u", r->addr,
                      list);
    row.addr = r->addr;
    row.size = r->size;
    row.stack = block.stack;
    row.call = block.call;
    row.action = MV_ACTION_FREE_REQUESTED;
    if (!append_event(l, list, &row, r))
        return false;
    row.action = MV_ACTION_FREE_COMPLETED;
    return append_event(l, list, &row, r);
}

static bool add_oom(mv_live_rows *l, uint32_t list, const mv_live_record *r)
{
    mv_event_row row = event_row(l, list, MV_ACTION_OOM, r);

    row.addr = MV_NO_BYTES;
    return append_event(l, list, &row, r);
}

/* Compares the framework's totals with the sums of the events. Totals reported by CPU allocators
 * are ignored. */
static void compare_totals(mv_live_rows *l, uint32_t list, const mv_live_record *r)
{
    mv_live_list *d = &l->lists[list];
    uint64_t allocated = r->allocated - d->allocated, reserved = r->reserved - d->reserved;

    if (list == MV_LIVE_CPU)
        return;
    if (allocated != d->off_allocated)
        mv_build_note(&l->build, MV_NOTE_LOST,
                      "device %u, event %u: PyTorch has %" PRId64 " allocated bytes more", list,
                      d->count, (int64_t)(allocated - d->off_allocated));
    if (reserved != d->off_reserved && d->has_segments)
        mv_build_note(&l->build, MV_NOTE_LOST,
                      "device %u, event %u: PyTorch has %" PRId64 " reserved bytes more", list,
                      d->count, (int64_t)(reserved - d->off_reserved));
    d->off_allocated = allocated;
    d->off_reserved = reserved;
}

/* ---- segments ---------------------------------------------------------------------------- */

/* Returns true if PyTorch's allocator made the call, judging by the calling library. */
static bool is_allocator(mv_span path)
{
    static const char *const names[] = {"libc10_cuda.", "libc10_hip."};
    uint64_t name = path.length;

    while (name > 0 && path.data[name - 1] != '/')
        name--;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (path.length - name >= strlen(names[i]) &&
            memcmp(path.data + name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Returns true if the call continues the last event. A loop maps an expandable segment in pieces,
 * for which PyTorch's own traces have only one event. */
static bool continues_last(mv_live_rows *l, uint32_t list, mv_action action,
                           const mv_live_record *r)
{
    mv_live_list *d = &l->lists[list];
    bool straight = l->straight == list;
    mv_event_row *last = d->count && !straight ? &d->rows[d->count - 1] : NULL;
    uint64_t addr, *size;

    if ((!straight && !last) ||
        (action != MV_ACTION_SEGMENT_MAP && action != MV_ACTION_SEGMENT_UNMAP) ||
        last_action(l, list) != action || d->last_stack != r->stack || d->last_thread != r->thread)
        return false;
    addr = straight ? l->build.events.addr[d->count - 1] : last->addr;
    size = straight ? &l->build.events.size[d->count - 1] : &last->size;
    if (addr + *size != r->addr)
        return false;
    *size += r->size;
    return true;
}

static bool append_segment(mv_live_rows *l, uint32_t list, mv_action action,
                           const mv_live_record *r)
{
    mv_event_row row;

    l->lists[list].has_segments = true;
    if (continues_last(l, list, action, r))
        return true;
    row = event_row(l, list, action, r);
    return append_event(l, list, &row, r);
}

static bool add_segment(mv_live_rows *l, uint32_t list, mv_action action, const mv_live_record *r)
{
    mv_live_list *d = &l->lists[list];
    mv_live_holding segment = {.addr = r->addr, .size = r->size, .order = l->order++}, old;

    if (!append_segment(l, list, action, r))
        return false;
    segment.list = list;
    segment.stack = mv_live_names_stack(l->names, r->stack);
    segment.call = last_call(l, list);
    segment.is_expandable = action == MV_ACTION_SEGMENT_MAP;
    if (!mv_live_hold(&l->segments, &segment, &old))
        return out_of_memory(l);
    d->reserved += r->size - old.size;
    return true;
}

/* Removes the segment at an address. PyTorch may release memory of one device while another device
 * is current. */
static bool release_segment(mv_live_rows *l, uint32_t list, uint64_t addr, mv_live_holding *out)
{
    if (!mv_live_release(&l->segments, list, addr, out) &&
        !mv_live_release_any(&l->segments, l->gpus, addr, out))
        return false;
    l->lists[out->list].reserved -= out->size;
    return true;
}

static bool end_segment(mv_live_rows *l, uint32_t list, const mv_live_record *r)
{
    mv_live_record with_size = *r;
    mv_live_holding segment;

    if (r->addr == 0)
        return true;
    if (!release_segment(l, list, r->addr, &segment)) {
        mv_build_note(&l->build, MV_NOTE_LOST, "the segment at %#" PRIx64 " that was released",
                      r->addr);
        return true;
    }
    with_size.size = segment.size;
    if (l->is_uncached && !end_block(l, segment.list, &with_size))
        return false;
    return append_segment(l, segment.list, MV_ACTION_SEGMENT_FREE, &with_size);
}

/* Applies a map call. Memory of another process is not reserved by PyTorch. */
static bool map_memory(mv_live_rows *l, uint32_t list, const mv_live_record *r)
{
    mv_live_holding mapping = {.addr = r->addr, .size = r->size}, old;

    if (mv_map_find(&l->imports, r->number) != MV_NOT_IN_MAP)
        return mv_live_hold(&l->foreign, &mapping, &old) || out_of_memory(l);
    mv_live_release(&l->foreign, 0, r->addr, &old);
    return add_segment(l, list, MV_ACTION_SEGMENT_MAP, r);
}

/* Applies an unmap call, which may end several pieces that were mapped separately. Adjacent pieces
 * on one device are one event. */
static bool end_mapping(mv_live_rows *l, uint32_t list, const mv_live_record *r)
{
    mv_live_record ended = *r;
    mv_live_holding piece;
    uint64_t found = 0;

    ended.size = 0;
    for (; found < r->size; found += piece.size) {
        bool is_foreign = mv_live_release(&l->foreign, 0, r->addr + found, &piece);
        if (!is_foreign && !release_segment(l, list, r->addr + found, &piece))
            break;
        if (ended.size && (is_foreign || piece.list != list)) {
            if (!append_segment(l, list, MV_ACTION_SEGMENT_UNMAP, &ended))
                return false;
            ended.size = 0;
        }
        if (is_foreign)
            continue;
        ended.addr = ended.size ? ended.addr : piece.addr;
        ended.size += piece.size;
        list = piece.list;
    }
    if (found != r->size)
        mv_build_note(&l->build, MV_NOTE_LOST, "the mapping at %#" PRIx64 " that was ended",
                      r->addr + found);
    return ended.size == 0 || append_segment(l, list, MV_ACTION_SEGMENT_UNMAP, &ended);
}

/* Applies a call of PyTorch's allocator to its segments. */
static bool apply_call(mv_live_rows *l, const mv_live_record *r)
{
    int64_t device = r->device >= 0 ? r->device : r->current;
    uint32_t list = device >= 0 && device < MV_LIVE_CPU ? (uint32_t)device : 0;
    mv_live_holding reservation = {.addr = r->addr, .size = r->size}, old;

    switch (r->action) {
    case MV_API_ALLOC:
        return add_segment(l, list, MV_ACTION_SEGMENT_ALLOC, r) &&
               (!l->is_uncached || add_block(l, list, r));
    case MV_API_FREE:
        return end_segment(l, list, r);
    case MV_API_IMPORT:
        return mv_map_put(&l->imports, r->number, 0) || out_of_memory(l);
    case MV_API_CREATE:
        mv_map_take(&l->imports, r->number);
        return true;
    case MV_API_MAP:
        return map_memory(l, list, r);
    case MV_API_UNMAP:
        return end_mapping(l, list, r);
    case MV_API_RESERVE:
        return mv_live_hold(&l->reservations, &reservation, &old) || out_of_memory(l);
    case MV_API_UNRESERVE:
        mv_live_release(&l->reservations, 0, r->addr, &old);
        return true;
    default:
        return true;
    }
}

static bool is_ordinal(int64_t device)
{
    return device >= 0 && device < MV_LIVE_CPU;
}

/* Remembers the pool that a call makes until the pool is destroyed. */
static bool know_pool(mv_live_rows *l, const mv_live_record *r)
{
    uint32_t value = is_ordinal(r->device) ? (uint32_t)r->device + 1 : 0;

    if (r->result == 0 && r->action == MV_API_POOL_CREATE)
        return mv_map_put(&l->pools, r->number, value) || out_of_memory(l);
    if (r->result == 0 && r->action == MV_API_POOL_DESTROY)
        mv_map_take(&l->pools, r->number);
    return true;
}

/* Returns the device that a call's memory is on; -1: none, or unknown. Calls are recorded with the
 * current device, but a pool's memory is on the pool's device. */
static int32_t device_of(const mv_live_rows *l, const mv_live_record *r)
{
    uint32_t pool =
        r->action == MV_API_ALLOC_ASYNC ? mv_map_find(&l->pools, r->number) : MV_NOT_IN_MAP;

    if (pool != MV_NOT_IN_MAP)
        return (int32_t)pool - 1;
    return is_ordinal(r->device) ? (int32_t)r->device : -1;
}

/* Returns true if a call proves that its device exists, which is the case if it succeeded or ran
 * out of memory. A call that failed for another reason may have named a device that does not
 * exist. */
static bool shows_device(const mv_live_rows *l, int32_t device, int64_t result)
{
    enum { OUT_OF_MEMORY = 2 }; /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */

    return device >= 0 && ((uint32_t)device < l->gpus || result == 0 || result == OUT_OF_MEMORY);
}

static bool add_call(mv_live_rows *l, const mv_live_record *r)
{
    mv_api_call_row row = MV_API_CALL_ROW;
    int32_t device = device_of(l, r);

    device = shows_device(l, device, r->result) ? device : -1;
    row.time_us = epoch_us(l, r->time_us);
    row.addr = r->addr ? r->addr : MV_NO_BYTES;
    row.size = r->size;
    row.handle = r->number;
    row.device = device;
    row.action = r->action;
    row.result = r->result >= INT32_MIN && r->result <= INT32_MAX ? (int32_t)r->result : INT32_MAX;
    row.stack = mv_live_names_stack(l->names, r->stack);
    row.api = mv_live_names_string(l->names, r->text);
    row.library = mv_live_names_string(l->names, r->library);
    if (device >= 0) {
        see_device(l, (uint32_t)device);
        row.event = l->lists[device].count;
    }
    row.launches = l->launches;
    row.waits = l->waits;
    mv_build_api_call(&l->build, &row);
    if (!know_pool(l, r))
        return false;
    if (r->result == 0 && is_allocator(mv_live_names_text(l->names, r->library)))
        return apply_call(l, r);
    return true;
}

static bool add_heap_call(mv_live_rows *l, const mv_live_record *r)
{
    mv_heap_call_row row = {.time_us = epoch_us(l, r->time_us),
                            .addr = r->addr,
                            .size = r->size,
                            .action = r->action,
                            .device = is_ordinal(r->device) ? (int32_t)r->device : -1};

    row.heap = mv_live_names_string(l->names, r->text);
    row.library = mv_live_names_string(l->names, r->library);
    row.stack = mv_live_names_stack(l->names, r->stack);
    mv_build_heap_call(&l->build, &row);
    return true;
}

/* ---- records ----------------------------------------------------------------------------- */

static bool add_framework_event(mv_live_rows *l, const mv_live_record *r)
{
    uint32_t list = list_of(l, r->device_type, r->device);

    if (list == MV_NO_ROW)
        return true;
    switch (r->kind) {
    case MV_LIVE_EVENT_BLOCK:
        return add_block(l, list, r);
    case MV_LIVE_EVENT_FREE:
        return end_block(l, list, r);
    case MV_LIVE_EVENT_OOM:
        return add_oom(l, list, r);
    default:
        compare_totals(l, list, r);
        return true;
    }
}

/* Adds a value of a counter. Threads share the counters but write records separately, so a smaller
 * value than before is ignored. */
static bool add_count(uint64_t number, uint64_t *latest, mv_value_of_RISING *last)
{
    if (number > *latest)
        *latest = number;
    if (last)
        *last = *latest;
    return true;
}

static bool add_clock(mv_live_rows *l, const mv_live_record *r)
{
    mv_api_calls *calls = &l->build.trace->api_calls;
    uint32_t last = calls->count - 1;

    if (r->kind == MV_LIVE_EVENT_LAUNCHES)
        return add_count(r->number, &l->launches, calls->count ? &calls->launches[last] : NULL);
    return r->action != MV_LIVE_COUNT_WAITS ||
           add_count(r->number, &l->waits, calls->count ? &calls->waits[last] : NULL);
}

static bool add_record(mv_live_rows *l, const mv_live_record *r)
{
    switch (r->kind) {
    case MV_LIVE_EVENT_BLOCK:
    case MV_LIVE_EVENT_FREE:
    case MV_LIVE_EVENT_OOM:
    case MV_LIVE_EVENT_TOTALS:
        return add_framework_event(l, r);
    case MV_LIVE_EVENT_CALL:
        return add_call(l, r);
    case MV_LIVE_EVENT_HEAP:
        return add_heap_call(l, r);
    case MV_LIVE_EVENT_LAUNCHES:
    case MV_LIVE_EVENT_COUNT:
        return add_clock(l, r);
    default:
        return mv_live_ranges_add(&l->ranges, &l->build, l->names, r, epoch_us(l, r->time_us)) ||
               out_of_memory(l);
    }
}

bool mv_live_rows_add(mv_live_rows *l, const mv_live_record *r)
{
    return add_record(l, r) && l->build.code == MV_OK;
}

void mv_live_rows_note_missing(mv_live_rows *l, const mv_live_missing *missing)
{
    if (missing->lost) {
        mv_build_note(&l->build, MV_NOTE_LOST, "number %" PRIu64 " of the capture",
                      missing->lost_at);
        l->build.trace->notes[MV_NOTE_LOST].count += missing->lost - 1;
    }
    mv_live_facts_note_lost(&l->build, l->names->build->trace);
    l->build.trace->notes[MV_NOTE_UNDER_WAY].count += missing->under_way;
}

/* ---- the beginning ----------------------------------------------------------------------- */

mv_live_rows *mv_live_rows_begin(mv_arena *scratch, mv_arena *arena, mv_trace *out)
{
    mv_live_rows *l = mv_push_struct(scratch, mv_live_rows);

    if (!l)
        return NULL;
    mv_arena_init(&l->scratch, arena->budget);
    l->straight = MV_NO_ROW;
    mv_live_holdings_init(&l->scratch, &l->blocks);
    mv_live_holdings_init(&l->scratch, &l->segments);
    mv_live_holdings_init(&l->scratch, &l->reservations);
    mv_live_holdings_init(&l->scratch, &l->foreign);
    l->imports.arena = l->pools.arena = &l->scratch;
    mv_live_ranges_init(&l->scratch, &l->ranges);
    mv_build_init(&l->build, arena, out);
    return l;
}

void mv_live_rows_end(mv_live_rows *l)
{
    mv_arena_release(&l->scratch);
}

/* Returns true if the file is from another machine. Paths in such a file have no meaning on this
 * machine, or a meaning that the file's author chose. */
static bool is_elsewhere(const mv_trace *facts)
{
    const char *host = mv_fact_find(facts, "host");
    struct utsname here;

    return !host || uname(&here) != 0 || strcmp(host, here.nodename) != 0;
}

mv_code mv_live_rows_know(mv_live_rows *l, bool looks_here, mv_err *err)
{
    const mv_trace *facts = l->names->build->trace;

    l->to_epoch_us = mv_live_to_epoch_us(facts);
    l->is_uncached = mv_fact_find(facts, MV_FACT_NO_CACHING);
    l->names->is_elsewhere = is_elsewhere(facts) && !looks_here;
    return mv_live_names_resolve(l->names, err);
}

/* ---- the end ----------------------------------------------------------------------------- */

/* Appends the rows of the other lists to those that went directly to the builder. */
static void place_lists(mv_live_rows *l, uint32_t cpu, mv_range *ranges)
{
    for (uint32_t i = 0; i < MV_LIVE_LISTS; i++) {
        mv_live_list *d = &l->lists[i];
        mv_range range = {l->straight == i ? 0 : l->build.events.count, d->count};
        for (uint32_t k = 0; l->straight != i && k < d->count; k++)
            mv_build_event(&l->build, &d->rows[k]);
        if (!l->is_copy)
            mv_arena_drop(&l->scratch, d->rows);
        if (i == MV_LIVE_CPU || i < l->gpus)
            ranges[i == MV_LIVE_CPU ? cpu : i] = range;
    }
}

static void renumber(uint32_t *calls, mv_range rows, uint32_t *number, uint32_t *next)
{
    for (uint32_t i = rows.first; i < rows.first + rows.count; i++) {
        if (calls[i] == MV_NO_CALL)
            continue;
        if (number[calls[i]] == MV_NO_CALL)
            number[calls[i]] = (*next)++;
        calls[i] = number[calls[i]];
    }
}

/* Numbers the calls, list by list rather than by time over all lists. If only one list has events,
 * this changes nothing. */
static bool number_calls(mv_live_rows *l, const mv_range *ranges, uint32_t devices,
                         mv_range segments)
{
    mv_build *b = &l->build;
    uint32_t *number = mv_arena_grow(&l->scratch, NULL, b->trace->calls * sizeof *number + 1);
    uint32_t next = 0;

    if (!number)
        return out_of_memory(l);
    for (uint32_t i = 0; i < b->trace->calls; i++)
        number[i] = MV_NO_CALL;
    for (uint32_t i = 0; i < devices; i++)
        renumber(b->events.call, ranges[i], number, &next);
    renumber(b->segments.call, segments, number, &next);
    renumber(b->trace->blocks.call, (mv_range){0, b->trace->blocks.count}, number, &next);
    return true;
}

static bool build_heap(mv_live_rows *l, mv_range *out)
{
    mv_live_heap heap = {
        .blocks = &l->blocks, .segments = &l->segments, .reservations = &l->reservations};

    for (uint32_t i = 0; i < MV_LIVE_LISTS; i++)
        heap.has_segments[i] = l->lists[i].has_segments;
    return mv_live_heap_build(&l->scratch, &l->build, &heap, out) || out_of_memory(l);
}

static void borrow_names(mv_trace *out, const mv_trace *from)
{
    out->strings = from->strings;
    out->frames = from->frames;
    out->stacks = from->stacks;
    out->fx = from->fx;
    out->facts = from->facts;
}

mv_code mv_live_rows_finish(mv_live_rows *l, mv_err *err)
{
    mv_range devices[MV_LIVE_LISTS] = {0};
    mv_build_ranges ranges = {.devices = devices};
    mv_build *names = l->names->build;
    bool has_cpu = l->has_cpu || l->lists[MV_LIVE_CPU].count > 0;

    ranges.device_count = l->gpus + has_cpu;
    place_lists(l, l->gpus, devices);
    if (!build_heap(l, &ranges.segments) ||
        (ranges.device_count > 1 && !l->is_lent &&
         !number_calls(l, devices, ranges.device_count, ranges.segments)))
        return mv_fail(err, l->build.code, MV_NO_OFFSET, "the final heap");
    if (has_cpu)
        mv_live_fact_add_number(names, MV_FACT_CPU_DEVICE, l->gpus);
    if (l->names->missing)
        mv_live_fact_add_number(names, "symbols_missing", l->names->missing);
    if (l->names->missing && l->names->is_elsewhere)
        mv_live_fact_add(names, "symbols_elsewhere", "1");
    borrow_names(l->build.trace, names->trace);
    return mv_build_finish(&l->build, &ranges, err);
}

bool mv_live_rows_can_lend(const mv_live_rows *l)
{
    uint8_t last;

    for (uint32_t i = 0; i < MV_LIVE_LISTS; i++)
        if (i != l->straight && l->lists[i].count)
            return false;
    if (l->straight == MV_NO_ROW)
        return false;
    last = last_action(l, l->straight);
    return last != MV_ACTION_SEGMENT_MAP && last != MV_ACTION_SEGMENT_UNMAP;
}

mv_code mv_live_rows_finish_copy(const mv_live_rows *l, const mv_live_missing *missing,
                                 bool shares_events, mv_arena *arena, mv_trace *out, mv_err *err)
{
    mv_live_names names = *l->names;
    mv_live_rows copy = *l;
    mv_trace texts;
    mv_build build;
    mv_code code;

    copy.is_copy = true;
    copy.is_lent = shares_events;
    copy.names = &names;
    names.build = &build;
    mv_arena_init(&copy.scratch, arena->budget);
    mv_build_clone(&build, arena, &texts, l->names->build, false);
    mv_build_clone(&copy.build, arena, out, &l->build, shares_events);
    if (build.code != MV_OK || copy.build.code != MV_OK)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u events", l->build.events.count);
    /* Adds the notes about names, which another builder has counted, to those about records. */
    for (unsigned i = 0; i < MV_NOTE_COUNT; i++) {
        uint64_t count = out->notes[i].count;
        if (!texts.notes[i].count)
            continue;
        out->notes[i] = texts.notes[i];
        out->notes[i].count += count;
    }
    mv_live_rows_note_missing(&copy, missing);
    code = mv_live_rows_finish(&copy, err);
    mv_arena_release(&copy.scratch);
    return code;
}
