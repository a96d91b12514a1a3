/* Live files in the form that fuzz_live.c reads: 'c' and the chunks, without the zeros between
 * them. There is one token for each field of the chunk headers and of each record. The items are
 * the records. */
#include "capture/wire_live.h"
#include "parse/live/varint.h"
#include "tests/fuzz/mutate_form.h"

enum {
    HEADERS = sizeof(mv_wire_chunk) + sizeof(mv_live_head),
    VARINT = 0 /* the op of a token that is a number; other tokens are bytes */
};

/* The fields in the two headers that a writer chooses. */
static const struct {
    uint8_t at, bytes;
} fields[] = {{offsetof(mv_wire_chunk, kind), 2},
              {offsetof(mv_wire_chunk, codec), 1},
              {offsetof(mv_wire_chunk, flags), 1},
              {offsetof(mv_wire_chunk, device), 4},
              {offsetof(mv_wire_chunk, count), 4},
              {offsetof(mv_wire_chunk, first_row), 8},
              {offsetof(mv_wire_chunk, table_rows), 8},
              {sizeof(mv_wire_chunk) + offsetof(mv_live_head, committed), 8},
              {sizeof(mv_wire_chunk) + offsetof(mv_live_head, seal), 8},
              {sizeof(mv_wire_chunk) + offsetof(mv_live_head, first_sequence), 8},
              {sizeof(mv_wire_chunk) + offsetof(mv_live_head, first_time_us), 8},
              {sizeof(mv_wire_chunk) + offsetof(mv_live_head, thread), 4}};

enum { FIELDS = sizeof fields / sizeof *fields, COMMITTED = 7 };

/* The fields of each record, by its first byte. t is a text, v a number, a an address. */
static const char *const names[16] = {
    [MV_LIVE_NAME_STRING] = "t",  [MV_LIVE_NAME_CODE] = "vvvvt", [MV_LIVE_NAME_MODULE] = "vtvvv",
    [MV_LIVE_NAME_PYTHON] = "vv", [MV_LIVE_NAME_NATIVE] = "vv",  [MV_LIVE_NAME_WORDS] = "v",
    [MV_LIVE_NAME_STACK] = "vv",  [MV_LIVE_NAME_THREAD] = "vv"};
static const char *const events[16] = {
    [MV_LIVE_EVENT_DEVICE] = "vvvv",  [MV_LIVE_EVENT_BLOCK] = "vvavv",
    [MV_LIVE_EVENT_FREE] = "vvav",    [MV_LIVE_EVENT_TOTALS] = "vvvv",
    [MV_LIVE_EVENT_OOM] = "vvvvvv",   [MV_LIVE_EVENT_CALL] = "vvavvvvvvvv",
    [MV_LIVE_EVENT_MARK] = "vvv",     [MV_LIVE_EVENT_PUSH] = "vvv",
    [MV_LIVE_EVENT_POP] = "vv",       [MV_LIVE_EVENT_BEGIN] = "vvvv",
    [MV_LIVE_EVENT_END] = "vvv",      [MV_LIVE_EVENT_HEAP] = "vvavvvvvv",
    [MV_LIVE_EVENT_LAUNCHES] = "vvv", [MV_LIVE_EVENT_THREAD] = "vvv",
    [MV_LIVE_EVENT_COUNT] = "vvvv"};

/* Returns false if the records are damaged. */
static bool add_record(mvt_form *form, mv_cursor *c, uint16_t kind)
{
    const char *shape = "tt";
    uint8_t tag = 0;

    if (kind != MV_LIVE_FACTS) {
        tag = mv_take_u8(c);
        shape = kind == MV_LIVE_NAMES ? names[tag & 15] : events[tag & 15];
        if (c->overrun || !shape)
            return false;
        mvt_number_add(form, 1, tag);
    }
    for (; *shape; shape++) {
        char field = *shape;
        if (field == 't')
            mvt_token_add(form, (mvt_token){.kind = MVT_TEXT, .bytes = mv_take_text(c)});
        else if (field == 'v' || tag >> 4 == MV_LIVE_NOT_RECENT)
            mvt_number_add(form, VARINT, mv_take_varint(c));
    }
    return !c->overrun;
}

static void add_records(mvt_form *form, mv_span records, uint16_t kind, uint32_t owner)
{
    mv_cursor c = mv_cursor_over(records);
    uint32_t index = 0;
    uint64_t from = 0;

    while (c.at < records.length) {
        uint32_t begin = form->count;
        if (!add_record(form, &c, kind)) {
            form->count = begin;
            mvt_token_add(form, (mvt_token){.kind = MVT_AS_IT_IS,
                                            .bytes = {records.data + from, records.length - from}});
            return;
        }
        mvt_item_add(form, (mvt_item){begin, form->count, owner, index++, MVT_NO_TOKEN});
        from = c.at;
    }
}

