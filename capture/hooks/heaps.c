#include "capture/hooks/heaps.h"

#define MEMVIZ_CAPTURE
#include "capture/memviz.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "capture/hooks/hooks.h"

enum { EMPTY, BEING_WRITTEN, READY };

static struct {
    atomic_int state;
    char name[MV_HEAPS_NAME];
} heaps[MV_HEAPS_MOST];

static bool is_level(const char *name)
{
    static const char *const levels[] = {"pytorch", "cuda", "host", "all", "default"};

    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(name, levels[i]) == 0)
            return true;
    return false;
}

static void spell(const char *name, char out[MV_HEAPS_NAME])
{
    size_t bytes = name ? strnlen(name, MV_HEAPS_NAME) : 0;

    if (bytes == 0) {
        memcpy(out, "unnamed", sizeof "unnamed");
        return;
    }
    if (bytes == MV_HEAPS_NAME)
        for (bytes--; bytes && ((unsigned char)name[bytes] & 0xC0) == 0x80;)
            bytes--;
    memcpy(out, name, bytes);
    out[bytes] = 0;
    if (is_level(out))
        memcpy(out + bytes, " heap", sizeof " heap");
}

/* Returns true if a row has this name. A row that another thread is writing does not count, so that
 * no thread waits for a thread that does not exist in a forked child. Two rows may therefore have
 * the same name, which is harmless because files contain each string once. */
static bool is_row_of(unsigned row, const char *name)
{
    int state = EMPTY;

    if (atomic_compare_exchange_strong(&heaps[row].state, &state, BEING_WRITTEN)) {
        memcpy(heaps[row].name, name, MV_HEAPS_NAME);
        atomic_store(&heaps[row].state, READY);
        return true;
    }
    return state == READY && strcmp(heaps[row].name, name) == 0;
}

unsigned mv_heaps_named(const char *name)
{
    char text[MV_HEAPS_NAME] = "";
    unsigned row = 0;

    spell(name, text);
    while (row < MV_HEAPS_MOST - 1 && !is_row_of(row, text))
        row++;
    if (row == MV_HEAPS_MOST - 1)
        is_row_of(row, memcpy(text, "other heaps", sizeof "other heaps"));
    return row + 1;
}

void mv_heaps_report(unsigned heap, mv_heap_action action, const void *address, uint64_t bytes,
                     const void *caller)
{
    mv_rec_heap_call call = {
        .addr = (uintptr_t)address, .size = bytes, .caller = caller, .action = action};
    mv_rec_visit visit;
    int kept = errno;

    if (heap > MV_HEAPS_MOST || (heap && atomic_load(&heaps[heap - 1].state) != READY))
        return;
    if (mv_rec_enter(&visit)) {
        call.heap = heap ? heaps[heap - 1].name : NULL;
        call.device = mv_hook_current_device();
        mv_rec_heap(&call);
        mv_rec_leave(&visit);
    }
    errno = kept;
}

/* ---- memviz.h ---- */

unsigned memviz_heap(const char *name)
{
    return mv_heaps_named(name);
}

void memviz_alloc(unsigned heap, const void *address, size_t bytes)
{
    if (heap && address)
        mv_heaps_report(heap, MV_HEAP_ALLOC, address, bytes, __builtin_return_address(0));
}

void memviz_free(unsigned heap, const void *address)
{
    if (heap && address)
        mv_heaps_report(heap, MV_HEAP_FREE, address, 0, __builtin_return_address(0));
}
