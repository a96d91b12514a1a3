/* Finds the chunks of a live file, and how many bytes of each can be read. */
#pragma once

#include "capture/wire_folded.h"
#include "parse/model/build.h"

/* Numbers of ids that earlier NAMES chunks have made. */
typedef struct {
    uint32_t strings, codes, modules, frames, stacks;
} mv_live_made;

typedef struct {
    uint64_t at;     /* position of the chunk's header in the file */
    uint16_t kind;   /* mv_live_kind */
    uint32_t thread; /* EVENTS: kernel id of the first record's thread */
    uint64_t first_sequence, first_time_us;
    mv_live_made made; /* NAMES: numbers of ids made before the chunk, read from its header; all 0
                        * if the header does not contain them */
    mv_span records;   /* number of bytes that were committed when the chunk was read */
    uint64_t seen;     /* number of bytes that were already committed when the chunk was read for
                        * the first time */
    bool is_sealed;    /* no more records will be added */
    bool is_folded;    /* EVENTS: the records are the ones kept in a FOLDED chunk */
} mv_live_chunk;

typedef struct {
    mv_live_chunk *rows; /* [count] chunks in file order, except that NAMES chunks follow all
                          * others */
    uint32_t count, capacity;
    uint64_t through;    /* number of the last folded record: records up to it are only in FOLDED
                          * chunks; 0: there are none */
    uint64_t damaged_at; /* position of the first damaged part of the file; MV_NO_OFFSET: none */
} mv_live_chunks;

/* Returns true if there is an intact chunk header, of any kind, at `at`. */
bool mv_live_chunk_head(mv_span file, uint64_t at, mv_wire_chunk *head);

/* The headers of a chunk, as in the file. */
typedef struct {
    mv_wire_chunk wire;
    mv_live_head live;
} mv_live_headers;

static_assert(sizeof(mv_live_headers) == sizeof(mv_wire_chunk) + sizeof(mv_live_head), "no gap");

static inline bool mv_live_headers_good(const mv_live_headers *h)
{
    mv_wire_chunk head;

    return mv_live_chunk_head((mv_span){(const uint8_t *)h, sizeof *h}, 0, &head);
}

/* Returns the position of the first slot at or after the end of `bytes` bytes at `at`. */
static inline uint64_t mv_live_slot_after(uint64_t at, uint64_t bytes)
{
    return (at + bytes + MV_LIVE_CHUNK_BYTES - 1) / MV_LIVE_CHUNK_BYTES * MV_LIVE_CHUNK_BYTES;
}

/* At a position where no chunk has begun, this many bytes are zero, except for headers being
 * written. */
enum { MV_LIVE_PROBE_BYTES = 4096 };

/* Returns true if no chunk has begun at `at`. A chunk whose headers are being written has no
 * records yet. */
bool mv_live_is_blank(mv_span file, uint64_t at);

/* Returns the number of names before a NAMES chunk, according to its header. */
mv_live_made mv_live_made_before(const mv_wire_chunk *head);

/* Fills `out` from `arena`; damage becomes notes. The capture may still be running, so event chunks
 * are read twice: records committed at the first reading come before all records that are new at
 * the second. Names are committed before the records that use them, so NAMES chunks are read last.
 * Returns false when out of memory. */
bool mv_live_chunks_find(mv_arena *arena, mv_span file, mv_build *b, mv_live_chunks *out);
