/* The shim's state for each thread.
 *
 * Only three words are in thread-local storage, and one more in forks.c, because such storage is
 * taken from the stack of every thread, and programs create threads with small stacks. The rest is
 * in a block of memory from the system, allocated at the thread's first event. */
#ifndef MV_THREAD_STATE_H
#define MV_THREAD_STATE_H

#include "capture/live/live_chunk.h"
#include "capture/record/recorder.h"
#include "capture/record/stack.h"

typedef struct {
    uint64_t epoch;           /* epoch of the recording to which the block belongs */
    uint32_t id;              /* the kernel's thread id */
    uint32_t words;           /* frame id + 1 of "thread NAME"; 0: none yet */
    uint32_t ends;            /* number of calls of mv_thread_end */
    bool follows;             /* an ended thread began the open chunk */
    volatile bool is_writing; /* between the first byte of a record and its commit */
    char name[16];            /* the last recorded name */

    /* The open chunk, and the base values for the differences in the next record. */
    mv_live_chunk chunk;
    mv_rec_moment last; /* moment of the previous record */
    uint64_t spelled_addr;
    uint64_t recent[MV_LIVE_RECENT];
    uint32_t recent_count, recent_next;
    int32_t device_type, device;
    bool has_device;

    mv_open_ranges ranges;
    uint32_t open;     /* number of ranges that were pushed but not popped */
    uint64_t left_out; /* bit i: the i-th of these ranges is not recorded (overrun.h) */

    /* The stack of the current event, and the ids of its frames. */
    mv_raw_stack raw;
    mv_native_past past;
    const mv_module *modules[MV_LIVE_MOST_FRAMES];
    uint32_t frames[2 * MV_LIVE_MOST_FRAMES];
} mv_thread_block;

typedef struct {
    uint64_t epoch; /* epoch of the block; 0: not armed */
    mv_thread_block *block;
    volatile uintptr_t inside; /* address in the hook's frame; 0: not in a hook. Signal handlers may
                                * read it */
} mv_thread_state;

extern _Thread_local mv_thread_state mv_thread __attribute__((tls_model("initial-exec")));

/* Returns this thread's block, armed for the current recording; the first event starts one. NULL:
 * do not record. Must be called inside a hook. */
mv_thread_block *mv_thread_arm(void);

/* The position for the next `most` bytes of this thread's records. Begins another chunk if the open
 * one is full, or has a record later than `moment`, the moment of the next record. If the thread
 * continues another thread's chunk, a THREAD record is written first. NULL: the recording has
 * stopped, and the event counts as lost. */
uint8_t *mv_thread_room(mv_thread_block *block, uint64_t most, mv_rec_moment moment);

/* After a hook was left in the middle: drops its unfinished record and the chunk, in which later
 * differences would be wrong. `block` may be NULL. */
void mv_thread_repair(mv_thread_block *block);

/* In a child, right after fork(). */
void mv_thread_forked(void);

/* Destructor for pthread_key_create: called when the thread with `block` ends. */
void mv_thread_end(void *block);

#endif
