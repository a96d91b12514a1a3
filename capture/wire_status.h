/* Lets the processes of a run report to the launcher while they run, in addition to their
 * recordings. They share a page of memory, which each process maps when the shim is loaded, before
 * the program can change its root directory, its user or its limits. This lets the launcher explain
 * why a recording is missing. A process of another user, which cannot open the page, sends the
 * error over the socket for samples, as an mv_status_message.
 *
 * $MEMVIZ_STATUS is "PATH:WORD": a path by which the page can be opened, and the page's word in
 * hexadecimal. Without this variable nothing is reported. The path refers to one of the launcher's
 * descriptors in /proc. By the time it is opened, it may belong to another process, so nothing is
 * written to a file that does not contain the word. The page is sealed, so its size cannot change.
 *
 * Any process may write to the page, so its contents are read only as numbers. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { MV_STATUS_BYTES = 4096, MV_STATUS_FAILURES = 64, MV_STATUS_PATH = 64 };

/* Used as an errno number: the process has a seccomp filter in addition to the launcher's
 * filters. */
enum { MV_STATUS_FILTERED = -1 };

/* A process that had an event but could not create its file. */
typedef struct {
    _Atomic uint32_t pid; /* process id, which is stored last; 0: not stored yet */
    _Atomic int32_t error;
} mv_status_failure;

typedef struct {
    _Atomic uint32_t loaded;  /* number of programs into which the shim was loaded */
    _Atomic uint32_t opened;  /* number of recordings that were begun */
    _Atomic uint32_t failed;  /* number of recordings that could not begin; the first of them are
                               * listed */
    _Atomic uint32_t control; /* descriptor for requests (record/control.h); 0: none */
    uint64_t word;            /* the word that identifies the launcher */
    mv_status_failure failures[MV_STATUS_FAILURES];
    _Atomic uint32_t is_stopped; /* set by the launcher to make recordings end at their next
                                  * event */
} mv_status_page;

/* Identifies a message. Some programs write to descriptors after closing them, when the socket may
 * have the same number. The CUDA driver does this if the program has closed all descriptors. */
enum { MV_STATUS_MARK = 0x765a4d01 };

typedef struct {
    uint32_t mark;
    int32_t error;
} mv_status_message;

/* Adds a failure. */
static inline void mv_status_fail(mv_status_page *page, uint32_t pid, int32_t error)
{
    uint32_t row = atomic_fetch_add(&page->failed, 1);

    if (row >= MV_STATUS_FAILURES)
        return;
    atomic_store(&page->failures[row].error, error);
    atomic_store(&page->failures[row].pid, pid);
}

_Static_assert(sizeof(mv_status_page) <= MV_STATUS_BYTES, "one page");
