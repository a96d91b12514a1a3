#include "analyze/leaks/growth.h"

#include <math.h>

#include "base/sort.h"

/* Freed blocks excuse kept blocks of the same age only if the freed blocks are more than a tenth as
 * many, because a leaking line occasionally frees a block, too. */
#define EXCUSE_SHARE 10

/* The first whole bin counts as warm-up only if there are at least this many marks. */
#define MARKS_FOR_WARM_UP 4

/* Up to this number of steps, a site that may grow makes the verdict unknown rather than clean. */
#define MARKS_TO_BE_SURE 8

/* Births count as stopped, or as becoming rarer, if chance alone would produce this pattern in at
 * most one of fifty cases. */
#define CHANCE_OF_STOP         0.02
#define DEVIATIONS_OF_THINNING 2.0
#define SHARE_OF_THINNING      0.25

/* A site slows down if fewer than this share of the blocks born in the first third of the bins are
 * born in the last third. In a cache with ten keys, this is the case once four of them are known. */
#define SHARE_OF_SLOWING (2.0 / 3)

/* One leak in twenty looks like this by chance. */
#define DEVIATIONS_OF_SLOWING 1.64

/* How many bins must contain births for the site to grow, counting the youngest bins. A window that
 * keeps the blocks of the last five steps has births in five bins before it is full, so six are
 * needed. If births occur in exactly every second, third, ... step, one bin fewer is enough,
 * because chance does not produce this pattern. If every block has a different size, the site may
 * be a cache with an entry for each shape. With eight shapes, the chance that seven steps in a row
 * meet only new shapes is one in fifty. */
#define BINS_OF_GROWTH 6
#define BINS_EACH_NTH  5
#define BINS_OF_SIZES  7

/* A line that frees ten blocks for each block that it keeps must have kept blocks from this many
 * bins, so that chance is excluded. If three bins were enough, recordings of conversations that
 * have all ended would have the verdict unknown. */
#define BINS_OF_SELDOM 4

/* Growth that begins in the second half of the recording must last for at least this many bins. */
#define BINS_OF_LATE_GROWTH 6

/* Returns how many bins the site's blocks may live: the lowest age after which only few blocks were
 * freed, compared with the number still alive. Blocks that have been alive since the set-up or the
 * warm-up do not count. */
static uint32_t believable_age(const mv_growth_site *s, uint32_t first)
{
    uint32_t i = 0, old = s->alive, age = 0, set_up = 0;

    while (set_up < s->alive && s->born[set_up] < first)
        set_up++;

    mv_sort_rows(NULL, s->lived, s->outlived, MV_RISING_VALUES(uint32_t));
    for (;;) {
        while (i < s->outlived && s->lived[i] <= age)
            i++;
        while (old > set_up && s->marks - s->born[old - 1] <= age)
            old--;
        if ((uint64_t)(s->outlived - i) * EXCUSE_SHARE <= old - set_up)
            return age;
        age = s->lived[i]; /* in range: outlived > i */
    }
}

/* How the births of overdue blocks are distributed over the bins. */
typedef struct {
    uint32_t bins, late_bins; /* bins: number of distinct bins; late_bins: number of them at or
                               * after `first` */
    uint32_t first_bin, last_bin, first_late;
    uint32_t least_gap, most_gap;
    uint64_t late_sum;   /* sum of the numbers of the late bins, counted from `first` */
    uint32_t last_third; /* number of late bins in the last third of [first, last] */
    uint32_t most;
} birth_spread;

static birth_spread spread_of(const mv_growth_site *s, uint32_t first, uint32_t last)
{
    birth_spread b = {.least_gap = UINT32_MAX};
    uint32_t run = 0;

    for (uint32_t i = 0; i < s->alive && s->born[i] <= last; i++) {
        uint32_t bin = s->born[i];

        run = b.bins > 0 && bin == b.last_bin ? run + 1 : 1;
        if (bin >= first && run > b.most)
            b.most = run;
        if (run > 1)
            continue;
        if (b.bins == 0) {
            b.first_bin = bin;
        } else {
            uint32_t gap = bin - b.last_bin;
            b.least_gap = gap < b.least_gap ? gap : b.least_gap;
            b.most_gap = gap > b.most_gap ? gap : b.most_gap;
        }
        b.last_bin = bin;
        b.bins++;
        if (bin >= first) {
            b.first_late = b.late_bins++ > 0 ? b.first_late : bin;
            b.late_sum += bin - first;
            b.last_third += 3 * (uint64_t)(bin - first) >= 2 * ((uint64_t)last - first + 1);
        }
    }
    return b;
}

static bool births_are_even(const birth_spread *b)
{
    return 2 * (uint64_t)b->most_gap <= 3 * (uint64_t)b->least_gap;
}

static bool births_stop(const birth_spread *b, uint32_t last)
{
    double rate = (b->bins - 0.5) / (b->last_bin - b->first_bin + 1.0);
    uint32_t silent = last - b->last_bin;

    if (births_are_even(b))
        return silent >= 2 * (uint64_t)b->most_gap;
    /* a single bin without births may be due to the position of the mark within the step, and a
     * pause that is no longer than an earlier pause is not an end */
    return silent > 1 && silent >= b->most_gap && pow(1 - rate, silent - 1) < CHANCE_OF_STOP;
}

/* Laplace's test for a trend. If the births were evenly distributed, the mean of their bins would
 * be near the middle, within range / sqrt(12 n). With many births, the test also detects slight
 * slopes that will never reach zero, so the last third must contain few births as well. */
