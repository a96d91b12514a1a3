#include "capture/thread_state.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/facts.h"
#include "capture/names.h"
#include "capture/pages.h"
#include "capture/process.h"

enum {
    /* glibc keeps this many keys in the thread itself, and allocates for others. */
    KEYS_WITHOUT_HEAP = 32,
    LAST_END = PTHREAD_DESTRUCTOR_ITERATIONS - 1
};

_Thread_local mv_thread_state mv_thread __attribute__((tls_model("initial-exec")));

/* From now on the thread's end is heard of. */
static void watch_end(mv_thread_block *block)
{
    if (mv_process.has_thread_end && mv_process.thread_end < KEYS_WITHOUT_HEAP)
        pthread_setspecific(mv_process.thread_end, block);
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
        block = mv_pages_get(sizeof *block);
    if (!block) {
        mv_process_lose(MV_LOST_SPACE);
        return NULL;
    }
    /* A parent's chunk is not mapped in its child: it is forgotten, not sealed. */
    memset(block, 0, offsetof(mv_thread_block, raw));
    block->epoch = epoch;
    block->id = (uint32_t)syscall(SYS_gettid);
    mv_thread.block = block;
    mv_thread.epoch = epoch;
    watch_end(block);
    return block;
}

static bool begin_chunk(mv_thread_block *block, uint64_t most, uint64_t sequence, uint64_t time_us)
{
    mv_live_chunk_about about = {.kind = MV_LIVE_EVENTS,
                                 .first_sequence = sequence,
                                 .first_time_us = time_us,
                                 .thread = block->id};
    int error;

    mv_live_chunk_seal(&block->chunk);
    error = mv_live_chunk_begin(&block->chunk, &mv_process.file, most, &about);
    if (error) {
        mv_process_stop(error);
        return false;
    }
    block->sequence = sequence;
    block->time_us = time_us;
    block->spelled_addr = 0;
    block->recent_count = block->recent_next = 0;
    block->has_device = false;
    mv_names_thread(block);
    mv_facts_refresh();
    return true;
}

uint8_t *mv_thread_room(mv_thread_block *block, uint64_t most, uint64_t sequence, uint64_t time_us)
{
    uint8_t *at = block->chunk.memory ? mv_live_chunk_room(&block->chunk, most) : NULL;

    if (at)
        return at;
    if (begin_chunk(block, most, sequence, time_us))
        return block->chunk.records;
    mv_process_lose(MV_LOST_SPACE);
    return NULL;
}

/* Other destructors of the thread may still free memory, so the last call counts; an event behind
 * that one begins all over. */
void mv_thread_end(void *ended)
{
    mv_thread_block *block = ended;
    bool was_inside = mv_thread.inside;

    if (++block->ends < LAST_END) {
        watch_end(block);
        return;
    }
    mv_thread.inside = true;
    if (block->epoch == mv_process_epoch())
        mv_live_chunk_seal(&block->chunk);
    mv_thread.block = NULL;
    mv_thread.epoch = 0;
    mv_pages_give(block, sizeof *block);
    mv_thread.inside = was_inside;
}
