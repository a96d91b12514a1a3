#include "analyze/leaks/growing_block.h"

#include "analyze/code/stack_marks.h"
#include "analyze/leaks/step_work.h"

/* A larger block must have replaced the site's block between two step marks this many times, and in
 * this fraction of the steps. (Six marks allow five whole steps to be compared, which gives four
 * rises.) */
#define LEAST_RISES 4
#define RISING      0.8

/* If there are few steps, a block may grow if a larger block replaced it at least this many times,
 * and in every step. If there are more steps than this, growth would be evident. */
#define DOUBTFUL_RISES 2
#define DOUBTFUL_STEPS 8

/* If the steps' temporary memory grows by more than this multiple of the block's growth, the block
 * is the input of the steps. */
#define TEMPORARY_A_GROWTH 3

/* The maximum number of sites to examine, which is more than the number of buffers that a program
 * copies into larger ones. */
#define MOST_SITES 16

/* The blocks of one site that are alive at a mark, counted in order of birth. */
typedef struct {
    uint32_t births, rises, falls;
    uint32_t alive, last_birth;
    uint64_t before; /* requested bytes of the previous block */
} site_row;

typedef struct {
    mv_arena *scratch;
    const mv_lives *lives;
    const mv_sites *sites;
    const mv_outer *outer;
    const mv_steps *steps;
    const mv_floor *floor;
    uint32_t first;
    uint32_t least_rises; /* minimum number of rises that makes a site a candidate */
    bool has_backward;
    uint64_t *held, *asked; /* [floor->bins] bytes that one site holds at the end of each bin: bytes
                             * occupied, bytes requested */
    uint64_t *kept;         /* [floor->bins] */
    mv_step_work work;
} search;

static site_row *find_rows(const search *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    site_row *rows = mv_push_array(s->scratch, site_row, s->sites->count);
    uint32_t bin = 0;

    for (uint32_t k = a->preexisting; rows && k < s->floor->lasting.count; k++) {
        uint32_t i = s->floor->lasting.row[k];
        site_row *row = &rows[mv_site_of(s->sites, a->stack[i])];

        while (bin < s->steps->count && s->steps->at[bin] <= a->birth[i])
            bin++;
        if (a->freed[i] < (bin < s->steps->count ? s->steps->at[bin] : MV_NEVER))
            continue;
        row->rises += row->births > 0 && a->requested[i] > row->before;
        row->falls += row->births > 0 && a->requested[i] < row->before;
        row->births++;
        row->before = a->requested[i];
        row->last_birth = a->birth[i];
        row->alive += a->freed[i] == MV_NEVER;
    }
    return rows;
}

static bool is_candidate(const search *s, const site_row *row, uint32_t site)
{
    mv_stack_id stack = s->sites->stack[site];
    uint32_t place;

    if (row->rises < s->least_rises || row->falls > 0 || row->alive == 0 ||
        2 * row->alive > row->births || stack.row == MV_NO_ROW)
        return false;
    if (mv_steps_bin(s->steps, row->last_birth) + 1 < s->steps->count)
        return false;
    /* blocks that modules reallocate for each token are a cache of the current request, unless a
     * backward pass shows that the program is training */
    place = mv_outer_of(s->outer, stack);
    return s->has_backward || (place != MV_NO_ROW && s->outer->kind[place] != MV_OUTER_CALL);
}

/* Sets `has_backward`. Returns false when out of memory. */
static bool look_for_backward(search *s, const mv_leak_state *w)
{
    const uint16_t *marks = mv_stack_marks(s->scratch, w->trace, s->sites->kinds);

    for (uint32_t k = 0; marks && !s->has_backward && k < s->sites->stacks; k++)
        s->has_backward = w->stacks[k].births > 0 && marks[k] & MV_MARK_BACKWARD;
    return marks != NULL;
}

/* Fills `held` and `asked` for one site. Blocks that live only within one bin do not count. */
static void measure(const search *s, uint32_t site)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t bins = s->floor->bins;

    for (uint32_t b = 0; b < bins; b++)
        s->held[b] = s->asked[b] = 0;
    for (uint32_t k = a->preexisting; k < s->floor->lasting.count; k++) {
        uint32_t i = s->floor->lasting.row[k], bin;

        if (mv_site_of(s->sites, a->stack[i]) != site)
            continue;
        bin = mv_steps_bin(s->steps, a->birth[i]);
        s->held[bin] += a->block[i];
        s->asked[bin] += a->requested[i];
        if (a->freed[i] == MV_NEVER)
            continue;
        bin = mv_steps_bin(s->steps, a->freed[i]);
        s->held[bin] -= a->block[i];
        s->asked[bin] -= a->requested[i];
    }
    for (uint32_t b = 1; b < bins; b++) {
        s->held[b] += s->held[b - 1];
        s->asked[b] += s->asked[b - 1];
    }
}

/* Returns the mean temporary memory of the steps in bins [from, to). */
static double temporary_of(const mv_floor *floor, uint32_t from, uint32_t to)
{
    double sum = 0;

    for (uint32_t b = from; b < to; b++)
        sum += (double)(floor->most[b] - floor->least[b]);
    return sum / (to - from);
}

/* How the bytes of a site change from one whole bin to the next. */
typedef struct {
    uint32_t first, last, bins; /* first and last bin; bins: number of bins after the first, up to
                                 * the last */
    uint32_t rises, falls;
    uint64_t grown;
} bin_habit;

