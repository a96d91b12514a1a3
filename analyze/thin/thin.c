#include "analyze/thin/thin.h"

#include <stdio.h>

#include "analyze/lives/block_size.h"
#include "analyze/totals/totals.h"
#include "base/map.h"
#include "base/numbers.h"
#include "base/parallel_for.h"
#include "base/search.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"
#include "parse/model/digest.h"
#include "parse/model/tables.h"

/* ---- heap calls for blocks that lived within a pause ------------------------------------- */

/* Marks the calls to drop. A block that is resized, or that is freed by a reset of its heap, is
 * kept. */
static bool find_dropped(mv_arena *scratch, const mv_heap_calls *c, const mv_pauses *pauses,
                         mv_bitmap *dropped)
{
    mv_map alive = {.arena = scratch}; /* by address: row of the alloc + 1; 0: the block is kept */

    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t born = mv_map_find(&alive, c->addr[i]), pause;
        if (c->action[i] == MV_HEAP_FREE && born != MV_NOT_IN_MAP && born > 0) {
            pause = mv_pause_at(pauses, c->time_us[i]);
            if (pause != MV_NO_ROW && pause == mv_pause_at(pauses, c->time_us[born - 1])) {
                mv_bitmap_set(dropped, born - 1);
                mv_bitmap_set(dropped, i);
            }
        }
        if (!mv_map_put(&alive, c->addr[i], c->action[i] == MV_HEAP_ALLOC ? i + 1 : 0))
            return false;
    }
    return true;
}

static bool copy(mv_arena *arena, const mv_heap_calls *from, const mv_bitmap *dropped,
                 mv_heap_calls *to)
{
    uint32_t rows = 0;

    for (uint32_t i = 0; i < from->count; i++)
        rows += !mv_bitmap_has(dropped, i);
    if (!mv_table_copy(arena, mv_table_find(MV_WIRE_HEAP_CALLS), &(mv_heap_calls){0}, rows, to))
        return false;
    for (uint32_t i = 0; i < from->count; i++) {
        if (mv_bitmap_has(dropped, i))
            continue;
#define COPY(T, number, name, kind, ...) to->name[to->count] = from->name[i];
        MV_HEAP_CALL_COLUMNS(COPY, )
#undef COPY
        to->count++;
    }
    return true;
}

/* Replaces trace->heap_calls by calls allocated in `arena`. *left_out is set to the number of
 * removed calls. O(n). Fails only when out of memory. */
static mv_code drop_paused_heap_calls(mv_arena *arena, mv_trace *trace, const mv_pauses *pauses,
                                      uint64_t *left_out, mv_err *err)
{
    mv_heap_calls thinned;
    mv_bitmap dropped;
    mv_arena scratch;
    bool fits;

    *left_out = 0;
    if (trace->heap_calls.count == 0)
        return MV_OK;
    mv_arena_init(&scratch, arena->budget);
    fits = mv_bitmap_init(&scratch, trace->heap_calls.count, &dropped) &&
           find_dropped(&scratch, &trace->heap_calls, pauses, &dropped) &&
           copy(arena, &trace->heap_calls, &dropped, &thinned);
    mv_arena_release(&scratch);
    if (!fits)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "heap calls");
    *left_out = trace->heap_calls.count - thinned.count;
    trace->heap_calls = thinned;
    return MV_OK;
}

enum {
    WEIGHT_BITS = 17, /* number of bits taken from a float: the exponent and the first bits of
                       * the fraction, which give a precision of 1/512 */
    WEIGHTS = 1 << WEIGHT_BITS,
    TRIES = 4,
    PIECE = 1 << 15, /* number of rows or events in a piece of a pass; whole words of a bitmap */
    TALLIES = 16     /* maximum number of threads that count costs */
};

/* One device. */
typedef struct {
    mv_arena *work;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_pauses *pauses; /* only blocks within these pauses are removed; NULL: blocks are
                              * removed by weight */
    uint32_t moments;
    uint32_t *moment;        /* [moments] events after which all living blocks are kept,
                              * ascending */
    mv_bitmap stays;         /* rows of lives that must be kept */
    mv_bitmap kept;          /* rows in `stays`, and further rows within the limit */
    uint32_t least;          /* all other rows with this weight and above are within the limit */
    mv_bitmap lightest;      /* rows with the next lower weight; some are kept */
    uint32_t pairs;          /* number of pairs, which are sorted by `below` */
    uint32_t *below, *above; /* [pairs] rows: if the lower row is kept, the row above it is kept,
                              * too */
    uint64_t *cost;          /* [WEIGHTS] number of events of rows with this weight */
    mv_bitmap *events;       /* events that are kept */
} thinning;

