#include "capture/record/status.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/live/apart.h"
#include "capture/live/confined.h"
#include "capture/record/forks.h"
#include "capture/record/sampler.h"
#include "capture/wire_status.h"

static mv_status_page *page; /* the page that is shared with the launcher; NULL: none */

static char page_path[MV_STATUS_PATH]; /* path of one of the launcher's descriptors */

static const _Atomic uint32_t never;
const _Atomic uint32_t *mv_status_stop = &never;

/* Returns true if a file is in memory and has no name. Only such a file may be mapped. */
static bool is_nameless(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_nlink == 0 && st->st_size == MV_STATUS_BYTES;
}

/* Returns true if the file contains the launcher's word. The path may lead to a different file,
 * because another process may now have the launcher's process id, or may always have had it in a
 * separate process namespace. */
static bool is_launchers(int fd, uint64_t word)
{
    uint64_t found = 0;
    struct stat st;

    return fstat(fd, &st) == 0 && is_nameless(&st) &&
           syscall(SYS_pread64, fd, &found, sizeof found, offsetof(mv_status_page, word)) ==
               sizeof found &&
           found == word;
}

typedef struct {
    char path[MV_STATUS_PATH];
    uint64_t word;
    void *memory; /* the mapping, or MAP_FAILED */
} search;

static void map(void *with, bool is_apart)
{
    search *s = with;
    struct stat st;
    int fd = stat(s->path, &st) == 0 && is_nameless(&st)
                 ? mv_apart_open(s->path, O_RDWR | O_NONBLOCK, is_apart)
                 : -1;

    if (fd < 0)
        return;
    s->memory = mmap(NULL, MV_STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s->memory != MAP_FAILED && !is_launchers(fd, s->word)) {
        munmap(s->memory, MV_STATUS_BYTES);
        s->memory = MAP_FAILED;
    }
    syscall(SYS_close, fd);
}

void mv_status_begin(const char *where, bool is_filtered)
{
    const char *colon = where ? strrchr(where, ':') : NULL;
    size_t length = colon ? (size_t)(colon - where) : 0;
    search s = {.memory = MAP_FAILED};

    if (page || !length || length >= sizeof s.path)
        return;
    memcpy(s.path, where, length);
    s.word = strtoull(colon + 1, NULL, 16);
    /* The process nearly always has only one thread here, because the shim is loaded with the
     * program. */
    if (is_filtered || mv_forks_is_alone())
        map(&s, false);
    else
        mv_apart_or_here(map, &s);
    if (s.memory == MAP_FAILED)
        return;
    page = s.memory;
    memcpy(page_path, s.path, sizeof page_path);
    mv_status_stop = &page->is_stopped;
    atomic_fetch_add(&page->loaded, 1);
}

bool mv_status_has_launcher(void)
{
    struct stat st;

    return page && stat(page_path, &st) == 0 && is_nameless(&st);
}

/* Reports the result. In a process with a filter, makes only system calls that the loader makes
 * too. */
void mv_status_opened(int error)
{
    bool is_filtered = error == MV_STATUS_FILTERED;

    if (page && error)
        mv_status_fail(page, is_filtered ? mv_confined_thread() : (uint32_t)getpid(), error);
    else if (page)
        atomic_fetch_add(&page->opened, 1);
    else if (error && !is_filtered)
        mv_sampler_send_status(error);
}
