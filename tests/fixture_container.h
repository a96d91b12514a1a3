/* Snapshot containers taken apart into chunks, changed, and put together again with every
 * checksum and the index made right: what a program with a fault could write. */
#ifndef MV_FIXTURE_CONTAINER_H
#define MV_FIXTURE_CONTAINER_H

#include "capture/wire.h"
#include "tests/fixture.h"

enum { MVT_MOST_CHUNKS = 256 };

typedef struct {
    mv_wire_chunk head;
    uint8_t *stored; /* [head.stored_bytes] */
    uint64_t at;     /* where the chunk was, or where mvt_assemble put it */
} mvt_chunk;

typedef struct {
    uint32_t count;
    mvt_chunk chunks[MVT_MOST_CHUNKS]; /* all but the index */
} mvt_container;

/* Takes a whole, undamaged file apart; the stored bytes are copied into `arena`. */
mvt_container *mvt_take_apart(mv_arena *arena, mv_span file);

typedef enum { MVT_WITH_INDEX, MVT_WITHOUT_INDEX } mvt_ending;

/* Without an index the file ends behind its last chunk. */
mv_span mvt_assemble(mv_arena *arena, mvt_container *c, mvt_ending ending);

/* The first chunk of a kind; fails the test when there is none. */
mvt_chunk *mvt_chunk_of(mvt_container *c, uint16_t kind);

void mvt_remove_chunk(mvt_container *c, const mvt_chunk *chunk);

/* Make the checksum of a file's or a chunk's header (and its magic) right. */
void mvt_seal_header(uint8_t *file);
void mvt_seal_chunk(mv_wire_chunk *head);

/* A trace that has rows in every table, every kind of setting, and every "none". */
void mvt_everything(mv_arena *arena, mv_trace *out);

#endif
