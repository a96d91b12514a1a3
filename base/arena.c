#include "base/arena.h"

#include <assert.h>
#include <string.h>

#include "base/pages.h"

#if defined(__SANITIZE_ADDRESS__)
#define MV_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MV_ASAN 1
#endif
#endif
#ifdef MV_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(at, bytes)   ASAN_POISON_MEMORY_REGION((at), (bytes))
#define UNPOISON(at, bytes) ASAN_UNPOISON_MEMORY_REGION((at), (bytes))
#else
#define POISON(at, bytes)   ((void)(at), (void)(bytes))
#define UNPOISON(at, bytes) ((void)(at), (void)(bytes))
#endif

enum { HEADER = 64, ALIGN = 16, LEAST_CHUNK = 64 << 10, MOST_CHUNK = 1 << 20 };

/* Header of one mapping. The usable bytes begin at HEADER. */
struct mv_arena_chunk {
    mv_arena_chunk *next;
    mv_arena_chunk *prev; /* previous chunk; set only in the `large` list */
    uint64_t mapped;      /* bytes of the whole mapping */
    uint64_t used;        /* usable bytes handed out */
    uint64_t filed;       /* for `large`: bytes that are in a file, from the second page on */
};

static_assert(sizeof(mv_arena_chunk) <= HEADER, "chunk header must fit");

void mv_arena_init(mv_arena *arena, mv_budget *budget)
{
    *arena = (mv_arena){.budget = budget};
}

/* Threads with their own arenas may share a budget. */
static void give_budget(mv_budget *budget, uint64_t bytes)
{
    __atomic_sub_fetch(&budget->used, bytes, __ATOMIC_RELAXED);
}

