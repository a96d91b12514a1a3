/* Reads the wire format of protocol buffers: the fields of a message, one after another, from
 * untrusted bytes. There are no schemas, so readers identify fields by number.
 *
 *     mv_cursor c = mv_cursor_over(message);
 *     mv_pb_field f;
 *     while (mv_pb_next(&c, &f))
 *         if (f.number == 2 && f.type == MV_PB_BYTES) ... f.bytes
 *     if (c.overrun) ...                         the message is damaged or cut
 *
 * Nothing is copied: `bytes` points into the input. */
#pragma once

#include "parse/live/varint.h"

typedef enum {
    MV_PB_VARINT = 0,
    MV_PB_FIXED64 = 1,
    MV_PB_BYTES = 2, /* a string, a message, or packed numbers */
    MV_PB_FIXED32 = 5
} mv_pb_type;

typedef struct {
    uint64_t number;
    uint8_t type;   /* mv_pb_type */
    uint64_t value; /* bits of the value of any type except MV_PB_BYTES */
    mv_span bytes;  /* value of type MV_PB_BYTES; else empty */
} mv_pb_field;

/* Reads the next field. Returns false at the end; if the next bytes are not a field, also sets
 * c->overrun. Groups are not supported, because they have long been obsolete. */
static inline bool mv_pb_next(mv_cursor *c, mv_pb_field *f)
{
    uint64_t key;

    if (c->overrun || c->at == c->span.length)
        return false;
    key = mv_take_varint(c);
    *f = (mv_pb_field){.number = key >> 3, .type = key & 7, .bytes = {(const uint8_t *)"", 0}};
    if (f->type == MV_PB_VARINT)
        f->value = mv_take_varint(c);
    else if (f->type == MV_PB_FIXED64)
        f->value = mv_take_u64(c);
    else if (f->type == MV_PB_BYTES)
        f->bytes = mv_take_text(c);
    else if (f->type == MV_PB_FIXED32)
        f->value = mv_take_u32(c);
    else
        c->overrun = true;
    c->overrun |= f->number == 0;
    return !c->overrun;
}

/* Reads the next number of a repeated field, which is either packed into bytes or a single number.
 * `*at` must be 0 before the first call. Returns false after the last number; sets *is_damaged if
 * the bytes end inside a number. */
static inline bool mv_pb_number(const mv_pb_field *f, uint64_t *at, uint64_t *out, bool *is_damaged)
{
    mv_cursor c = {.span = f->bytes, .at = *at};

    if (f->type != MV_PB_BYTES) {
        *out = f->value;
        return (*at)++ == 0;
    }
    if (*at >= f->bytes.length)
        return false;
    *out = mv_take_varint(&c);
    *at = c.at;
    *is_damaged |= c.overrun;
    return !c.overrun;
}

/* Returns true if `text` equals `word`. */
static inline bool mv_pb_is(mv_span text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.data, word, text.length) == 0;
}