/* Measures a site, and fills `kept`. All bins from s->first to the last whole bin count, including
 * the warm-up, because a warm-up does not replace its block with a larger one each time. */
static bin_habit habit_of(search *s)
{
    bin_habit h = {.first = s->first, .last = s->floor->bins - 2};

    while (h.first < h.last && s->held[h.first] == 0)
        h.first++;
    h.bins = h.last - h.first;
    for (uint32_t b = 0; b < s->floor->bins; b++)
        s->kept[b] = 0;
    for (uint32_t b = h.first + 1; b <= h.last; b++) {
        h.rises += s->asked[b] > s->asked[b - 1];
        h.falls += s->asked[b] < s->asked[b - 1];
        s->kept[b] = s->held[b] > s->held[b - 1] ? s->held[b] - s->held[b - 1] : 0;
    }
    if (s->held[h.last] > s->held[h.first])
        h.grown = s->held[h.last] - s->held[h.first];
    return h;
}

/* Whether the site may be the input of the steps, such as the tokens of a request or a batch, rather
 * than memory that the steps keep. In that case, the temporary memory of the steps grows by more
 * than the site does, or in proportion. The first whole step belongs to the warm-up, but is included
 * if there are only two steps. */
static bool follows_work(const search *s, uint32_t site, const bin_habit *h)
{
    double early = 0, late = 0;
    uint32_t third = (h->bins + 2) / 3, from = h->bins > 1 ? h->first + 1 : h->first;
    double temporary = temporary_of(s->floor, h->last + 1 - third, h->last + 1) -
                       temporary_of(s->floor, from, from + third);

    for (uint32_t b = s->work.early; b < s->work.end; b++)
        *(b < s->work.late ? &early : &late) += (double)s->asked[b];
    return temporary > TEMPORARY_A_GROWTH * (double)h->grown ||
           mv_step_work_grows(&s->work, s->sites->group[site], early, late);
}

/* Whether the site grows, according to its habit. */
static bool evaluate(search *s, mv_growing_block *out)
{
    bin_habit h = habit_of(s);
    mv_floor_proof proof;

    if (h.rises < LEAST_RISES || h.rises < RISING * h.bins || h.falls > 0 || h.grown == 0)
        return false;
    out->follows_work = follows_work(s, out->site, &h);
    if (out->follows_work && !s->has_backward)
        return false;
    out->steps = h.bins;
    out->bytes_per_step = (h.grown + h.bins / 2) / h.bins;
    return mv_floor_prove(s->scratch, s->floor, s->kept, h.first, &proof) &&
           proof == MV_FLOOR_RISES;
}

/* Whether the site may grow: its block became larger in each whole step, and the floor rose as
 * well. */
static bool may_grow(search *s, uint32_t site)
{
    bin_habit h = habit_of(s);
    uint64_t before = s->floor->least[h.first], after = s->floor->least[h.last];
    mv_floor_proof proof;

    return h.bins > 0 && h.rises == h.bins && h.falls == 0 && h.grown > 0 &&
           (s->has_backward || !follows_work(s, site, &h)) && after > before &&
           2 * (after - before) >= h.grown &&
           mv_floor_prove(s->scratch, s->floor, s->kept, h.first, &proof) &&
           proof != MV_FLOOR_STAYS;
}

static bool make_room(search *s, mv_growing_blocks *out)
{
    uint32_t bins = s->floor->bins;

    s->held = mv_push_array(s->scratch, uint64_t, bins);
    s->asked = mv_push_array(s->scratch, uint64_t, bins);
    s->kept = mv_push_array(s->scratch, uint64_t, bins);
    out->blocks = mv_push_array(s->scratch, mv_growing_block, MOST_SITES);
    return s->held && s->asked && s->kept && out->blocks;
}

/* Finds the work of the steps, unless it is known. Few runs have a candidate that needs it. */
static bool find_work(search *s)
{
    return s->work.by_group ||
           mv_step_work_find(s->scratch, s->lives, s->sites, s->outer, s->steps, &s->work);
}

/* Looks for sites that grow or, if `in_doubt`, for sites that may grow. */
static bool look_for_growth(search *s, const site_row *rows, bool in_doubt, mv_growing_blocks *out)
{
    s->least_rises = in_doubt ? DOUBTFUL_RISES : LEAST_RISES;
    for (uint32_t site = 0, seen = 0; site < s->sites->count && seen < MOST_SITES; site++) {
        mv_growing_block block = {.site = site};

        if (!is_candidate(s, &rows[site], site))
            continue;
        seen++;
        if (!find_work(s))
            return false;
        measure(s, site);
        if (in_doubt)
            out->is_doubtful = out->is_doubtful || may_grow(s, site);
        else if (evaluate(s, &block))
            out->blocks[out->count++] = block;
    }
    return true;
}

bool mv_growing_blocks_find(const mv_leak_state *w, mv_growing_blocks *out)
{
    search s = {.scratch = w->scratch,
                .lives = w->lives,
                .sites = &w->sites,
                .outer = &w->outer,
                .steps = &w->out->steps,
                .floor = &w->floor,
                .first = 1};
    site_row *rows;

    *out = (mv_growing_blocks){0};
    if (w->floor.bins < s.first + DOUBTFUL_RISES + 1)
        return true;
    rows = find_rows(&s);
    if (!rows || !look_for_backward(&s, w) || !make_room(&s, out) ||
        !look_for_growth(&s, rows, false, out))
        return false;
    return out->count > 0 || s.steps->count > DOUBTFUL_STEPS ||
           look_for_growth(&s, rows, true, out);
}
