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
    bool is_whole = true;
    uint32_t row = 0;

    for (uint32_t i = 0; i < from->count; i++)
        to->count += !mv_bitmap_has(dropped, i);
#define PUSH(T, number, name, kind, ...)                            \
    to->name = mv_push_array(arena, mv_value_of_##kind, to->count); \
    is_whole = is_whole && to->name;
    MV_HEAP_CALL_COLUMNS(PUSH, )
#undef PUSH
    for (uint32_t i = 0; is_whole && i < from->count; i++) {
        if (mv_bitmap_has(dropped, i))
            continue;
#define COPY(T, number, name, kind, ...) to->name[row] = from->name[i];
        MV_HEAP_CALL_COLUMNS(COPY, )
#undef COPY
        row++;
    }
    return is_whole;
}

/* Replaces trace->heap_calls by calls allocated in `arena`. *left_out is set to the number of
 * removed calls. O(n). Fails only when out of memory. */
static mv_code drop_paused_heap_calls(mv_arena *arena, mv_trace *trace, const mv_pauses *pauses,
                                      uint64_t *left_out, mv_err *err)
{
    mv_heap_calls thinned = {0};
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

static int by_number(const void *left, const void *right, const void *context)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    (void)context;
    return (a > b) - (a < b);
}

static mv_code find_moments(thinning *t, mv_err *err)
{
    const mv_events *e = &t->lives->events;
    mv_totals totals;
    uint32_t failures = 0;

    if (mv_totals_find(t->work, t->trace, t->lives, &totals, err) != MV_OK)
        return err->code;
    for (uint32_t i = 0; i < e->count; i++)
        failures += e->action[i] == MV_ACTION_OOM;
    t->moment = mv_push_array(t->work, uint32_t, 4 * (3 + totals.pool_count) + failures);
    if (!t->moment)
        return no_memory(err);
    add_peak(t, &totals.peak);
    add_peak(t, &totals.kinds[0].peak);
    add_peak(t, &totals.kinds[1].peak);
    for (uint32_t i = 0; i < totals.pool_count; i++)
        add_peak(t, &totals.pools[i].peak);
    for (uint32_t i = 0; i < e->count; i++)
        if (e->action[i] == MV_ACTION_OOM)
            t->moment[t->moments++] = i;
    mv_sort_by(t->work, t->moment, t->moments, sizeof *t->moment, by_number, NULL);
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

/* Whether a row began and ended in the same pause. */
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

    if (!mv_bitmap_init(t->work, rows, &t->stays) || !mv_bitmap_init(t->work, rows, &t->kept))
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

/* Finds pairs of a block with such left-over bytes and the block directly above it at that time. */
static bool find_pairs(thinning *t)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    mv_block_rules rules = mv_block_rules_of(t->trace);
    mv_map latest = {.arena = t->work}; /* by address: row of the latest block born there + 1 */
    uint32_t most = 0, row;
    uint64_t end;

    for (row = 0; row < a->count; row++)
        if ((end = end_with_rest(t, &rules, row)) > 0) {
            if (!mv_map_put(&latest, end, 0))
                return false;
            most++;
        }
    t->below = mv_push_array(t->work, uint32_t, most);
    t->above = mv_push_array(t->work, uint32_t, most);
    if (most > 0 && (!t->below || !t->above))
        return false;
    for (row = 0; most > 0 && row < a->count; row++) {
        end = end_with_rest(t, &rules, row);
        if (end > 0) {
            uint32_t above = mv_map_find(&latest, end);
            if (above > 0 && a->completed[above - 1] > a->birth[row]) {
                t->below[t->pairs] = row;
                t->above[t->pairs++] = above - 1;
            }
        }
        if (mv_map_find(&latest, a->addr[row]) != MV_NOT_IN_MAP)
            mv_map_put(&latest, a->addr[row], row + 1);
    }
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

/* Keeps the heaviest rows within `room` events. Of the rows with the lowest kept weight, keeps
 * those that were born first. */
static void keep_heaviest(thinning *t, uint64_t room)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    uint32_t least = WEIGHTS;

    memcpy(t->kept.word, t->stays.word, (a->count / 64 + (a->count % 64 > 0)) * sizeof(uint64_t));
    while (least > 0 && t->cost[least - 1] <= room)
        room -= t->cost[--least];
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t weight, events = a->freed[i] == a->completed[i] ? 2 : 3;
        if (mv_bitmap_has(&t->stays, i))
            continue;
        weight = weight_of(a, i);
        if (weight < least && (weight + 1 < least || events > room))
            continue;
        room -= weight < least ? events : 0;
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

/* What to remove: blocks within pauses, or events beyond a maximum. */
typedef struct {
    const mv_pauses *pauses;
    uint64_t most, all; /* number of events of all devices: maximum, and before thinning */
} thin_ask;

static uint64_t share_of(const thin_ask *ask, uint32_t events)
{
    return ask->pauses ? 0 : (uint64_t)((double)ask->most * events / (double)ask->all);
}

/* ---- the thinner trace ------------------------------------------------------------------- */

/* The bytes that a piece of the events lacks: the highest sum at any moment, and the sum at its
 * end. Both are relative to the bytes that are missing at its beginning, modulo 2^64. */
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

static bool push_events(mv_arena *arena, uint32_t count, mv_events *out)
{
    bool is_whole_table = true;

    *out = (mv_events){.count = count};
#define PUSH(T, number, name, kind, ...)                         \
    out->name = mv_push_array(arena, mv_value_of_##kind, count); \
    is_whole_table = is_whole_table && out->name;
    MV_EVENT_COLUMNS(PUSH, )
#undef PUSH
    return is_whole_table;
}

static bool copy_events(mv_arena *arena, const mv_events *from, const mv_bitmap *kept,
                        mv_events *to)
{
    uint32_t row = 0;

    if (!push_events(arena, mv_bitmap_below(kept, from->count), to))
        return false;
    for (uint32_t i = 0; i < from->count; i++) {
        if (!mv_bitmap_has(kept, i))
            continue;
#define COPY(T, number, name, kind, ...) to->name[row] = from->name[i];
        MV_EVENT_COLUMNS(COPY, )
#undef COPY
        row++;
    }
    return true;
}

static mv_code thin_device(mv_arena *arena, mv_arena *work, const mv_trace *trace, uint32_t device,
                           const thin_ask *ask, mv_thinned *out, mv_err *err)
{
    mv_bitmap *kept = &out->kept[device];
    mv_events *events = &out->trace.devices[device].events;
    thinning t = {.work = work, .trace = trace, .pauses = ask->pauses, .events = kept};
    mv_lives lives;

    if (mv_lives_find(work, trace, device, &lives, err) != MV_OK)
        return err->code;
    t.lives = &lives;
    if (!t.pauses && find_moments(&t, err) != MV_OK)
        return err->code;
    if (!mark_what_stays(&t) || !find_pairs(&t))
        return no_memory(err);
    keep_above(&t, &t.stays);
    if (!count_costs(&t))
        return no_memory(err);
    choose(&t, share_of(ask, lives.events.count));
    if (!find_most_missing(&t, &out->most_bytes))
        return no_memory(err);
    return copy_events(arena, &lives.events, kept, events) ? MV_OK : no_memory(err);
}

static uint64_t count_events(const mv_trace *trace)
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

static mv_code thin(mv_arena *arena, const mv_trace *trace, const thin_ask *ask, mv_thinned *out,
                    mv_err *err)
{
    out->trace.devices = mv_push_array(arena, mv_device, trace->device_count);
    out->kept = mv_push_array(arena, mv_bitmap, trace->device_count);
    if (!out->trace.devices || !out->kept)
        return no_memory(err);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t events = trace->devices[i].events.count;
        mv_arena work;
        if (!mv_bitmap_init(arena, events, &out->kept[i]))
            return no_memory(err);
        mv_arena_init(&work, arena->budget);
        if (events > 0)
            thin_device(arena, &work, trace, i, ask, out, err);
        mv_arena_release(&work);
        if (err->code != MV_OK)
            return err->code;
        out->left_out += events - out->trace.devices[i].events.count;
    }
    return move_calls(arena, out) ? MV_OK : no_memory(err);
}

mv_code mv_trace_downsample(mv_arena *arena, const mv_trace *trace, uint64_t most_events,
                            mv_thinned *out, mv_err *err)
{
    thin_ask ask = {.most = most_events, .all = count_events(trace)};

    *out = (mv_thinned){.trace = *trace};
    if (ask.all > most_events && thin(arena, trace, &ask, out, err) == MV_OK)
        add_note(&ask, out);
    return err->code;
}

mv_code mv_thin_pauses(mv_arena *arena, const mv_trace *trace, const mv_pauses *pauses,
                       mv_thinned *out, mv_err *err)
{
    thin_ask ask = {.pauses = pauses};
    uint64_t calls;

    *out = (mv_thinned){.trace = *trace};
    if (pauses->count == 0 || thin(arena, trace, &ask, out, err) != MV_OK)
        return err->code;
    if (drop_paused_heap_calls(arena, &out->trace, pauses, &calls, err) == MV_OK) {
        out->left_out += calls;
        add_note(&ask, out);
    }
    return err->code;
}

const char *mv_thinned_text(mv_arena *arena, const mv_thinned *thinned)
{
    uint64_t kept = count_events(&thinned->trace);
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
