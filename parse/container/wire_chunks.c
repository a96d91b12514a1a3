#include "base/grow.h"
#include "parse/container/wire_load.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    /* A zstd block contains at most 128 KiB and takes at least 3 bytes. */
    BLOCK_BYTES = 128 << 10,
    LEAST_BLOCK = 3,
    /* Limit for the number of bytes hashed in search of intact chunks, as a multiple of the file's
     * length. Beyond this limit, damaged chunks are skipped without reading them, so that a file
     * full of false headers does not take quadratic time. */
    PATIENCE = 4
};

static mv_wire_chunk head_at(mv_span file, uint64_t at)
{
    mv_wire_chunk head;

    memcpy(&head, file.data + at, sizeof head);
    return head;
}

bool mv_load_copy(const mv_load *load, uint64_t at, void *to, uint64_t bytes)
{
    if (!load->file.data)
        return mv_source_read_at(load->source, at, to, bytes);
    memcpy(to, load->file.data + at, bytes);
    return true;
}

/* Returns true if a header is intact and the values of its fields are possible. */
static bool good_head(const mv_wire_chunk *head)
{
    const mv_model_table *table;

    if (memcmp(head->magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES) != 0 ||
        head->hash != XXH3_64bits(head, offsetof(mv_wire_chunk, hash)))
        return false;
    if (head->stored_bytes > UINT64_MAX / 2)
        return false;
    table = mv_table_find(head->kind);
    return !table ||
           (head->count > 0 && head->count <= MV_WIRE_CHUNK_ROWS &&
            head->table_rows >= head->count && head->first_row <= head->table_rows - head->count);
}

static bool is_footer(const mv_wire_footer *footer)
{
    return memcmp(footer->magic, MV_WIRE_END_MAGIC, MV_WIRE_MAGIC_BYTES) == 0 &&
           footer->hash == XXH3_64bits(footer, offsetof(mv_wire_footer, hash));
}

static bool is_end(mv_span file, uint64_t at)
{
    mv_wire_footer footer;

    if (file.length - at < sizeof footer)
        return false;
    memcpy(&footer, file.data + at, sizeof footer);
    return is_footer(&footer);
}

static bool add_chunk(mv_load *load, const mv_wire_chunk *head, uint64_t at)
{
    return mv_append(&load->scratch, load->chunks, load->chunk_count, load->chunk_capacity,
                     (mv_chunk){.head = *head, .at = at});
}

/* ---- payloads ---------------------------------------------------------------------------- */

bool mv_chunk_lengths_good(const mv_wire_chunk *head)
{
    if (head->codec == MV_WIRE_CODEC_NONE)
        return head->raw_bytes == head->stored_bytes;
    return head->codec == MV_WIRE_CODEC_ZSTD &&
           head->raw_bytes / BLOCK_BYTES <= head->stored_bytes / LEAST_BLOCK;
}

/* Finds the frames of a payload. Frames without a size, as other writers may make them, and too many
 * frames count as one. */
static mv_code list_frames(mv_payload *p, const mv_wire_chunk *head)
{
    uint64_t at = 0, raw = 0;

    for (p->count = 0; at < head->stored_bytes; p->count++) {
        uint64_t left = head->stored_bytes - at;
        size_t stored = ZSTD_findFrameCompressedSize(p->stored + at, left);
        unsigned long long size = ZSTD_getFrameContentSize(p->stored + at, left);
        if (ZSTD_isError(stored))
            return MV_DECOMPRESS;
        if (p->count == MV_PAYLOAD_FRAMES || size == ZSTD_CONTENTSIZE_UNKNOWN) {
            p->end[0] = head->stored_bytes;
            p->raw_end[0] = head->raw_bytes;
            p->count = 1;
            return MV_OK;
        }
        if (size > head->raw_bytes - raw)
            return MV_DECOMPRESS;
        p->end[p->count] = at += stored;
        p->raw_end[p->count] = raw += size;
    }
    return raw == head->raw_bytes ? MV_OK : MV_DECOMPRESS;
}