/* Calls `piece` for each piece of `count` rows, on several threads. */
static void for_pieces(uint32_t count, void (*piece)(void *user, uint32_t i), void *user)
{
    mv_parallel_for(count / PIECE + (count % PIECE > 0), 0, piece, user);
}

static uint32_t end_of_piece(uint32_t i, uint32_t count)
{
    return count / PIECE > i ? (i + 1) * PIECE : count;
}

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "a thinner trace");
}

/* Returns the block of an event; MV_NO_ROW for an event that must be kept. */
static uint32_t row_at(const thinning *t, uint32_t event)
{
    uint32_t row = t->lives->alloc_of[event];

    if (row == MV_NO_ROW || mv_is_segment_action(t->lives->events.action[event]) ||
        mv_bitmap_has(&t->stays, row))
        return MV_NO_ROW;
    return row;
}

/* ---- rows to keep ------------------------------------------------------------------------ */

static void add_peak(thinning *t, const mv_peak *peak)
{
    t->moment[t->moments++] = peak->allocated_event;
    t->moment[t->moments++] = peak->active_event;
    t->moment[t->moments++] = peak->requested_event;
    t->moment[t->moments++] = peak->reserved_event;
}

static mv_code find_moments(thinning *t, mv_err *err)
{
    const mv_events *e = &t->lives->events;
    uint32_t failures = 0;
    mv_totals totals;

    if (mv_totals_find(t->work, t->trace, t->lives, &totals, err) != MV_OK)
        return err->code;
    for (uint32_t i = mv_next_action(e, 0, MV_ACTION_OOM); i < e->count;
         i = mv_next_action(e, i + 1, MV_ACTION_OOM))
        failures++;
    t->moment = mv_push_array(t->work, uint32_t, 4 * (3 + totals.pool_count) + failures);
    if (!t->moment)
        return no_memory(err);
    add_peak(t, &totals.peak);
    add_peak(t, &totals.kinds[0].peak);
    add_peak(t, &totals.kinds[1].peak);
    for (uint32_t i = 0; i < totals.pool_count; i++)
        add_peak(t, &totals.pools[i].peak);
    for (uint32_t i = mv_next_action(e, 0, MV_ACTION_OOM); i < e->count;
         i = mv_next_action(e, i + 1, MV_ACTION_OOM))
        t->moment[t->moments++] = i;
    mv_sort_rows(t->work, t->moment, t->moments, MV_RISING_VALUES(uint32_t));
    return MV_OK;
}

static bool is_at_a_moment(const thinning *t, uint32_t birth, uint32_t end)
{
    uint64_t low = mv_lower_bound_u32(t->moment, t->moments, birth);

    return low < t->moments && t->moment[low] < end;
}

/* Whether a row begins and ends with its own events. */
static bool is_whole(const mv_lives *lives, uint32_t row)
{
    const mv_alloc_lives *a = &lives->allocs;

    return a->birth[row] != MV_BEFORE && a->completed[row] != MV_NEVER &&
           a->freed[row] != MV_NEVER && lives->alloc_of[a->birth[row]] == row &&
           lives->alloc_of[a->freed[row]] == row && lives->alloc_of[a->completed[row]] == row;
}

static bool is_in_pause(const thinning *t, uint32_t row)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    const int64_t *time_us = t->lives->events.time_us;
    uint32_t pause = mv_pause_at(t->pauses, time_us[a->birth[row]]);

    return pause != MV_NO_ROW && pause == mv_pause_at(t->pauses, time_us[a->completed[row]]);
}

static bool is_needed(const thinning *t, uint32_t row)
{
    const mv_alloc_lives *a = &t->lives->allocs;

    if (!is_whole(t->lives, row))
        return true;
    return t->pauses ? !is_in_pause(t, row) : is_at_a_moment(t, a->birth[row], a->completed[row]);
}

