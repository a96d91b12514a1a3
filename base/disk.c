#include "base/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The headers of Linux 5.15 and older do not define this constant. */
#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xff534d42
#define SMB2_SUPER_MAGIC 0xfe534d42
#define FUSE_SUPER_MAGIC 0x65735546
#define CEPH_SUPER_MAGIC 0x00c36400
#endif

enum { WRITE_BYTES = 64 << 20 };

/* ---- the file ---------------------------------------------------------------------------- */

/* Returns true if the file system keeps files in memory, or if it is remote. With a remote file
 * system, a lost connection would end the program with a fault. */
static bool is_unfit(int file)
{
    static const uint32_t unfit[] = {TMPFS_MAGIC,      RAMFS_MAGIC,      HUGETLBFS_MAGIC,
                                     NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC,
                                     SMB2_SUPER_MAGIC, FUSE_SUPER_MAGIC, V9FS_MAGIC,
                                     CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC};
    struct statfs fs;

    if (fstatfs(file, &fs) != 0)
        return true;
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++)
        if ((uint32_t)fs.f_type == unfit[i])
            return true;
    return false;
}

/* Returns the size that the file may have. Writing beyond the process's limit for file sizes would
 * kill the process with a signal. */
static uint64_t room_of(int file, uint64_t limit)
{
    struct rlimit most;
    struct statvfs fs;

    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || fstatvfs(file, &fs) != 0)
        return 0;
    if (limit == 0)
        limit = (uint64_t)fs.f_bavail * fs.f_frsize / 2;
    return limit < most.rlim_cur ? limit : most.rlim_cur;
}

static int open_nameless(const char *folder)
{
    char path[4096];
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (file >= 0)
        return file;
    if ((size_t)snprintf(path, sizeof path, "%s/memviz-XXXXXX", folder) >= sizeof path)
        return -1;
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    return file;
}

/* Makes btrfs write to the reserved space each time. Without this, only the first time takes
 * reserved space, and a later one is a fault if the disk is full. */
static bool is_overwritten(int file)
{
    int flags = FS_NOCOW_FL;
    struct statfs fs;

    if (fstatfs(file, &fs) != 0)
        return false;
    return (uint32_t)fs.f_type != BTRFS_SUPER_MAGIC || ioctl(file, FS_IOC_SETFLAGS, &flags) == 0;
}

static void open_in(mv_disk *disk, const char *folder, uint64_t limit)
{
    int file = disk->file < 0 && folder && *folder ? open_nameless(folder) : -1;

    if (file < 0)
        return;
    disk->limit = is_unfit(file) || !is_overwritten(file) ? 0 : room_of(file, limit);
    if (disk->limit > 0) {
        disk->file = file;
        snprintf(disk->folder, sizeof disk->folder, "%s", folder);
    } else {
        close(file);
    }
}

void mv_disk_open(mv_disk *disk, const char *folder, uint64_t limit)
{
    *disk = (mv_disk){.file = -1};
    pthread_mutex_init(&disk->lock, NULL);
    open_in(disk, folder ? folder : getenv("TMPDIR"), limit);
    if (!folder)
        open_in(disk, "/var/tmp", limit);
}

void mv_disk_close(mv_disk *disk)
{
    if (disk->file >= 0)
        close(disk->file);
    disk->file = -1;
    pthread_mutex_destroy(&disk->lock);
}

/* ---- ranges of the file ------------------------------------------------------------------ */

/* Reserves space at the end of the file. */
static bool reserve(mv_disk *disk, uint64_t bytes, uint64_t *position)
{
    struct rlimit most;
    bool is_reserved;

    if (disk->file < 0)
        return false;
    pthread_mutex_lock(&disk->lock);
    is_reserved = bytes <= disk->limit && disk->used <= disk->limit - bytes &&
                  getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes <= most.rlim_cur &&
                  disk->end <= most.rlim_cur - bytes && disk->end <= INT64_MAX - bytes &&
                  fallocate(disk->file, 0, (off_t)disk->end, (off_t)bytes) == 0;
    if (is_reserved) {
        *position = disk->end;
        disk->end += bytes;
        disk->used += bytes;
        disk->peak = disk->used > disk->peak ? disk->used : disk->peak;
    }
    pthread_mutex_unlock(&disk->lock);
    return is_reserved;
}

/* Gives a range's space back to the disk. If that is not possible, the range is still counted. */
static void give_back(mv_disk *disk, uint64_t bytes, uint64_t position)
{
    bool is_last, is_given;

    pthread_mutex_lock(&disk->lock);
    is_last = disk->end == position + bytes;
    is_given = (is_last ? ftruncate(disk->file, (off_t)position)
                        : fallocate(disk->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    (off_t)position, (off_t)bytes)) == 0;
    disk->used -= is_given ? bytes : 0;
    disk->end = is_last && is_given ? position : disk->end;
    disk->end = disk->used ? disk->end : 0;
    pthread_mutex_unlock(&disk->lock);
}

static void *map(const mv_disk *disk, uint64_t bytes, uint64_t position)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, disk->file, (off_t)position);

    return at == MAP_FAILED ? NULL : at;
}

void *mv_disk_map(mv_disk *disk, uint64_t bytes, uint64_t *position)
{
    void *at;

    if (!reserve(disk, bytes, position))
        return NULL;
    at = map(disk, bytes, *position);
    if (!at)
        give_back(disk, bytes, *position);
    return at;
}

void mv_disk_unmap(mv_disk *disk, void *at, uint64_t bytes, uint64_t position)
{
    munmap(at, bytes);
    give_back(disk, bytes, position);
}

/* ---- moving ------------------------------------------------------------------------------ */

static bool write_all(int file, const char *from, uint64_t bytes, uint64_t at)
{
    while (bytes > 0) {
        ssize_t wrote = pwrite(file, from, bytes < WRITE_BYTES ? bytes : WRITE_BYTES, (off_t)at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        from += wrote;
        at += (uint64_t)wrote;
        bytes -= (uint64_t)wrote;
    }
    return true;
}

/* The file's pages are mapped elsewhere and then moved over the pages of memory in one step, so
 * other threads read either the old pages or the new ones, which are equal. */
static bool replace(const mv_disk *disk, void *at, uint64_t bytes, uint64_t position)
{
    void *mapped = map(disk, bytes, position);

    if (!mapped)
        return false;
    if (mremap(mapped, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED)
        return true;
    munmap(mapped, bytes);
    return false;
}

bool mv_disk_move(mv_disk *disk, void *at, uint64_t bytes, uint64_t *position)
{
    if (!reserve(disk, bytes, position))
        return false;
    if (write_all(disk->file, at, bytes, *position) && replace(disk, at, bytes, *position))
        return true;
    give_back(disk, bytes, *position);
    return false;
}

void mv_disk_forget(void *at, uint64_t bytes)
{
    madvise(at, bytes, MADV_DONTNEED);
}
