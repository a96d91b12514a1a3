#include "capture/record/thread_state.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/record/forks.h"
#include "capture/record/names.h"
#include "capture/record/overrun.h"
#include "capture/record/pages.h"
#include "capture/record/process.h"
#include "capture/record/process_facts.h"
#include "capture/wire_leb128.h"

enum {
    /* Number of keys that glibc stores in the thread itself; it allocates memory for further
     * keys. */
    KEYS_WITHOUT_HEAP = 32,
    LAST_END = PTHREAD_DESTRUCTOR_ITERATIONS - 1,
    MOST_LEFT = 256,
    MOST_THREAD = 3 + MV_LEB128_BYTES /* largest number of bytes in a THREAD record */
};

/* Blocks of ended threads whose chunks are not full, for new threads to continue. Otherwise a
 * program with thousands of short threads would fill the disk with chunks of ten events each. */
static _Atomic(mv_thread_block *) left[MOST_LEFT];

_Thread_local mv_thread_state mv_thread __attribute__((tls_model("initial-exec")));

/* Replaces the memory of the chunk in a child, where the chunk is not mapped. A signal handler may
 * have forked in the middle of a hook. When the handler returns, the hook stores the remainder of
 * its record in this memory, which nothing reads. */
void mv_thread_forked(void)
{
    const mv_thread_block *block = mv_thread.block;
    void *chunk = block && mv_thread.inside ? block->chunk.memory : NULL, *got;

    if (!chunk || mv_is_confined())
        return;
    got = mmap(chunk, block->chunk.bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != MAP_FAILED && got != chunk) /* happens only before Linux 4.17 */
        munmap(got, block->chunk.bytes);
}

/* Makes sure that mv_thread_end is called when the thread ends. */
static void watch_end(mv_thread_block *block)
{
    if (mv_process.has_thread_end && mv_process.thread_end < KEYS_WITHOUT_HEAP)
        pthread_setspecific(mv_process.thread_end, block);
}

static mv_thread_block *take_left(void)
{
    for (int i = 0; i < MOST_LEFT; i++) {
        mv_thread_block *block = atomic_load_explicit(&left[i], memory_order_relaxed);
        if (block)
            block = atomic_exchange(&left[i], NULL);
        if (block)
            return block;
    }
    return NULL;
}

/* Keeps the block for another thread. Returns false if enough blocks are kept already. */
static bool leave(mv_thread_block *block)
{
    for (int i = 0; i < MOST_LEFT; i++) {
        mv_thread_block *none = NULL;
        if (atomic_compare_exchange_strong(&left[i], &none, block))
            return true;
    }
    return false;
}

/* Resets the block, unless it continues the chunk of a thread that has ended. Otherwise the block
 * is either new or from before a fork. The parent's chunk is not mapped in a child, so it is
 * dropped without sealing it. */
static void begin_block(mv_thread_block *block, uint64_t epoch)
{
    if (block->epoch == epoch && block->chunk.memory) {
        block->follows = true;
        block->words = block->ends = 0;
        block->ranges.count = block->ranges.deeper = block->open = 0;
    } else {
        memset(block, 0, offsetof(mv_thread_block, raw));
    }
    block->epoch = epoch;
    block->id = mv_is_confined() ? mv_confined_thread() : (uint32_t)syscall(SYS_gettid);
}

mv_thread_block *mv_thread_arm(void)
{
    mv_thread_block *block = mv_thread.block;
    uint64_t epoch;

    if (!mv_process_start())
        return NULL;
    epoch = mv_process_epoch();
    if (!epoch)
        return NULL;
    if (block && block->epoch == epoch)
        return block;
    if (!block)
        block = take_left();
    if (!block)
        block = mv_pages_get(sizeof *block);
    if (!block) {
        mv_process_lose(MV_LOST_SPACE);
        return NULL;
    }
    begin_block(block, epoch);
    mv_thread.block = block;
    mv_thread.epoch = epoch;
    watch_end(block);
    mv_names_thread(block);
    return block;
}

/* Begins a chunk. Returns 0 or an errno number. */
static int begin_chunk(mv_thread_block *block, uint64_t most, mv_rec_moment moment)
{
    mv_live_chunk_about about = {.kind = MV_LIVE_EVENTS,
                                 .first_sequence = moment.sequence,
                                 .first_time_us = moment.time_us,
                                 .thread = block->id};
    int error;

    mv_live_chunk_seal(&block->chunk);
    error = mv_live_chunk_begin(&block->chunk, &mv_process.file, most, &about);
    if (error)
        return error;
    block->last = moment;
    block->spelled_addr = 0;
    block->recent_count = block->recent_next = 0;
    block->has_device = block->follows = false;
    mv_names_thread(block);
    mv_facts_refresh();
    mv_overrun_look();
    return 0;
}

/* Writes a THREAD record, after which records are from this thread. */
static uint8_t *put_thread(mv_thread_block *block, uint8_t *at)
{
    *at++ = MV_LIVE_EVENT_THREAD | MV_LIVE_NOT_RECENT << 4;
    *at++ = 0;
    *at++ = 0;
    block->follows = block->has_device = false;
    return mv_leb128_put(at, block->id);
}

/* Returns true if a record may be appended to the chunk. Numbers and times must increase within a
 * chunk. Normally they do, because a thread is armed before it takes a number, and records nothing
 * inside a call. But a call that forks arms its thread again, and a hook that was considered left
 * may return after later hooks. */
static bool can_follow(const mv_thread_block *block, mv_rec_moment moment)
{
    return moment.sequence > block->last.sequence && moment.time_us >= block->last.time_us;
}

uint8_t *mv_thread_room(mv_thread_block *block, uint64_t most, mv_rec_moment moment)
{
    bool continues = block->chunk.memory && can_follow(block, moment);
    uint8_t *at = continues ? mv_live_chunk_room(&block->chunk, most + MOST_THREAD) : NULL;
    mv_signals signals;
    int error;

    if (at)
        return block->follows ? put_thread(block, at) : at;
    signals = mv_signals_block(); /* so that no handler forks while the chunk is half made */
    error = begin_chunk(block, most, moment);
    mv_signals_restore(signals);
    if (!error)
        return block->chunk.records;
    mv_process_lose(MV_LOST_SPACE);
    mv_process_stop(error);
    return NULL;
}

/* Abandons the chunk. Its memory, with all complete records, is kept, because a coroutine may
 * return to the hook. */
void mv_thread_repair(mv_thread_block *block)
{
    mv_forks_abandon();
    if (!block || !block->is_writing)
        return;
    block->chunk = (mv_live_chunk){0};
    block->is_writing = false;
}

/* Ends the thread's block. Other destructors of the thread may still free memory, so only the last
 * of several calls has an effect. If an event follows even later, it begins a new block. The chunk
 * is sealed if enough unfinished chunks are kept already. */
void mv_thread_end(void *ended)
{
    mv_thread_block *block = ended;
    uintptr_t was_inside = mv_thread.inside;

    if (++block->ends < LAST_END) {
        watch_end(block);
        return;
    }
    mv_thread.inside = UINTPTR_MAX;
    mv_thread_repair(block); /* the thread may have been cancelled inside a hook */
    mv_thread.block = NULL;
    mv_thread.epoch = 0;
    if (!leave(block)) {
        if (block->epoch == mv_process_epoch())
            mv_live_chunk_seal(&block->chunk);
        mv_pages_give(block, sizeof *block);
    }
    mv_thread.inside = was_inside;
}