static void mark_piece(void *user, uint32_t piece)
{
    thinning *t = user;
    uint32_t end = end_of_piece(piece, t->lives->allocs.count);

    for (uint32_t i = piece * PIECE; i < end; i++)
        if (is_needed(t, i))
            mv_bitmap_set(&t->stays, i);
}

static bool mark_what_stays(thinning *t)
{
    uint32_t rows = t->lives->allocs.count;

    if (!mv_bitmap_init(t->work, rows, &t->stays) || !mv_bitmap_init(t->work, rows, &t->kept) ||
        !mv_bitmap_init(t->work, rows, &t->lightest))
        return false;
    for_pieces(rows, mark_piece, t);
    return true;
}

/* ---- blocks larger than needed ----------------------------------------------------------- */

/* Returns the end of a block that was also given the free bytes left over behind it; 0 for other
 * blocks. */
static uint64_t end_with_rest(const thinning *t, const mv_block_rules *rules, uint32_t row)
{
    const mv_alloc_lives *a = &t->lives->allocs;

    if (a->birth[row] == MV_BEFORE || a->block[row] <= mv_round_request(rules, a->requested[row]))
        return 0;
    return a->addr[row] + a->block[row];
}

typedef struct {
    const thinning *t;
    mv_block_rules rules;
    mv_map latest;       /* by address where such a block ends: row of the latest block born there
                          * + 1 */
    mv_bitmap with_rest; /* such blocks */
    mv_bitmap above;     /* blocks that are born at such an address */
} pair_search;

static void find_with_rest(void *user, uint32_t piece)
{
    pair_search *s = user;
    uint32_t end = end_of_piece(piece, s->t->lives->allocs.count);

    for (uint32_t i = piece * PIECE; i < end; i++)
        if (end_with_rest(s->t, &s->rules, i) > 0)
            mv_bitmap_set(&s->with_rest, i);
}

static void find_above(void *user, uint32_t piece)
{
    pair_search *s = user;
    const mv_alloc_lives *a = &s->t->lives->allocs;
    uint32_t end = end_of_piece(piece, a->count);

    for (uint32_t i = piece * PIECE; i < end; i++)
        if (mv_map_find(&s->latest, a->addr[i]) != MV_NOT_IN_MAP)
            mv_bitmap_set(&s->above, i);
}

/* Puts the ends of the blocks with left-over bytes into the map, and counts the blocks. */
static bool map_ends(pair_search *s, uint32_t *count)
{
    uint32_t rows = s->t->lives->allocs.count;

    *count = 0;
    for (uint32_t i = mv_bitmap_next(&s->with_rest, 0, rows); i < rows;
         i = mv_bitmap_next(&s->with_rest, i + 1, rows), ++*count)
        if (!mv_map_put(&s->latest, end_with_rest(s->t, &s->rules, i), 0))
            return false;
    return true;
}

static void add_pairs(thinning *t, pair_search *s)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    uint32_t with_rest = mv_bitmap_next(&s->with_rest, 0, a->count);
    uint32_t above = mv_bitmap_next(&s->above, 0, a->count);

    while (with_rest < a->count) {
        if (with_rest <= above) {
            uint32_t row = mv_map_find(&s->latest, end_with_rest(t, &s->rules, with_rest));
            if (row > 0 && a->completed[row - 1] > a->birth[with_rest]) {
                t->below[t->pairs] = with_rest;
                t->above[t->pairs++] = row - 1;
            }
            with_rest = mv_bitmap_next(&s->with_rest, with_rest + 1, a->count);
        } else {
            mv_map_put(&s->latest, a->addr[above], above + 1);
            above = mv_bitmap_next(&s->above, above + 1, a->count);
        }
    }
}

/* Finds pairs of a block with such left-over bytes and the block directly above it at that time. */
static bool find_pairs(thinning *t)
{
    pair_search s = {.t = t, .rules = mv_block_rules_of(t->trace), .latest = {.arena = t->work}};
    uint32_t rows = t->lives->allocs.count, most;

    if (!mv_bitmap_init(t->work, rows, &s.with_rest) || !mv_bitmap_init(t->work, rows, &s.above))
        return false;
    for_pieces(rows, find_with_rest, &s);
    if (!map_ends(&s, &most))
        return false;
    if (most == 0)
        return true;
    t->below = mv_push_array(t->work, uint32_t, most);
    t->above = mv_push_array(t->work, uint32_t, most);
    if (!t->below || !t->above)
        return false;
    for_pieces(rows, find_above, &s);
    add_pairs(t, &s);
    return true;
}

