/* Marks sections of code that a fork must not interrupt.
 *
 * A forked child has copies of all locks, but not the threads that held them, so a lock held by
 * another thread during the fork stays locked in the child forever. Hooks take two locks that
 * belong to others and that the program takes too: the loader's lock, and (with --cpu) the lock of
 * c10's CPU allocator.
 *
 *     a thread in a hook             the thread that forks
 *     enter ─► the lock ─► leave     prepare: waits a while until no thread is inside
 *     enter: waits                   fork
 *     continues                      parent, child: the fork is over
 *
 * As a result, a child made by fork() finds these two locks in the same state as without the shim.
 * A child made in another way (raw clone, _Fork) has no such guarantee. Every wait has a time
 * limit, after which the thread continues. mv_forks_was_alone and mv_forks_was_whole tell whether
 * the guarantee holds. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    MV_SECTION_LOADER, /* reading the loader's list */
    MV_SECTION_C10,    /* from the time that c10's report is enabled until c10 has reported */
    MV_SECTIONS
} mv_section;

enum { MV_FORKS_BYTES = 4096 };

/* All zeros in a child, however it was made. */
typedef union {
    struct {
        _Atomic int32_t forking;             /* number of threads that are forking */
        _Atomic int32_t inside[MV_SECTIONS]; /* number of threads in each section */
        _Atomic int32_t stuck[MV_SECTIONS];  /* number of these threads that jumped out of a hook */
        atomic_bool was_alone, was_whole;
        _Atomic int loader;         /* loader_list.c: state of the loader's lock */
        pthread_mutex_t loader_own; /* loader_list.c: used instead of the loader's lock if that
                                     * stays locked */
    };
    uint8_t page[MV_FORKS_BYTES];
} mv_forks_page;

extern mv_forks_page mv_forks;

/* Must be called before any other function here; only the first call in a process image has an
 * effect. */
void mv_forks_begin(void);

/* Makes all later forks wait for threads in sections. Call this function once in the life of a
 * process image. */
void mv_forks_watch(void);

/* Enter and leave a section. Sections can be nested, even in signal handlers. mv_forks_enter
 * returns false if this thread gave up waiting for a slow fork. None of these functions changes
 * errno. */
bool mv_forks_enter(mv_section section);
void mv_forks_leave(mv_section section);

/* Called when this thread has jumped out of a hook or ends, which means that it no longer reads the
 * loader's list. */
void mv_forks_abandon(void);

/* Returns true if this is the only thread of the process; false if unknown. */
bool mv_forks_is_alone(void);

/* Returns true if this thread is in the section. */
bool mv_forks_is_inside(mv_section section);

/* Facts about the fork that made this process; true if no fork made it.
 *   alone: there was no other thread, so no other thread can hold a lock
 *   whole: no thread was between c10's question and its report */
bool mv_forks_was_alone(void);
bool mv_forks_was_whole(void);
