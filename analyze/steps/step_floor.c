#include "analyze/steps/step_floor.h"

#include <stdlib.h>

#include "analyze/steps/level_line.h"
#include "base/parallel_for.h"
#include "base/sort.h"

/* The floor can rise only if there are at least LEAST_BINS bins. If there are fewer than FEW_BINS,
 * the floor must never fall. */
#define LEAST_BINS 4
#define FEW_BINS   12

/* The number of parts, and the number of bins that each part needs. By chance, each of RISING_PARTS
 * parts is higher than the previous one only once in 720 times; with one pair out of order, 6 times
 * in 720. */
#define RISING_PARTS 6
#define PART_BINS    3

/* The beginning of a run, in which requests fill the server, is skipped if twice as many bins
 * remain. */
#define FILLED_BINS (2 * RISING_PARTS * PART_BINS)

/* A run without steps shows something only if it has at least this many events. */
#define LEAST_EVENTS 100

/* The last two thirds of a run without steps are divided into this many parts, half of them in each
 * third. A line that allocates in every part was repeated several times within each third. */
#define PARTS 8

static void take(mv_floor *out, uint32_t bin, int64_t level, uint32_t moment)
{
    uint64_t bytes = level > 0 ? (uint64_t)level : 0;

    if (bytes < out->least[bin]) {
        out->least[bin] = bytes;
        out->moment[bin] = moment;
    }
    if (bytes > out->most[bin])
        out->most[bin] = bytes;
}

/* The floor within one part of the events, in the bin in which the part begins. Later bins of the
 * part begin in it, and are stored directly. */
typedef struct {
    uint32_t bin, moment;
    uint64_t least, most;
} part_floor;

typedef struct {
    const mv_level_line *line;
    const mv_steps *steps;
    mv_floor *out;
    part_floor parts[MV_LEVEL_PARTS];
} search;

/* Takes the levels after the events up to `end`, all of which are in the same bin. */
static mv_level_walk take_until(mv_level_walk w, uint32_t end, mv_floor *out, uint32_t bin)
{
    uint64_t least = out->least[bin], most = out->most[bin];
    uint32_t moment = out->moment[bin];

    while (w.event < end) {
        int64_t level = mv_level_walk_next(&w);
        uint64_t bytes = level > 0 ? (uint64_t)level : 0;
        if (bytes < least) {
            least = bytes;
            moment = w.event;
        }
        most = bytes > most ? bytes : most;
    }
    out->least[bin] = least;
    out->most[bin] = most;
    out->moment[bin] = moment;
    return w;
}

static void find_part(void *user, uint32_t part)
{
    search *s = user;
    const mv_steps *steps = s->steps;
    mv_level_walk w = mv_level_walk_at(s->line, part);
    uint32_t events = s->line->lives->events.count, first = w.event, bin;
    uint32_t end = part + 1 < s->line->parts ? (part + 1) << s->line->shift : events;
    part_floor *p = &s->parts[part];
    mv_floor own = {.least = &p->least, .most = &p->most, .moment = &p->moment};

    bin = first > 0 ? mv_steps_bin(steps, first - 1) : 0;
    *p = (part_floor){.bin = bin, .least = UINT64_MAX};
    while (w.event < end) {
        uint32_t next;
        while (bin < steps->count && steps->at[bin] <= w.event)
            take(s->out, ++bin, (int64_t)w.level, w.event);
        next = bin < steps->count && steps->at[bin] < end ? steps->at[bin] : end;
        w = bin == p->bin ? take_until(w, next, &own, 0) : take_until(w, next, s->out, bin);
    }
}

static void join_parts(search *s)
{
    const mv_level_line *line = s->line;
    mv_floor *out = s->out;
    uint32_t events = line->lives->events.count;

    take(out, 0, (int64_t)line->before[0], 0);
    for (uint32_t i = 0; i < line->parts; i++) {
        const part_floor *p = &s->parts[i];
        if (p->least < out->least[p->bin]) {
            out->least[p->bin] = p->least;
            out->moment[p->bin] = p->moment;
        }
        out->most[p->bin] = p->most > out->most[p->bin] ? p->most : out->most[p->bin];
    }
    for (uint32_t bin = events > 0 ? mv_steps_bin(s->steps, events - 1) : 0; bin < s->steps->count;)
        take(out, ++bin, (int64_t)line->before[line->parts], events);
}