/* Keeps the upper row of each pair whose lower row is kept. Upper rows were born earlier, so one
 * backward pass finds all of them. */
static void keep_above(const thinning *t, mv_bitmap *rows)
{
    for (uint32_t i = t->pairs; i-- > 0;)
        if (mv_bitmap_has(rows, t->below[i]))
            mv_bitmap_set(rows, t->above[i]);
}

/* ---- rows within the limit ---------------------------------------------------------------- */

static uint32_t weight_of(const mv_alloc_lives *a, uint32_t row)
{
    float weight = (float)a->block[row] * (float)(a->freed[row] - a->birth[row]);
    uint32_t bits;

    memcpy(&bits, &weight, sizeof bits);
    return bits >> (31 - WEIGHT_BITS);
}

typedef struct {
    const thinning *t;
    uint32_t count;
    uint64_t *cost[TALLIES]; /* [count][WEIGHTS] */
} cost_tallies;

static void tally_costs(void *user, uint32_t tally)
{
    const cost_tallies *c = user;
    const mv_lives *lives = c->t->lives;
    uint64_t events = lives->events.count, end = events * (tally + 1) / c->count;

    for (uint64_t i = events * tally / c->count; i < end; i++) {
        uint32_t row = row_at(c->t, (uint32_t)i);
        if (row != MV_NO_ROW)
            c->cost[tally][weight_of(&lives->allocs, row)]++;
    }
}

/* Counts the events of all rows with each weight. */
static bool count_costs(thinning *t)
{
    cost_tallies c = {t, mv_parallel_for_threads(TALLIES, 0), {0}};

    for (uint32_t i = 0; i < c.count; i++)
        if (!(c.cost[i] = mv_push_array(t->work, uint64_t, WEIGHTS)))
            return false;
    mv_parallel_for(c.count, 0, tally_costs, &c);
    t->cost = c.cost[0];
    for (uint32_t i = 1; i < c.count; i++)
        for (uint32_t k = 0; k < WEIGHTS; k++)
            t->cost[k] += c.cost[i][k];
    return true;
}

/* Keeps the rows whose weight is above the lowest kept weight. */
static void keep_heavy_piece(void *user, uint32_t piece)
{
    thinning *t = user;
    const mv_alloc_lives *a = &t->lives->allocs;
    uint32_t end = end_of_piece(piece, a->count);

    for (uint32_t first = piece * PIECE; first < end; first += 64) {
        uint64_t stays = t->stays.word[first / 64], heavy = 0, last = 0;
        for (uint32_t i = first; i < end && i < first + 64; i++) {
            uint32_t weight = stays >> (i - first) & 1 ? 0 : weight_of(a, i) + 1;
            heavy |= (uint64_t)(weight > t->least) << (i - first);
            last |= (uint64_t)(weight == t->least && weight > 0) << (i - first);
        }
        t->kept.word[first / 64] = stays | heavy;
        t->lightest.word[first / 64] = last;
    }
}

/* Keeps the heaviest rows within `room` events. Of the rows with the lowest kept weight, keeps
 * those that were born first. */
static void keep_heaviest(thinning *t, uint64_t room)
{
    const mv_alloc_lives *a = &t->lives->allocs;

    for (t->least = WEIGHTS; t->least > 0 && t->cost[t->least - 1] <= room;)
        room -= t->cost[--t->least];
    for_pieces(a->count, keep_heavy_piece, t);
    for (uint32_t i = mv_bitmap_next(&t->lightest, 0, a->count); i < a->count && room > 1;
         i = mv_bitmap_next(&t->lightest, i + 1, a->count)) {
        uint32_t events = a->freed[i] == a->completed[i] ? 2 : 3;
        if (events > room)
            continue;
        room -= events;
        mv_bitmap_set(&t->kept, i);
    }
    keep_above(t, &t->kept);
}