static bool births_thin_out(const birth_spread *b, uint32_t first, uint32_t last)
{
    double range = (double)last - first, n = b->late_bins;

    if (b->late_bins < 2 || last <= first)
        return false;
    return b->last_third < SHARE_OF_THINNING * n &&
           b->late_sum / n - range / 2 < -DEVIATIONS_OF_THINNING * range / sqrt(12 * n);
}

/* Sets g->slows and the births in the first and the last third of the bins. The births of a leak
 * could as well have been in a different order: in the mean over all orders of the bins, the sum of
 * the bins' numbers, weighted by births, would be that of the middle, with the standard deviation
 * that is used here. */
static void look_for_slowing(const mv_growth_site *s, mv_growth *g)
{
    double bins = (double)g->last - g->first + 1, sum = 0, squares = 0, weighted = 0, deviation;

    for (uint32_t i = 0, end; i < s->alive; i = end) {
        uint32_t bin = s->born[i], third;
        double births;

        for (end = i + 1; end < s->alive && s->born[end] == bin;)
            end++;
        if (bin < g->first || bin > g->last)
            continue;
        births = end - i;
        sum += births;
        squares += births * births;
        weighted += births * (bin - g->first);
        third = (uint32_t)(3 * (bin - g->first) / bins);
        g->first_third += third == 0 ? end - i : 0;
        g->last_third += third == 2 ? end - i : 0;
    }
    if (bins < 3 || squares * bins <= sum * sum)
        return;
    deviation = sqrt(bins * (bins + 1) / 12 * (squares - sum * sum / bins));
    g->slows = weighted - sum * (bins - 1) / 2 < -DEVIATIONS_OF_SLOWING * deviation &&
               g->last_third < SHARE_OF_SLOWING * g->first_third;
}

/* Returns the confidence. Each bin with births halves the doubt. More doubt remains if the births
 * are uneven or begin late. */
static double confidence_of(const birth_spread *b, uint32_t last)
{
    double sure = 1 - ldexp(1, -(int)(b->bins < 50 ? b->bins - 1 : 49));
    double seen = (last - b->first_bin + 1.0) / (0.5 * (last + 1.0));

    if (!births_are_even(b))
        sure *= 0.8;
    return fmax(0.5, sure * (0.5 + 0.5 * fmin(1, seen)));
}

/* Returns the number of distinct bins in which the live blocks were born. */
static uint32_t bins_of(const mv_growth_site *s)
{
    uint32_t bins = 0;

    for (uint32_t i = 0; i < s->alive; i++)
        bins += i == 0 || s->born[i] != s->born[i - 1];
    return bins;
}

/* Whether a site with uneven births looks like a cache that adds an entry for each new key. Such a
 * cache frees hardly any blocks, and its entries differ in size. */
static bool is_cache(const mv_growth_site *s)
{
    return !s->is_one_size && MV_KEPT_BY_CACHE * (uint64_t)s->freed <= s->alive;
}

static bool births_suffice(const mv_growth_site *s, const birth_spread *b, uint32_t last)
{
    bool even = births_are_even(b), each_nth = even && b->least_gap == b->most_gap;
    uint32_t wanted = BINS_OF_GROWTH, bins = bins_of(s), young = bins - b->bins;

    if (!even && (!s->sizes_recur || is_cache(s)))
        return false;
    if (!s->sizes_recur)
        wanted = BINS_OF_SIZES;
    else if (each_nth && b->least_gap > 1)
        wanted = BINS_EACH_NTH;
    if (b->first_bin > last / 2 && wanted < BINS_OF_LATE_GROWTH)
        wanted = BINS_OF_LATE_GROWTH;
    /* the youngest births may be too young to judge. At most two bins are excused, because a site
     * with more young bins merely keeps its blocks for a while */
    return b->late_bins >= 2 && (b->bins >= wanted || (young <= 2 && bins >= wanted));
}

/* Whether a line frees most of its blocks, but occasionally keeps one until the end. */
static bool keeps_seldom(const mv_growth_site *s, const birth_spread *b)
{
    return b->late_bins >= BINS_OF_SELDOM && b->last_third > 0 &&
           s->freed >= EXCUSE_SHARE * (uint64_t)b->late_bins;
}

uint32_t mv_growth_first_bin(uint32_t marks)
{
    return marks >= MARKS_FOR_WARM_UP ? 2 : 1;
}

mv_growth mv_growth_evaluate(const mv_growth_site *s)
{
    mv_growth g = {.first = mv_growth_first_bin(s->marks)};
    uint32_t age = believable_age(s, g.first);
    birth_spread b;

    if (s->marks < age + 1)
        return g;
    g.last = s->marks - age - 1;
    b = spread_of(s, g.first, g.last);
    g.most = b.most;
    g.bins = b.late_bins;
    g.from = b.first_late;
    g.to = b.last_bin;
    g.is_even = births_are_even(&b);
    if (b.bins < 2 || births_stop(&b, g.last) || births_thin_out(&b, g.first, g.last))
        return g;
    if (births_suffice(s, &b, g.last)) {
        g.kind = MV_GROWTH_STEADY;
        g.confidence = confidence_of(&b, g.last);
        look_for_slowing(s, &g);
    } else if (s->marks <= MARKS_TO_BE_SURE) {
        g.kind = MV_GROWTH_MAYBE;
    } else if (keeps_seldom(s, &b)) {
        g.kind = MV_GROWTH_SELDOM;
    }
    return g;
}