/* Lists the allocations that are alive at a mark or at the moment of a floor. */
static bool find_lasting(mv_arena *arena, mv_arena *scratch, const mv_lives *lives,
                         const mv_steps *steps, mv_floor *out)
{
    uint32_t *moment = mv_push_array(scratch, uint32_t, 2 * (uint64_t)out->bins);
    uint32_t moments = steps->count + out->bins;

    for (uint32_t b = 0; moment && b < moments; b++)
        moment[b] = b < out->bins ? out->moment[b] : steps->at[b - out->bins];
    if (moment)
        mv_sort_rows(scratch, moment, moments, MV_RISING_VALUES(uint32_t));
    return moment && mv_lasting_find(arena, &lives->allocs, moment, moments, &out->lasting);
}

mv_code mv_floor_find(mv_arena *arena, const mv_lives *lives, const mv_steps *steps, mv_floor *out,
                      mv_err *err)
{
    mv_level_line line;
    mv_arena scratch;
    search s = {.line = &line, .steps = steps, .out = out};
    bool has_memory;

    *out = (mv_floor){.bins = steps->count + 1};
    out->least = mv_push_array(arena, uint64_t, out->bins);
    out->most = mv_push_array(arena, uint64_t, out->bins);
    out->moment = mv_push_array(arena, uint32_t, out->bins);
    mv_arena_init(&scratch, arena->budget);
    has_memory =
        out->least && out->most && out->moment && mv_level_line_find(&scratch, lives, &line);
    for (uint32_t b = 0; has_memory && b < out->bins; b++)
        out->least[b] = UINT64_MAX;
    if (has_memory) {
        mv_parallel_for(line.parts, 0, find_part, &s);
        join_parts(&s);
        has_memory = find_lasting(arena, &scratch, lives, steps, out);
    }
    mv_arena_release(&scratch);
    return has_memory ? MV_OK
                      : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the floor of %u steps", steps->count);
}

static int64_t median(int64_t *values, uint32_t count)
{
    mv_sort_rows(NULL, values, count, MV_RISING_VALUES(int64_t));
    return values[count / 2];
}

/* Returns how much the mean of a column increases from bins [begin, middle) to bins [middle,
 * end). */
static double rise_of(const double *column, uint32_t begin, uint32_t middle, uint32_t end)
{
    double before = 0, after = 0;

    for (uint32_t b = begin; b < end; b++)
        *(b < middle ? &before : &after) += column[b];
    return after / (end - middle) - before / (middle - begin);
}

/* Whether the floor rises by at least half of the kept bytes, both from the first to the second
 * half of the time in which something is kept, and from its third to its last quarter. Kept blocks
 * that seem to replace others at first are included, because with overlapping requests, the floor
 * rises only after the other blocks from the same time have been freed. */
static bool rises_in_all(mv_arena *scratch, const mv_floor *floor, const uint64_t *kept,
                         uint32_t first, bool *rises)
{
    double *held = mv_push_array(scratch, double, floor->bins);
    double *sum = mv_push_array(scratch, double, floor->bins);
    uint32_t end = floor->bins - 1, middle, last;

    *rises = false;
    if (!held || !sum)
        return false;
    while (first < end && kept[first] == 0)
        first++;
    for (uint32_t b = first; b < end; b++) {
        held[b] = (double)floor->least[b];
        sum[b] = (double)kept[b] + (b > first ? sum[b - 1] : 0);
    }
    if (end < first + 4)
        return true;
    middle = first + (end - first) / 2;
    last = middle + (end - middle) / 2;
    *rises = 2 * rise_of(held, first, middle, end) >= rise_of(sum, first, middle, end) &&
             2 * rise_of(held, middle, last, end) >= rise_of(sum, middle, last, end);
    return true;
}

/* Whether the floor ends at least as high as it began. If it typically falls at a birth, it then
 * rises by as much elsewhere, as with gradients that are accumulated over several steps. */
static bool comes_back(const mv_floor *floor, uint32_t first)
{
    return first + 2 < floor->bins && floor->least[floor->bins - 2] >= floor->least[first];
}

/* A block born in bin b raises the floor of bin b, or that of bin b + 1 if the block was born after
 * the lowest moment of bin b. Therefore, the floor of bin b - 1 is compared with that of bin b +
 * 1. */
