/* For systems that cannot replace a mapping in one step, and for the page: everything stays in
 * memory. */
#include "base/disk.h"

void mv_disk_open(mv_disk *disk, const char *folder, uint64_t limit)
{
    (void)folder;
    (void)limit;
    *disk = (mv_disk){.file = -1};
}

void mv_disk_close(mv_disk *disk)
{
    (void)disk;
}

void *mv_disk_map(mv_disk *disk, uint64_t bytes, uint64_t *position)
{
    (void)disk;
    (void)bytes;
    (void)position;
    return NULL;
}

void mv_disk_unmap(mv_disk *disk, void *at, uint64_t bytes, uint64_t position)
{
    (void)disk;
    (void)at;
    (void)bytes;
    (void)position;
}

bool mv_disk_move(mv_disk *disk, void *at, uint64_t bytes, uint64_t *position)
{
    (void)disk;
    (void)at;
    (void)bytes;
    (void)position;
    return false;
}

void mv_disk_forget(void *at, uint64_t bytes)
{
    (void)at;
    (void)bytes;
}
