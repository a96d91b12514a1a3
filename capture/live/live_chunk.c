#define XXH_INLINE_ALL
#include "capture/live/live_chunk.h"

#include <string.h>
#include <xxhash.h>

enum { HEADERS = sizeof(mv_wire_chunk) + sizeof(mv_live_head) };

/* Writes a chunk's header. The magic is written last, so if the process dies before that, no chunk
 * has begun. */
static void place_header(mv_wire_chunk *to, const mv_live_chunk_about *about, uint64_t stored)
{
    mv_wire_chunk header = {.magic = MV_WIRE_CHUNK_MAGIC,
                            .kind = (uint16_t)about->kind,
                            .codec = MV_WIRE_CODEC_NONE,
                            .flags = MV_WIRE_UNSEALED,
                            .device = about->device,
                            .first_row = about->first_row,
                            .table_rows = about->table_rows,
                            .raw_bytes = stored,
                            .stored_bytes = stored};
    uint32_t magic;

    header.hash = XXH3_64bits(&header, offsetof(mv_wire_chunk, hash));
    memcpy(&magic, header.magic, sizeof magic);
    memcpy(&to->kind, &header.kind, sizeof header - sizeof magic);
    atomic_store_explicit((_Atomic uint32_t *)(void *)to->magic, magic, memory_order_release);
}

void mv_live_chunk_place(mv_live_chunk *chunk, void *memory, uint64_t bytes,
                         const mv_live_chunk_about *about)
{
    mv_wire_chunk *header = memory;

    *chunk = (mv_live_chunk){.memory = memory,
                             .bytes = bytes,
                             .head = (mv_live_head *)(header + 1),
                             .records = (uint8_t *)memory + HEADERS,
                             .room = bytes - HEADERS};
    *chunk->head = (mv_live_head){.first_sequence = about->first_sequence,
                                  .first_time_us = about->first_time_us,
                                  .thread = about->thread};
    place_header(header, about, bytes - sizeof *header);
}

int mv_live_chunk_begin(mv_live_chunk *chunk, mv_live_file *file, uint64_t least,
                        const mv_live_chunk_about *about)
{
    uint64_t chunks = (least + HEADERS + MV_LIVE_CHUNK_BYTES - 1) / MV_LIVE_CHUNK_BYTES;
    void *memory;
    int error = mv_live_file_take(file, chunks * MV_LIVE_CHUNK_BYTES, &memory);

    *chunk = (mv_live_chunk){0};
    if (error)
        return error;
    mv_live_chunk_place(chunk, memory, chunks * MV_LIVE_CHUNK_BYTES, about);
    return 0;
}

void mv_live_chunk_seal(mv_live_chunk *chunk)
{
    if (!chunk->memory)
        return;
    chunk->head->seal = XXH3_64bits(chunk->records, chunk->used);
    mv_live_file_give(chunk->memory, chunk->bytes);
    *chunk = (mv_live_chunk){0};
}
