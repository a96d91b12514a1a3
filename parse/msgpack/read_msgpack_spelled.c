#include "parse/msgpack/read_msgpack_spelled.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MOST_KNOWN = 1 << 14, LONGEST = 64 << 10, MOST_BYTES = 32 << 20, LEAST_WASTE = 1 << 20 };

bool mv_spelled_init(mv_spelled *s, mv_arena *scratch)
{
    *s = (mv_spelled){.scratch = scratch, .by_bytes = {.arena = scratch}};
    s->known = mv_push_array(scratch, mv_spelling, MOST_KNOWN);
    s->guesses = mv_push_array(scratch, uint32_t, 1u << MV_GUESS_BITS);
    return s->known && s->guesses;
}

/* Big-endian number of `width` bytes after the first. */
static uint64_t number_after(const uint8_t *at, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = 1; i <= width; i++)
        value = value << 8 | at[i];
    return value;
}

/* Bytes of the token at `at` up to its items, and how many items follow. 0 for types that do not
 * occur in stacks. 8 bytes after `at` can be read. */
static uint64_t token_length(const uint8_t *at, uint64_t *items)
{
    uint8_t byte = *at;

    if (byte <= 0x7f || byte >= 0xe0 || byte == 0xc0)
        return 1;
    if (byte <= 0x8f)
        *items += 2u * (byte & 15);
    if (byte >= 0x90 && byte <= 0x9f)
        *items += byte & 15;
    if (byte <= 0x9f)
        return 1;
    if (byte <= 0xbf)
        return 1u + (byte & 31);
    if (byte >= 0xcc && byte <= 0xd3) /* integers of 1, 2, 4, 8 bytes */
        return 1u + (1u << (byte & 3));
    if (byte >= 0xd9 && byte <= 0xdb) /* texts with a length of 1, 2, 4 bytes */
        return 1u + (1u << (byte - 0xd9)) + number_after(at, 1u << (byte - 0xd9));
    if (byte == 0xdc) {
        *items += number_after(at, 2);
        return 3;
    }
    return 0;
}

/* Bytes of the array that `rest` begins with; 0 if it is not one, is long, or does not end here. */
static uint64_t array_length(mv_span rest, uint64_t *walked)
{
    uint64_t at = 0, left = 1;

    *walked = 0;
    if (rest.length == 0 || ((rest.data[0] & 0xf0) != 0x90 && rest.data[0] != 0xdc))
        return 0;
    while (left > 0) {
        uint64_t bytes;
        if (at + 9 > rest.length || at > LONGEST)
            return 0;
        bytes = token_length(rest.data + at, &left);
        if (bytes == 0)
            return 0;
        at += bytes;
        *walked = at;
        left--;
    }
    return at <= rest.length && at <= LONGEST ? at : 0;
}

static const mv_spelling *is_at(const mv_spelled *s, uint32_t row, mv_span rest)
{
    const mv_spelling *k = &s->known[row];

    if (k->length > rest.length || memcmp(k->bytes, rest.data, k->length) != 0)
        return NULL;
    return k;
}

static uint32_t *guess_of(mv_spelled *s)
{
    return &s->guesses[mv_mix(s->last, s->earlier) >> (64 - MV_GUESS_BITS)];
}

/* `row` came: the next guess depends on it. */
static void follow(mv_spelled *s, uint32_t row)
{
    *guess_of(s) = row + 1;
    s->earlier = s->last;
    s->last = row + 1;
}

const mv_spelling *mv_spelled_find(mv_spelled *s, mv_span rest, uint64_t seen, uint64_t *length)
{
    uint32_t guess = *guess_of(s);
    uint64_t walked, hash;

    *length = 0;
    if (guess > 0 && is_at(s, guess - 1, rest)) {
        follow(s, guess - 1);
        return &s->known[guess - 1];
    }
    if (s->wasted > seen / 8 + LEAST_WASTE)
        return NULL;
    *length = array_length(rest, &walked);
    if (*length == 0) {
        s->wasted += walked;
        return NULL;
    }
    hash = XXH3_64bits_withSeed(rest.data, *length, mv_hash_key());
    for (mv_probe p = mv_intern_start(&s->by_bytes, hash); mv_intern_next(&s->by_bytes, &p);) {
        if (s->known[p.row].length == *length && is_at(s, p.row, rest)) {
            follow(s, p.row);
            return &s->known[p.row];
        }
    }
    return NULL;
}

void mv_spelled_learn(mv_spelled *s, mv_span bytes, mv_stack_id stack)
{
    uint8_t *copy;

    if (s->count == MOST_KNOWN || s->bytes + bytes.length > MOST_BYTES)
        return;
    copy = mv_push_array(s->scratch, uint8_t, bytes.length);
    if (!copy ||
        !mv_intern_add(&s->by_bytes, XXH3_64bits_withSeed(bytes.data, bytes.length, mv_hash_key()),
                       s->count))
        return;
    memcpy(copy, bytes.data, bytes.length);
    s->known[s->count] = (mv_spelling){copy, (uint32_t)bytes.length, stack};
    s->bytes += bytes.length;
    follow(s, s->count++);
}
