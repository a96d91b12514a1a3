#include "viz/scene/font_memory.h"

#include <assert.h>
#include <string.h>

/* Blocks have a size of LEAST << i, after a header. Larger blocks are mapped separately. */
enum { LEAST = 32, HEADER = 16 };

static_assert((uint64_t)LEAST << (MV_FONT_BLOCK_SIZES - 1) == MV_ARENA_LARGE,
              "larger blocks are separate mappings");

static uint32_t size_of(uint64_t bytes)
{
    uint32_t size = 0;

    while (size < MV_FONT_BLOCK_SIZES && bytes + HEADER > (uint64_t)LEAST << size)
        size++;
    return size;
}

static void *take(FT_Memory calls, long bytes)
{
    mv_font_memory *m = calls->user;
    uint32_t size = bytes < 0 ? MV_FONT_BLOCK_SIZES : size_of((uint64_t)bytes);
    char *block;

    if (size == MV_FONT_BLOCK_SIZES) {
        block = mv_arena_grow(m->arena, NULL, (uint64_t)bytes + HEADER);
    } else if (m->unused[size]) {
        block = m->unused[size];
        memcpy(&m->unused[size], block, sizeof(void *));
    } else {
        block = mv_arena_push(m->arena, (uint64_t)LEAST << size, 1);
    }
    if (!block) {
        m->lacked = true;
        return NULL;
    }
    memcpy(block, &size, sizeof size);
    return block + HEADER;
}

static void give(FT_Memory calls, void *taken)
{
    mv_font_memory *m = calls->user;
    char *block = (char *)taken - HEADER;
    uint32_t size;

    memcpy(&size, block, sizeof size);
    if (size == MV_FONT_BLOCK_SIZES) {
        mv_arena_drop(m->arena, block);
        return;
    }
    memcpy(block, &m->unused[size], sizeof(void *));
    m->unused[size] = block;
}

static void *resize(FT_Memory calls, long old_bytes, long bytes, void *old)
{
    void *moved = take(calls, bytes);

    if (!moved)
        return NULL;
    memcpy(moved, old, (size_t)(old_bytes < bytes ? old_bytes : bytes));
    give(calls, old);
    return moved;
}

void mv_font_memory_init(mv_font_memory *memory, mv_arena *arena)
{
    *memory = (mv_font_memory){.calls = {memory, take, give, resize}, .arena = arena};
}
