/* Forks, and what they must not cut in two.
 *
 * A child has copies of all locks, and none of the threads that held them: a lock that another
 * thread had at the fork is locked there for ever. Hooks take two locks that are not ours, and
 * that the program takes itself: the loader's, and (with --cpu) the one of c10's CPU allocator.
 *
 *     a thread in a hook             the thread that forks
 *     enter ─► the lock ─► leave     prepare: waits until no one is inside, for a while
 *     enter: waits                   fork
 *     goes on                        parent, child: the fork is over
 *
 * So a child that fork() makes finds these two as it would have found them without us. A child that
 * is made in another way (raw clone, _Fork) has no such promise, and is told so. No wait is without
 * an end: whoever waits too long goes on, and the child is told that it was not waited for. */
#ifndef MV_FORKS_H
#define MV_FORKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    MV_SECTION_LOADER, /* the loader's list is read */
    MV_SECTION_C10,    /* c10 was told that memory is reported, and has not reported yet */
    MV_SECTIONS
} mv_section;

enum { MV_FORKS_BYTES = 4096 };

/* All zeros in a child, however it was made. */
typedef union {
    struct {
        _Atomic int32_t forking;             /* threads that fork now */
        _Atomic int32_t inside[MV_SECTIONS]; /* threads that are in a section */
        _Atomic int32_t stuck[MV_SECTIONS];  /* of these, threads that never left one: jumps */
        atomic_bool was_alone, was_whole;
        _Atomic int loader;         /* loader_list.c: what is known of the loader's lock */
        pthread_mutex_t loader_own; /* loader_list.c: in place of a lock that nobody gives back */
    };
    uint8_t page[MV_FORKS_BYTES];
} mv_forks_page;

extern mv_forks_page mv_forks;

/* True in the process image's first process, before it was asked for the first time. */
bool mv_forks_begin(void);

/* From now on forks wait for sections. Once in the life of a process image. */
void mv_forks_watch(void);

/* Sections can be nested, in signal handlers too. False: a fork takes so long that this thread
 * went on without waiting for its end. None of these changes errno. */
bool mv_forks_enter(mv_section section);
void mv_forks_leave(mv_section section);

/* Whether this thread is in one. */
bool mv_forks_is_inside(mv_section section);

/* Of the fork that made this process; true in one that no fork made.
 *   alone: no other thread was there, hence no lock is held by one
 *   whole: no thread was between c10's question and its report */
bool mv_forks_was_alone(void);
bool mv_forks_was_whole(void);

#endif
