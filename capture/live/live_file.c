#include "capture/live/live_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/live/apart.h"
#include "capture/wire_live.h"

enum {
    LEAST_STEP = 8 << 20,
    MOST_STEP = 64 << 20,
    ZEROS_SHARE = 8,         /* factor by which steps are smaller if zeros must be written */
    MOST_INTERRUPTIONS = 64, /* number of times that signals may interrupt a reservation before it
                              * is made smaller */
    POPULATE_WRITE = 23      /* MADV_POPULATE_WRITE of Linux 5.14 */
};

/* Work on the file that is done in a separate thread. */
typedef struct {
    mv_live_file *file;
    uint64_t at, bytes;
    void *memory; /* the mapped memory */
    int error;
    bool creates;
} job;

static bool is_ours(const mv_live_file *file, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_dev == file->device && st.st_ino == file->inode;
}

/* Returns true if a position exceeds the limit for file sizes. A write beyond this limit would also
 * raise SIGXFSZ. */
static bool exceeds_limit(uint64_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           end > limit.rlim_cur;
}

/* Reserves space. After a signal, tmpfs starts from the beginning again, so a timer could keep
 * interrupting a large step forever. */
static int reserve(int fd, uint64_t at, uint64_t bytes)
{
    if (exceeds_limit(at + bytes))
        return EFBIG;
    for (int tries = 0; tries < MOST_INTERRUPTIONS; tries++) {
        if (syscall(SYS_fallocate, fd, 0, (off_t)at, (off_t)bytes) == 0)
            return 0;
        if (errno != EINTR)
            return errno;
    }
    return EINTR;
}

/* Appends zeros. It never overwrites bytes, because another thread may have written the same zeros
 * and may already be storing records there. */
static int write_zeros(int fd, uint64_t end)
{
    static const uint8_t zeros[MV_LIVE_CHUNK_BYTES];
    struct stat st;

    if (exceeds_limit(end))
        return EFBIG;
    while (fstat(fd, &st) == 0 && (uint64_t)st.st_size < end) {
        uint64_t left = end - (uint64_t)st.st_size;
        long wrote = syscall(SYS_write, fd, zeros, left < sizeof zeros ? left : sizeof zeros);
        if (wrote <= 0 && errno != EINTR)
            return wrote < 0 ? errno : ENOSPC;
    }
    return 0;
}

/* Reserves disk space. */
static int back(mv_live_file *file, int fd, uint64_t at, uint64_t bytes)
{
    if (!atomic_load(&file->writes_zeros)) {
        int error = reserve(fd, at, bytes);
        if (error != EOPNOTSUPP && error != ENOSYS)
            return error;
        atomic_store(&file->writes_zeros, true);
    }
    return write_zeros(fd, at + bytes);
}

static int map(job *j, int fd)
{
    int error = back(j->file, fd, j->at, j->bytes);

    if (error)
        return error;
    j->memory = mmap(NULL, j->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)j->at);
    if (j->memory == MAP_FAILED)
        return errno;
    madvise(j->memory, j->bytes, MADV_DONTFORK);
    if (is_ours(j->file, fd))
        return 0;
    munmap(j->memory, j->bytes); /* possible only in a thread whose table is not separate */
    return ESTALE;
}

static int open_it(const job *j, int more, bool is_apart)
{
    return mv_apart_open(j->file->path, O_RDWR | O_APPEND | more, is_apart);
}

static int create(const job *j, bool is_apart)
{
    struct stat st;
    int fd = open_it(j, O_CREAT | O_EXCL, is_apart);

    if (fd < 0 || fstat(fd, &st) != 0)
        return fd;
    j->file->device = st.st_dev;
    j->file->inode = st.st_ino;
    return fd;
}

/* Does the work. If no separate thread can be created, it runs in the current thread, as carefully
 * as possible. */
static void work(void *with, bool is_apart)
{
    job *j = with;
    int fd =
        j->creates ? create(j, is_apart) : open_it(j, O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, is_apart);

    if (fd < 0)
        j->error = -fd;
    else if (!is_ours(j->file, fd))
        j->error = ENOENT;
    else
        j->error = j->creates ? 0 : map(j, fd);
    if (fd >= 0 && (is_apart || is_ours(j->file, fd)))
        syscall(SYS_close, fd);
}

