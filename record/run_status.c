#include "record/run_status.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "record/random_word.h"

static mv_status_page *map(int file)
{
    struct rlimit limit;
    void *memory;

    /* If the file were too large, the kernel would raise SIGXFSZ. */
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < MV_STATUS_BYTES)
        return NULL;
    if (ftruncate(file, MV_STATUS_BYTES) != 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return NULL;
    memory = mmap(NULL, MV_STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void mv_run_status_open(mv_run_status *status)
{
    *status = (mv_run_status){.file = memfd_create("memviz", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (status->file >= 0)
        status->page = map(status->file);
    if (!status->page)
        return;
    status->page->word = mv_random_word();
    snprintf(status->where, sizeof status->where, "/proc/%d/fd/%d:%016llx", (int)getpid(),
             status->file, (unsigned long long)status->page->word);
}

void mv_run_status_close(mv_run_status *status)
{
    if (status->page)
        munmap(status->page, MV_STATUS_BYTES);
    if (status->file >= 0)
        close(status->file);
}

mv_run_counts mv_run_status_counts(const mv_run_status *status)
{
    mv_status_page *page = status->page;

    if (!page)
        return (mv_run_counts){0};
    return (mv_run_counts){atomic_load(&page->loaded), atomic_load(&page->opened),
                           atomic_load(&page->failed)};
}

bool mv_run_status_failure(const mv_run_status *status, uint32_t i, uint32_t *pid, int32_t *error)
{
    if (!status->page || i >= MV_STATUS_FAILURES)
        return false;
    *pid = atomic_load(&status->page->failures[i].pid);
    *error = atomic_load(&status->page->failures[i].error);
    return *pid != 0;
}
