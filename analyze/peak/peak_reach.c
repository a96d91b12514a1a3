/* mv_peak_reach: finds which sites to remove so that the peak reaches a target. */

#include "base/sort.h"

#include "analyze/peak/peak.h"

typedef struct {
    const mv_attribution *found;
    mv_peak_target *out;
    uint8_t *gone;    /* [parts] */
    uint64_t *bytes;  /* [parts] bytes of each part at the highest remaining moment */
    uint64_t *sorted; /* [parts] */
    mv_curve_top top; /* peak of the curve without the parts in `gone` */
    uint32_t least;   /* lower bound of the number of sites that must be removed */
} reach_search;

static bool is_site(const mv_attribution *found, uint32_t part)
{
    return found->parts[part].stack.row != MV_NO_ROW;
}

/* Examines the highest remaining moment. Every sufficient set of sites must bring this moment down
 * to the target, too, so the number of sites needed for this, taken largest first, is a lower
 * bound. */
static void look(reach_search *r)
{
    uint32_t parts = r->found->curve.parts, needed = 0, count = 0;
    uint64_t level = 0;

    r->top = mv_curve_peak(&r->found->curve, r->gone);
    for (uint32_t p = 0; p < parts; p++)
        r->bytes[p] = 0;
    mv_curve_bytes_at(&r->found->curve, r->top.event, r->bytes);
    for (uint32_t p = 0; p < parts; p++) {
        level += r->bytes[p];
        if (is_site(r->found, p))
            r->sorted[count++] = r->bytes[p];
    }
    mv_sort_rows(NULL, r->sorted, count, MV_FALLING_VALUES(uint64_t));
    while (level > r->out->bytes && needed < count)
        level -= r->sorted[needed++];
    if (needed > r->least)
        r->least = needed;
}

/* Returns the next site to remove, or MV_NO_ROW if no remaining site holds memory. */
static uint32_t choose(const reach_search *r, const uint64_t *without)
{
    uint32_t best = MV_NO_ROW;

    for (uint32_t p = 0; p < r->found->curve.parts; p++) {
        if (r->gone[p] || !is_site(r->found, p) || r->bytes[p] == 0)
            continue;
        if (best == MV_NO_ROW || without[p] < without[best] ||
            (without[p] == without[best] && r->bytes[p] > r->bytes[best]))
            best = p;
    }
    return best;
}

static bool reach(mv_arena *scratch, reach_search *r)
{
    mv_peak_target *out = r->out;

    while (r->top.bytes > out->bytes) {
        mv_arena round;
        mv_curve_top top;
        uint64_t *without, before = r->top.bytes;
        uint32_t part;

        mv_arena_init(&round, scratch->budget);
        without = mv_curve_peaks_without(&round, &r->found->curve, r->gone, &top);
        part = without ? choose(r, without) : MV_NO_ROW;
        mv_arena_release(&round);
        if (!without)
            return false;
        if (part == MV_NO_ROW || out->count == MV_PEAK_REACH_MOST)
            break;
        r->gone[part] = 1;
        look(r);
        out->part[out->count] = part;
        out->fall[out->count++] = before - r->top.bytes;
    }
    out->peak = r->top.bytes;
    out->reaches = r->top.bytes <= out->bytes;
    /* a pair is minimal, because a single site that is sufficient would have been chosen first */
    out->is_least =
        out->bound == MV_BOUND_EXACT && out->reaches && (out->count <= 2 || out->count == r->least);
    out->is_known = !(out->bound & (out->reaches ? MV_BOUND_LEAST : MV_BOUND_MOST));
    return true;
}

mv_code mv_peak_reach(mv_arena *arena, const mv_attribution *found, mv_peak_aim aim,
                      mv_peak_target *out, mv_err *err)
{
    uint32_t parts = found->curve.parts;
    reach_search r = {.found = found, .out = out};
    mv_arena scratch;
    bool is_done;

    *out = (mv_peak_target){.bytes = aim.bytes, .bound = aim.bound};
    out->part = mv_push_array(arena, uint32_t, MV_PEAK_REACH_MOST);
    out->fall = mv_push_array(arena, uint64_t, MV_PEAK_REACH_MOST);
    mv_arena_init(&scratch, arena->budget);
    r.gone = mv_push_array(&scratch, uint8_t, parts);
    r.bytes = mv_push_array(&scratch, uint64_t, parts);
    r.sorted = mv_push_array(&scratch, uint64_t, parts);
    is_done = out->part && out->fall && r.gone && r.bytes && r.sorted;
    if (is_done) {
        look(&r);
        is_done = reach(&scratch, &r);
    }
    mv_arena_release(&scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "sites for a target");
}
