/* The live file: its space, and its chunks as memory.
 *
 *     0        64K       128K                                                 end
 *     ├─ FACTS ─┼─ chunk ─┼─ ... ── chunk of some thread ──────┤  no chunk yet  ┤
 *
 * The file grows by windows: space is reserved, and mapped. A chunk is taken from the window by one
 * atomic addition, so no thread waits for another. A chunk that was sealed is unmapped, so only
 * open ones and the rest of the window take address space. The kernel keeps every store from the
 * moment it is made, whatever happens to the process.
 *
 * A store to a page without disk space would raise SIGBUS. So the space of a window is reserved
 * before it is mapped; on a file system that cannot reserve, zeros are written.
 *
 * Between its windows the file is not open. It is opened by its name, and verified by its device
 * and inode, in a thread with descriptors of its own (apart.h): the program's numbers stay
 * unchanged, and no store, zero or reservation can go to one of its files.
 *
 * All system calls that open, write or reserve are raw ones: libc's are cancellation points, and
 * its fallocate may silently write. Errors are returned as errno numbers; errno itself changes. All
 * signals must be blocked, but for mv_live_file_give and _forget. */
#ifndef MV_LIVE_FILE_H
#define MV_LIVE_FILE_H

#include "capture/live/confined.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MV_LIVE_WINDOWS = 1 << 14 }; /* 1 TiB of the largest */

typedef struct {
    mv_set_aside memory;
    uint64_t end; /* in the file */
} mv_live_window;

/* Instead of an errno number: the file may not grow any more. */
enum { MV_LIVE_FULL = -3 };

/* One for the process; never freed. mv_live_file_open sets all fields except `path`, `most_step`
 * and `room`. */
typedef struct {
    char path[PATH_MAX];
    dev_t device; /* device and inode of the file; 0 and 0: none */
    ino_t inode;
    uint64_t most_step;                  /* space is reserved in steps up to this; 0: MOST_STEP */
    uint64_t (*room)(void);              /* bytes that the file may still grow by; NULL: no limit */
    atomic_bool writes_zeros;            /* the file system cannot reserve */
    mv_live_window *_Atomic window;      /* the last; NULL: none yet */
    _Atomic uint32_t windows;            /* bytes of the next that have been used */
    mv_live_window all[MV_LIVE_WINDOWS]; /* a thread may read an older one at any time */
    mv_set_aside aside;                  /* chunks for a confined process, mapped beforehand */
} mv_live_file;

/* Creates the file at `file->path`; EEXIST when it exists already. */
int mv_live_file_open(mv_live_file *file);

/* The next `bytes` (a multiple of MV_LIVE_CHUNK_BYTES) of the file as memory, all zeros. Forked
 * children do not inherit it. */
int mv_live_file_take(mv_live_file *file, uint64_t bytes, void **memory);

/* Bytes that can be taken before the file has to grow. */
uint64_t mv_live_file_left(mv_live_file *file);

/* Maps this many chunks, which mv_live_file_take gives a confined process. An unused earlier
 * reserve is kept. */
void mv_live_file_set_aside(mv_live_file *file, uint64_t bytes);

/* Unmaps the memory; the file keeps its contents. */
void mv_live_file_give(void *memory, uint64_t bytes);

/* Forgets the file: no more is taken. The memory of chunks stays valid. */
void mv_live_file_forget(mv_live_file *file);

#endif
