#include "viz/pictures/layout.h"

#include "base/bitmap.h"
#include "base/grow.h"
#include "base/parallel_for.h"
#include "base/search.h"

/* There can be 16^8 rows, which is enough for any row number. */
enum { FAN_BITS = 4, FAN = 1 << FAN_BITS, MOST_LEVELS = 9 };

/* Numbers of elements and of allocations that a thread looks at before it takes others. */
enum { PIECE = 1 << 10, ROWS = 1 << 15 };

/* Allocations of one element, born one after another, that are alive at the same columns. */
typedef struct {
    uint64_t bytes;
    uint32_t element;
    uint32_t born, end; /* first column at which they are alive, and after that, first column at
                         * which they are gone, or the number of columns */
    uint32_t next;      /* the next row with the same end, plus 1 */
} stay;

typedef struct {
    mv_arena scratch;
    const mv_lives *lives;
    const mv_layout_opts *opts;
    mv_layout *out;
    uint32_t *until;   /* [columns] number of events before each column, ascending */
    mv_bitmap inside;  /* allocations in the window */
    mv_bitmap staying; /* those of them that are alive at some column */
    uint32_t stay_count;
    stay *stays;       /* [stay_count] in order of birth */
    uint32_t *ends_at; /* [columns] the allocations that were alive at an earlier column, and end
                             before each column: row of `stays`, plus 1 */
    uint64_t *live[MOST_LEVELS]; /* bytes alive: live[0] for each element, live[k] for FAN^k of
                                    them */
    uint64_t length[MOST_LEVELS];
    uint32_t levels;
    uint64_t preexisting; /* bytes alive from before the first event */
    mv_sample *found;     /* samples in the order of columns */
    uint32_t capacity;
} sweep;

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "timeline");
}

/* ---- columns ----------------------------------------------------------------------------- */

static bool make_columns(mv_arena *arena, sweep *s)
{
    mv_layout *l = s->out;

    l->column_count = s->opts->columns;
    l->allocated = mv_push_array(arena, uint64_t, l->column_count);
    l->preexisting = mv_push_array(arena, uint64_t, l->column_count);
    l->instant = s->opts->instant;
    return l->allocated && l->preexisting;
}

/* ---- elements ---------------------------------------------------------------------------- */

static bool is_in_window(const sweep *s, uint32_t alloc)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    bool begins = a->birth[alloc] == MV_BEFORE || a->birth[alloc] < s->out->to;

    /* Without events, no allocation ends, and blocks that were freed before all events are only
     * waiting for a stream. */
    if (s->lives->events.count == 0 && a->freed[alloc] != MV_NEVER)
        return false;
    return begins && a->block[alloc] > 0 && a->freed[alloc] >= s->out->from;
}

static bool continues_run(const sweep *s, const mv_element *e, uint64_t run_bytes, uint32_t alloc)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    bool is_small = a->block[alloc] < s->opts->least && a->block[e->first] < s->opts->least;

    return is_small && (alloc < a->preexisting) == (e->first < a->preexisting) &&
           (run_bytes < s->opts->least || (e->is_one_site && e->site == s->opts->site_of[alloc]));
}

/* Returns how much of the picture an allocation fills, as bytes x events within the window. */
static double weight_of(const sweep *s, uint32_t alloc)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t from = s->out->from, to = s->out->to;

    if (a->birth[alloc] != MV_BEFORE && a->birth[alloc] > from)
        from = a->birth[alloc];
    if (a->freed[alloc] < to)
        to = a->freed[alloc];
    return (double)a->block[alloc] * (to > from ? to - from : 0.5);
}

/* Finds the site with the largest part of a run that several sites share, and the size of that
 * part, by a weighted majority vote. */
static void find_majority(const sweep *s, mv_element *e)
{
    double lead = 0, own = 0, all = 0;

    for (uint32_t i = e->first; i < e->first + e->count; i++) {
        double weight = mv_bitmap_has(&s->inside, i) ? weight_of(s, i) : 0;
        if (s->opts->site_of[i] == e->site) {
            lead += weight;
        } else if (weight > lead) {
            e->site = s->opts->site_of[i];
            lead = weight - lead;
        } else {
            lead -= weight;
        }
    }
    for (uint32_t i = e->first; i < e->first + e->count; i++) {
        double weight = mv_bitmap_has(&s->inside, i) ? weight_of(s, i) : 0;
        all += weight;
        own += s->opts->site_of[i] == e->site ? weight : 0;
    }
    e->is_mixed = own < all * 0.75;
}