int mv_live_file_open(mv_live_file *file)
{
    job j = {.file = file, .creates = true};

    mv_live_file_forget(file);
    mv_apart_or_here(work, &j);
    return j.error;
}

static uint64_t step_at(const mv_live_file *file, uint64_t at)
{
    uint64_t step = at / 4 & ~(uint64_t)(LEAST_STEP - 1);

    if (step < LEAST_STEP)
        step = LEAST_STEP;
    if (step > MOST_STEP)
        step = MOST_STEP;
    if (file->most_step && step > file->most_step)
        step = file->most_step;
    return atomic_load(&file->writes_zeros) ? step / ZEROS_SHARE : step;
}

static int map_after(job *j, mv_live_file *file, const mv_live_window *seen, uint64_t bytes)
{
    *j = (job){.file = file, .at = seen ? seen->end : 0, .bytes = bytes};
    if (file->room && file->room() < bytes)
        return MV_LIVE_FULL;
    mv_apart_or_here(work, j);
    return j->error;
}

/* Replaces the window `seen` with a new window, of which the first `taken` bytes are in use.
 * Returns false if another thread was faster, and has mapped the same bytes. */
static bool replace(mv_live_file *file, mv_live_window *seen, const job *j, uint64_t taken)
{
    uint32_t index = atomic_fetch_add(&file->windows, 1) % MV_LIVE_WINDOWS;
    mv_live_window *window = &file->all[index];

    *window = (mv_live_window){{j->memory, j->bytes, taken}, j->at + j->bytes};
    if (atomic_compare_exchange_strong(&file->window, &seen, window))
        return true;
    munmap(j->memory, j->bytes);
    return false;
}

/* Makes a window after `seen`. The window has only `bytes` bytes if there is no space for more. */
static int grow(mv_live_file *file, mv_live_window *seen, uint64_t bytes)
{
    uint64_t step = step_at(file, seen ? seen->end : 0);
    job j;
    int error = map_after(&j, file, seen, step > bytes ? step : bytes);

    if (error == MV_LIVE_FULL || error == ENOSPC || error == EDQUOT || error == EFBIG ||
        error == EINTR || error == ENOMEM)
        error = map_after(&j, file, seen, bytes);
    if (!error)
        replace(file, seen, &j, 0);
    return error;
}

int mv_live_file_take(mv_live_file *file, uint64_t bytes, void **memory)
{
    mv_live_window *window;
    int error = 0;

    *memory = NULL;
    if (mv_is_confined()) {
        *memory = mv_set_aside_take(&file->aside, bytes);
        return *memory ? 0 : MV_CONFINED_ERROR;
    }
    while (!error && !*memory) {
        window = atomic_load(&file->window);
        *memory = window ? mv_set_aside_take(&window->memory, bytes) : NULL;
        if (!*memory)
            error = grow(file, window, bytes);
    }
    if (*memory)
        madvise(*memory, bytes, POPULATE_WRITE);
    return error;
}

uint64_t mv_live_file_left(mv_live_file *file)
{
    mv_live_window *window = atomic_load(&file->window);
    uint64_t used = window ? atomic_load(&window->memory.used) : 0;

    return window && used < window->memory.bytes ? window->memory.bytes - used : 0;
}

void mv_live_file_set_aside(mv_live_file *file, uint64_t bytes)
{
    mv_live_window *seen;
    job j;

    if (atomic_load(&file->aside.used) < file->aside.bytes / 2 && file->aside.memory)
        return;
    do {
        seen = atomic_load(&file->window);
        if (map_after(&j, file, seen, bytes))
            return;
    } while (!replace(file, seen, &j, bytes));
    file->aside = (mv_set_aside){.memory = j.memory, .bytes = bytes};
}

void mv_live_file_give(void *memory, uint64_t bytes)
{
    if (!mv_is_confined())
        munmap(memory, bytes);
}

void mv_live_file_forget(mv_live_file *file)
{
    file->device = 0;
    file->inode = 0;
    atomic_store(&file->writes_zeros, false);
    atomic_store(&file->windows, 0);
    atomic_store(&file->window, NULL);
    file->aside = (mv_set_aside){0};
}