bool mv_floor_prove(mv_arena *scratch, const mv_floor *floor, const uint64_t *kept, uint32_t first,
                    mv_floor_proof *out)
{
    int64_t *rise = mv_push_array(scratch, int64_t, floor->bins);
    int64_t *born = mv_push_array(scratch, int64_t, floor->bins);
    uint32_t count = 0;
    int64_t middle, wanted;
    bool rises;

    *out = MV_FLOOR_NOISY;
    if (!rise || !born)
        return false;
    for (uint32_t b = first > 1 ? first : 1; b + 2 < floor->bins; b++) {
        if (kept[b] == 0)
            continue;
        rise[count] = (int64_t)(floor->least[b + 1] - floor->least[b - 1]);
        born[count++] = (int64_t)kept[b];
    }
    if (count == 0)
        return true;
    wanted = median(born, count);
    middle = median(rise, count);
    if (!rises_in_all(scratch, floor, kept, first > 1 ? first : 1, &rises))
        return false;
    if (2 * middle >= wanted || rises) {
        *out = MV_FLOOR_RISES;
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        rise[i] = llabs(rise[i] - middle);
    if (median(rise, count) <= wanted && !(2 * middle <= -wanted && comes_back(floor, first)))
        *out = MV_FLOOR_STAYS;
    return true;
}

/* ---- the trend --------------------------------------------------------------------------- */

static uint64_t least_of(const uint64_t *column, uint32_t from, uint32_t end)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t b = from; b < end; b++)
        least = column[b] < least ? column[b] : least;
    return least;
}

/* Finds the lowest floor in each of RISING_PARTS equal parts. */
static void least_of_parts(const uint64_t *held, uint32_t count, uint64_t least[RISING_PARTS])
{
    for (uint32_t p = 0; p < RISING_PARTS; p++)
        least[p] = least_of(held, (uint32_t)((uint64_t)count * p / RISING_PARTS),
                            (uint32_t)((uint64_t)count * (p + 1) / RISING_PARTS));
}

/* Returns the number of pairs of parts in which the later part is not higher. The result is 0 if
 * each part is higher than all earlier ones. */
static uint32_t inversions(const uint64_t least[RISING_PARTS])
{
    uint32_t found = 0;

    for (uint32_t p = 0; p < RISING_PARTS; p++)
        for (uint32_t q = p + 1; q < RISING_PARTS; q++)
            found += least[q] <= least[p];
    return found;
}

/* Whether the floor is higher than before. `held` contains bins [0, count) of the floor; `rest`
 * contains, for each bin, the lowest floor from this bin to the end. */
static bool has_risen(const uint64_t *held, const uint64_t *rest, uint32_t count)
{
    uint32_t third = count / 3;
    uint64_t most = 0, least[RISING_PARTS];
    bool falls = false;

    for (uint32_t b = 0; b < third; b++)
        most = held[b] > most ? held[b] : most;
    for (uint32_t b = 0; b < count; b++)
        falls = falls || held[b] > rest[b];
    if (count < FEW_BINS)
        return !falls && rest[count - third] > most;
    least_of_parts(held, count, least);
    return rest[count - third] > most ||
           (count >= RISING_PARTS * PART_BINS && inversions(least) == 0);
}

/* Whether the floor rises although it varies with the requests under way. At most one of the 15
 * pairs of parts may be out of order, which happens by chance 6 times in 720. The floor must also
 * rise from the fourth part to the last by at least half as much as it would if it rose evenly. */
static bool rises_in_noise(const uint64_t *held, const uint64_t *rest, uint32_t count)
{
    const uint32_t last = RISING_PARTS - 1, middle = RISING_PARTS / 2;
    uint64_t least[RISING_PARTS];
    double whole, late;

    if (count < RISING_PARTS * PART_BINS || memcmp(held, rest, count * sizeof *held) == 0)
        return false;
    least_of_parts(held, count, least);
    whole = (double)least[last] - (double)least[0];
    late = (double)least[last] - (double)least[middle];
    return inversions(least) <= 1 && late * 2 * last >= whole * (last - middle);
}

/* Whether `rest`, which never falls, rises from `from` to `end` by less than half as much as it
 * would if it rose evenly. */
static bool is_slow(const uint64_t *rest, uint32_t from, uint32_t end)
{
    return 2 * (double)(rest[end] - rest[from]) * end <
           (double)(rest[end] - rest[0]) * (end - from);
}

/* Whether `rest`, which never falls, has stopped rising. This is the case if the time since its
 * last rise is at least twice its longest pause, or if it rises slowly late in the last third. The
 * last sixth has had no time to fall again, so the start of this sixth counts as the end. A floor
 * that rises in steps, like a staircase, is slow within each pause. Therefore, if the floor never
 * falls, it must also be slow over a time as long as its longest pause. */