/* Calls `piece` for each piece of the allocations. */
static void for_rows(sweep *s, void (*piece)(void *user, uint32_t i))
{
    mv_parallel_for(s->lives->allocs.count / ROWS + 1, 0, piece, s);
}

static uint32_t end_of_rows(const sweep *s, uint32_t piece)
{
    uint64_t end = (piece + (uint64_t)1) * ROWS;

    return end < s->lives->allocs.count ? (uint32_t)end : s->lives->allocs.count;
}

/* Most allocations end before the next column, and so are in none. */
static void mark_rows(void *user, uint32_t piece)
{
    sweep *s = user;
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t end = end_of_rows(s, piece), columns = s->out->column_count, c = 0;

    for (uint32_t i = piece * ROWS; i < end; i++) {
        if (!is_in_window(s, i))
            continue;
        mv_bitmap_set(&s->inside, i);
        while (i >= a->preexisting && c < columns && s->until[c] <= a->birth[i])
            c++;
        if (i < a->preexisting || (c < columns && a->freed[i] >= s->until[c]))
            mv_bitmap_set(&s->staying, i);
    }
}

/* Returns the first column at or after `from` whose instant is not before an event. */
static uint32_t column_after(const sweep *s, uint32_t from, uint32_t event)
{
    mv_bisect b = mv_bisect_over(from, s->out->column_count);

    if (from < s->out->column_count && s->until[from] > event)
        return from;
    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, s->until[b.middle] <= event);
    return (uint32_t)b.low;
}

/* Adds an allocation of the last element, in order of birth. */
static void add_stay(sweep *s, uint32_t alloc)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    stay *last = s->stay_count ? &s->stays[s->stay_count - 1] : NULL;
    stay now = {.bytes = a->block[alloc], .element = s->out->element_count - 1};

    now.born = last ? last->born : 0;
    if (alloc >= a->preexisting)
        now.born = column_after(s, now.born, a->birth[alloc]);
    now.end = column_after(s, now.born + (alloc >= a->preexisting), a->freed[alloc]);
    if (last && last->element == now.element && last->born == now.born && last->end == now.end)
        last->bytes += now.bytes;
    else
        s->stays[s->stay_count++] = now;
}

/* Elements without an allocation that stays are in no column, so the next one replaces them. */
static bool make_elements(mv_arena *arena, sweep *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    mv_layout *l = s->out;
    uint64_t run_bytes = 0, staying;
    mv_element *e = NULL;

    if (!mv_bitmap_init(&s->scratch, a->count, &s->inside) ||
        !mv_bitmap_init(&s->scratch, a->count, &s->staying))
        return false;
    for_rows(s, mark_rows);
    mv_bitmap_tally(&s->staying);
    staying = mv_bitmap_below(&s->staying, a->count);
    l->elements = mv_push_array(arena, mv_element, staying + 1);
    s->stays = mv_push_array(&s->scratch, stay, staying);
    if (!l->elements || !s->stays)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (!mv_bitmap_has(&s->inside, i))
            continue;
        if (e && continues_run(s, e, run_bytes, i)) {
            e->is_one_site = e->is_one_site && e->site == s->opts->site_of[i];
            run_bytes += a->block[i];
        } else {
            e = &l->elements[l->element_count];
            *e = (mv_element){.first = i, .site = s->opts->site_of[i], .is_one_site = true};
            run_bytes = a->block[i];
        }
        e->count = i - e->first + 1;
        e->members++;
        if (!mv_bitmap_has(&s->staying, i))
            continue;
        l->element_count = (uint32_t)(e - l->elements) + 1;
        add_stay(s, i);
    }
    return true;
}

static void find_sites(void *user, uint32_t piece)
{
    const sweep *s = user;
    const mv_layout *l = s->out;
    uint64_t end = (piece + (uint64_t)1) * PIECE;

    for (uint64_t i = (uint64_t)piece * PIECE; i < end && i < l->element_count; i++)
        if (l->elements[i].columns > 0 && !l->elements[i].is_one_site)
            find_majority(s, &l->elements[i]);
}

/* ---- the sweep --------------------------------------------------------------------------- */

static bool alloc_tree(sweep *s)
{
    uint64_t length = s->out->element_count;

    do {
        s->length[s->levels] = length;
        s->live[s->levels] = mv_push_array(&s->scratch, uint64_t, length + 1);
        if (!s->live[s->levels++])
            return false;
        length = (length + FAN - 1) / FAN;
    } while (s->length[s->levels - 1] > 1 && s->levels < MOST_LEVELS);
    return true;
}

