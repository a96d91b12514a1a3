/* Memory that has one owner and is released all at once.
 *
 * A function that returns memory takes an `mv_arena *` first; a function without an arena allocates
 * nothing. Small pushes share chunks. A push of MV_ARENA_LARGE bytes or more, and everything
 * allocated by mv_arena_grow, has its own mapping, which grows without copying (mremap) and costs
 * only the pages that were touched.
 *
 * Every arena takes its memory from a budget, which several arenas may share. When the budget is
 * spent, pushes return NULL and the caller fails with MV_NOMEM. memviz never aborts when memory
 * runs out. Threads may share a budget, but not an arena. Setting the budget's limit to 0 makes all
 * later pushes fail.
 *
 * A budget may have a disk, for data that is larger than memory. A block with its own mapping that
 * would take more than half of the remaining memory is then mapped from the disk's file, and does
 * not count as memory. So the largest blocks, which are tables with a row for each event and are
 * mostly read in order, go to disk, and the small ones, which are read in any order, stay in memory.
 * An eighth of the memory is left to small pushes. When that is spent, they go to disk as well.
 *
 * With AddressSanitizer, the unused part of every chunk is poisoned. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"

#define MV_ARENA_LARGE (256u << 10)

enum { MV_POOL_LENGTHS = 8 * 16 };

/* Mappings that arenas released, kept for later arenas of the same budget. A pool pays off for work
 * that is done in many pieces of similar size. Zeroing memory that is already mapped and cached
 * takes a fraction of the time that the system needs to unmap pages and map new ones. Besides,
 * threads do not wait for each other's changes to the address space.
 *
 * Mapping lengths are rounded up to one of eight sizes between two powers of two, so that a later
 * piece fits into the mapping of an earlier one. */
typedef struct {
    pthread_mutex_t lock;
    uint64_t most, bytes;        /* limit, and number, of bytes kept */
    void *kept[MV_POOL_LENGTHS]; /* mappings by length; each mapping links to the next */
} mv_page_pool;

typedef struct {
    uint64_t limit;     /* largest number of bytes that may be mapped */
    uint64_t used;      /* bytes mapped now */
    uint64_t peak;      /* largest number of bytes that were ever mapped at once */
    bool lacked;        /* a push or a growth was refused: the result may be incomplete */
    mv_page_pool *pool; /* NULL: none */
    mv_disk *disk;      /* for blocks that do not fit; NULL: none */
} mv_budget;

typedef struct mv_arena_chunk mv_arena_chunk;

typedef struct {
    mv_budget *budget;
    mv_arena_chunk *chunk; /* newest chunk of small pushes; links to the older ones */
    mv_arena_chunk *large; /* blocks with their own mappings */
} mv_arena;

typedef struct {
    mv_arena_chunk *chunk;
    uint64_t used;
} mv_arena_mark;

/* Between the two calls, arenas of the budget put the mappings that they release into `pool`. Memory
 * in the pool counts as mapped. The pool is emptied before it would exceed `most` bytes, because some
 * lengths may never be needed again, and before a push is refused. No thread may use the budget
 * during these calls. */
void mv_page_pool_begin(mv_page_pool *pool, mv_budget *budget, uint64_t most);
void mv_page_pool_end(mv_page_pool *pool, mv_budget *budget);

/* Returns the length of a mapping for this many bytes. */
uint64_t mv_page_pool_length(uint64_t bytes);

/* Never allocates. `budget` must outlive the arena. */
void mv_arena_init(mv_arena *arena, mv_budget *budget);
void mv_arena_release(mv_arena *arena);

/* Returns `count * size` zeroed bytes, aligned to 16; NULL on overflow or when the budget is spent.
 * A push of 0 bytes returns a valid pointer. */
void *mv_arena_push(mv_arena *arena, uint64_t count, uint64_t size);

/* Does the same, but memory from a pool keeps the content that earlier users left. For columns that
 * are then overwritten completely. mv_arena_clear zeroes a part of such a block, and costs nothing
 * where the block is already zero. */
void *mv_arena_push_unset(mv_arena *arena, uint64_t count, uint64_t size);
void mv_arena_clear(const mv_arena *arena, void *at, uint64_t bytes);

/* Returns `count * size` zeroed bytes for a column in which at most `values` values will be written.
 * Only their pages count as memory. With AddressSanitizer, a value can be used only after
 * mv_arena_show. */
void *mv_arena_push_sparse(mv_arena *arena, uint64_t count, uint64_t size, uint64_t values);
void mv_arena_show(void *at, uint64_t bytes);

/* Returns a block of `new_bytes`, which begins with the content of `old` (allocated by this
 * function, or NULL) followed by zeros. `old` must not be used afterwards. Returns NULL when out of
 * memory; `old` is then unchanged. */
void *mv_arena_grow(mv_arena *arena, void *old, uint64_t new_bytes);

/* Releases a block of mv_arena_grow before its arena. NULL is allowed. */
void mv_arena_drop(mv_arena *arena, void *grown);

/* Hints that a whole block is about to be written (mv_pages_take). */
void mv_arena_touch(const mv_arena *arena, void *at, uint64_t bytes);

/* Temporary memory: rewinding frees everything pushed since mv_arena_here, except blocks that were
 * grown or have MV_ARENA_LARGE bytes or more. */
mv_arena_mark mv_arena_here(const mv_arena *arena);
void mv_arena_rewind(mv_arena *arena, mv_arena_mark mark);

/* Moves the blocks with their own mappings to the budget's disk, as far as that is possible. Their
 * addresses and contents stay the same. Only the thread that owns the arena may call this, while no
 * other thread writes to the blocks; other threads may read them at the same time. */
void mv_arena_file(mv_arena *arena);

/* Drops the pages that are on disk from memory; they are read again when they are used. The same
 * rules apply as for mv_arena_file. */
void mv_arena_forget(const mv_arena *arena);

/* Returns a copy of `length` bytes, followed by a NUL; NULL when the budget is spent. */
char *mv_arena_text(mv_arena *arena, const char *text, uint64_t length);

#define mv_push_array(arena, type, count) ((type *)mv_arena_push((arena), (count), sizeof(type)))
#define mv_push_struct(arena, type)       mv_push_array(arena, type, 1)
#define mv_push_unset(arena, type, count) \
    ((type *)mv_arena_push_unset((arena), (count), sizeof(type)))
