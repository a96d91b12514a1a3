#include "capture/record/recorder.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "capture/record/clock.h"
#include "capture/record/names.h"
#include "capture/record/overrun.h"
#include "capture/record/process.h"
#include "capture/record/sampler.h"
#include "capture/record/stack_table.h"
#include "capture/record/status.h"
#include "capture/wire_leb128.h"

enum {
    ROOM = 256,    /* largest number of bytes in the records of one event: a CALL has ten numbers,
                    * and a BLOCK may have a DEVICE and a TOTALS in addition */
    PAGE_BITS = 9, /* addresses and sizes of the framework are multiples of 512 */
    DEVICE_TYPES = 32,
    DEVICES = 128,
    CPU_TYPE = 0, /* c10::DeviceType::CPU */
    MOST_STACK = 1 << 30,
    CAUGHT_UP = 16 /* number of kept allocations that are written with an event */
};

extern void *__libc_stack_end; /* end of the first thread's stack, set by the dynamic loader */

/* For each device, the sum of the framework's events, and the reserved bytes that the framework
 * reported last. The framework's lock orders the events of a device, so plain loads and stores are
 * enough. */
typedef struct {
    _Atomic uint64_t epoch, allocated, reserved;
} device_totals;

static device_totals totals[DEVICE_TYPES][DEVICES];

static_assert(ROOM > 3 + 20 * MV_LEB128_BYTES, "all records of one event fit");

/* The records of one event, which are committed together. */
typedef struct {
    mv_thread_block *block;
    uint8_t *at;
    mv_rec_moment moment;
} record;

/* ---- Entering ---- */

/* Starts the recording at the first event; later events only load the state. */
static void end_recording(void)
{
    int kept = errno;

    if (atomic_load_explicit(&mv_wiped.state, memory_order_relaxed) == MV_RECORDING_ON)
        mv_process_stop(MV_STOPPED_ERROR);
    errno = kept;
}

static bool enter_slowly(uintptr_t frame)
{
    int kept = errno;
    bool entered;

    mv_thread.inside = frame;
    entered = mv_thread_arm() != NULL;
    if (!entered)
        mv_thread.inside = 0;
    errno = kept;
    return entered;
}

static uintptr_t mark_at(uintptr_t frame)
{
    return frame ^ (uintptr_t)0x6d656d76697a2121; /* a value that is unlikely to be on a stack by
                                                   * chance */
}

static bool is_on_signal_stack(void)
{
    stack_t stack;
    int kept = errno;
    bool is_on = sigaltstack(NULL, &stack) != 0 || stack.ss_flags & SS_ONSTACK;

    errno = kept;
    return is_on;
}

/* Returns true if the address is in the part of this thread's stack that belongs to callers. libc
 * stores a block of data at the end of each stack that it has made. */
static bool is_in_callers(uintptr_t address, uintptr_t frame)
{
    uintptr_t first = (uintptr_t)__libc_stack_end, own = (uintptr_t)pthread_self();

    return address > frame && address - frame < MOST_STACK &&
           ((frame < own && address < own) || (frame < first && address < first));
}

/* Returns true if the thread has left the hook in mv_thread.inside by a jump or an exception. A
 * hook that runs inside another hook is called from below the other hook's frame, in which the mark
 * is still set. A signal handler may run anywhere. */
static bool has_left(uintptr_t frame)
{
    uintptr_t other = mv_thread.inside;
    bool left = frame >= other ? !mv_is_confined() && !is_on_signal_stack()
                               : is_in_callers(other, frame) &&
                                     *(const volatile uintptr_t *)other != mark_at(other); // NOLINT

    if (left)
        mv_thread_repair(mv_thread.block);
    return left;
}

