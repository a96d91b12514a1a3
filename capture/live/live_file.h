/* The live file: its space, and its chunks as memory.
 *
 *     0        64K       128K                                 tail          reserved
 *     ├─ FACTS ─┼─ chunk ─┼─ ... ── chunk of some thread ──────┤  no chunk yet  ┤
 *
 * A chunk is taken by one atomic addition to `tail`, so no thread waits for another. Its memory is
 * a mapping of its own: a process holds as much of its address space as it has chunks open, and the
 * stores are the kernel's to keep from the moment they are made, whatever becomes of the process.
 *
 * No store may meet a page without disk space behind it, which would be a SIGBUS. So space is
 * reserved ahead of the tail, in steps that grow with the file; a file system that cannot reserve
 * gets zeros written, chunk by chunk.
 *
 * All system calls that open, write or reserve are raw ones: libc's are cancellation points, and
 * its fallocate may write behind our back. Errors are errno numbers; errno itself is not kept. */
#ifndef MV_LIVE_FILE_H
#define MV_LIVE_FILE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Filled with zeros but for `path` by mv_live_file_open, and not freed: one for the process. */
typedef struct {
    char path[PATH_MAX];
    _Atomic int fd;            /* numbered high, out of the program's way; -1: none */
    dev_t device;              /* of the file, and its inode: a program that closes every */
    ino_t inode;               /* descriptor may give our number to a file of its own */
    _Atomic uint64_t tail;     /* byte at which the next chunk begins */
    _Atomic uint64_t reserved; /* bytes from the start that have disk space */
    atomic_bool writes_zeros;  /* the file system cannot reserve */
} mv_live_file;

/* Makes the file at `file->path`; EEXIST when there is one already. */
int mv_live_file_open(mv_live_file *file);

/* Takes `bytes` (a multiple of MV_LIVE_CHUNK_BYTES) of zeros from the file's end as memory that
 * forked children do not have. */
int mv_live_file_take(mv_live_file *file, uint64_t bytes, void **memory);

/* Gives the memory back; the file keeps what is in it. */
void mv_live_file_give(void *memory, uint64_t bytes);

/* Closes the descriptor if it is still ours. The memory of chunks stays valid. */
void mv_live_file_close(mv_live_file *file);

#endif
