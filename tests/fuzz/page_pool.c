/* For fuzz targets: pages that an arena returns are kept for the next arena, because mappings and
 * page faults take half of the time when inputs are small. The linker replaces base/pages.c with
 * these functions (-Wl,--wrap). Kept pages are poisoned, so that using them is still an error. They
 * are reused in the order in which they were freed. */
#include "base/pages.h"

#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_PAGES = 128, KEPT = 128, MOST_KEPT = (64 << 20) / MV_PAGE };

void *__real_mv_pages_map(uint64_t bytes);
void *__wrap_mv_pages_map(uint64_t bytes);
void __real_mv_pages_unmap(void *at, uint64_t bytes);
void __wrap_mv_pages_unmap(void *at, uint64_t bytes);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Ranges with as many pages as the index; `next` is the oldest one. */
static struct {
    void *at[KEPT];
    unsigned next, count;
} kept[MOST_PAGES + 1];
static uint64_t kept_pages;

static void *take(uint64_t pages)
{
    void *at = NULL;

    pthread_mutex_lock(&lock);
    if (kept[pages].count > 0) {
        at = kept[pages].at[kept[pages].next];
        kept[pages].next = (kept[pages].next + 1) % KEPT;
        kept[pages].count--;
        kept_pages -= pages;
    }
    pthread_mutex_unlock(&lock);
    return at;
}

static bool keep(void *at, uint64_t pages)
{
    ASAN_POISON_MEMORY_REGION(at, pages * MV_PAGE);
    pthread_mutex_lock(&lock);
    bool has_room = kept[pages].count < KEPT && kept_pages + pages <= MOST_KEPT;
    if (has_room) {
        kept[pages].at[(kept[pages].next + kept[pages].count++) % KEPT] = at;
        kept_pages += pages;
    }
    pthread_mutex_unlock(&lock);
    if (!has_room)
        ASAN_UNPOISON_MEMORY_REGION(at, pages * MV_PAGE);
    return has_room;
}

void *__wrap_mv_pages_map(uint64_t bytes)
{
    void *at = bytes <= MOST_PAGES * MV_PAGE ? take(bytes / MV_PAGE) : NULL;

    if (!at)
        return __real_mv_pages_map(bytes);
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    return memset(at, 0, bytes);
}

void __wrap_mv_pages_unmap(void *at, uint64_t bytes)
{
    if (bytes > MOST_PAGES * MV_PAGE || !keep(at, bytes / MV_PAGE))
        __real_mv_pages_unmap(at, bytes);
}