mv_code mv_chunk_open(const mv_load *load, const mv_wire_chunk *head, uint64_t at,
                      mv_chunk_room room, mv_payload *payload)
{
    const uint8_t *stored = load->file.data ? load->file.data + at + sizeof *head : room.stored;

    if (!load->file.data &&
        !mv_source_read_at(load->source, at + sizeof *head, room.stored, head->stored_bytes))
        return MV_IO;
    if ((head->flags & MV_WIRE_UNSEALED) ||
        head->stored_hash != XXH3_64bits(stored, head->stored_bytes))
        return MV_CHECKSUM;
    if (!mv_chunk_lengths_good(head))
        return MV_CORRUPT;
    *payload = (mv_payload){.bytes = stored, .stored = stored, .room = room};
    if (head->codec == MV_WIRE_CODEC_NONE)
        return MV_OK;
    payload->bytes = room.raw;
    return list_frames(payload, head);
}

bool mv_payload_need(mv_payload *p, uint64_t from, uint64_t end)
{
    uint64_t at = 0, raw = 0;

    for (uint32_t i = 0; i < p->count; at = p->end[i], raw = p->raw_end[i], i++) {
        uint64_t size = p->raw_end[i] - raw;
        if (p->is_open[i] || from >= p->raw_end[i] || end <= raw)
            continue;
        if (ZSTD_decompressDCtx(p->room.zstd, p->room.raw + raw, size, p->stored + at,
                                p->end[i] - at) != size)
            return false;
        p->is_open[i] = true;
    }
    return true;
}

bool mv_chunk_room_make(mv_load *load, const mv_wire_chunk *head, mv_chunk_room *room)
{
    *room = (mv_chunk_room){0};
    if (!load->file.data) {
        room->stored = mv_arena_push(&load->scratch, head->stored_bytes, 1);
        if (!room->stored)
            return false;
    }
    if (head->codec != MV_WIRE_CODEC_ZSTD || !mv_chunk_lengths_good(head))
        return true;
    room->raw = mv_arena_push_unset(&load->scratch, head->raw_bytes, 1);
    room->zstd = ZSTD_createDCtx();
    return room->raw && room->zstd;
}

mv_code mv_chunk_open_alone(mv_load *load, const mv_wire_chunk *head, uint64_t at,
                            const uint8_t **payload)
{
    mv_chunk_room room;
    mv_payload p;
    mv_code code =
        mv_chunk_room_make(load, head, &room) ? mv_chunk_open(load, head, at, room, &p) : MV_NOMEM;

    if (code == MV_OK && !mv_payload_need(&p, 0, head->raw_bytes))
        code = MV_DECOMPRESS;
    if (code == MV_OK)
        *payload = p.bytes;
    ZSTD_freeDCtx(room.zstd);
    return code;
}

/* ---- from the index ---------------------------------------------------------------------- */

static bool find_index(const mv_load *load, mv_wire_chunk *head, uint64_t *at)
{
    mv_span file = load->file;
    mv_wire_footer footer;
    uint64_t end;

    if (file.length < sizeof(mv_wire_header) + sizeof *head + sizeof footer)
        return false;
    end = file.length - sizeof footer;
    if (!mv_load_copy(load, end, &footer, sizeof footer) || !is_footer(&footer))
        return false;
    if (footer.file_bytes != file.length || footer.index_at > end - sizeof *head)
        return false;
    *at = footer.index_at;
    return mv_load_copy(load, *at, head, sizeof *head) && good_head(head) &&
           head->kind == MV_WIRE_INDEX && head->stored_bytes <= end - *at - sizeof *head &&
           head->raw_bytes == head->count * (uint64_t)sizeof(mv_wire_index) &&
           head->count <= file.length / sizeof *head;
}

/* Reads the positions of the chunks from the index. Returns false if the index is missing or
 * wrong. */
