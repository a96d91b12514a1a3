/* Manages the live file: reserves its space, and provides its chunks as memory.
 *
 *     0        64K       128K                                                 end
 *     ├─ FACTS ─┼─ chunk ─┼─ ... ── chunk of some thread ──────┤  no chunk yet  ┤
 *
 * The file grows by windows, for which space is reserved and then mapped. A chunk is taken from the
 * window by one atomic addition, so no thread waits for another. Sealed chunks are unmapped, so
 * only open chunks and the unused part of the window take address space. Once a store is made, the
 * kernel keeps it, whatever happens to the process.
 *
 * A store to a page without disk space would raise SIGBUS, so space is reserved before a window is
 * mapped. If the file system cannot reserve space, zeros are written instead.
 *
 * The file is open only while a window is being made. It is opened by its name, verified by its
 * device and inode, and used in a thread with separate descriptors (apart.h). The program's
 * descriptors therefore stay unchanged, and the shim can never write to one of the program's files
 * by mistake.
 *
 * System calls that open, write or reserve are made directly, because libc's functions are
 * cancellation points, and its fallocate may silently write. Errors are returned as errno numbers,
 * and errno itself is overwritten. All signals must be blocked during these calls, except for
 * mv_live_file_give and mv_live_file_forget. */
#pragma once

#include "capture/live/confined.h"

#include <limits.h>
#include <sys/types.h>

enum {
    MV_LIVE_WINDOWS = 1 << 14
}; /* largest number of windows, which is enough for 1 TiB in the
                                     * largest windows */

typedef struct {
    mv_set_aside memory;
    uint64_t end; /* position of the window's end in the file */
} mv_live_window;

/* Used as an errno number: the file must not grow any more. */
enum { MV_LIVE_FULL = -3 };

/* The live file of the process, which is never freed. mv_live_file_open sets all fields except
 * `path`, `most_step` and `room`. */
typedef struct {
    char path[PATH_MAX];
    dev_t device; /* device and inode of the file; 0 if there is no file */
    ino_t inode;
    uint64_t most_step;                  /* largest step in which space is reserved; 0: MOST_STEP */
    uint64_t (*room)(void);              /* returns the number of bytes by which the file may still
                                          * grow; NULL: no limit */
    atomic_bool writes_zeros;            /* the file system cannot reserve space */
    mv_live_window *_Atomic window;      /* the newest window; NULL: none yet */
    _Atomic uint32_t windows;            /* number of windows that were made so far */
    mv_live_window all[MV_LIVE_WINDOWS]; /* all windows; old windows are kept, because threads may
                                          * still read them */
    mv_set_aside aside;                  /* chunks for a confined process, mapped beforehand */
} mv_live_file;

/* Creates the file at `file->path`. Returns EEXIST if the file exists already. */
int mv_live_file_open(mv_live_file *file);

/* Takes the next `bytes` (a multiple of MV_LIVE_CHUNK_BYTES) of the file as memory, all zeros.
 * Forked children do not inherit the memory. */
int mv_live_file_take(mv_live_file *file, uint64_t bytes, void **memory);

/* Returns the number of bytes that can be taken before the file must grow. */
uint64_t mv_live_file_left(mv_live_file *file);

/* Maps `bytes` bytes in advance, which mv_live_file_take uses once the process is confined. If an
 * earlier reserve is still unused, it is kept. */
void mv_live_file_set_aside(mv_live_file *file, uint64_t bytes);

/* Unmaps the memory; the file keeps its contents. */
void mv_live_file_give(void *memory, uint64_t bytes);

/* Forgets the file, so that nothing more can be taken. The memory of chunks stays valid. */
void mv_live_file_forget(mv_live_file *file);