static void keep_piece(void *user, uint32_t piece)
{
    thinning *t = user;
    uint64_t end = end_of_piece(piece, t->lives->events.count);

    for (uint64_t first = (uint64_t)piece * PIECE; first < end; first += 64) {
        uint64_t word = 0;
        for (uint64_t i = first; i < end && i < first + 64; i++) {
            uint32_t row = row_at(t, (uint32_t)i);
            word |= (uint64_t)(row == MV_NO_ROW || mv_bitmap_has(&t->kept, row)) << (i - first);
        }
        t->events->word[first / 64] = word;
    }
}

/* Finds the events that are kept, and returns their number. */
static uint64_t keep_events(thinning *t)
{
    for_pieces(t->lives->events.count, keep_piece, t);
    mv_bitmap_tally(t->events);
    return mv_bitmap_below(t->events, t->lives->events.count);
}

/* Chooses the rows and events to keep. If the blocks above kept blocks exceed the limit, fewer other
 * blocks are kept. */
static void choose(thinning *t, uint64_t most)
{
    uint64_t fixed = t->lives->events.count, room;

    for (uint32_t i = 0; i < WEIGHTS; i++)
        fixed -= t->cost[i];
    room = most > fixed ? most - fixed : 0;
    for (int i = 0; i < TRIES; i++) {
        uint64_t count, over;
        keep_heaviest(t, room);
        count = keep_events(t);
        if (count <= most || room == 0)
            return;
        over = count - most;
        room -= over < room ? over : room;
    }
}

/* The blocks to remove: those within pauses, or enough to stay within a maximum of events. */
typedef struct {
    const mv_pauses *pauses;
    uint64_t most, all; /* number of events of all devices: maximum, and before thinning */
} thin_ask;

static uint64_t share_of(const thin_ask *ask, uint32_t events)
{
    return ask->pauses ? 0 : (uint64_t)((double)ask->most * events / (double)ask->all);
}

/* ---- the thinner trace ------------------------------------------------------------------- */

/* The bytes of removed blocks in a piece of the events: the highest sum at any moment, and the sum at
 * its end. Both are relative to the bytes that are missing at its beginning, modulo 2^64. */
typedef struct {
    uint64_t most, at_end;
} lack;

typedef struct {
    const thinning *t;
    lack *pieces;
} lacks;

static uint64_t higher(uint64_t a, uint64_t b)
{
    return (int64_t)a > (int64_t)b ? a : b;
}

static void find_lack(void *user, uint32_t piece)
{
    const lacks *l = user;
    const mv_alloc_lives *a = &l->t->lives->allocs;
    uint32_t end = end_of_piece(piece, l->t->lives->events.count);
    lack now = {0};

    for (uint32_t i = piece * PIECE; i < end; i++) {
        uint32_t row = l->t->lives->alloc_of[i];
        if (mv_bitmap_has(l->t->events, i))
            continue;
        if (a->birth[row] == i)
            now.at_end += a->block[row];
        else if (a->freed[row] == i)
            now.at_end -= a->block[row];
        now.most = higher(now.most, now.at_end);
    }
    l->pieces[piece] = now;
}

/* Finds the largest number of bytes missing at any moment. */
static bool find_most_missing(const thinning *t, uint64_t *most)
{
    uint32_t count = t->lives->events.count, pieces = count / PIECE + 1;
    lacks l = {t, mv_push_array(t->work, lack, pieces)};
    uint64_t now = 0, highest = 0;

    if (!l.pieces)
        return false;
    for_pieces(count, find_lack, &l);
    for (uint32_t i = 0; i < pieces; i++) {
        highest = higher(highest, now + l.pieces[i].most);
        now += l.pieces[i].at_end;
    }
    *most = highest > *most ? highest : *most;
    return true;
}

bool mv_kept_events_push(mv_arena *arena, const mv_bitmap *kept, mv_events *out)
{
    uint32_t count = mv_bitmap_below(kept, kept->count);
    bool fits = mv_table_copy(arena, mv_table_find(MV_WIRE_EVENTS), &(mv_events){0}, count, out);

    out->count = count;
    return fits;
}

