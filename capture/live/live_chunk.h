/* A chunk of the live file that is being filled. The chunk is filled by the thread that owns it. A
 * NAMES chunk is filled by whichever thread holds the lock for names.
 *
 *     at = mv_live_chunk_room(chunk, most);      NULL: begin a new chunk
 *     at = mv_leb128_put(at, ...);
 *     mv_live_chunk_commit(chunk, at);           the record now survives a kill */
#pragma once

#include "capture/live/live_file.h"
#include "capture/wire_live.h"

typedef struct {
    void *memory; /* the chunk's memory from mv_live_file_take; NULL if no chunk is open */
    uint64_t bytes;
    mv_live_head *head;
    uint8_t *records;
    uint64_t used, room; /* number of bytes of records: used so far, and available in total */
} mv_live_chunk;

/* Other fields of the chunk's headers. The first four are those of mv_wire_chunk. */
typedef struct {
    mv_live_kind kind;
    uint32_t device;
    uint64_t first_row, table_rows;
    uint64_t first_sequence, first_time_us;
    uint32_t thread;
} mv_live_chunk_about;

/* Begins a chunk with space for at least `least` bytes of records. If a chunk is open, it must be
 * sealed first. Returns 0, or an errno number if no chunk could be begun. */
int mv_live_chunk_begin(mv_live_chunk *chunk, mv_live_file *file, uint64_t least,
                        const mv_live_chunk_about *about);

/* Begins a chunk in the caller's memory: `bytes` bytes, beginning at a multiple of 8. */
void mv_live_chunk_place(mv_live_chunk *chunk, void *memory, uint64_t bytes,
                         const mv_live_chunk_about *about);

/* Closes the chunk permanently, and releases its memory. Does nothing when no chunk is open. */
void mv_live_chunk_seal(mv_live_chunk *chunk);

static inline uint8_t *mv_live_chunk_room(const mv_live_chunk *chunk, uint64_t most)
{
    return chunk->room - chunk->used < most ? NULL : chunk->records + chunk->used;
}

/* Makes the bytes up to `end` valid. */
static inline void mv_live_chunk_commit(mv_live_chunk *chunk, const uint8_t *end)
{
    chunk->used = (uint64_t)(end - chunk->records);
    atomic_store_explicit((_Atomic uint64_t *)&chunk->head->committed, chunk->used,
                          memory_order_release);
}
