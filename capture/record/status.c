#include "capture/record/status.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/live/confined.h"
#include "capture/record/sampler.h"
#include "capture/wire_status.h"

static mv_status_page *page; /* shared with the launcher; NULL: none */

/* A file in memory, which has no name: nothing else is opened. */
static bool is_nameless(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_nlink == 0 && st->st_size == MV_STATUS_BYTES;
}

/* What has the path may be another file by now: another process has the launcher's number, or in a
 * namespace of processes always had it. */
static bool is_launchers(int fd, uint64_t word)
{
    uint64_t found = 0;
    struct stat st;

    return fstat(fd, &st) == 0 && is_nameless(&st) &&
           syscall(SYS_pread64, fd, &found, sizeof found, offsetof(mv_status_page, word)) ==
               sizeof found &&
           found == word;
}

static void map(const char *path, uint64_t word)
{
    struct stat st;
    void *memory;
    int fd = stat(path, &st) == 0 && is_nameless(&st)
                 ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
                 : -1;

    if (fd < 0)
        return;
    memory = is_launchers(fd, word)
                 ? mmap(NULL, MV_STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                 : MAP_FAILED;
    syscall(SYS_close, fd);
    if (memory == MAP_FAILED)
        return;
    page = memory;
    atomic_fetch_add(&page->loaded, 1);
}

void mv_status_begin(const char *where)
{
    const char *colon = where ? strrchr(where, ':') : NULL;
    char path[MV_STATUS_PATH];
    size_t length = colon ? (size_t)(colon - where) : 0;

    if (page || !length || length >= sizeof path)
        return;
    memcpy(path, where, length);
    path[length] = 0;
    map(path, strtoull(colon + 1, NULL, 16));
}

/* A process with a filter makes no call here that the loader does not make. */
void mv_status_opened(int error)
{
    bool is_filtered = error == MV_STATUS_FILTERED;

    if (page && error)
        mv_status_fail(page, is_filtered ? mv_confined_thread() : (uint32_t)getpid(), error);
    else if (page)
        atomic_fetch_add(&page->opened, 1);
    else if (error && !is_filtered)
        mv_sampler_tell(error);
}
