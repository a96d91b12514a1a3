#include "capture/record/status.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/live/confined.h"
#include "capture/record/sampler.h"
#include "capture/wire_status.h"

static mv_status_page *page; /* shared with the launcher; NULL: none */

static void *map(int fd)
{
    struct stat st;
    void *memory;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < MV_STATUS_BYTES)
        return NULL;
    memory = mmap(NULL, MV_STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void mv_status_begin(const char *path)
{
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;

    if (fd < 0)
        return;
    page = map(fd);
    syscall(SYS_close, fd);
    if (page)
        atomic_fetch_add(&page->loaded, 1);
}

void mv_status_opened(int error)
{
    if (page && error)
        mv_status_fail(page, mv_is_confined() ? mv_confined_thread() : (uint32_t)getpid(), error);
    else if (page)
        atomic_fetch_add(&page->opened, 1);
    else if (error)
        mv_sampler_tell(error);
}