bool mv_rec_enter(mv_rec_visit *visit)
{
    uint64_t epoch = mv_process_epoch();
    uintptr_t frame = (uintptr_t)visit;
    int state;

    if (mv_thread.inside && !has_left(frame))
        return false;
    if (mv_status_is_stopped()) {
        end_recording();
        return false;
    }
    visit->mark = mark_at(frame);
    if (epoch && mv_thread.epoch == epoch) {
        mv_thread.inside = frame;
        return true;
    }
    state = atomic_load_explicit(&mv_wiped.state, memory_order_relaxed);
    if (state == MV_RECORDING_OFF || state == MV_RECORDING_STOPPED)
        return false;
    return enter_slowly(frame);
}

/* Leaves a hook. A hook that was considered left may still return. */
void mv_rec_leave(mv_rec_visit *visit)
{
    visit->mark = 0;
    if (mv_thread.inside == (uintptr_t)visit)
        mv_thread.inside = 0;
}

bool mv_rec_confine(bool is_strict)
{
    return mv_process_confine(is_strict);
}

void mv_rec_unconfine(void)
{
    mv_process_unconfine();
}

mv_rec_moment mv_rec_now(void)
{
    mv_rec_moment now;

    now.sequence = atomic_fetch_add_explicit(&mv_process.sequence, 1, memory_order_relaxed);
    now.time_us = mv_process_now_us();
    return now;
}

mv_open_ranges *mv_rec_open_ranges(void)
{
    return &mv_thread.block->ranges;
}

bool mv_rec_wants_cpu(void)
{
    return mv_process.settings.cpu;
}

/* ---- Records ---- */

/* Returns the thread's block. During the real call the process may have forked, or the recording
 * may have stopped. */
static mv_thread_block *current(void)
{
    uint64_t epoch = mv_process_epoch();
    return epoch && mv_thread.epoch == epoch ? mv_thread.block : mv_thread_arm();
}

static bool begin(record *r, mv_thread_block *block, mv_rec_moment moment)
{
    *r = (record){.block = block, .moment = moment};
    block->is_writing = true;
    r->at = mv_thread_room(block, ROOM, moment);
    if (!r->at)
        block->is_writing = false;
    return r->at != NULL;
}

static void put(record *r, uint64_t value)
{
    r->at = mv_leb128_put(r->at, value);
}

static void put_signed(record *r, int64_t value)
{
    put(r, mv_leb128_zigzag(value));
}

/* Writes a tag without an address, for a record with the event's own time and number. */
static void put_tag(record *r, mv_live_event kind)
{
    mv_thread_block *block = r->block;

    *r->at++ = (uint8_t)(kind | MV_LIVE_NOT_RECENT << 4);
    put(r, r->moment.sequence - block->last.sequence);
    put(r, r->moment.time_us - block->last.time_us);
    block->last = r->moment;
}

/* Writes a tag for an additional record of an event, which has the same number and time. */
static void put_tag_beside(record *r, mv_live_event kind)
{
    *r->at++ = (uint8_t)(kind | MV_LIVE_NOT_RECENT << 4);
    *r->at++ = 0;
    *r->at++ = 0;
}

/* Limits an address. No device or host uses higher addresses. Larger differences between addresses
 * would leave no bit for the flag. */
static uint64_t in_range(uint64_t addr)
{
    return addr & (UINT64_MAX >> 2);
}

static uint32_t slot_of(const mv_thread_block *block, uint64_t addr)
{
    for (uint32_t i = 0; i < block->recent_count; i++)
        if (block->recent[i] == addr)
            return i;
    return MV_LIVE_NOT_RECENT;
}

static void spell_addr(record *r, uint64_t addr)
{
    mv_thread_block *block = r->block;
    int64_t step = (int64_t)(addr - block->spelled_addr);

    if (step & ((1 << PAGE_BITS) - 1))
        put(r, mv_leb128_zigzag(step) << 1);
    else
        put(r, mv_leb128_zigzag(step >> PAGE_BITS) << 1 | 1);
    block->spelled_addr = addr;
    block->recent[block->recent_next] = addr;
    block->recent_next = (block->recent_next + 1) % MV_LIVE_RECENT;
    if (block->recent_count < MV_LIVE_RECENT)
        block->recent_count++;
}