static bool find_by_index(mv_load *load, mv_code *code)
{
    mv_wire_chunk head;
    const uint8_t *payload;
    uint64_t index_at;

    if (!find_index(load, &head, &index_at))
        return false;
    *code = mv_chunk_open_alone(load, &head, index_at, &payload);
    for (uint32_t i = 0; *code == MV_OK && i < head.count; i++) {
        mv_wire_index entry;
        memcpy(&entry, payload + i * sizeof entry, sizeof entry);
        if (!good_head(&entry.head) || entry.at > index_at ||
            index_at - entry.at < sizeof entry.head ||
            entry.head.stored_bytes > index_at - entry.at - sizeof entry.head)
            *code = MV_CORRUPT;
        else if (!add_chunk(load, &entry.head, entry.at))
            *code = MV_NOMEM;
    }
    if (*code == MV_OK || *code == MV_NOMEM)
        return true;
    load->chunk_count = 0;
    *code = MV_OK;
    return false;
}

/* ---- by scanning the file ---------------------------------------------------------------- */

/* Returns the position of the first chunk header or footer at or after `at`; the file's length if
 * there is none. */
static uint64_t next_landmark(mv_span file, uint64_t at)
{
    while (file.length - at >= sizeof(mv_wire_footer)) {
        const uint8_t *found = memchr(file.data + at, MV_WIRE_MAGIC[0], file.length - at);
        if (!found)
            break;
        at = (uint64_t)(found - file.data);
        if (is_end(file, at))
            return at;
        if (file.length - at >= sizeof(mv_wire_chunk)) {
            mv_wire_chunk head = head_at(file, at);
            if (good_head(&head))
                return at;
        }
        at++;
    }
    return file.length;
}

static void note_damage(mv_load *load, uint64_t at, uint64_t bytes, const char *what)
{
    load->damaged = true;
    mv_build_note(&load->build, MV_NOTE_DAMAGED, "%s at byte %llu (%llu bytes)", what,
                  (unsigned long long)at, (unsigned long long)bytes);
}

/* Checks the chunk at `at`, whose header is intact, and returns the position to continue from. */
static uint64_t take_chunk(mv_load *load, uint64_t at, uint64_t *hashed, mv_code *code)
{
    mv_wire_chunk head = head_at(load->file, at);
    uint64_t body = at + sizeof head;
    uint64_t left = load->file.length - body;
    uint64_t next;

    if (head.stored_bytes > left) {
        note_damage(load, at, load->file.length - at, "the file ends inside a chunk");
        return next_landmark(load->file, body);
    }
    next = mv_wire_aligned(head.stored_bytes);
    next = body + (next < left ? next : left);
    if (!(head.flags & MV_WIRE_UNSEALED) && *hashed <= load->file.length * PATIENCE) {
        *hashed += head.stored_bytes;
        if (head.stored_hash != XXH3_64bits(load->file.data + body, head.stored_bytes)) {
            note_damage(load, at, sizeof head + head.stored_bytes, "damaged chunk");
            return next_landmark(load->file, body);
        }
    }
    if (head.kind != MV_WIRE_INDEX && !add_chunk(load, &head, at))
        *code = MV_NOMEM;
    return next;
}

static mv_code walk(mv_load *load)
{
    mv_span file = load->file;
    uint64_t at = sizeof(mv_wire_header);
    uint64_t hashed = 0;
    mv_code code = MV_OK;

    while (at < file.length && code == MV_OK) {
        uint64_t next = next_landmark(file, at);
        if (next > at)
            note_damage(load, at, next - at, "damaged bytes");
        if (next == file.length)
            return code;
        at = next;
        if (is_end(file, at)) {
            at += sizeof(mv_wire_footer);
            if (at < file.length)
                mv_rest_note(load->build.trace, (mv_span){file.data + at, file.length - at},
                             file.length - at, at);
            return code;
        }
        at = take_chunk(load, at, &hashed, &code);
    }
    if (code == MV_OK)
        note_damage(load, file.length, 0, "the end is missing");
    return code;
}

mv_code mv_chunks_find(mv_load *load, mv_err *err)
{
    mv_code code = MV_OK;

    if (!find_by_index(load, &code))
        code = load->file.data ? walk(load) : MV_CORRUPT;
    return code == MV_OK ? MV_OK : mv_fail(err, code, MV_NO_OFFSET, "list of chunks");
}
