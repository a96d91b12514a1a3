/* libFuzzer target: any bytes as memviz's own container. Checksums would reject nearly all changes,
 * so the checksums of inputs that begin with 'r' are corrected first, and those of inputs that begin
 * with 'p', of which a part is read. */

#include "tests/fuzz/target.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Walks through the chunks by their headers until one is invalid, and corrects each checksum. */
static void make_right(uint8_t *file, size_t size)
{
    mv_wire_chunk head;
    size_t at = sizeof(mv_wire_header);

    if (size >= at)
        memcpy(file + offsetof(mv_wire_header, hash),
               &(uint64_t){XXH3_64bits(file, offsetof(mv_wire_header, hash))}, sizeof(uint64_t));
    while (at < size && size - at >= sizeof head) {
        memcpy(&head, file + at, sizeof head);
        if (head.stored_bytes > size - at - sizeof head)
            return;
        memcpy(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES);
        head.stored_hash = XXH3_64bits(file + at + sizeof head, head.stored_bytes);
        head.hash = XXH3_64bits(&head, offsetof(mv_wire_chunk, hash));
        memcpy(file + at, &head, sizeof head);
        at += sizeof head + ((head.stored_bytes + 7) & ~7ull);
    }
}

static mv_code read_part(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                         mv_trace *out, mv_err *err)
{
    static const mv_read_part part = {.device = MV_NO_ROW, .first = 70, .end = 130};
    mv_read_opts with = opts ? *opts : (mv_read_opts){0};

    with.part = &part;
    return mv_snapshot_read(arena, source, &with, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || (data[0] != 'r' && data[0] != 'p'))
        return mvt_one_input(data, size, mv_snapshot_read);
    uint8_t *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    make_right(copy, size - 1);
    mvt_one_input(copy, size - 1, data[0] == 'p' ? read_part : mv_snapshot_read);
    free(copy);
    return 0;
}
