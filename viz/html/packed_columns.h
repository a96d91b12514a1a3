/* Numbers and texts as named columns of bytes, small enough for a page, and readable by a browser
 * without any library. docs/html.md has the format byte by byte.
 *
 *     mv_packed_open(&c, MV_CODING_DELTA, "0.birth");
 *     mv_packed_add(&c, 812);
 *     mv_packed_close(&c);
 */
#ifndef MV_PACKED_COLUMNS_H
#define MV_PACKED_COLUMNS_H

#include "base/arena.h"
#include "base/cursor.h"
#include "parse/source/sink.h"

/* The letters are in the file. Numbers are LEB128, 7 bits a byte, the lowest first. */
typedef enum {
    MV_CODING_PLAIN = 'u', /* as they are */
    MV_CODING_DELTA =
        'd', /* each minus the one before (the first minus 0), zigzag: 0 -1 1 -2 2 ... */
    MV_CODING_TEXT = 't' /* a length and that many bytes */
} mv_coding;

typedef struct {
    mv_arena *arena;
    uint8_t *bytes; /* [used] finished columns, then the open one */
    uint64_t used, capacity;
    uint64_t head;   /* of the open column: where its count and length go */
    uint64_t last;   /* of a DELTA column */
    uint32_t count;  /* values of the open column */
    uint8_t coding;  /* mv_coding of the open column */
    mv_code failure; /* MV_OK, or why nothing more was added: MV_NOMEM, or MV_LIMIT when a column
                      * grew beyond 4 GiB */
} mv_packed;

void mv_packed_init(mv_packed *c, mv_arena *arena);

/* Begins a column; its name is cut to 60 bytes. */
void mv_packed_open(mv_packed *c, mv_coding coding, const char *name, ...)
    __attribute__((format(printf, 3, 4)));
void mv_packed_add(mv_packed *c, uint64_t value);
void mv_packed_add_text(mv_packed *c, mv_span text);
void mv_packed_close(mv_packed *c);

/* All columns as one zlib stream in base64, without line breaks. Fails if an addition did, or when
 * memory runs out; a failed write is reported by mv_sink_commit. */
mv_code mv_packed_write(const mv_packed *c, mv_sink *sink, mv_err *err);

#endif
