/* The recorded process: its settings, the state of its recording, its file, and what happens when
 * it forks or ends. The shim's state is here and in names.c, stack_table.c, thread_state.c and
 * process_facts.c.
 *
 *     UNASKED ──► OFF                 no capture was requested
 *        │  └───► FILTERED ──► STOPPED  another program's filter on system calls
 *        │  └───► WAITING ──► ON ──► STOPPED
 *        │          for the           no space left, ...
 *        │          first event
 *        └───── a child begins here: its page is zeros
 *
 * The file is opened at the first event, so that a shell or a compiler that merely inherits the
 * environment leaves no file. A child, however it was made, starts over with its own file: the
 * state of the recording and all locks are in a page that the kernel wipes in a child. An armed
 * thread has a copy of that page's epoch, so that one comparison at each event shows whether
 * anything has changed. */
#pragma once

#include <pthread.h>

#include "capture/live/live_chunk.h"
#include "capture/record/signals.h"
#include "capture/record/stack.h"

/* Kinds of losses. The number of losses of each kind is in the fact with its name. */
#define MV_LOST_LIST(X)                                                                      \
    X(OPENING, "lost_opening") /* events during which another thread was opening the file */ \
    X(SPACE, "lost_space")     /* events for which no chunk could be taken */                \
    X(BOUND, "lost_bound")     /* events left out at the bound (overrun.h) */                \
    X(STACKS, "lost_stacks")   /* events written without their stack */                      \
    X(NAMES, "lost_names")     /* strings recorded as "" */                                  \
    X(SIZES, "lost_sizes")     /* blocks of heaps with impossible sizes */

typedef enum {
#define MV_LOST_ENUM(name, key) MV_LOST_##name,
    MV_LOST_LIST(MV_LOST_ENUM)
#undef MV_LOST_ENUM
        MV_LOST_KINDS
} mv_lost_kind;

typedef enum {
    MV_RECORDING_UNASKED, /* the environment has not been read yet */
    MV_RECORDING_OFF,
    MV_RECORDING_FILTERED, /* nothing is recorded; the launcher is notified at the first event */
    MV_RECORDING_WAITING,  /* recording begins at the first event */
    MV_RECORDING_ON,
    MV_RECORDING_STOPPED
} mv_recording_state;

/* A lock. The thread that holds it has its signals blocked. */
typedef struct {
    pthread_mutex_t mutex;
    mv_signals signals;
} mv_lock;

enum { MV_WIPED_BYTES = 4096 };

/* State that is all zeros in a child, so locks that other threads of the parent held are free
 * there. */
typedef union {
    struct {
        _Atomic uint64_t epoch; /* number that is different for each file; 0: no recording */
        _Atomic int state;      /* mv_recording_state */
        mv_lock opening, names, facts, overrun;
        /* Not reset when a file is opened: another thread may already have lost events. */
        _Atomic uint64_t lost[MV_LOST_KINDS];
    };
    uint8_t page[MV_WIPED_BYTES];
} mv_wiped_page;

extern mv_wiped_page mv_wiped;

enum { MV_SAMPLER_NAME = 64 };

/* Settings from the environment: MEMVIZ_OUT, MEMVIZ_STACKS, MEMVIZ_CPU, MEMVIZ_WAIT_FREE,
 * MEMVIZ_SAMPLER, MEMVIZ_FILTERS, MEMVIZ_WINDOW. */
typedef struct {
    char out[PATH_MAX]; /* path of the live file without its extension; "": no capture was
                         * requested */
    mv_stacks_wanted stacks;
    bool cpu;
    bool wait_free;                /* threads must not wait for each other */
    uint64_t window;               /* largest number of bytes of disk space to reserve at once; 0:
                                    * no limit */
    uint32_t filters;              /* number of the launcher's seccomp filters; UINT32_MAX: any
                                    * number is allowed */
    char sampler[MV_SAMPLER_NAME]; /* name of the launcher's socket (sampler.h); "": none */
} mv_capture_settings;

typedef struct {
    mv_capture_settings settings; /* read-only once the state is not UNASKED */
    mv_live_file file;
    uint64_t last_epoch;       /* the last epoch used; a child inherits it, so that a child never
                                * has the epoch of its parent */
    _Atomic uint64_t sequence; /* number of the next event */
    pthread_key_t thread_end;  /* key whose destructor seals the thread's chunk */
    bool has_thread_end;
} mv_process_state;

extern mv_process_state mv_process;

static inline uint64_t mv_process_epoch(void)
{
    return atomic_load_explicit(&mv_wiped.epoch, memory_order_acquire);
}

/* Takes a lock of `mv_wiped`. False if it is busy and the settings forbid waiting. */
bool mv_process_lock(mv_lock *lock);
bool mv_process_trylock(mv_lock *lock);
void mv_process_unlock(mv_lock *lock);

/* Opens the file at the first event of the process. False if nothing must be recorded. */
bool mv_process_start(void);

/* Called before a seccomp filter is installed; no system calls are made afterwards
 * (live/confined.h). Returns false if the process was already confined. mv_process_unconfine undoes
 * the call if the filter could not be installed. */
bool mv_process_confine(bool is_strict);
void mv_process_unconfine(void);

/* Ends the recording permanently. The reason is an errno number, MV_CONFINED_ERROR, MV_LIVE_FULL,
 * or MV_STOPPED_ERROR if the launcher requested it. Can be called from any thread, any number of
 * times. */
enum { MV_STOPPED_ERROR = -2 };
void mv_process_stop(int error);

void mv_process_lose(mv_lost_kind what);

/* Returns the time of CLOCK_MONOTONIC in microseconds. */
uint64_t mv_process_now_us(void);
