/* The chunks of a live file, and how far each can be read. */
#ifndef MV_LIVE_CHUNKS_H
#define MV_LIVE_CHUNKS_H

#include "parse/model/build.h"

/* Ids that the NAMES chunks before one made. */
typedef struct {
    uint32_t strings, codes, modules, frames, stacks;
} mv_live_made;

typedef struct {
    uint64_t at;     /* byte of its header in the file */
    uint16_t kind;   /* mv_live_kind */
    uint32_t thread; /* EVENTS: of the first record */
    uint64_t first_sequence, first_time_us;
    mv_live_made made; /* NAMES: as the header says; all 0 when it does not */
    mv_span records;   /* what was committed when the chunk was looked at */
    uint64_t seen;     /* bytes of them that were committed when all were looked at before */
    bool is_sealed;    /* no record comes after these */
} mv_live_chunk;

typedef struct {
    mv_live_chunk *rows; /* [count] NAMES after all others, each kind in the order of the file */
    uint32_t count, capacity;
    uint64_t damaged_at; /* the first damaged part; MV_NO_OFFSET: none */
} mv_live_chunks;

/* Whether there is a whole header of a chunk, of any kind, at `at`. */
bool mv_live_chunk_head(mv_span file, uint64_t at, mv_wire_chunk *head);

/* Fills `out` from `arena`; damage becomes notes. The capture may still be running. So all chunks
 * are looked at twice: what was committed at the first time came before all that is new at the
 * second. Names are committed before what uses them, so NAMES are looked at last. False: memory is
 * out. */
bool mv_live_chunks_find(mv_arena *arena, mv_span file, mv_build *b, mv_live_chunks *out);

#endif