/* Writes a record's tag and its address field. */
static void put_addressed(record *r, mv_live_event kind, uint64_t addr)
{
    uint8_t *tag = r->at;
    uint32_t slot;

    addr = in_range(addr);
    slot = slot_of(r->block, addr);
    put_tag(r, kind);
    *tag = (uint8_t)((uint32_t)kind | slot << 4);
    if (slot == MV_LIVE_NOT_RECENT)
        spell_addr(r, addr);
}

static void put_size(record *r, uint64_t size)
{
    if (size & ((1 << PAGE_BITS) - 1))
        put(r, size << 1 | 1);
    else
        put(r, size >> PAGE_BITS << 1);
}

static void put_device(record *r, int32_t type, int32_t index)
{
    mv_thread_block *block = r->block;

    if (block->has_device && block->device_type == type && block->device == index)
        return;
    put_tag_beside(r, MV_LIVE_EVENT_DEVICE);
    put_signed(r, type);
    put_signed(r, index);
    block->has_device = true;
    block->device_type = type;
    block->device = index;
}

static void finish(record *r)
{
    mv_live_chunk_commit(&r->block->chunk, r->at);
    r->block->is_writing = false;
}

/* ---- The framework's events ---- */

static uint64_t shown(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void show(_Atomic uint64_t *at, uint64_t value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

/* Returns true if the framework's totals need a record, because they differ from the sum of its
 * events or because the reserved bytes have changed. CPU tensors are not checked, because their
 * totals are read outside the lock that orders their events. */
static bool totals_moved(const mv_rec_block_event *event, uint64_t epoch)
{
    uint32_t type = (uint8_t)event->device_type, device = (uint8_t)event->device;
    device_totals *t = &totals[type % DEVICE_TYPES][device % DEVICES];
    uint64_t sum = (uint64_t)event->size, reserved = 0;

    if (event->allocated == MV_REC_NO_TOTAL || type == CPU_TYPE || type >= DEVICE_TYPES ||
        device >= DEVICES)
        return false;
    if (shown(&t->epoch) == epoch) {
        sum += shown(&t->allocated);
        reserved = shown(&t->reserved);
    }
    show(&t->epoch, epoch);
    show(&t->allocated, event->allocated);
    show(&t->reserved, event->reserved);
    return sum != event->allocated || reserved != event->reserved;
}

static void put_totals(record *r, const mv_rec_block_event *event)
{
    put_tag_beside(r, MV_LIVE_EVENT_TOTALS);
    put(r, event->allocated);
    put(r, event->reserved);
}

static bool write_block(mv_thread_block *block, const mv_rec_block_event *event, uint32_t stack,
                        mv_rec_moment moment)
{
    bool is_free = event->size < 0;
    uint64_t size = is_free ? -(uint64_t)event->size : (uint64_t)event->size;
    record r;

    if (!begin(&r, block, moment))
        return false;
    put_device(&r, event->device_type, event->device);
    put_addressed(&r, is_free ? MV_LIVE_EVENT_FREE : MV_LIVE_EVENT_BLOCK, event->addr);
    put_size(&r, size);
    if (!is_free)
        put(&r, stack);
    if (totals_moved(event, block->epoch))
        put_totals(&r, event);
    finish(&r);
    return true;
}

static bool write_mark(mv_thread_block *block, mv_live_event kind, uint32_t text, uint64_t number,
                       mv_rec_moment moment)
{
    record r;

    if (!begin(&r, block, moment))
        return false;
    put_tag(&r, kind);
    if (kind == MV_LIVE_EVENT_BEGIN || kind == MV_LIVE_EVENT_END)
        put(&r, number);
    if (kind != MV_LIVE_EVENT_POP && kind != MV_LIVE_EVENT_END)
        put(&r, text);
    finish(&r);
    return true;
}

/* Writes up to `most` of the allocations that are kept in memory. Returns false if the recording
 * has stopped, or if no kept allocation is left. */
static bool write_kept(mv_thread_block *block, bool is_end, uint32_t most)
{
    mv_rec_block_event late;
    mv_rec_moment moment;
    uint32_t stack;
    bool goes_on = true;

    for (uint32_t i = 0; goes_on && i < most; i++)
        goes_on = mv_overrun_next(is_end, &late, &stack, &moment) &&
                  (late.device_type == MV_OVERRUN_RANGE
                       ? write_mark(block, MV_LIVE_EVENT_BEGIN, stack, late.addr, moment)
                       : write_block(block, &late, stack, moment));
    return goes_on;
}

static void put_block(mv_thread_block *block, const mv_rec_block_event *event)
{
    uint32_t stack = event->size < 0 ? 0 : mv_stack_table_now(block);

    if (!mv_overrun_keeps(event, stack) && write_block(block, event, stack, mv_rec_now()))
        write_kept(block, false, CAUGHT_UP);
}

void mv_rec_end(void)
{
    mv_rec_visit visit;
    mv_thread_block *block;

    if (!mv_overrun_await() || !mv_rec_enter(&visit))
        return;
    block = current();
    while (block && mv_overrun_await() && write_kept(block, true, MV_OVERRUN_ROWS))
        ;
    mv_rec_leave(&visit);
}

void mv_rec_block(const mv_rec_block_event *event)
{
    int kept = errno;
    mv_thread_block *block = event->size ? current() : NULL;

    if (block)
        put_block(block, event);
    errno = kept;
}

static void put_oom(mv_thread_block *block, const mv_rec_block_event *event)
{
    bool has_totals = event->allocated != MV_REC_NO_TOTAL;
    uint32_t stack = mv_stack_table_now(block);
    record r;

    if (!begin(&r, block, mv_rec_now()))
        return;
    put_device(&r, event->device_type, event->device);
    put_tag(&r, MV_LIVE_EVENT_OOM);
    put_size(&r, (uint64_t)event->size);
    put(&r, has_totals ? event->allocated : 0);
    put(&r, has_totals ? event->reserved : 0);
    put(&r, stack);
    finish(&r);
}

void mv_rec_oom(const mv_rec_block_event *event)
{
    int kept = errno;
    mv_thread_block *block = current();

    if (block)
        put_oom(block, event);
    errno = kept;
}

/* ---- Calls ---- */

/* Converts an id to the format's optional id, which is id + 1, or 0 for none. */
static uint64_t optional(uint32_t id)
{
    return id == MV_NO_ID ? 0 : (uint64_t)id + 1;
}

/* Writes the clock, if it has moved since it was last written. */
static void put_clock(record *r)
{
    static atomic_uint_fast64_t launches, waits;
    mv_clock now = mv_clock_now();

    if (atomic_exchange_explicit(&launches, now.launches, memory_order_relaxed) != now.launches) {
        put_tag_beside(r, MV_LIVE_EVENT_LAUNCHES);
        put(r, now.launches);
    }
    if (atomic_exchange_explicit(&waits, now.waits, memory_order_relaxed) != now.waits) {
        put_tag_beside(r, MV_LIVE_EVENT_COUNT);
        put(r, MV_LIVE_COUNT_WAITS);
        put(r, now.waits);
    }
}

static void put_call(mv_thread_block *block, const mv_rec_api *call)
{
    uint32_t api = mv_names_literal(call->api);
    uint32_t library = call->caller ? mv_names_library(call->caller) : MV_NO_ID;
    uint32_t stack = mv_api_gives(call->action) ? 0 : mv_stack_table_now(block);
    record r;

    if (!begin(&r, block, call->moment.sequence ? call->moment : mv_rec_now()))
        return;
    put_addressed(&r, MV_LIVE_EVENT_CALL, call->addr);
    put(&r, call->action);
    put_size(&r, call->size);
    put(&r, call->handle);
    put(&r, optional(api));
    put(&r, optional(library));
    put_signed(&r, call->device);
    put_signed(&r, call->result);
    put(&r, stack);
    put_clock(&r);
    finish(&r);
}

void mv_rec_call(const mv_rec_api *call)
{
    int kept = errno;
    mv_thread_block *block = current();

    if (block) {
        put_call(block, call);
        mv_sampler_after(call);
    }
    errno = kept;
}

void mv_rec_context_ends(void)
{
    mv_sampler_before_end();
}

/* ---- Heaps ---- */

static void put_heap(mv_thread_block *block, const mv_rec_heap_call *call)
{
    uint32_t heap = call->heap ? mv_names_literal(call->heap) : MV_NO_ID;
    uint32_t library = call->caller ? mv_names_library(call->caller) : MV_NO_ID;
    uint32_t stack = call->action == MV_HEAP_ALLOC ? mv_stack_table_now(block) : 0;
    record r;

    if (!begin(&r, block, mv_rec_now()))
        return;
    put_addressed(&r, MV_LIVE_EVENT_HEAP, call->addr);
    put(&r, call->action);
    put_size(&r, call->size);
    put(&r, optional(heap));
    put(&r, optional(library));
    put_signed(&r, call->device);
    put(&r, stack);
    finish(&r);
}

void mv_rec_heap(const mv_rec_heap_call *call)
{
    int kept = errno;
    mv_thread_block *block = current();

    if (block && call->size < (uint64_t)1 << MV_LIVE_SIZE_BITS)
        put_heap(block, call);
    else if (block)
        mv_process_lose(MV_LOST_SIZES);
    errno = kept;
}

/* ---- Marks ---- */

/* Returns true if the beginning of a range is left out. If it is, its end is not recorded
 * either. */
static bool leaves_out_push(mv_thread_block *block)
{
    uint64_t bit = block->open < 64 ? (uint64_t)1 << block->open : 0;

    block->open++;
    block->left_out = bit && mv_overrun_is_full() ? block->left_out | bit : block->left_out & ~bit;
    return block->left_out & bit;
}

static bool leaves_out_pop(mv_thread_block *block)
{
    block->open -= block->open > 0;
    return block->open < 64 && block->left_out >> block->open & 1;
}

static bool is_pause(const char *text)
{
    return text && (strcmp(text, MV_MARK_PAUSE) == 0 || strcmp(text, MV_MARK_RESUME) == 0);
}

/* Returns true if a mark is left out at the bound (overrun.h). */
static bool leaves_out(mv_thread_block *block, mv_live_event kind, const char *text)
{
    bool is_left_out = kind == MV_LIVE_EVENT_PUSH   ? leaves_out_push(block)
                       : kind == MV_LIVE_EVENT_POP  ? leaves_out_pop(block)
                       : kind == MV_LIVE_EVENT_MARK ? mv_overrun_is_full() && !is_pause(text)
                                                    : false;

    if (is_left_out)
        mv_process_lose(MV_LOST_BOUND);
    return is_left_out;
}

static void put_mark(mv_thread_block *block, mv_live_event kind, uint32_t text, uint64_t number)
{
    bool is_begin = kind == MV_LIVE_EVENT_BEGIN, is_end = kind == MV_LIVE_EVENT_END;
    mv_rec_block_event range = {
        .addr = number, .size = is_begin ? 1 : -1, .device_type = MV_OVERRUN_RANGE};

    if ((is_begin || is_end) && mv_overrun_keeps(&range, text))
        return;
    write_mark(block, kind, text, number, mv_rec_now());
}

static uint32_t text_of_mark(mv_live_event kind, const char *text)
{
    uint32_t id;

    if (kind == MV_LIVE_EVENT_POP || kind == MV_LIVE_EVENT_END)
        return 0;
    id = mv_names_text(text, text ? strnlen(text, MV_LIVE_MOST_TEXT + 1) : 0);
    if (id != MV_NO_ID)
        return id;
    mv_process_lose(MV_LOST_NAMES);
    return MV_NAMES_EMPTY;
}

void mv_rec_mark(mv_live_event kind, const char *text, uint64_t number)
{
    int kept = errno;
    mv_thread_block *block = current();

    if (block && !leaves_out(block, kind, text))
        put_mark(block, kind, text_of_mark(kind, text), number);
    errno = kept;
}
