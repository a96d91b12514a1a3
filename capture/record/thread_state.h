/* The shim's state for each thread.
 *
 * Thread-local storage holds only three words, and one more in forks.c: it is taken from the stack
 * of every thread of the program, and programs make threads with small stacks. The rest is a block
 * of memory from the system, allocated at the thread's first event. */
#ifndef MV_THREAD_STATE_H
#define MV_THREAD_STATE_H

#include "capture/live/live_chunk.h"
#include "capture/record/recorder.h"
#include "capture/record/stack.h"

typedef struct {
    uint64_t epoch;           /* epoch of the recording that the rest belongs to */
    uint32_t id;              /* the kernel's thread id */
    uint32_t words;           /* frame id + 1 of "thread NAME"; 0: none yet */
    uint32_t ends;            /* how often mv_thread_end was called */
    bool follows;             /* the open chunk was begun by an ended thread */
    volatile bool is_writing; /* between the first byte of a record and its commit */
    char name[16];            /* the last recorded name */

    /* The open chunk, and the base values for the differences in the next record. */
    mv_live_chunk chunk;
    mv_rec_moment last; /* of the previous record */
    uint64_t spelled_addr;
    uint64_t recent[MV_LIVE_RECENT];
    uint32_t recent_count, recent_next;
    int32_t device_type, device;
    bool has_device;

    mv_open_ranges ranges;
    uint32_t open;     /* ranges that were pushed and not popped */
    uint64_t left_out; /* of the first 64 of them a bit each: not recorded (overrun.h) */

    /* The stack of the current event, and the ids of its frames. */
    mv_raw_stack raw;
    mv_native_past past;
    const mv_module *modules[MV_LIVE_MOST_FRAMES];
    uint32_t frames[2 * MV_LIVE_MOST_FRAMES];
} mv_thread_block;

typedef struct {
    uint64_t epoch; /* epoch of the block; 0: not armed */
    mv_thread_block *block;
    volatile uintptr_t inside; /* in the frame of the hook; 0: in none. Handlers may read it */
} mv_thread_state;

extern _Thread_local mv_thread_state mv_thread __attribute__((tls_model("initial-exec")));

/* The block of this thread, armed for the current recording; the first event starts one. NULL: do
 * not record. Call it only inside a hook. */
mv_thread_block *mv_thread_arm(void);

/* The position of the next `most` bytes of this thread's records; begins another chunk if the open
 * one is full, or has a later record. `moment` is the next record's. If the thread continues
 * another thread's chunk, a THREAD record is written first. NULL: the recording has stopped, and
 * the event counts as lost. */
uint8_t *mv_thread_room(mv_thread_block *block, uint64_t most, mv_rec_moment moment);

/* After a hook was left in the middle: drops the record under construction, with its chunk, whose
 * later differences would be wrong. `block` may be NULL. */
void mv_thread_repair(mv_thread_block *block);

/* In a child, right after fork(). */
void mv_thread_forked(void);

/* The destructor for pthread_key_create: the thread with `block` ends. */
void mv_thread_end(void *block);

#endif