static bool has_stopped(const uint64_t *held, const uint64_t *rest, uint32_t count)
{
    uint32_t pause = 0, latest = 0, end = count - 1 - count / 6, third = count - 1 - count / 3;
    bool falls = false, is_within_pause;

    for (uint32_t b = 1; b < count; b++) {
        falls = falls || held[b - 1] > rest[b - 1];
        if (rest[b] == rest[b - 1])
            continue;
        pause = latest > 0 && b - latest > pause ? b - latest : pause;
        latest = b;
    }
    if (count - 1 - latest >= 2 * (uint64_t)pause)
        return true;
    is_within_pause =
        !falls && pause > end - third && !is_slow(rest, end > pause ? end - pause : 0, end);
    return is_slow(rest, third, end) && !is_within_pause;
}

/* Removes the highest single step from `rest`, because a one-time allocation is not a trend. */
static void level_once(uint64_t *held, uint64_t *rest, uint32_t count)
{
    uint64_t most = 0;
    uint32_t at = 0;

    for (uint32_t b = 1; b < count; b++)
        if (rest[b] - rest[b - 1] > most) {
            most = rest[b] - rest[b - 1];
            at = b;
        }
    for (uint32_t b = at; most > 0 && b < count; b++) {
        held[b] -= most;
        rest[b] -= most;
    }
}

/* Decides whether the floor of the first `count` bins rises until the end. `held` and `rest` must
 * have space for `count` entries. */
static void find_rise(const uint64_t *least, uint64_t after, uint32_t count, uint64_t *held,
                      uint64_t *rest, bool *rises, bool *plainly)
{
    for (uint32_t b = count; b-- > 0;) {
        held[b] = least[b];
        after = held[b] < after ? held[b] : after;
        rest[b] = after;
    }
    level_once(held, rest, count);
    *plainly = has_risen(held, rest, count) && !has_stopped(held, rest, count);
    *rises = *plainly || rises_in_noise(held, rest, count);
}

bool mv_floor_trend(mv_arena *scratch, const mv_floor *floor, uint32_t first, bool *rises,
                    bool *plainly)
{
    uint32_t count = floor->bins > first + 1 ? floor->bins - 1 - first : 0;
    uint64_t *rest = mv_push_array(scratch, uint64_t, count);
    uint64_t *held = mv_push_array(scratch, uint64_t, count);
    uint64_t after = floor->least[floor->bins - 1];
    bool is_plain_later;

    *rises = *plainly = false;
    if (!rest || !held)
        return false;
    if (count >= LEAST_BINS)
        find_rise(floor->least + first, after, count, held, rest, rises, plainly);
    for (uint32_t part = 3; part > 1 && !*rises; part--) {
        uint32_t filled = count / part;
        if (count - filled >= FILLED_BINS)
            find_rise(floor->least + first + filled, after, count - filled, held, rest, rises,
                      &is_plain_later);
    }
    return true;
}

/* Whether the lowest level of the last third is not above the lowest level of the middle third. */
static bool stays_low(const mv_level_line *line)
{
    int64_t least[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    uint32_t events = line->lives->events.count;
    mv_level_walk w = mv_level_walk_at(line, 0);

    while (w.event < events) {
        uint32_t third = (uint32_t)((uint64_t)w.event * 3 / events);
        int64_t level = mv_level_walk_next(&w);

        least[third] = level < least[third] ? level : least[third];
    }
    return least[2] <= least[1];
}

/* Sets *out to whether some line outside modules allocates in every part of the last two thirds of
 * the run. Returns false when out of memory. */
static bool a_line_recurs(mv_arena *scratch, const mv_lives *lives, const mv_outer *outer,
                          bool *out)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint8_t *parts = mv_push_array(scratch, uint8_t, outer->count); /* one bit for each part */

    *out = false;
    if (!parts)
        return false;
    for (uint32_t i = a->preexisting; i < a->count && !*out; i++) {
        uint32_t place = mv_outer_of(outer, a->stack[i]);
        uint64_t part = (uint64_t)a->birth[i] * (PARTS + PARTS / 2) / lives->events.count;

        if (place == MV_NO_ROW || outer->kind[place] != MV_OUTER_LINE || part < PARTS / 2 ||
            part >= PARTS + PARTS / 2)
            continue;
        parts[place] |= (uint8_t)(1u << (part - PARTS / 2));
        *out = parts[place] == (1u << PARTS) - 1;
    }
    return true;
}

bool mv_floor_comes_back(mv_arena *scratch, const mv_lives *lives, const mv_outer *outer, bool *out)
{
    mv_level_line line;

    *out = false;
    if (!mv_level_line_find(scratch, lives, &line))
        return false;
    if (lives->events.count < LEAST_EVENTS || !stays_low(&line))
        return true;
    return a_line_recurs(scratch, lives, outer, out);
}