static bool take_budget(mv_budget *budget, uint64_t bytes)
{
    uint64_t limit = __atomic_load_n(&budget->limit, __ATOMIC_RELAXED);
    uint64_t used = __atomic_load_n(&budget->used, __ATOMIC_RELAXED), peak;

    do {
        if (bytes > limit || used > limit - bytes)
            return false;
    } while (!__atomic_compare_exchange_n(&budget->used, &used, used + bytes, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    used += bytes;
    peak = __atomic_load_n(&budget->peak, __ATOMIC_RELAXED);
    while (used > peak && !__atomic_compare_exchange_n(&budget->peak, &peak, used, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    return true;
}

/* Notes that a push finds no memory, and returns NULL. */
static void *refuse(mv_arena *arena)
{
    __atomic_store_n(&arena->budget->lacked, true, __ATOMIC_RELAXED);
    return NULL;
}

static mv_arena_chunk *map_chunk(mv_arena *arena, uint64_t usable)
{
    mv_arena_chunk *chunk;
    uint64_t bytes;

    if (usable > UINT64_MAX / 2)
        return refuse(arena);
    bytes = (usable + HEADER + MV_PAGE - 1) & ~(uint64_t)(MV_PAGE - 1);
    if (!take_budget(arena->budget, bytes))
        return refuse(arena);
    chunk = mv_pages_map(bytes);
    if (!chunk) {
        give_budget(arena->budget, bytes);
        return refuse(arena);
    }
    chunk->mapped = bytes;
    return chunk;
}

static void unmap_chunk(mv_arena *arena, mv_arena_chunk *chunk)
{
    give_budget(arena->budget, chunk->mapped);
    UNPOISON(chunk, chunk->mapped);
    mv_pages_unmap(chunk, chunk->mapped);
}

static char *usable(mv_arena_chunk *chunk)
{
    return (char *)chunk + HEADER;
}

static void link_large(mv_arena *arena, mv_arena_chunk *chunk)
{
    chunk->prev = NULL;
    chunk->next = arena->large;
    if (chunk->next)
        chunk->next->prev = chunk;
    arena->large = chunk;
}

static void unlink_large(mv_arena *arena, mv_arena_chunk *chunk)
{
    if (chunk->next)
        chunk->next->prev = chunk->prev;
    if (chunk->prev)
        chunk->prev->next = chunk->next;
    else
        arena->large = chunk->next;
}

void mv_arena_release(mv_arena *arena)
{
    while (arena->chunk) {
        mv_arena_chunk *next = arena->chunk->next;
        unmap_chunk(arena, arena->chunk);
        arena->chunk = next;
    }
    while (arena->large) {
        mv_arena_chunk *next = arena->large->next;
        unmap_chunk(arena, arena->large);
        arena->large = next;
    }
}

static void *push_large(mv_arena *arena, uint64_t bytes)
{
    mv_arena_chunk *chunk = map_chunk(arena, bytes);

    if (!chunk)
        return NULL;
    chunk->used = bytes;
    link_large(arena, chunk);
    POISON(usable(chunk) + bytes, chunk->mapped - HEADER - bytes);
    return usable(chunk);
}

/* Adds a chunk. Each chunk is twice as large as the one before it, so that thousands of small
 * arenas take little of a budget. */
static mv_arena_chunk *add_chunk(mv_arena *arena, uint64_t least)
{
    uint64_t bytes = arena->chunk ? arena->chunk->mapped * 2 : LEAST_CHUNK;
    mv_arena_chunk *chunk;

    while (bytes - HEADER < least)
        bytes *= 2;
    chunk = map_chunk(arena, (bytes < MOST_CHUNK ? bytes : MOST_CHUNK) - HEADER);
    if (!chunk)
        return NULL;
    POISON(usable(chunk), chunk->mapped - HEADER);
    chunk->next = arena->chunk;
    arena->chunk = chunk;
    return chunk;
}

void *mv_arena_push(mv_arena *arena, uint64_t count, uint64_t size)
{
    mv_arena_chunk *chunk = arena->chunk;
    uint64_t bytes, padded;
    char *at;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > UINT64_MAX / 2)
        return refuse(arena);
    if (bytes >= MV_ARENA_LARGE)
        return push_large(arena, bytes);
    padded = (bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    if (padded == 0)
        padded = ALIGN;
    if (!chunk || chunk->mapped - HEADER - chunk->used < padded)
        chunk = add_chunk(arena, padded);
    if (!chunk)
        return NULL;
    at = usable(chunk) + chunk->used;
    chunk->used += padded;
    UNPOISON(at, bytes);
    memset(at, 0, bytes);
    return at;
}

/* A block that is in a file cannot grow in place: a copy replaces it. */
static void *grow_filed(mv_arena *arena, mv_arena_chunk *old, uint64_t new_bytes)
{
    char *grown = push_large(arena, new_bytes > old->used ? new_bytes : old->used);

    if (!grown)
        return NULL;
    memcpy(grown, usable(old), old->used);
    mv_arena_drop(arena, usable(old));
    return grown;
}

void *mv_arena_grow(mv_arena *arena, void *old, uint64_t new_bytes)
{
    mv_arena_chunk *chunk, *moved;
    uint64_t mapped;

    if (!old)
        return push_large(arena, new_bytes);
    chunk = (mv_arena_chunk *)((char *)old - HEADER);
    if (new_bytes > UINT64_MAX / 2)
        return refuse(arena);
    if (chunk->filed)
        return grow_filed(arena, chunk, new_bytes);
    mapped = (new_bytes + HEADER + MV_PAGE - 1) & ~(uint64_t)(MV_PAGE - 1);
    UNPOISON(chunk, chunk->mapped);
    if (mapped > chunk->mapped) {
        uint64_t more = mapped - chunk->mapped;
        if (!take_budget(arena->budget, more))
            return refuse(arena);
        unlink_large(arena, chunk);
        moved = mv_pages_resize(chunk, chunk->mapped, mapped);
        if (!moved) {
            give_budget(arena->budget, more);
            link_large(arena, chunk);
            return refuse(arena);
        }
        chunk = moved;
        chunk->mapped = mapped;
        link_large(arena, chunk);
    }
    if (new_bytes > chunk->used)
        chunk->used = new_bytes;
    POISON(usable(chunk) + chunk->used, chunk->mapped - HEADER - chunk->used);
    return usable(chunk);
}

void mv_arena_drop(mv_arena *arena, void *grown)
{
    mv_arena_chunk *chunk;

    if (!grown)
        return;
    chunk = (mv_arena_chunk *)((char *)grown - HEADER);
    unlink_large(arena, chunk);
    unmap_chunk(arena, chunk);
}

bool mv_arena_next_large(const mv_arena *arena, mv_arena_large *walk)
{
    mv_arena_chunk *chunk = walk->at ? ((mv_arena_chunk *)(walk->at - HEADER))->next : arena->large;

    if (!chunk)
        return false;
    *walk = (mv_arena_large){usable(chunk), chunk->used, &chunk->filed};
    return true;
}

mv_arena_mark mv_arena_here(const mv_arena *arena)
{
    return (mv_arena_mark){arena->chunk, arena->chunk ? arena->chunk->used : 0};
}

void mv_arena_rewind(mv_arena *arena, mv_arena_mark mark)
{
    while (arena->chunk != mark.chunk) {
        mv_arena_chunk *next = arena->chunk->next;
        unmap_chunk(arena, arena->chunk);
        arena->chunk = next;
    }
    if (arena->chunk) {
        arena->chunk->used = mark.used;
        POISON(usable(arena->chunk) + mark.used, arena->chunk->mapped - HEADER - mark.used);
    }
}

char *mv_arena_text(mv_arena *arena, const char *text, uint64_t length)
{
    char *copy = mv_arena_push(arena, length + 1, 1);

    if (copy)
        memcpy(copy, text, length);
    return copy;
}
