/* Reads JSON from a source, token by token, without a tree: only the tokens that the caller takes
 * are kept. Callers walk objects and lists, and skip the parts that they do not use:
 *
 *     if (mv_json_enter(j, '{'))                moves into the next value if it is an object
 *         while (mv_json_key(j, &key))          false after the last key, or on failure
 *             if (mv_json_is(j, key, "ts"))
 *                 mv_json_take(j, &value);      exactly one of these for each key
 *             else
 *                 mv_json_pass(j);
 *
 *     if (mv_json_enter(j, '['))
 *         while (mv_json_element(j)) ...        exactly one of these for each element
 *
 * A token is a position in the window, which slides over the input as tokens are read. Between
 * mv_json_keep(j, true) and mv_json_keep(j, false) the window grows instead, so tokens stay valid,
 * and mv_json_go can return to them. At all other times, a token is valid until the next token is
 * read.
 *
 * Reading is lenient, because writers are sloppy: NaN is a word like true, strings may contain
 * control characters, and in skipped values only strings and brackets are checked. Values may be
 * nested to any depth, because nothing here is recursive. A failure is sticky: all later calls
 * return false, and `err` contains the reason and the offset. */
#pragma once

#include "parse/source/source.h"

typedef struct {
    mv_source *source; /* the input; source->at is the first byte of the window */
    mv_err *err;
    uint64_t pos; /* position of the next byte in the window */
    bool is_kept;
    bool failed;
} mv_json;

/* A string, without its quotes but with its escapes, or a word: a number, true, null. For objects
 * and lists, `length` is 0 and `has_quotes` is false. */
typedef struct {
    uint64_t at, length; /* position and length in the window */
    bool has_quotes, has_escapes;
} mv_json_token;

/* Returns the first byte of the next token without consuming it; 0 at the end and on failure. */
uint8_t mv_json_next(mv_json *j);

bool mv_json_enter(mv_json *j, char bracket);
bool mv_json_key(mv_json *j, mv_json_token *key);
bool mv_json_element(mv_json *j);

/* Take or skip the next value; objects and lists are always skipped. False on failure. */
bool mv_json_take(mv_json *j, mv_json_token *out);
bool mv_json_pass(mv_json *j);

void mv_json_keep(mv_json *j, bool is_kept);

/* Goes back to the beginning of a value, which is a position in the window. */
void mv_json_go(mv_json *j, uint64_t place);

/* Fails at the next byte of the input. Always returns false. */
bool mv_json_fail(mv_json *j, mv_code code, const char *why);

/* ---- tokens ------------------------------------------------------------------------------- */

static inline mv_span mv_json_span(const mv_json *j, mv_json_token t)
{
    return (mv_span){j->source->at + t.at, t.length};
}

static inline bool mv_json_is(const mv_json *j, mv_json_token t, const char *word)
{
    return t.length == strlen(word) && memcmp(j->source->at + t.at, word, t.length) == 0;
}

/* Writes the string with its escapes decoded to `out`, up to `room` bytes, and returns it. Halves
 * of a surrogate pair become U+FFFD. */
mv_span mv_json_text(const mv_json *j, mv_json_token t, uint8_t *out, uint64_t room);

/* Splits a whole number, with or without quotes, into its absolute value and its sign. Returns
 * false for other tokens and for numbers that do not fit. */
bool mv_json_whole(const mv_json *j, mv_json_token t, uint64_t *size, bool *is_negative);

/* Converts microseconds to nanoseconds, exactly unless the number has an exponent. Returns false
 * for tokens that are not numbers, and for more than 2^61 ns. */
bool mv_json_ns(const mv_json *j, mv_json_token t, int64_t *ns);
