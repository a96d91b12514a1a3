/* The shim's state for each thread.
 *
 * Only three words are in thread-local storage, and one more in forks.c, because such storage is
 * taken from the stack of every thread, and programs create threads with small stacks. Everything
 * else is in a block of memory from the system, which is allocated at the thread's first event. */
#pragma once

#include "capture/live/live_chunk.h"
#include "capture/record/recorder.h"
#include "capture/record/stack.h"

typedef struct {
    uint64_t epoch;           /* epoch of the recording to which the block belongs */
    uint32_t id;              /* the kernel's thread id */
    uint32_t words;           /* frame id + 1 of the frame "thread NAME"; 0: none yet */
    uint32_t ends;            /* number of calls of mv_thread_end */
    bool follows;             /* the open chunk was begun by a thread that has ended */
    volatile bool is_writing; /* the first byte of a record has been written, but the record is not
                               * committed yet */
    char name[16];            /* name of the thread when it was last recorded */

    /* The open chunk, and the values to which the differences in the next record refer. */
    mv_live_chunk chunk;
    mv_rec_moment last; /* time and number of the previous record */
    uint64_t spelled_addr;
    uint64_t recent[MV_LIVE_RECENT];
    uint32_t recent_count, recent_next;
    int32_t device_type, device;
    bool has_device;

    mv_open_ranges ranges;
    uint32_t open;     /* number of ranges that were pushed but not popped */
    uint64_t left_out; /* bit i: the i-th of the open ranges is not recorded (overrun.h) */

    /* The stack of the current event, and the ids of its frames. */
    mv_raw_stack raw;
    mv_native_past past;
    const mv_module *modules[MV_LIVE_MOST_FRAMES];
    uint32_t frames[2 * MV_LIVE_MOST_FRAMES];
} mv_thread_block;

typedef struct {
    uint64_t epoch; /* epoch of the block; 0: not armed */
    mv_thread_block *block;
    volatile uintptr_t inside; /* address in the frame of the current hook; 0: not in a hook. Signal
                                * handlers may read this field */
} mv_thread_state;

extern _Thread_local mv_thread_state mv_thread __attribute__((tls_model("initial-exec")));

/* Returns this thread's block, armed for the current recording, which the first event starts. NULL
 * means that nothing must be recorded. Must be called inside a hook. */
mv_thread_block *mv_thread_arm(void);

/* Returns the position for the next `most` bytes of this thread's records. Begins a new chunk if
 * the open chunk is full, or contains a record later than `moment`, which is the moment of the next
 * record. If the thread continues the chunk of another thread, a THREAD record is written first.
 * Returns NULL if the recording has stopped; the event then counts as lost. */
uint8_t *mv_thread_room(mv_thread_block *block, uint64_t most, mv_rec_moment moment);

/* Called after a hook was left in the middle: drops its unfinished record, and abandons the chunk,
 * in which later differences would be wrong. `block` may be NULL. */
void mv_thread_repair(mv_thread_block *block);

/* Called in a child, right after fork(). */
void mv_thread_forked(void);

/* Destructor for pthread_key_create, called when the thread that owns `block` ends. */
void mv_thread_end(void *block);
