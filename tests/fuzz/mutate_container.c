/* Containers as tokens: first the fields of each chunk's header; then, for a table's chunk, each
 * column's description and numbers. The items are the chunks and columns. Lengths, checksums, index
 * and footer of a changed file are corrected. */
#include "parse/container/wire_column.h"
#include "tests/fuzz/mutate_form.h"

#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MOST_RAW = 1 << 20, MOST_CHUNKS = 1024, CELL = 0, CHUNK = 1, COLUMN = 2 };

/* The fields of a chunk's header and of a column's description that a writer chooses. */
typedef struct {
    uint8_t at, bytes;
} field;

static const field head_fields[] = {
    {offsetof(mv_wire_chunk, kind), 2},      {offsetof(mv_wire_chunk, codec), 1},
    {offsetof(mv_wire_chunk, flags), 1},     {offsetof(mv_wire_chunk, device), 4},
    {offsetof(mv_wire_chunk, count), 4},     {offsetof(mv_wire_chunk, first_row), 8},
    {offsetof(mv_wire_chunk, table_rows), 8}};
static const field column_fields[] = {
    {offsetof(mv_wire_column, column), 2},    {offsetof(mv_wire_column, width), 1},
    {offsetof(mv_wire_column, transform), 1}, {offsetof(mv_wire_column, shift), 1},
    {offsetof(mv_wire_column, planes), 1},    {offsetof(mv_wire_column, columns), 1},
    {offsetof(mv_wire_column, base), 8},      {offsetof(mv_wire_column, start), 8}};

enum {
    HEAD_FIELDS = sizeof head_fields / sizeof *head_fields,
    COLUMN_FIELDS = sizeof column_fields / sizeof *column_fields,
    COUNT = 4, /* the head's fields */
    TABLE_ROWS = 6,
    WIDTH = 1, /* a column's fields */
    PLANES = 4
};

/* ---- parsing ------------------------------------------------------------------------------ */

static void add_fields(mvt_form *form, const uint8_t *from, const field *fields, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t number = 0;
        memcpy(&number, from + fields[i].at, fields[i].bytes);
        mvt_number_add(form, fields[i].bytes, number);
    }
}

/* Returns false if the payload does not match the columns. */
static bool add_columns(mvt_form *form, mv_span raw, uint32_t rows, uint32_t owner)
{
    mv_wire_column column;
    uint8_t columns;

    if (raw.length < sizeof column)
        return false;
    memcpy(&column, raw.data, sizeof column);
    columns = column.columns;
    uint64_t at = columns * sizeof column;
    for (uint32_t i = 0; i < columns; i++) {
        uint32_t begin = form->count;
        if ((i + 1) * sizeof column > raw.length)
            return false;
        memcpy(&column, raw.data + i * sizeof column, sizeof column);
        if (column.width > 8 || at > raw.length || (uint64_t)rows * column.width > raw.length - at)
            return false;
        mvt_token_add(form, (mvt_token){.kind = MVT_OPEN, .op = COLUMN});
        add_fields(form, (const uint8_t *)&column, column_fields, COLUMN_FIELDS);
        const uint8_t *from = raw.data + at;
        for (uint32_t row = 0; row < rows && column.width; row++) {
            uint64_t number = 0;
            for (unsigned byte = 0; byte < column.width; byte++)
                number |= (uint64_t)from[column.planes ? byte * (uint64_t)rows + row
                                                       : (uint64_t)row * column.width + byte]
                          << 8 * byte;
            mvt_number_add(form, CELL, number);
        }
        mvt_token_add(form, (mvt_token){.kind = MVT_CLOSE, .op = COLUMN});
        mvt_item_add(form, (mvt_item){begin, form->count, owner, i, MVT_NO_TOKEN});
        at += mv_wire_aligned((uint64_t)rows * column.width);
    }
    return columns > 0;
}

static mv_span unpack(mvt_form *form, const mv_wire_chunk *head, const uint8_t *stored)
{
    if (head->codec != MV_WIRE_CODEC_ZSTD)
        return (mv_span){stored, head->stored_bytes};
    uint8_t *raw =
        head->raw_bytes <= MOST_RAW ? mv_arena_push(form->arena, head->raw_bytes, 1) : NULL;
    if (!raw ||
        ZSTD_decompress(raw, head->raw_bytes, stored, head->stored_bytes) != head->raw_bytes)
        return (mv_span){0};
    return (mv_span){raw, head->raw_bytes};
}

