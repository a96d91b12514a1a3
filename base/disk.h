/* Pages in a file without a name, for data that does not fit into memory.
 *
 * The pages are mapped, and used like memory. The kernel writes them to the file, and reads them
 * again, as it needs memory. The file is in $TMPDIR, or else in /var/tmp, but never on a file
 * system that is remote or stored in memory (NFS, FUSE, tmpfs). Its space is reserved before pages
 * are mapped, so a full disk is never a fault, only a refusal. The file disappears when the program
 * ends, however it ends.
 *
 * base/disk.c implements it for Linux. With posix/disk.c, everything is refused, and data stays in
 * memory. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    pthread_mutex_t lock;
    uint64_t limit, used; /* limit, and number, of bytes of the file that are mapped or kept */
    uint64_t peak;        /* largest number of bytes that were ever used at once */
    uint64_t end;         /* end of the last range in use */
    int file;             /* -1: no folder is suitable */
    char folder[256];     /* the beginning of the folder's path */
} mv_disk;

/* Creates the file, which is empty. It takes at most `limit` bytes; 0: at most half of the disk's
 * free space. Never fails, but without a suitable folder everything is refused. `folder`, if not
 * NULL, replaces $TMPDIR and /var/tmp. */
void mv_disk_open(mv_disk *disk, const char *folder, uint64_t limit);

/* Must be called after all pages have been unmapped. */
void mv_disk_close(mv_disk *disk);

/* Maps `bytes` zeroed bytes (a multiple of MV_PAGE). *position is their place in the file. Returns
 * NULL if the limit is reached, the disk is full, or the address space is. Threads may call this
 * and the next functions at the same time. */
void *mv_disk_map(mv_disk *disk, uint64_t bytes, uint64_t *position);
void mv_disk_unmap(mv_disk *disk, void *at, uint64_t bytes, uint64_t position);

/* Replaces pages of memory with pages of the file that have the same addresses and contents. Other
 * threads may read them at the same time, but not write to them. If that is not possible, returns
 * false, and changes nothing. */
bool mv_disk_move(mv_disk *disk, void *at, uint64_t bytes, uint64_t *position);

/* Drops pages from memory. They are read again when they are used. */
void mv_disk_forget(void *at, uint64_t bytes);
