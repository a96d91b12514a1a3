/* Pages from WebAssembly's single memory, which can only grow. Freed pages are kept in a list that
 * is sorted by address, and are reused. New memory from the browser contains zeros, and costs
 * nothing until it is touched. */
#include "base/pages.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { WASM_PAGE = 65536, LEAST_GROWTH = 256 /* WASM_PAGEs */ };

/* The header at the beginning of a free run. */
typedef struct run run;
struct run {
    run *next; /* next free run, at a higher address */
    uint64_t bytes;
};

static run *first_free;
static char *fresh, *fresh_end; /* bounds of the memory that was never touched */

static bool grow_fresh(uint64_t bytes)
{
    size_t wanted = (size_t)((bytes + WASM_PAGE - 1) / WASM_PAGE);
    size_t pages = wanted < LEAST_GROWTH ? LEAST_GROWTH : wanted, at;

    at = __builtin_wasm_memory_grow(0, pages);
    if (at == SIZE_MAX && pages > wanted)
        at = __builtin_wasm_memory_grow(0, pages = wanted);
    if (at == SIZE_MAX)
        return false;
    /* If the C library has taken memory in between, what was left of the previous memory goes to
     * the list. */
    if ((char *)(at * WASM_PAGE) != fresh_end) {
        if (fresh_end > fresh)
            mv_pages_unmap(fresh, (uint64_t)(fresh_end - fresh));
        fresh = (char *)(at * WASM_PAGE);
    }
    fresh_end = (char *)((at + pages) * WASM_PAGE);
    return true;
}

/* Takes memory from the lowest free run that is long enough. The memory is not zeroed. Returns NULL
 * if there is no such run. */
static void *take_free(uint64_t bytes)
{
    for (run **at = &first_free; *at; at = &(*at)->next) {
        run *found = *at, *rest;
        if (found->bytes < bytes)
            continue;
        *at = found->next;
        if (found->bytes > bytes) {
            rest = (run *)((char *)found + bytes);
            *rest = (run){found->next, found->bytes - bytes};
            *at = rest;
        }
        return found;
    }
    return NULL;
}

static void *take_fresh(uint64_t bytes)
{
    void *at;

    if ((uint64_t)(fresh_end - fresh) < bytes && !grow_fresh(bytes - (uint64_t)(fresh_end - fresh)))
        return NULL;
    if ((uint64_t)(fresh_end - fresh) < bytes && !grow_fresh(bytes))
        return NULL;
    at = fresh;
    fresh += bytes;
    return at;
}

void *mv_pages_map(uint64_t bytes)
{
    void *at = bytes < (uint64_t)1 << 31 ? take_free(bytes) : NULL;

    if (at)
        return memset(at, 0, (size_t)bytes);
    return bytes < (uint64_t)1 << 32 ? take_fresh(bytes) : NULL;
}

void mv_pages_unmap(void *from, uint64_t bytes)
{
    run *freed = from, **at = &first_free, *before = NULL;

    while (*at && *at < freed) {
        before = *at;
        at = &before->next;
    }
    *freed = (run){*at, bytes};
    *at = freed;
    if (freed->next && (char *)freed + freed->bytes == (char *)freed->next) {
        freed->bytes += freed->next->bytes;
        freed->next = freed->next->next;
    }
    if (before && (char *)before + before->bytes == (char *)freed) {
        before->bytes += freed->bytes;
        before->next = freed->next;
    }
}

void *mv_pages_resize(void *at, uint64_t old_bytes, uint64_t bytes)
{
    void *moved;

    if ((char *)at + old_bytes == fresh && bytes > old_bytes)
        return take_fresh(bytes - old_bytes) ? at : NULL;
    moved = mv_pages_map(bytes);
    if (moved) {
        memcpy(moved, at, (size_t)(old_bytes < bytes ? old_bytes : bytes));
        mv_pages_unmap(at, old_bytes);
    }
    return moved;
}

void mv_pages_take(void *at, uint64_t bytes)
{
    (void)at;
    (void)bytes;
}