static bool add_chunk(mvt_form *form, const mv_wire_chunk *head, const uint8_t *stored)
{
    mv_span raw = unpack(form, head, stored);
    uint32_t owner = form->count, from;

    if (!raw.data)
        return false;
    mvt_token_add(form, (mvt_token){.kind = MVT_OPEN, .op = CHUNK});
    add_fields(form, (const uint8_t *)head, head_fields, HEAD_FIELDS);
    from = form->count;
    if (head->kind < MV_WIRE_STRINGS || head->kind >= MV_WIRE_LIVE_KINDS ||
        !add_columns(form, raw, head->count, owner)) {
        form->count = from;
        while (form->item_count && form->items[form->item_count - 1].owner == owner)
            form->item_count--;
        /* TRACE and unknown kinds are read as four-byte numbers. */
        uint64_t at = 0;
        for (; at + 4 <= raw.length; at += 4)
            mvt_number_add(form, 4, mv_load_u32(raw.data + at));
        mvt_token_add(form,
                      (mvt_token){.kind = MVT_AS_IT_IS, .bytes = {raw.data + at, raw.length - at}});
    }
    return mvt_token_add(form, (mvt_token){.kind = MVT_CLOSE, .op = CHUNK});
}

static bool parse(mvt_form *form, mv_span bytes)
{
    uint64_t at = sizeof(mv_wire_header);
    mv_wire_chunk head;
    uint32_t index = 0;

    if (bytes.length < at + sizeof head ||
        memcmp(bytes.data, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES) != 0)
        return false;
    mvt_token_add(form, (mvt_token){.kind = MVT_AS_IT_IS, .bytes = {bytes.data, at}});
    while (at <= bytes.length && bytes.length - at >= sizeof head) {
        uint32_t begin = form->count;
        memcpy(&head, bytes.data + at, sizeof head);
        if (memcmp(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES) != 0 ||
            head.stored_bytes > bytes.length - at - sizeof head || index == MOST_CHUNKS ||
            (head.kind != MV_WIRE_INDEX && !add_chunk(form, &head, bytes.data + at + sizeof head)))
            break;
        if (head.kind != MV_WIRE_INDEX)
            mvt_item_add(form, (mvt_item){begin, form->count, MVT_NO_TOKEN, index++, MVT_NO_TOKEN});
        at += sizeof head + mv_wire_aligned(head.stored_bytes);
    }
    at = at < bytes.length ? at : bytes.length;
    form->tail = (mv_span){bytes.data + at, bytes.length - at};
    if (form->tail.length >= sizeof(mv_wire_footer) &&
        memcmp(form->tail.data, MV_WIRE_END_MAGIC, MV_WIRE_MAGIC_BYTES) == 0) {
        form->tail.data += sizeof(mv_wire_footer);
        form->tail.length -= sizeof(mv_wire_footer);
    }
    return index > 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

typedef struct {
    const mvt_form *form;
    mvt_out out;
    mv_wire_index *index; /* [MOST_CHUNKS] */
    uint32_t chunks;
    uint8_t *payload, *packed; /* [MOST_RAW] */
} writer;

/* Writes consecutive tokens as numbers with these widths. Returns the token after them. */
static uint32_t get_fields(const mvt_form *form, uint32_t at, const field *fields, unsigned count,
                           uint8_t *to)
{
    for (unsigned i = 0; i < count && at < form->count; i++, at++) {
        const mvt_token *token = &form->tokens[at];
        if (token->kind != MVT_NUMBER || token->op != fields[i].bytes)
            break;
        memcpy(to + fields[i].at, &token->number, fields[i].bytes);
    }
    return at;
}

static void pad(mvt_out *out)
{
    while (out->at % 8 && !out->full)
        mvt_put_u8(out, 0);
}

static void put_cells(writer *w, mvt_out *out, uint32_t from, uint32_t to, mv_wire_column column)
{
    unsigned width = column.width < 8 ? column.width : 8;

    if (column.planes == 1) {
        for (unsigned byte = 0; byte < width; byte++)
            for (uint32_t i = from; i < to; i++)
                mvt_put_u8(out, (uint8_t)(w->form->tokens[i].number >> 8 * byte));
    } else {
        for (uint32_t i = from; i < to; i++)
            mvt_put_number(out, w->form->tokens[i].number, width);
    }
    pad(out);
}

/* Returns the token after the cells that begin at token `at`. */
static uint32_t cells_end(const mvt_form *form, uint32_t at)
{
    while (at < form->count && form->tokens[at].kind == MVT_NUMBER && form->tokens[at].op == CELL)
        at++;
    return at;
}

/* Compresses a payload as two frames, which end anywhere in its columns. Returns the number of bytes,
 * or 0. */
static uint64_t pack(writer *w, const uint8_t *payload, uint64_t length)
{
    size_t first = ZSTD_compress(w->packed, MOST_RAW, payload, length / 2, 1), second = 0;

    if (!ZSTD_isError(first))
        second = ZSTD_compress(w->packed + first, MOST_RAW - first, payload + length / 2,
                               length - length / 2, 1);
    return ZSTD_isError(first) || ZSTD_isError(second) ? 0 : first + second;
}

static void put_chunk(writer *w, mv_wire_chunk head, const uint8_t *payload, uint64_t length)
{
    mvt_out *out = &w->out;
    uint64_t at = out->at;

    head.raw_bytes = head.stored_bytes = length;
    if (head.codec == MV_WIRE_CODEC_ZSTD) {
        uint64_t packed = pack(w, payload, length);
        if (packed) {
            payload = w->packed;
            head.stored_bytes = packed;
        }
    }
    memcpy(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES);
    head.stored_hash = head.flags & MV_WIRE_UNSEALED ? 0 : XXH3_64bits(payload, head.stored_bytes);
    head.hash = XXH3_64bits(&head, offsetof(mv_wire_chunk, hash));
    mvt_put(out, &head, sizeof head);
    mvt_put(out, payload, head.stored_bytes);
    pad(out);
    if (head.kind != MV_WIRE_INDEX && w->chunks < MOST_CHUNKS)
        w->index[w->chunks++] = (mv_wire_index){at, head};
}

/* Writes the chunk that begins at token `at`, and returns the chunk's last token. */
static uint32_t write_chunk(writer *w, uint32_t at)
{
    mvt_out payload = {.to = w->payload, .room = MOST_RAW};
    mv_wire_chunk head = {0};
    uint32_t from = get_fields(w->form, at + 1, head_fields, HEAD_FIELDS, (uint8_t *)&head);
    uint32_t end = from;

    while (end < w->form->count &&
           !(w->form->tokens[end].kind == MVT_CLOSE && w->form->tokens[end].op == CHUNK))
        end++;
    /* All column descriptions are written first, then the cells. The tokens up to `end` belong to
     * the columns or to something else. */
    const mvt_form *form = w->form;
    mv_wire_column column;
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint32_t i = from; i < end; i++) {
            const mvt_token *token = &form->tokens[i];
            if (token->kind == MVT_OPEN) {
                column = (mv_wire_column){0};
                i = get_fields(form, i + 1, column_fields, COLUMN_FIELDS, (uint8_t *)&column) - 1;
                if (pass == 0)
                    mvt_put(&payload, &column, sizeof column);
                else
                    put_cells(w, &payload, i + 1, cells_end(form, i + 1), column);
            } else if (pass == 0 && token->kind == MVT_NUMBER && token->op != CELL) {
                mvt_put_number(&payload, token->number, token->op);
            } else if (pass == 0 && token->kind == MVT_AS_IT_IS) {
                mvt_put(&payload, token->bytes.data, token->bytes.length);
            }
        }
    put_chunk(w, head, payload.to, payload.at);
    return end;
}