void mv_kept_events_copy(const mv_bitmap *kept, uint32_t first, uint32_t end, const mv_events *from,
                         uint32_t row, mv_events *to)
{
    uint32_t as = mv_bitmap_below(kept, first);

    for (uint32_t i = mv_bitmap_next(kept, first, end); i < end;
         i = mv_bitmap_next(kept, i + 1, end), as++) {
#define COPY(T, number, name, kind, ...) to->name[as] = from->name[row + (i - first)];
        MV_EVENT_COLUMNS(COPY, )
#undef COPY
    }
}

typedef struct {
    const mv_events *from;
    const mv_bitmap *kept;
    mv_events *to;
} copying;

static void copy_piece(void *user, uint32_t piece)
{
    const copying *c = user;
    uint32_t first = piece * PIECE;

    mv_kept_events_copy(c->kept, first, end_of_piece(piece, c->from->count), c->from, first, c->to);
}

static bool copy_events(mv_arena *arena, const mv_events *from, const mv_bitmap *kept,
                        mv_events *to)
{
    copying c = {from, kept, to};

    if (!mv_kept_events_push(arena, kept, to))
        return false;
    for_pieces(from->count, copy_piece, &c);
    return true;
}

/* Thins the events of one device. Everything that is temporary is allocated in `work`. */
static mv_code thin_events(mv_arena *arena, mv_arena *work, const mv_trace *trace,
                           const mv_lives *lives, const thin_ask *ask, mv_thinned *out, mv_err *err)
{
    mv_bitmap *kept = &out->kept[lives->device];
    mv_events *events = &out->trace.devices[lives->device].events;
    thinning t = {
        .work = work, .trace = trace, .lives = lives, .pauses = ask->pauses, .events = kept};

    if (!mv_bitmap_init(arena, lives->events.count, kept))
        return no_memory(err);
    if (!t.pauses && find_moments(&t, err) != MV_OK)
        return err->code;
    if (!mark_what_stays(&t) || !find_pairs(&t))
        return no_memory(err);
    keep_above(&t, &t.stays);
    if (!count_costs(&t))
        return no_memory(err);
    choose(&t, share_of(ask, lives->events.count));
    if (!find_most_missing(&t, &out->most_bytes))
        return no_memory(err);
    if (out->has_no_columns)
        *events = (mv_events){.count = mv_bitmap_below(kept, lives->events.count)};
    else if (!copy_events(arena, &lives->events, kept, events))
        return no_memory(err);
    out->left_out += lives->events.count - events->count;
    return MV_OK;
}

uint64_t mv_events_of_all(const mv_trace *trace)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        count += trace->devices[i].events.count;
    return count;
}

/* Adjusts CUDA calls, each of which records the number of events before it. */
static bool move_calls(mv_arena *arena, mv_thinned *out)
{
    mv_api_calls *c = &out->trace.api_calls;
    const uint32_t *old = c->event;

    if (c->count == 0)
        return true;
    c->event = mv_push_array(arena, uint32_t, c->count);
    for (uint32_t i = 0; c->event && i < c->count; i++)
        c->event[i] = c->device[i] < 0 || (uint32_t)c->device[i] >= out->trace.device_count
                          ? old[i]
                          : mv_thinned_before(out, (uint32_t)c->device[i], old[i]);
    return c->event;
}

static const char *where_of(const mv_pauses *pauses)
{
    if (!pauses)
        return "";
    return pauses->pauses[pauses->count - 1].to_us == INT64_MAX ? MV_PAUSED_TO_THE_END
                                                                : " in pauses";
}

static void add_note(const thin_ask *ask, mv_thinned *out)
{
    mv_note *note = &out->trace.notes[MV_NOTE_THINNED];
    char text[sizeof note->first], size[MV_SIZE_TEXT];
    int length = snprintf(text, sizeof text, "allocated bytes%s are lower by up to %s",
                          where_of(ask->pauses), mv_size_text(size, out->most_bytes));

    if (out->left_out == 0)
        return;
    note->count += out->left_out;
    mv_note_describe(note, text, (uint64_t)length);
}

static mv_code begin(mv_arena *arena, const mv_trace *trace, mv_thinned *out, mv_err *err)
{
    out->trace.devices = mv_push_array(arena, mv_device, trace->device_count);
    out->kept = mv_push_array(arena, mv_bitmap, trace->device_count);
    return out->trace.devices && out->kept ? MV_OK : no_memory(err);
}

