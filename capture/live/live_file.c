#include "capture/live/live_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/wire_live.h"

enum {
    LEAST_STEP = 8 << 20,
    MOST_STEP = 64 << 20,
    MOST_INTERRUPTIONS = 64, /* by signals, of one reservation, before it is made smaller */
    /* Programs rely on getting low numbers. The kernel starts with a table of 64; growing it takes
     * some milliseconds in a program with threads. So the shim has one of the last eighth of these,
     * or of those that the program may have. */
    READY_FDS = 64,
    SHARE = 8
};

static int open_raw(const char *path, int flags)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : (int)fd;
}

int mv_live_raised(int low)
{
    struct rlimit limit;
    int high = -1;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        int most = limit.rlim_cur < READY_FDS ? (int)limit.rlim_cur : READY_FDS;
        high = fcntl(low, F_DUPFD_CLOEXEC, most - (most + SHARE - 1) / SHARE);
    }
    if (high < 0 && low > STDERR_FILENO)
        return low;
    syscall(SYS_close, low);
    errno = high < 0 ? EMFILE : errno;
    return high;
}

int mv_live_file_open(mv_live_file *file)
{
    struct stat st;
    int fd = open_raw(file->path, O_RDWR | O_CREAT | O_EXCL);

    if (fd < 0)
        return -fd;
    fd = mv_live_raised(fd);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int error = errno;
        if (fd >= 0)
            syscall(SYS_close, fd);
        else
            syscall(SYS_unlinkat, AT_FDCWD, file->path, 0);
        return error;
    }
    file->device = st.st_dev;
    file->inode = st.st_ino;
    atomic_store(&file->tail, 0);
    atomic_store(&file->reserved, 0);
    atomic_store(&file->writes_zeros, false);
    file->aside = (mv_set_aside){0};
    atomic_store(&file->fd, fd);
    return 0;
}

static bool is_ours(const mv_live_file *file, int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == file->device && st.st_ino == file->inode;
}

/* A descriptor of the file, or a negative error. */
static int descriptor(mv_live_file *file)
{
    int fd = atomic_load(&file->fd);

    if (is_ours(file, fd))
        return fd;
    fd = open_raw(file->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fd;
    if (!is_ours(file, fd)) {
        syscall(SYS_close, fd);
        return -ENOENT;
    }
    fd = mv_live_raised(fd);
    if (fd < 0)
        return -errno;
    atomic_store(&file->fd, fd);
    return fd;
}

/* A write beyond the limit would also raise SIGXFSZ. */
static bool exceeds_limit(uint64_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           end > limit.rlim_cur;
}

/* tmpfs starts over after a signal, so a timer could interrupt a large step for ever. */
static int reserve_range(int fd, uint64_t from, uint64_t end)
{
    if (exceeds_limit(end))
        return EFBIG;
    for (int tries = 0; tries < MOST_INTERRUPTIONS; tries++) {
        if (syscall(SYS_fallocate, fd, 0, (off_t)from, (off_t)(end - from)) == 0)
            return 0;
        if (errno != EINTR)
            return errno;
    }
    return EINTR;
}

static uint64_t step_at(uint64_t at)
{
    uint64_t step = at / 4 & ~(uint64_t)(LEAST_STEP - 1);

    if (step < LEAST_STEP)
        return LEAST_STEP;
    return step > MOST_STEP ? MOST_STEP : step;
}

/* Two threads may reserve the same range, which is harmless. Each starts at an end that was already
 * reached, so everything below the highest `reserved` has disk space. */
static int reserve(mv_live_file *file, int fd, uint64_t at, uint64_t bytes)
{
    uint64_t from = atomic_load(&file->reserved);
    uint64_t end = at + step_at(at) > at + bytes ? at + step_at(at) : at + bytes;
    int error;

    if (at + bytes <= from)
        return 0;
    error = reserve_range(fd, from, end);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EINTR) {
        end = at + bytes;
        error = reserve_range(fd, from, end);
    }
    if (error)
        return error;
    while (from < end && !atomic_compare_exchange_weak(&file->reserved, &from, end))
        continue;
    return 0;
}

static int write_zeros(int fd, uint64_t at, uint64_t bytes)
{
    static const uint8_t zeros[MV_LIVE_CHUNK_BYTES];

    if (exceeds_limit(at + bytes))
        return EFBIG;
    while (bytes) {
        size_t most = bytes < sizeof zeros ? (size_t)bytes : sizeof zeros;
        long wrote = syscall(SYS_pwrite64, fd, zeros, most, (off_t)at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? errno : ENOSPC;
        at += (uint64_t)wrote;
        bytes -= (uint64_t)wrote;
    }
    return 0;
}

/* Gets disk space for one chunk. Zeros are only written into this chunk, where no other thread
 * stores. */
static int back(mv_live_file *file, int fd, uint64_t at, uint64_t bytes)
{
    if (!atomic_load(&file->writes_zeros)) {
        int error = reserve(file, fd, at, bytes);
        if (error != EOPNOTSUPP && error != ENOSYS && error != EINTR)
            return error;
        if (error != EINTR)
            atomic_store(&file->writes_zeros, true);
    }
    return write_zeros(fd, at, bytes);
}

static int map_next(mv_live_file *file, uint64_t bytes, void **memory)
{
    uint64_t at = atomic_fetch_add(&file->tail, bytes);
    int fd = descriptor(file);
    int error = fd < 0 ? -fd : back(file, fd, at, bytes);

    if (error)
        return error;
    *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)at);
    if (*memory == MAP_FAILED)
        return errno;
    madvise(*memory, bytes, MADV_DONTFORK);
    return 0;
}

int mv_live_file_take(mv_live_file *file, uint64_t bytes, void **memory)
{
    if (!mv_is_confined())
        return map_next(file, bytes, memory);
    *memory = mv_set_aside_take(&file->aside, bytes);
    return *memory ? 0 : MV_CONFINED_ERROR;
}

void mv_live_file_set_aside(mv_live_file *file, uint64_t bytes)
{
    void *memory;

    if (atomic_load(&file->aside.used) < file->aside.bytes / 2 && file->aside.memory)
        return;
    if (map_next(file, bytes, &memory) == 0)
        file->aside = (mv_set_aside){.memory = memory, .bytes = bytes};
}

void mv_live_file_give(void *memory, uint64_t bytes)
{
    if (!mv_is_confined())
        munmap(memory, bytes);
}

void mv_live_file_close(mv_live_file *file)
{
    int fd = atomic_exchange(&file->fd, -1);

    if (!mv_is_confined() && is_ours(file, fd))
        syscall(SYS_close, fd);
    file->device = 0;
    file->inode = 0;
}