static size_t write(const mvt_form *form, uint8_t *to, size_t room)
{
    writer w = {.form = form, .out = {.to = to, .room = room}};
    mv_wire_header header;

    w.index = mv_push_array(form->arena, mv_wire_index, MOST_CHUNKS);
    w.payload = mv_arena_push(form->arena, MOST_RAW, 1);
    w.packed = mv_arena_push(form->arena, MOST_RAW, 1);
    if (!w.index || !w.payload || !w.packed || form->tokens[0].bytes.length != sizeof header)
        return 0;
    memcpy(&header, form->tokens[0].bytes.data, sizeof header);
    header.hash = XXH3_64bits(&header, offsetof(mv_wire_header, hash));
    mvt_put(&w.out, &header, sizeof header);
    for (uint32_t i = 1; i < form->count; i++)
        if (form->tokens[i].kind == MVT_OPEN && form->tokens[i].op == CHUNK)
            i = write_chunk(&w, i);
    if (!form->tokens[0].wide) {
        mv_wire_chunk head = {.kind = MV_WIRE_INDEX, .count = w.chunks};
        mv_wire_footer footer = {.index_at = w.out.at};
        put_chunk(&w, head, (const uint8_t *)w.index, w.chunks * sizeof *w.index);
        memcpy(footer.magic, MV_WIRE_END_MAGIC, MV_WIRE_MAGIC_BYTES);
        footer.file_bytes = w.out.at + sizeof footer;
        footer.hash = XXH3_64bits(&footer, offsetof(mv_wire_footer, hash));
        mvt_put(&w.out, &footer, sizeof footer);
    }
    return w.out.full ? 0 : w.out.at;
}

