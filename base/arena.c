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
#define SPOIL(at, bytes)    memset((at), 0xa5, (bytes)) /* shows reads before the first write */
#else
#define POISON(at, bytes)   ((void)(at), (void)(bytes))
#define UNPOISON(at, bytes) ((void)(at), (void)(bytes))
#define SPOIL(at, bytes)    ((void)(at), (void)(bytes))
#endif

enum { HEADER = 64, ALIGN = 16, LEAST_CHUNK = 64 << 10, MOST_CHUNK = 1 << 20 };

/* 1 in this many bytes of a budget with a disk is left to small pushes. */
enum { SMALL_SHARE = 8 };

/* Header of one mapping. The usable bytes begin at HEADER. */
struct mv_arena_chunk {
    mv_arena_chunk *next;
    mv_arena_chunk *prev; /* previous chunk; set only in the `large` list */
    uint64_t mapped;      /* bytes of the whole mapping */
    uint64_t counted;     /* bytes of it that count in the budget */
    uint64_t used;        /* usable bytes handed out */
    uint64_t filed;       /* 1 + position in the file of the budget's disk; 0: in memory */
    uint64_t stale;       /* number of leading bytes of the mapping that may be nonzero */
};

static_assert(sizeof(mv_arena_chunk) <= HEADER, "chunk header must fit");

/* ---- the pool of released mappings ------------------------------------------------------- */

/* Lengths are 9 to 16 steps; a step is a page, two, four... */
enum { STEPS = 8, MOST_DOUBLINGS = MV_POOL_LENGTHS / STEPS - 1 };

static uint64_t length_at(uint32_t nth)
{
    return (uint64_t)(STEPS + 1 + nth % STEPS) * MV_PAGE << nth / STEPS;
}

/* Returns the first length that is long enough; MV_POOL_LENGTHS if no length is. */
static uint32_t nth_length(uint64_t bytes)
{
    uint32_t doublings = 0, nth;

    while (doublings < MOST_DOUBLINGS && bytes > (uint64_t)2 * STEPS * MV_PAGE << doublings)
        doublings++;
    for (nth = doublings * STEPS; nth < MV_POOL_LENGTHS && length_at(nth) < bytes;)
        nth++;
    return nth;
}

uint64_t mv_page_pool_length(uint64_t bytes)
{
    uint32_t nth = nth_length(bytes);

    return nth < MV_POOL_LENGTHS ? length_at(nth) : bytes;
}

/* Returns a kept mapping of at least *length bytes, and sets *length to its length. Mappings that are
 * up to twice as long are taken, too, because pieces differ in size. */
static void *pool_take(mv_page_pool *pool, uint64_t *length)
{
    uint32_t nth = nth_length(*length),
             end = nth + STEPS < MV_POOL_LENGTHS ? nth + STEPS : MV_POOL_LENGTHS;
    void *at = NULL;

    pthread_mutex_lock(&pool->lock);
    for (; nth < end && !at; nth++) {
        at = pool->kept[nth];
        if (!at)
            continue;
        *length = length_at(nth);
        pool->kept[nth] = *(void **)at;
        pool->bytes -= *length;
    }
    pthread_mutex_unlock(&pool->lock);
    return at;
}

static bool pool_keep(mv_page_pool *pool, void *at, uint64_t length)
{
    uint32_t nth = nth_length(length);

    if (nth == MV_POOL_LENGTHS || length_at(nth) != length || length > pool->most)
        return false;
    pthread_mutex_lock(&pool->lock);
    *(void **)at = pool->kept[nth];
    pool->kept[nth] = at;
    pool->bytes += length;
    pthread_mutex_unlock(&pool->lock);
    return true;
}

static bool pool_has_room(mv_page_pool *pool, uint64_t length)
{
    bool has_room;

    pthread_mutex_lock(&pool->lock);
    has_room = pool->bytes + length <= pool->most;
    pthread_mutex_unlock(&pool->lock);
    return has_room;
}

