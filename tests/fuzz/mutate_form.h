/* A file as its mutators see it: a list of tokens (numbers, texts, the beginnings and ends of
 * containers), and the items of its containers as ranges of tokens. Each format has a parser, which
 * makes the lists, and a writer, which turns tokens into bytes again: it computes lengths, counts
 * and memo positions from the changed tokens.
 *
 *     pickle     ]  (  K 1  X "a"  e        msgpack    [  1  "a"  (end)
 *     items            ---  -----                         -  --- */
#ifndef MV_MUTATE_FORM_H
#define MV_MUTATE_FORM_H

#include "base/grow.h"
#include "tests/fuzz/mutate.h"

#define MVT_NO_TOKEN UINT32_MAX

typedef enum {
    MVT_AS_IT_IS, /* bytes: the whole token */
    MVT_NUMBER,   /* number, negative */
    MVT_TEXT,     /* bytes: the text alone */
    MVT_OPEN,     /* a container begins; number: the stored count less the true one */
    MVT_CLOSE,    /* a container ends */
    MVT_PUT,      /* a memo entry is made; id; number: its position if the file contains it */
    MVT_GET       /* a memo entry is fetched; id; bytes: the entry's text, if it is a text */
} mvt_token_kind;

typedef struct {
    uint8_t kind;  /* mvt_token_kind */
    uint8_t op;    /* format-specific */
    bool negative; /* number is two's complement */
    bool wide;     /* written in the longest form */
    uint32_t id;
    uint64_t number;
    mv_span bytes;
} mvt_token;

typedef struct {
    uint32_t begin, end; /* tokens */
    uint32_t owner;      /* the token that begins its container */
    uint32_t index;      /* among the items of its owner */
    uint32_t value;      /* a key's value: its first token; MVT_NO_TOKEN: an item of a list */
} mvt_item;

typedef struct {
    mv_arena *arena;
    uint64_t random; /* state */
    mvt_token *tokens;
    uint32_t count, capacity;
    mvt_item *items;
    uint32_t item_count, item_capacity;
    uint32_t ids; /* all ids of memo entries are below */
    bool failed;  /* the lists are incomplete: too many tokens, or memory is out */
    mv_span tail; /* bytes after the file's end */
} mvt_form;

struct mvt_format {
    /* Fills the lists; false: not this format, or memory is out. */
    bool (*parse)(mvt_form *form, mv_span bytes);
    /* Writes the tokens without the tail; returns the number of bytes, 0 when they do not fit. */
    size_t (*write)(const mvt_form *form, uint8_t *to, size_t room);
    /* A change that exists only in this format. */
    bool (*change)(mvt_form *form);
    /* Replaces the functions above: finds the bytes' format; NULL when it has none. */
    const mvt_format *(*find)(mv_span bytes);
};

/* ---- for the formats ---------------------------------------------------------------------- */

uint64_t mvt_dice(uint64_t *random, uint64_t sides); /* below `sides`, which must not be 0 */
bool mvt_token_add(mvt_form *form, mvt_token token);
bool mvt_item_add(mvt_form *form, mvt_item item);

/* Inserts tokens before token `at`, after removing `dropped` tokens there. False when memory
 * is out. */
bool mvt_splice(mvt_form *form, uint32_t at, uint32_t dropped, const mvt_token *put,
                uint32_t count);

/* A random token of this kind; MVT_NO_TOKEN when a few attempts find none. */
uint32_t mvt_any_token(mvt_form *form, mvt_token_kind kind);

/* Numbers at the limits of common widths, or near another number of the file. */
void mvt_change_number(mvt_form *form, mvt_token *token);

/* Changes some of the bytes as bytes. */
void mvt_change_bytes(uint8_t *data, size_t size, uint64_t *random);

/* A writer's position. Bytes that do not fit are not written, and set `full`. */
typedef struct {
    uint8_t *to;
    size_t at, room;
    bool full;
} mvt_out;

void mvt_put(mvt_out *out, const void *bytes, size_t length);
void mvt_put_u8(mvt_out *out, uint8_t byte);
void mvt_put_number(mvt_out *out, uint64_t number, unsigned bytes); /* lowest byte first */

#endif