/* Returns the number of bytes in the chunk, or 0 if there is none. */
static uint64_t add_chunk(mvt_form *form, mv_span in)
{
    uint32_t owner = form->count, bytes;
    uint16_t kind;

    if (in.length < HEADERS + 4)
        return 0;
    bytes = mv_load_u32(in.data + HEADERS);
    bytes = bytes < in.length - HEADERS - 4 ? bytes : (uint32_t)(in.length - HEADERS - 4);
    mvt_token_add(form, (mvt_token){.kind = MVT_OPEN});
    for (unsigned i = 0; i < FIELDS; i++) {
        uint64_t number = 0;
        memcpy(&number, in.data + fields[i].at, fields[i].bytes);
        if (i == COMMITTED && number >= bytes)
            number = UINT64_MAX;
        mvt_number_add(form, fields[i].bytes, number);
    }
    kind = mv_load_u16(in.data + offsetof(mv_wire_chunk, kind));
    add_records(form, (mv_span){in.data + HEADERS + 4, bytes}, kind, owner);
    mvt_token_add(form, (mvt_token){.kind = MVT_CLOSE});
    return HEADERS + 4 + bytes;
}

static bool parse(mvt_form *form, mv_span bytes)
{
    mv_span in = {bytes.data + 1, bytes.length - 1};
    uint32_t index = 0;

    if (bytes.length < 1 || bytes.data[0] != 'c')
        return false;
    for (;;) {
        uint32_t begin = form->count;
        uint64_t used = add_chunk(form, in);
        if (used == 0)
            break;
        mvt_item_add(form, (mvt_item){begin, form->count, MVT_NO_TOKEN, index++, MVT_NO_TOKEN});
        in = (mv_span){in.data + used, in.length - used};
    }
    form->tail = in;
    return index > 0;
}

static void put_varint(mvt_out *out, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        mvt_put_u8(out, (uint8_t)(number | 0x80));
    mvt_put_u8(out, (uint8_t)number);
}

/* Writes a chunk's headers. They are followed by the length of the records, which is known only at
 * the end, and the records. */
static uint32_t put_headers(mvt_out *out, const mvt_form *form, uint32_t at)
{
    uint8_t headers[HEADERS + 4] = {0};

    for (unsigned i = 0; i < FIELDS && at + 1 < form->count; i++) {
        const mvt_token *token = &form->tokens[at + 1];
        if (token->kind != MVT_NUMBER || token->op != fields[i].bytes)
            break;
        memcpy(headers + fields[i].at, &token->number, fields[i].bytes);
        at++;
    }
    mvt_put(out, headers, sizeof headers);
    return at;
}

static size_t write(const mvt_form *form, uint8_t *to, size_t room)
{
    mvt_out out = {.to = to, .room = room};
    size_t records = 0;

    mvt_put_u8(&out, 'c');
    for (uint32_t i = 0; i < form->count; i++) {
        const mvt_token *token = &form->tokens[i];
        if (token->kind == MVT_OPEN) {
            i = put_headers(&out, form, i);
            records = out.at;
        } else if (token->kind == MVT_CLOSE && records && !out.full) {
            memcpy(to + records - 4, &(uint32_t){(uint32_t)(out.at - records)}, 4);
        } else {
            switch (token->kind) {
            case MVT_NUMBER:
                if (token->op == VARINT)
                    put_varint(&out, token->number);
                else
                    mvt_put_number(&out, token->number, token->op);
                break;
            case MVT_TEXT:
                put_varint(&out, token->bytes.length);
                /* fall through */
            case MVT_AS_IT_IS:
                mvt_put(&out, token->bytes.data, token->bytes.length);
            }
        }
    }
    return out.full ? 0 : out.at;
}

/* Changes a field of a header or the first byte of a record, or ends and seals a chunk earlier. */
static bool change_live(mvt_form *form)
{
    uint32_t at = mvt_any_token(form, MVT_OPEN);

    if (mvt_dice(&form->random, 2) && form->item_count) {
        const mvt_item *record = &form->items[mvt_dice(&form->random, form->item_count)];
        mvt_token *tag = &form->tokens[record->begin];
        if (tag->kind != MVT_NUMBER || tag->op != 1)
            return false;
        tag->number = mvt_dice(&form->random, 2)
                          ? (tag->number & 15) | mvt_dice(&form->random, 16) << 4
                          : (tag->number & 0xf0) | mvt_dice(&form->random, 16);
        return true;
    }
    if (at == MVT_NO_TOKEN || at + FIELDS >= form->count)
        return false;
    at += 1 + (uint32_t)mvt_dice(&form->random, FIELDS);
    if (form->tokens[at].kind == MVT_NUMBER)
        mvt_change_number(form, &form->tokens[at]);
    return true;
}

const mvt_format mvt_format_live = {parse, write, change_live, NULL};