static mv_code thin_device(mv_arena *arena, const mv_trace *trace, uint32_t device,
                           const mv_lives *lives, const thin_ask *ask, mv_thinned *out, mv_err *err)
{
    mv_lives own;
    mv_arena work;

    mv_arena_init(&work, arena->budget);
    if (lives || mv_lives_find(&work, trace, device, &own, err) == MV_OK)
        thin_events(arena, &work, trace, lives ? lives : &own, ask, out, err);
    mv_arena_release(&work);
    return err->code;
}

/* Thins the devices that are not thinned yet. */
static mv_code end(mv_arena *arena, const mv_trace *trace, const thin_ask *ask, mv_thinned *out,
                   mv_err *err)
{
    for (uint32_t i = 0; i < trace->device_count; i++) {
        if (trace->devices[i].events.count == 0 && !mv_bitmap_init(arena, 0, &out->kept[i]))
            return no_memory(err);
        if (!out->kept[i].word && thin_device(arena, trace, i, NULL, ask, out, err) != MV_OK)
            return err->code;
    }
    return move_calls(arena, out) ? MV_OK : no_memory(err);
}

mv_code mv_downsample_begin(mv_arena *arena, const mv_trace *trace, uint64_t most_events,
                            mv_thinned *out, mv_err *err)
{
    *out = (mv_thinned){.trace = *trace, .most_events = most_events};
    return mv_events_of_all(trace) > most_events ? begin(arena, trace, out, err) : MV_OK;
}

mv_code mv_downsample_device(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             mv_thinned *out, mv_err *err)
{
    thin_ask ask = {.most = out->most_events, .all = mv_events_of_all(trace)};

    if (!out->kept || lives->events.count == 0)
        return MV_OK;
    return thin_device(arena, trace, lives->device, lives, &ask, out, err);
}

mv_code mv_downsample_end(mv_arena *arena, const mv_trace *trace, mv_thinned *out, mv_err *err)
{
    thin_ask ask = {.most = out->most_events, .all = mv_events_of_all(trace)};

    if (out->kept && end(arena, trace, &ask, out, err) == MV_OK)
        add_note(&ask, out);
    return err->code;
}

mv_code mv_trace_downsample(mv_arena *arena, const mv_trace *trace, uint64_t most_events,
                            mv_thinned *out, mv_err *err)
{
    if (mv_downsample_begin(arena, trace, most_events, out, err) != MV_OK)
        return err->code;
    return mv_downsample_end(arena, trace, out, err);
}

mv_code mv_thin_pauses(mv_arena *arena, const mv_trace *trace, const mv_pauses *pauses,
                       mv_thinned *out, mv_err *err)
{
    thin_ask ask = {.pauses = pauses};
    uint64_t calls;

    *out = (mv_thinned){.trace = *trace};
    if (pauses->count == 0 || begin(arena, trace, out, err) != MV_OK ||
        end(arena, trace, &ask, out, err) != MV_OK)
        return err->code;
    if (drop_paused_heap_calls(arena, &out->trace, pauses, &calls, err) == MV_OK) {
        out->left_out += calls;
        add_note(&ask, out);
    }
    return err->code;
}

const char *mv_thinned_text(mv_arena *arena, const mv_thinned *thinned)
{
    uint64_t kept = mv_events_of_all(&thinned->trace);
    char size[MV_SIZE_TEXT], missing[MV_COUNT_TEXT], all[MV_COUNT_TEXT];

    if (thinned->left_out == 0)
        return NULL;
    return mv_arena_printf(arena,
                           "%s of %s events were removed, of small or short-lived blocks: "
                           "allocated bytes are lower by up to %s, and no peak is lower",
                           mv_count_text(missing, thinned->left_out),
                           mv_count_text(all, thinned->left_out + kept),
                           mv_size_text(size, thinned->most_bytes));
}

uint32_t mv_thinned_before(const mv_thinned *thinned, uint32_t device, uint32_t event)
{
    const mv_bitmap *kept = thinned->kept ? &thinned->kept[device] : NULL;

    if (!kept)
        return event;
    return mv_bitmap_below(kept, event < kept->count ? event : kept->count);
}
