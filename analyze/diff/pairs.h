/* Pairs the rows of two sides in several rounds, strictest round first. In each round, every row
 * has a key, and rows on different sides become a pair if their keys are equal. Pairs are final, so
 * no row is matched twice, and later rounds only use rows that have no partner yet.
 *
 *     before  a b b c        keys of one round
 *     after   a b d d
 *             | |
 *             pairs          with MV_PAIR_ANY, the first b's are also a pair; with MV_PAIR_LONE not
 *
 * The result is the same when the sides are swapped. */
#pragma once

#include "base/sort.h"
#include "parse/model/trace.h"

#define MV_NO_PARTNER UINT32_MAX
#define MV_NO_KEY     0u /* key of a row that is skipped in this round */

typedef struct {
    uint32_t count[2];
    uint32_t *partner[2]; /* [count] row on the other side, or MV_NO_PARTNER */
    uint64_t *key[2];     /* [count] keys of the current round, set by the caller */
    mv_key_row *work[2];
} mv_pairs;

/* How several rows with the same key are paired. Rows are always paired in order. */
typedef enum {
    MV_PAIR_LONE, /* pair only if each side has exactly one such row */
    MV_PAIR_EVEN, /* pair only if both sides have the same number of rows */
    MV_PAIR_ANY   /* pair as many rows as the smaller side has */
} mv_pair_rule;

/* Prepares for `before` and `after` rows. Returns false when out of memory. */
bool mv_pairs_init(mv_pairs *pairs, mv_arena *arena, uint32_t before, uint32_t after);

/* Runs one round over the rows that have no partner. O(n log n). */
void mv_pairs_round(mv_pairs *pairs, mv_pair_rule rule);

/* Mixes `value` into a hash. */
static inline uint64_t mv_pair_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    return (hash ^ hash >> 32) * 0xc4ceb9fe1a85ec53u ^ hash >> 29;
}

static inline uint64_t mv_pair_mix_text(uint64_t hash, mv_span text)
{
    for (uint64_t i = 0; i < text.length; i++)
        hash = (hash ^ text.data[i]) * 0x100000001b3u;
    return mv_pair_mix(hash, text.length);
}

/* Mixes the function, the file without its folders, and the line of a frame into a hash. */
uint64_t mv_pair_mix_frame(uint64_t hash, const mv_trace *trace, mv_frame_id frame);

/* Returns a hash as a key, which is never MV_NO_KEY. */
static inline uint64_t mv_pair_key(uint64_t hash)
{
    return hash == MV_NO_KEY ? 1 : hash;
}