static uint32_t any_open(mvt_form *form, uint8_t op)
{
    uint32_t at;

    for (unsigned i = 0; i < 8 && form->item_count; i++) {
        at = form->items[mvt_dice(&form->random, form->item_count)].begin;
        if (at < form->count && form->tokens[at].kind == MVT_OPEN && form->tokens[at].op == op)
            return at;
    }
    return MVT_NO_TOKEN;
}

/* Drops or doubles a row of a chunk, in all its columns. */
static bool change_row(mvt_form *form)
{
    uint32_t chunk = any_open(form, CHUNK), row;
    bool twice = mvt_dice(&form->random, 2);

    if (chunk == MVT_NO_TOKEN)
        return false;
    uint64_t rows = form->tokens[chunk + 1 + COUNT].number;
    if (rows < 2 || form->tokens[chunk + 1 + HEAD_FIELDS].kind != MVT_OPEN)
        return false;
    row = (uint32_t)mvt_dice(&form->random, rows);
    form->tokens[chunk + 1 + COUNT].number += twice ? 1 : (uint64_t)-1;
    form->tokens[chunk + 1 + TABLE_ROWS].number += twice ? 1 : (uint64_t)-1;
    for (uint32_t i = chunk + 1; i < form->count && form->tokens[i].op != CHUNK; i++) {
        uint32_t cell = i + 1 + COLUMN_FIELDS + row;
        if (form->tokens[i].kind != MVT_OPEN || cell >= cells_end(form, i + 1 + COLUMN_FIELDS))
            continue;
        if (!mvt_splice(form, cell, !twice, &form->tokens[cell], twice))
            return false;
    }
    return true;
}

static bool change_container(mvt_form *form)
{
    uint32_t at = any_open(form, mvt_dice(&form->random, 2) ? CHUNK : COLUMN);
    mvt_token *codec;

    switch (mvt_dice(&form->random, 8)) {
    case 0:
        form->tokens[0].wide = true; /* the index and the footer are left out */
        return true;
    case 1:
    case 2:
        return change_row(form);
    case 3:
        at = any_open(form, COLUMN);
        if (at != MVT_NO_TOKEN) {
            /* Stores the same numbers in another representation. */
            mvt_token *width = &form->tokens[at + 1 + WIDTH];
            mvt_token *planes = &form->tokens[at + 1 + PLANES];
            if (mvt_dice(&form->random, 2) && width->number > 0 && width->number < 8)
                width->number *= 2;
            else
                planes->number = !planes->number;
        }
        return at != MVT_NO_TOKEN;
    case 4:
    case 5:
        at = any_open(form, CHUNK);
        if (at == MVT_NO_TOKEN)
            return false;
        codec = &form->tokens[at + 2];
        codec->number = codec->number == MV_WIRE_CODEC_NONE;
        return true;
    default:
        if (at == MVT_NO_TOKEN)
            return false;
        at += 1 + (uint32_t)mvt_dice(&form->random,
                                     form->tokens[at].op == CHUNK ? HEAD_FIELDS : COLUMN_FIELDS);
        mvt_change_number(form, &form->tokens[at]);
        return true;
    }
}

const mvt_format mvt_format_container = {parse, write, change_container, NULL};
