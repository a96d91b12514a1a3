/* Sections of code that a fork must not interrupt.
 *
 * A child has copies of all locks, but not the threads that held them: a lock held by another
 * thread at the fork stays locked in the child forever. Hooks take two foreign locks that the
 * program takes itself: the loader's, and (with --cpu) the lock of c10's CPU allocator.
 *
 *     a thread in a hook             the thread that forks
 *     enter ─► the lock ─► leave     prepare: waits a while until no thread is inside
 *     enter: waits                   fork
 *     continues                      parent, child: the fork is over
 *
 * So a child of fork() finds these two locks in the same state as without the shim. A child made in
 * another way (raw clone, _Fork) has no such guarantee. Every wait has a limit, after which the
 * thread continues. mv_forks_was_alone and mv_forks_was_whole show whether the guarantee holds. */
#ifndef MV_FORKS_H
#define MV_FORKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    MV_SECTION_LOADER, /* reading the loader's list */
    MV_SECTION_C10,    /* from enabling c10's report until it has reported */
    MV_SECTIONS
} mv_section;

enum { MV_FORKS_BYTES = 4096 };

/* All zeros in a child, however it was made. */
typedef union {
    struct {
        _Atomic int32_t forking;             /* number of threads that are forking */
        _Atomic int32_t inside[MV_SECTIONS]; /* number of threads in a section */
        _Atomic int32_t stuck[MV_SECTIONS];  /* how many of these jumped out of a hook */
        atomic_bool was_alone, was_whole;
        _Atomic int loader;         /* loader_list.c: state of the loader's lock */
        pthread_mutex_t loader_own; /* loader_list.c: replaces a lock that stays locked */
    };
    uint8_t page[MV_FORKS_BYTES];
} mv_forks_page;

extern mv_forks_page mv_forks;

/* Must be called before any other function here; only the first call in a process image has an
 * effect. */
void mv_forks_begin(void);

/* Makes forks wait for sections from now on. Call it once in the life of a process image. */
void mv_forks_watch(void);

/* Sections can be nested, also in signal handlers. False if this thread gave up waiting for a slow
 * fork. None of these functions changes errno. */
bool mv_forks_enter(mv_section section);
void mv_forks_leave(mv_section section);

/* Called when this thread has left a hook by a jump, or ends: it no longer reads the loader's
 * list. */
void mv_forks_abandon(void);

/* Whether this is the only thread of the process; false if unknown. */
bool mv_forks_is_alone(void);

/* Whether this thread is in the section. */
bool mv_forks_is_inside(mv_section section);

/* Facts about the fork that made this process; true if no fork made it.
 *   alone: there was no other thread, so no other thread can hold a lock
 *   whole: no thread was between c10's question and its report */
bool mv_forks_was_alone(void);
bool mv_forks_was_whole(void);

#endif
