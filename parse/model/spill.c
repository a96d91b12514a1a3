#include "parse/model/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
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

enum { PAGE = 4096, LEAST_BYTES = 64 << 10, WRITE_BYTES = 64 << 20 };

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

/* Returns true if a file of this size is allowed. Writing beyond the process's limit for file sizes
 * would kill the process with a signal. */
static bool has_room(int file, uint64_t bytes)
{
    struct rlimit limit;
    struct statvfs fs;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || fstatvfs(file, &fs) != 0)
        return false;
    return bytes <= limit.rlim_cur && bytes <= (uint64_t)fs.f_bavail * fs.f_frsize / 2;
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

/* Creates a file of `bytes` bytes, and reserves its space if the file system can do that. Returns
 * -1 if this folder cannot be used. */
static int open_in(const char *folder, uint64_t bytes)
{
    int file = folder && *folder ? open_nameless(folder) : -1;

    if (file < 0)
        return -1;
    if (!is_unfit(file) && has_room(file, bytes) &&
        (fallocate(file, 0, 0, (off_t)bytes) == 0 || errno == EOPNOTSUPP))
        return file;
    close(file);
    return -1;
}

static int open_file(const char *folder, uint64_t bytes)
{
    int file;

    if (folder)
        return open_in(folder, bytes);
    file = open_in(getenv("TMPDIR"), bytes);
    return file >= 0 ? file : open_in("/var/tmp", bytes);
}

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

/* ---- blocks ------------------------------------------------------------------------------ */

typedef struct {
    char *at;
    uint64_t bytes;
} page_run;

/* Returns the pages that belong entirely to a block. Other allocations may share its first and its
 * last page. */
static page_run pages_of(const mv_arena_large *block)
{
    uint64_t skipped = -(uint64_t)(uintptr_t)block->at & (PAGE - 1);

    if (block->bytes < skipped)
        return (page_run){0};
    return (page_run){block->at + skipped, (block->bytes - skipped) & ~(uint64_t)(PAGE - 1)};
}

static uint64_t unmoved_bytes(const mv_arena *arena)
{
    mv_arena_large block = {0};
    uint64_t bytes = 0;

    while (mv_arena_next_large(arena, &block))
        if (*block.filed == 0)
            bytes += pages_of(&block).bytes;
    return bytes;
}

/* Replaces a block's pages with those of the file. The file's pages are mapped elsewhere and then
 * moved over the block's pages in one step, so other threads read either the old pages or the new
 * ones, which are equal. */
static bool move_block(int file, page_run run, uint64_t at)
{
    void *mapped;

    if (!write_all(file, run.at, run.bytes, at))
        return false;
    mapped = mmap(NULL, run.bytes, PROT_READ, MAP_PRIVATE, file, (off_t)at);
    if (mapped == MAP_FAILED)
        return false;
    if (mremap(mapped, run.bytes, run.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, run.at) != MAP_FAILED)
        return true;
    munmap(mapped, run.bytes);
    return false;
}

void mv_spill_arena(mv_arena *arena, const char *folder, mv_spilled *out)
{
    uint64_t bytes = unmoved_bytes(arena), at = 0;
    mv_arena_large block = {0};
    int file = bytes >= LEAST_BYTES ? open_file(folder, bytes) : -1;

    *out = (mv_spilled){0};
    while (file >= 0 && mv_arena_next_large(arena, &block)) {
        page_run run = pages_of(&block);
        if (*block.filed || run.bytes == 0)
            continue;
        if (!move_block(file, run, at))
            break;
        *block.filed = run.bytes;
        at += run.bytes;
    }
    if (file >= 0)
        close(file);
    out->filed = at;
    out->kept = bytes - at;
}

void mv_spill_forget(const mv_arena *arena)
{
    mv_arena_large block = {0};

    while (mv_arena_next_large(arena, &block))
        if (*block.filed)
            madvise(pages_of(&block).at, *block.filed, MADV_DONTNEED);
}
