/* The live file: its space, and its chunks as memory.
 *
 *     0        64K       128K                                 tail          reserved
 *     ├─ FACTS ─┼─ chunk ─┼─ ... ── chunk of some thread ──────┤  no chunk yet  ┤
 *
 * A chunk is taken by one atomic addition to `tail`, so no thread waits for another. Each chunk is
 * mapped separately, so only open chunks take address space. The kernel keeps every store from the
 * moment it is made, whatever happens to the process.
 *
 * A store to a page without disk space would raise SIGBUS. So space is reserved beyond the tail, in
 * steps that grow with the file; on a file system that cannot reserve, zeros are written, chunk by
 * chunk.
 *
 * All system calls that open, write or reserve are raw ones: libc's are cancellation points, and
 * its fallocate may silently write. Errors are returned as errno numbers; errno itself changes. */
#ifndef MV_LIVE_FILE_H
#define MV_LIVE_FILE_H

#include "capture/live/confined.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Moves a descriptor of the shim's to a high number, if the program may have one; else it stays
 * where it is. Programs rely on getting low numbers, and some use those that they have closed. It
 * never stays at that of a standard stream, where the program would read it or print into it: then
 * it is closed, and the result is -1 with errno EMFILE. */
int mv_live_raised(int fd);

/* One for the process; never freed. mv_live_file_open sets all fields except `path`. */
typedef struct {
    char path[PATH_MAX];
    _Atomic int fd;            /* a high number, so that the program gets the low ones; -1: none */
    dev_t device;              /* device and inode of the file: a program that closes every */
    ino_t inode;               /* descriptor may reuse the number for a file of its own */
    _Atomic uint64_t tail;     /* byte at which the next chunk begins */
    _Atomic uint64_t reserved; /* bytes from the start that have disk space */
    atomic_bool writes_zeros;  /* the file system cannot reserve */
    mv_set_aside aside;        /* chunks for a confined process, mapped beforehand */
} mv_live_file;

/* Creates the file at `file->path`; EEXIST when it exists already. */
int mv_live_file_open(mv_live_file *file);

/* Maps the next `bytes` (a multiple of MV_LIVE_CHUNK_BYTES) at the file's end, all zeros. Forked
 * children do not inherit the mapping. */
int mv_live_file_take(mv_live_file *file, uint64_t bytes, void **memory);

/* Maps so many chunks, which mv_live_file_take gives a confined process. What was set aside before
 * is kept if it was not used. */
void mv_live_file_set_aside(mv_live_file *file, uint64_t bytes);

/* Unmaps the memory; the file keeps its contents. */
void mv_live_file_give(void *memory, uint64_t bytes);

/* Closes the descriptor if it still belongs to the file, and forgets the file: no more is taken.
 * The memory of chunks stays valid. */
void mv_live_file_close(mv_live_file *file);

#endif
