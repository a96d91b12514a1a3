/* A file as its mutators see it: a list of tokens (numbers, texts, the beginnings and ends of
 * containers), and the items of its containers as ranges of tokens. Each format has a parser, which
 * makes the lists, and a writer, which turns tokens into bytes again: it computes lengths, counts
 * and memo positions from the changed tokens.
 *
 *     pickle     ]  (  K 1  X "a"  e        msgpack    [  1  "a"  (end)
 *     items            ---  -----                         -  --- */
#pragma once

#include "base/grow.h"
#include "tests/fuzz/mutate.h"

#define MVT_NO_TOKEN UINT32_MAX

typedef enum {
    MVT_AS_IT_IS, /* bytes: the whole token, written unchanged */
    MVT_NUMBER,   /* number and negative: the value */
    MVT_TEXT,     /* bytes: the text without its encoding */
    MVT_OPEN,     /* start of a container; number: the stored count minus the true one */
    MVT_CLOSE,    /* end of a container */
    MVT_PUT,      /* creates a memo entry; id; number: its position, if the file contains it */
    MVT_GET       /* fetches a memo entry; id; bytes: the entry's text, if it is a text */
} mvt_token_kind;

typedef struct {
    uint8_t kind;  /* mvt_token_kind */
    uint8_t op;    /* format-specific */
    bool negative; /* `number` is in two's complement */
    bool wide;     /* uses the longest encoding */
    uint32_t id;
    uint64_t number;
    mv_span bytes;
} mvt_token;

typedef struct {
    uint32_t begin, end; /* tokens */
    uint32_t owner;      /* the token that begins its container */
    uint32_t index;      /* position among its owner's items */
    uint32_t value;      /* for a key, the first token of its value; MVT_NO_TOKEN: a list item */
} mvt_item;

typedef struct {
    mv_arena *arena;
    uint64_t random; /* state */
    mvt_token *tokens;
    uint32_t count, capacity;
    mvt_item *items;
    uint32_t item_count, item_capacity;
    uint32_t ids; /* all ids of memo entries are below this */
    bool failed;  /* the lists are incomplete: too many tokens, or memory is out */
    mv_span tail; /* bytes after the end of the file's contents */
} mvt_form;

struct mvt_format {
    /* Fills the lists. Returns false if the bytes are not in this format, or memory is out. */
    bool (*parse)(mvt_form *form, mv_span bytes);
    /* Writes the tokens, but not the tail. Returns the number of bytes, or 0 if they do not fit. */
    size_t (*write)(const mvt_form *form, uint8_t *to, size_t room);
    /* Makes a change that exists only in this format. */
    bool (*change)(mvt_form *form);
    /* If set, replaces the functions above. Returns the format of the bytes, or NULL if there is
     * none. */
    const mvt_format *(*find)(mv_span bytes);
};

/* ---- for the formats ---------------------------------------------------------------------- */

/* returns a number below `sides`, which must not be 0 */
uint64_t mvt_dice(uint64_t *random, uint64_t sides);
bool mvt_token_add(mvt_form *form, mvt_token token);
bool mvt_number_add(mvt_form *form, uint8_t op, uint64_t number);
bool mvt_item_add(mvt_form *form, mvt_item item);

/* Removes `dropped` tokens at token `at` and inserts other tokens there. Returns false if memory is
 * out. */
bool mvt_splice(mvt_form *form, uint32_t at, uint32_t dropped, const mvt_token *put,
                uint32_t count);

/* Returns a random token of this kind, or MVT_NO_TOKEN if a few attempts find none. */
uint32_t mvt_any_token(mvt_form *form, mvt_token_kind kind);

/* Replaces the number with one at the limits of common widths, or near another number in the
 * file. */
void mvt_change_number(mvt_form *form, mvt_token *token);

/* The output of a writer. Bytes that do not fit are not written, and set `full`. */
typedef struct {
    uint8_t *to;
    size_t at, room;
    bool full;
} mvt_out;

void mvt_put(mvt_out *out, const void *bytes, size_t length);
void mvt_put_u8(mvt_out *out, uint8_t byte);
/* writes the lowest byte first */
void mvt_put_number(mvt_out *out, uint64_t number, unsigned bytes);
