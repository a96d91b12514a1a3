/* The chunks of a live file, and how far each can be read. */
#ifndef MV_LIVE_CHUNKS_H
#define MV_LIVE_CHUNKS_H

#include "capture/wire_folded.h"
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
    mv_live_made made; /* NAMES: from the header; all 0 if the header has none */
    mv_span records;   /* committed when the chunk was read */
    uint64_t seen;     /* bytes of them that were committed when all chunks were read before */
    bool is_sealed;    /* no record follows these */
    bool is_folded;    /* EVENTS: the records that a FOLDED chunk keeps */
} mv_live_chunk;

typedef struct {
    mv_live_chunk *rows; /* [count] NAMES after all others, each kind in file order */
    uint32_t count, capacity;
    uint64_t through;    /* numbers up to here are in FOLDED chunks only; 0: there are none */
    uint64_t damaged_at; /* the first damaged part; MV_NO_OFFSET: none */
} mv_live_chunks;

/* Whether an intact chunk header, of any kind, is at `at`. */
bool mv_live_chunk_head(mv_span file, uint64_t at, mv_wire_chunk *head);

/* The number of names before a NAMES chunk, by its header. */
mv_live_made mv_live_made_before(const mv_wire_chunk *head);

/* Fills `out` from `arena`; damage becomes notes. The capture may still be running, so all chunks
 * are read twice: records committed at the first pass come before all records that are new at the
 * second. Names are committed before the records that use them, so NAMES are read last. False:
 * memory is out. */
bool mv_live_chunks_find(mv_arena *arena, mv_span file, mv_build *b, mv_live_chunks *out);

#endif
