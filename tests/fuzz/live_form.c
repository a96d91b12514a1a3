#include "tests/fuzz/live_form.h"

#include "capture/wire_live.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HEADERS = sizeof(mv_wire_chunk) + sizeof(mv_live_head), MOST_CHUNKS = 64 };

/* Reads one chunk of the input and writes it at `at`. Returns the remaining input. */
static mv_span put_chunk(uint8_t *file, size_t at, mv_span in)
{
    size_t end = (at / MV_LIVE_CHUNK_BYTES + 1) * MV_LIVE_CHUNK_BYTES;
    mv_wire_chunk head;
    mv_live_head live;

    memcpy(&head, in.data, sizeof head);
    memcpy(&live, in.data + sizeof head, sizeof live);
    uint32_t bytes = mv_load_u32(in.data + HEADERS);
    in = (mv_span){in.data + HEADERS + 4, in.length - HEADERS - 4};
    bytes = bytes < in.length ? bytes : (uint32_t)in.length;
    bytes = bytes < end - at - HEADERS ? bytes : (uint32_t)(end - at - HEADERS);
    memcpy(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES);
    head.raw_bytes = head.stored_bytes = end - at - sizeof head;
    head.hash = XXH3_64bits(&head, offsetof(mv_wire_chunk, hash));
    live.committed = live.committed < bytes ? live.committed : bytes;
    if (live.seal > 1)
        live.seal = XXH3_64bits(in.data, live.committed);
    memcpy(file + at, &head, sizeof head);
    memcpy(file + at + sizeof head, &live, sizeof live);
    memcpy(file + at + HEADERS, in.data, bytes);
    return (mv_span){in.data + bytes, in.length - bytes};
}

uint8_t *mvt_live_expand(mv_span in, size_t *length)
{
    size_t at = sizeof(mv_wire_header);
    uint8_t *file = calloc(MOST_CHUNKS, MV_LIVE_CHUNK_BYTES);

    if (!file)
        return NULL;
    mv_wire_header header = {.version = MV_WIRE_VERSION};
    memcpy(header.magic, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES);
    header.hash = XXH3_64bits(&header, offsetof(mv_wire_header, hash));
    memcpy(file, &header, sizeof header);
    in = (mv_span){in.data + 1, in.length - 1};
    while (in.length >= HEADERS + 4 && at < MOST_CHUNKS * (size_t)MV_LIVE_CHUNK_BYTES) {
        in = put_chunk(file, at, in);
        at = (at / MV_LIVE_CHUNK_BYTES + 1) * MV_LIVE_CHUNK_BYTES;
    }
    *length = at;
    return file;
}