/* Unmaps everything that is kept, and returns the bytes. */
static uint64_t pool_unmap(mv_page_pool *pool)
{
    void *at, *next;
    uint64_t bytes;

    pthread_mutex_lock(&pool->lock);
    bytes = pool->bytes;
    pool->bytes = 0;
    for (uint32_t i = 0; i < MV_POOL_LENGTHS; i++) {
        for (at = pool->kept[i]; at; at = next) {
            next = *(void **)at;
            UNPOISON(at, length_at(i));
            mv_pages_unmap(at, length_at(i));
        }
        pool->kept[i] = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    return bytes;
}

/* ---- mappings ---------------------------------------------------------------------------- */

void mv_arena_init(mv_arena *arena, mv_budget *budget)
{
    *arena = (mv_arena){.budget = budget};
}

/* Threads with their own arenas may share a budget. */
static void give_budget(mv_budget *budget, uint64_t bytes)
{
    __atomic_sub_fetch(&budget->used, bytes, __ATOMIC_RELAXED);
}

/* Returns the largest number of bytes that one mapping may take. */
static uint64_t most_bytes(uint64_t limit, uint64_t used, bool is_shared)
{
    uint64_t left = used < limit ? limit - used : 0, kept = limit / SMALL_SHARE;

    if (!is_shared)
        return left;
    return left > kept ? (left - kept) / 2 : 0;
}

/* is_shared leaves some of the budget for other mappings. */
static bool take_budget(mv_budget *budget, uint64_t bytes, bool is_shared)
{
    uint64_t limit = __atomic_load_n(&budget->limit, __ATOMIC_RELAXED);
    uint64_t used = __atomic_load_n(&budget->used, __ATOMIC_RELAXED), peak;

    do {
        if (bytes > most_bytes(limit, used, is_shared))
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

/* Records that a push found no memory, and returns NULL. */
static void *refuse(mv_arena *arena)
{
    __atomic_store_n(&arena->budget->lacked, true, __ATOMIC_RELAXED);
    return NULL;
}

static void drop_pool(mv_budget *budget)
{
    if (budget->pool)
        give_budget(budget, pool_unmap(budget->pool));
}

void mv_page_pool_begin(mv_page_pool *pool, mv_budget *budget, uint64_t most)
{
    *pool = (mv_page_pool){.most = most};
    pthread_mutex_init(&pool->lock, NULL);
    budget->pool = pool;
}

void mv_page_pool_end(mv_page_pool *pool, mv_budget *budget)
{
    drop_pool(budget);
    budget->pool = NULL;
    pthread_mutex_destroy(&pool->lock);
}

static uint64_t whole_pages(uint64_t usable)
{
    return (usable + HEADER + MV_PAGE - 1) & ~(uint64_t)(MV_PAGE - 1);
}

/* Returns the number of bytes to map for this many usable bytes. */
static uint64_t length_for(const mv_budget *budget, uint64_t usable)
{
    uint64_t bytes = whole_pages(usable);

    return budget->pool ? mv_page_pool_length(bytes) : bytes;
}

static mv_arena_chunk *take_kept(mv_budget *budget, uint64_t bytes)
{
    bool is_open = budget->pool && __atomic_load_n(&budget->limit, __ATOMIC_RELAXED) > 0;
    mv_arena_chunk *chunk = is_open ? pool_take(budget->pool, &bytes) : NULL;

    if (!chunk)
        return NULL;
    UNPOISON(chunk, bytes);
    *chunk = (mv_arena_chunk){.mapped = bytes, .counted = bytes, .stale = bytes};
    return chunk;
}

static mv_arena_chunk *map_counted(mv_budget *budget, uint64_t bytes, uint64_t counted,
                                   bool is_shared)
{
    mv_arena_chunk *chunk;

    if (!take_budget(budget, counted, is_shared))
        return NULL;
    chunk = mv_pages_map(bytes);
    if (!chunk) {
        give_budget(budget, counted);
        return NULL;
    }
    chunk->mapped = bytes;
    chunk->counted = counted;
    return chunk;
}

static mv_arena_chunk *map_fresh(mv_budget *budget, uint64_t bytes, bool is_shared)
{
    mv_arena_chunk *chunk = map_counted(budget, bytes, bytes, is_shared);

    if (chunk && budget->pool) /* later users write to all pages, too */
        mv_pages_take(chunk, bytes);
    return chunk;
}

static mv_arena_chunk *map_filed(mv_budget *budget, uint64_t bytes)
{
    bool is_open = budget->disk && __atomic_load_n(&budget->limit, __ATOMIC_RELAXED) > 0;
    uint64_t position;
    mv_arena_chunk *chunk = is_open ? mv_disk_map(budget->disk, bytes, &position) : NULL;

    if (chunk)
        *chunk = (mv_arena_chunk){.mapped = bytes, .filed = position + 1};
    return chunk;
}

static mv_arena_chunk *map_chunk(mv_arena *arena, uint64_t usable, bool is_large)
{
    mv_budget *budget = arena->budget;
    bool is_shared = is_large && budget->disk;
    mv_arena_chunk *chunk;
    uint64_t bytes;

    if (usable > UINT64_MAX / 2)
        return refuse(arena);
    bytes = length_for(budget, usable);
    chunk = take_kept(budget, bytes);
    if (!chunk)
        chunk = map_fresh(budget, bytes, is_shared);
    if (!chunk && budget->pool) {
        drop_pool(budget);
        chunk = map_fresh(budget, bytes, is_shared);
    }
    if (!chunk)
        chunk = map_filed(budget, bytes);
    if (!chunk && is_shared)
        chunk = map_fresh(budget, bytes, false);
    return chunk ? chunk : refuse(arena);
}

static void unmap_chunk(mv_arena *arena, mv_arena_chunk *chunk)
{
    uint64_t bytes = chunk->mapped;
    bool is_whole = !chunk->filed && chunk->counted == bytes;
    mv_page_pool *pool = is_whole ? arena->budget->pool : NULL;

    if (pool && !pool_has_room(pool, bytes))
        drop_pool(arena->budget);
    POISON((char *)chunk + HEADER, bytes - HEADER);
    if (pool && pool_keep(pool, chunk, bytes))
        return;
    UNPOISON(chunk, bytes);
    if (chunk->filed) {
        mv_disk_unmap(arena->budget->disk, chunk, bytes, chunk->filed - 1);
        return;
    }
    give_budget(arena->budget, chunk->counted);
    mv_pages_unmap(chunk, bytes);
}

static char *usable(mv_arena_chunk *chunk)
{
    return (char *)chunk + HEADER;
}

/* Zeroes the usable bytes [from, to) that may be nonzero. */
static void zero(mv_arena_chunk *chunk, uint64_t from, uint64_t to)
{
    uint64_t stale = chunk->stale > HEADER ? chunk->stale - HEADER : 0;

    if (from < stale)
        memset(usable(chunk) + from, 0, (to < stale ? to : stale) - from);
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

static void *begin_large(mv_arena *arena, mv_arena_chunk *chunk, uint64_t bytes, bool is_zeroed)
{
    chunk->used = bytes;
    if (is_zeroed)
        zero(chunk, 0, bytes);
    link_large(arena, chunk);
    POISON(usable(chunk) + bytes, chunk->mapped - HEADER - bytes);
    return usable(chunk);
}

static void *push_large(mv_arena *arena, uint64_t bytes, bool is_zeroed)
{
    mv_arena_chunk *chunk = map_chunk(arena, bytes, true);

    return chunk ? begin_large(arena, chunk, bytes, is_zeroed) : NULL;
}

/* Adds a chunk. Each chunk is twice as large as the one before it, so that thousands of small
 * arenas take only a little of the budget. */
static mv_arena_chunk *add_chunk(mv_arena *arena, uint64_t least)
{
    uint64_t bytes = arena->chunk ? arena->chunk->mapped * 2 : LEAST_CHUNK;
    mv_arena_chunk *chunk;

    while (bytes - HEADER < least)
        bytes *= 2;
    chunk = map_chunk(arena, (bytes < MOST_CHUNK ? bytes : MOST_CHUNK) - HEADER, false);
    if (!chunk)
        return NULL;
    POISON(usable(chunk), chunk->mapped - HEADER);
    chunk->next = arena->chunk;
    arena->chunk = chunk;
    return chunk;
}

static void *push(mv_arena *arena, uint64_t count, uint64_t size, bool is_zeroed)
{
    mv_arena_chunk *chunk = arena->chunk;
    uint64_t bytes, padded;
    char *at;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > UINT64_MAX / 2)
        return refuse(arena);
    if (bytes >= MV_ARENA_LARGE)
        return push_large(arena, bytes, is_zeroed);
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
    if (is_zeroed || !arena->budget->pool)
        memset(at, 0, bytes);
    return at;
}

void *mv_arena_push(mv_arena *arena, uint64_t count, uint64_t size)
{
    return push(arena, count, size, true);
}

void *mv_arena_push_unset(mv_arena *arena, uint64_t count, uint64_t size)
{
    void *at = push(arena, count, size, false);

    if (at && arena->budget->pool)
        SPOIL(at, count * size);
    return at;
}

void *mv_arena_push_sparse(mv_arena *arena, uint64_t count, uint64_t size, uint64_t values)
{
    mv_budget *budget = arena->budget;
    mv_arena_chunk *chunk = NULL;
    uint64_t bytes;
    void *at;

    if (!__builtin_mul_overflow(count, size, &bytes) && bytes >= MV_ARENA_LARGE &&
        bytes <= UINT64_MAX / 2 && values < bytes / MV_PAGE)
        chunk = map_counted(budget, whole_pages(bytes), (values + 1) * MV_PAGE, false);
    at = chunk ? begin_large(arena, chunk, bytes, false) : mv_arena_push(arena, count, size);
    if (at)
        POISON(at, bytes);
    return at;
}

void mv_arena_show(void *at, uint64_t bytes)
{
    UNPOISON(at, bytes);
}

void mv_arena_clear(const mv_arena *arena, void *at, uint64_t bytes)
{
    if (arena->budget->pool)
        memset(at, 0, bytes);
}

/* Replaces a block with a larger copy, unless `grown` is NULL. */
static void *replace(mv_arena *arena, mv_arena_chunk *old, void *grown)
{
    if (!grown)
        return NULL;
    memcpy(grown, usable(old), old->used);
    mv_arena_drop(arena, usable(old));
    return grown;
}

/* Used where a block cannot grow in place, because it is in a file, or because its mapping comes
 * from a pool and must not move. */
static void *grow_copied(mv_arena *arena, mv_arena_chunk *old, uint64_t new_bytes)
{
    return replace(arena, old, push_large(arena, new_bytes, true));
}

/* Moves a block to disk. Returns NULL, and changes nothing, if that is not possible. */
static void *grow_filed(mv_arena *arena, mv_arena_chunk *old, uint64_t new_bytes, uint64_t mapped)
{
    mv_arena_chunk *chunk = map_filed(arena->budget, mapped);

    return replace(arena, old, chunk ? begin_large(arena, chunk, new_bytes, true) : NULL);
}

/* Returns the moved chunk, or NULL when out of memory; the chunk is then unchanged. */
static mv_arena_chunk *resize(mv_arena *arena, mv_arena_chunk *chunk, uint64_t mapped)
{
    uint64_t more = mapped - chunk->mapped;
    mv_arena_chunk *moved;

    unlink_large(arena, chunk);
    moved = mv_pages_resize(chunk, chunk->mapped, mapped);
    if (moved)
        moved->mapped = moved->counted = mapped;
    else
        give_budget(arena->budget, more);
    link_large(arena, moved ? moved : chunk);
    return moved;
}

void *mv_arena_grow(mv_arena *arena, void *old, uint64_t new_bytes)
{
    mv_budget *budget = arena->budget;
    mv_arena_chunk *chunk;
    uint64_t mapped;

    if (!old)
        return push_large(arena, new_bytes, true);
    chunk = (mv_arena_chunk *)((char *)old - HEADER);
    if (new_bytes > UINT64_MAX / 2)
        return refuse(arena);
    mapped = length_for(budget, new_bytes);
    if (mapped > chunk->mapped) {
        if (chunk->filed || budget->pool)
            return grow_copied(arena, chunk, new_bytes);
        if (!take_budget(budget, mapped - chunk->mapped, budget->disk != NULL)) {
            void *grown = grow_filed(arena, chunk, new_bytes, mapped);
            if (grown)
                return grown;
            if (!take_budget(budget, mapped - chunk->mapped, false))
                return refuse(arena);
        }
        UNPOISON(chunk, chunk->mapped);
        chunk = resize(arena, chunk, mapped);
        if (!chunk)
            return refuse(arena);
    }
    UNPOISON(chunk, chunk->mapped);
    if (new_bytes > chunk->used) {
        zero(chunk, chunk->used, new_bytes);
        chunk->used = new_bytes;
    }
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

void mv_arena_touch(const mv_arena *arena, void *at, uint64_t bytes)
{
    if (!arena->budget->pool) /* else it was touched, to be zeroed, or is small */
        mv_pages_take(at, bytes);
}

void mv_arena_file(mv_arena *arena)
{
    mv_budget *budget = arena->budget;

    for (mv_arena_chunk *c = budget->disk ? arena->large : NULL; c; c = c->next) {
        uint64_t position;
        if (c->filed)
            continue;
        UNPOISON(c, c->mapped);
        if (mv_disk_move(budget->disk, c, c->mapped, &position)) {
            c->filed = position + 1;
            give_budget(budget, c->counted);
        }
        POISON(usable(c) + c->used, c->mapped - HEADER - c->used);
    }
}

void mv_arena_forget(const mv_arena *arena)
{
    mv_arena_chunk *next;

    for (mv_arena_chunk *c = arena->large; c; c = next) {
        next = c->next; /* reading it later would read pages again */
        if (c->filed)
            mv_disk_forget(c, c->mapped);
    }
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
