/* What the shim knows of each thread.
 *
 * The thread's own storage holds three words only: it is taken from the stack of every thread of
 * the program, and programs make threads with small stacks. The rest is a block of memory from the
 * system, made at the thread's first event. */
#ifndef MV_THREAD_STATE_H
#define MV_THREAD_STATE_H

#include "capture/live/live_chunk.h"
#include "capture/record/stack.h"

typedef struct {
    uint64_t epoch; /* of the recording that the rest belongs to */
    uint32_t id;    /* the kernel's */
    uint32_t words; /* frame id + 1 of "thread NAME"; 0: not known yet */
    uint32_t ends;  /* how often the thread was seen to end */
    bool follows;   /* the open chunk is that of a thread that has ended */
    char name[16];  /* as it was recorded last */

    /* The open chunk, and what the next record in it is told from. */
    mv_live_chunk chunk;
    uint64_t sequence, time_us; /* of the record ahead */
    uint64_t spelled_addr;
    uint64_t recent[MV_LIVE_RECENT];
    uint32_t recent_count, recent_next;
    int32_t device_type, device;
    bool has_device;

    /* The stack of the event at hand, and its frames as ids. */
    mv_raw_stack raw;
    const mv_module *modules[MV_LIVE_MOST_FRAMES];
    uint32_t frames[2 * MV_LIVE_MOST_FRAMES];
} mv_thread_block;

typedef struct {
    uint64_t epoch; /* that of the block; 0: not armed */
    mv_thread_block *block;
    volatile bool inside; /* of a hook. A signal handler may look at any moment */
} mv_thread_state;

extern _Thread_local mv_thread_state mv_thread __attribute__((tls_model("initial-exec")));

/* The block of this thread, armed for the recording that is on; starts that at the first event.
 * NULL: do not record. The thread is inside of a hook. */
mv_thread_block *mv_thread_arm(void);

/* Where the next `most` bytes of this thread's records go; begins another chunk when the open one
 * is full. `sequence` and `time_us` are those of the record to come. When the thread follows
 * another in the chunk, a THREAD record goes first. NULL: the recording has stopped, and the event
 * is counted as lost. */
uint8_t *mv_thread_room(mv_thread_block *block, uint64_t most, uint64_t sequence, uint64_t time_us);

/* pthread_key_create's: the thread that has `block` ends. */
void mv_thread_end(void *block);

#endif
