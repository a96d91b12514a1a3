#include "capture/record/forks.h"

#include "capture/live/confined.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    PAUSE_NS = 20000,
    HOOK_TURNS = 100000, /* number of pauses in a hook, ten seconds in total, because a fork that
                          * copies a lot of memory is slow */
    ALONE_LINKS = 3      /* number of links of /proc/self/task in a process with one thread: two,
                          * plus one for each thread */
};

/* Number of pauses in a thread that forks. A thread spends microseconds in a section, or more if it
 * is not scheduled. A child can work without c10's lock, but not without the loader's. */
static const int fork_turns[MV_SECTIONS] = {
    [MV_SECTION_LOADER] = 25000, /* about two seconds */
    [MV_SECTION_C10] = 1000,     /* a tenth of a second */
};

_Alignas(MV_FORKS_BYTES) mv_forks_page mv_forks;

static atomic_bool is_begun; /* mv_forks_begin was called; children inherit this */

static _Thread_local struct {
    uint8_t depth[MV_SECTIONS];
    bool is_forking;
    bool is_alone, is_whole; /* facts about the current fork, from whose copy a child learns how it
                              * was made */
} fork_state;

static void pause_a_little(void)
{
    const struct timespec time = {.tv_nsec = PAUSE_NS};
    int kept = errno;

    if (mv_is_confined())
        return;
    syscall(SYS_nanosleep, &time, NULL); /* libc's function is a cancellation point */
    errno = kept;
}

void mv_forks_begin(void)
{
    int kept = errno;

    if (atomic_exchange(&is_begun, true))
        return;
    if (sysconf(_SC_PAGESIZE) == MV_FORKS_BYTES)
        madvise(&mv_forks, sizeof mv_forks, MADV_WIPEONFORK);
    atomic_store(&mv_forks.was_alone, true);
    atomic_store(&mv_forks.was_whole, true);
    errno = kept;
}

/* ---- called by hooks ---- */

bool mv_forks_enter(mv_section section)
{
    if (fork_state.depth[section]++ > 0)
        return true;
    for (int turn = 0;; turn++) {
        atomic_fetch_add(&mv_forks.inside[section], 1);
        if (atomic_load(&mv_forks.forking) == 0 || fork_state.is_forking)
            return true;
        if (turn == HOOK_TURNS)
            return false;
        atomic_fetch_sub(&mv_forks.inside[section], 1);
        pause_a_little();
    }
}

void mv_forks_leave(mv_section section)
{
    if (--fork_state.depth[section] == 0)
        atomic_fetch_sub(&mv_forks.inside[section], 1);
}

void mv_forks_abandon(void)
{
    if (fork_state.depth[MV_SECTION_LOADER] == 0)
        return;
    fork_state.depth[MV_SECTION_LOADER] = 0;
    atomic_fetch_sub(&mv_forks.inside[MV_SECTION_LOADER], 1);
}

bool mv_forks_is_inside(mv_section section)
{
    return fork_state.depth[section] > 0;
}

bool mv_forks_was_alone(void)
{
    mv_forks_begin();
    return atomic_load_explicit(&mv_forks.was_alone, memory_order_relaxed);
}

bool mv_forks_was_whole(void)
{
    mv_forks_begin();
    return atomic_load_explicit(&mv_forks.was_whole, memory_order_relaxed);
}

/* ---- around a fork ---- */

bool mv_forks_is_alone(void)
{
    struct stat st;
    return !mv_is_confined() && stat("/proc/self/task", &st) == 0 && st.st_nlink == ALONE_LINKS;
}

/* Waits until no other thread is in the section, up to a time limit. Returns false if another
 * thread is still in it. A thread that left a hook by a jump remains counted forever, so forks wait
 * for such a thread only once. */
static bool wait_for(mv_section section)
{
    int32_t others = 0;

    for (int turn = 0; turn < fork_turns[section]; turn++) {
        int32_t stuck = atomic_load(&mv_forks.stuck[section]);
        others = atomic_load(&mv_forks.inside[section]) - (fork_state.depth[section] > 0);
        if (others < stuck)
            atomic_store(&mv_forks.stuck[section], others);
        if (others <= stuck)
            return others <= 0;
        pause_a_little();
    }
    atomic_store(&mv_forks.stuck[section], others);
    return false;
}

static void before_fork(void)
{
    int kept = errno;

    fork_state.is_forking = true;
    fork_state.is_alone = mv_forks_is_alone();
    atomic_fetch_add(&mv_forks.forking, 1);
    wait_for(MV_SECTION_LOADER);
    fork_state.is_whole = wait_for(MV_SECTION_C10) && fork_state.depth[MV_SECTION_C10] == 0;
    errno = kept;
}

static void after_fork(void)
{
    atomic_fetch_sub(&mv_forks.forking, 1);
    fork_state.is_forking = false;
}

/* Wipes the page, unless the kernel has already done so. If a signal handler forks, its thread may
 * be inside a section, which it will leave later. */
static void in_child(void)
{
    memset(&mv_forks, 0, sizeof mv_forks);
    fork_state.is_forking = false;
    for (int i = 0; i < MV_SECTIONS; i++)
        atomic_store(&mv_forks.inside[i], fork_state.depth[i] > 0);
    atomic_store(&mv_forks.was_alone, fork_state.is_alone);
    atomic_store(&mv_forks.was_whole, fork_state.is_whole);
}

void mv_forks_watch(void)
{
    mv_forks_begin();
    pthread_atfork(before_fork, after_fork, in_child);
}