static bool find_columns(sweep *s)
{
    const mv_layout *l = s->out;

    s->until = mv_push_array(&s->scratch, uint32_t, l->column_count);
    for (uint32_t c = 0, latest = 0; s->until && c < l->column_count; c++) {
        if (l->instant[c] != MV_BEFORE && l->instant[c] + 1 > latest)
            latest = l->instant[c] + 1;
        s->until[c] = latest;
    }
    return s->until;
}

static bool prepare(sweep *s)
{
    s->ends_at = mv_push_array(&s->scratch, uint32_t, s->out->column_count);
    return s->ends_at && alloc_tree(s);
}

/* Adds bytes to the sums, or subtracts them (two's complement). */
static void change(sweep *s, uint32_t element, uint64_t bytes)
{
    if (s->out->elements[element].first < s->lives->allocs.preexisting)
        s->preexisting += bytes;
    for (uint32_t level = 0; level < s->levels; level++, element >>= FAN_BITS)
        s->live[level][element] += bytes;
}

static bool add_sample(sweep *s, mv_sample sample)
{
    return mv_append(&s->scratch, s->found, s->out->sample_count, s->capacity, sample);
}

/* Adds samples for the living elements under a node of the tree, from the bottom up. */
static bool take_node(sweep *s, uint32_t column, uint32_t level, uint64_t node, uint64_t *offset)
{
    uint64_t bytes = s->live[level][node], last;
    mv_element *e;

    if (bytes < s->opts->visible) {
        *offset += bytes;
        return true;
    }
    if (level > 0) {
        last = node * FAN + FAN < s->length[level - 1] ? node * FAN + FAN : s->length[level - 1];
        for (uint64_t child = node * FAN; child < last; child++)
            if (!take_node(s, column, level - 1, child, offset))
                return false;
        return true;
    }
    if (!add_sample(s, (mv_sample){column, (uint32_t)node, *offset, bytes}))
        return false;
    e = &s->out->elements[node];
    e->columns++;
    if (bytes > e->highest)
        e->highest = bytes;
    *offset += bytes;
    return true;
}

static bool take_column(sweep *s, uint32_t column)
{
    uint64_t offset = 0;

    if (s->out->element_count && !take_node(s, column, s->levels - 1, 0, &offset))
        return false;
    s->out->allocated[column] = offset;
    s->out->preexisting[column] = s->preexisting;
    return true;
}

/* Goes through the columns. */
static bool run(sweep *s)
{
    uint32_t columns = s->out->column_count, born = 0;

    for (uint32_t c = 0; c < columns; c++) {
        for (uint32_t end = s->ends_at[c]; end; end = s->stays[end - 1].next)
            change(s, s->stays[end - 1].element, -s->stays[end - 1].bytes);
        for (; born < s->stay_count && s->stays[born].born <= c; born++) {
            stay *row = &s->stays[born];
            if (row->end <= c)
                continue;
            change(s, row->element, row->bytes);
            if (row->end == columns)
                continue;
            row->next = s->ends_at[row->end];
            s->ends_at[row->end] = born + 1;
        }
        if (!take_column(s, c))
            return false;
    }
    return true;
}

/* Sorts samples by element instead of by column, by counting. */
static bool sort_samples(mv_arena *arena, sweep *s)
{
    mv_layout *l = s->out;
    uint32_t at = 0;

    l->samples = mv_push_array(arena, mv_sample, l->sample_count);
    if (!l->samples)
        return false;
    for (uint32_t e = 0; e < l->element_count; e++) {
        l->elements[e].samples = at;
        at += l->elements[e].columns;
        l->elements[e].columns = 0;
    }
    for (uint32_t i = 0; i < l->sample_count; i++) {
        mv_element *e = &l->elements[s->found[i].element];
        l->samples[e->samples + e->columns++] = s->found[i];
    }
    return true;
}

mv_code mv_layout_find(mv_arena *arena, const mv_lives *lives, const mv_layout_opts *opts,
                       mv_layout *out, mv_err *err)
{
    sweep s = {.lives = lives, .opts = opts, .out = out};
    bool done;

    *out = (mv_layout){.from = opts->from, .to = opts->to};
    mv_arena_init(&s.scratch, arena->budget);
    done = make_columns(arena, &s) && find_columns(&s) && make_elements(arena, &s) && prepare(&s) &&
           run(&s) && sort_samples(arena, &s);
    if (done)
        mv_parallel_for(out->element_count / PIECE + 1, 0, find_sites, &s);
    mv_arena_release(&s.scratch);
    return done ? MV_OK : no_memory(err);
}
