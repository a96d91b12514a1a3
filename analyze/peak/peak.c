#include "analyze/peak/peak.h"

#include "analyze/code/open_range.h"
#include "analyze/code/sites.h"
#include "base/parallel_for.h"
#include "base/sort.h"

enum { SOME_ALLOCS = 1 << 18 }; /* number of allocations per piece */

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    mv_attribution *out;
    mv_sites sites;
    uint32_t *first_part;     /* [sites.groups] first part of each group + 1; 0: none */
    uint32_t *next_part;      /* next part of the same group + 1; 0: none */
    uint32_t *latest;         /* [stacks] latest part of each stack + 1; 0: none */
    uint32_t unattributed;    /* the part for allocations without a stack, or MV_NO_ROW */
    mv_string_id *annotation; /* [out->alive.count] */
} site_search;

struct mv_peak_search {
    mv_arena *arena;
    mv_arena scratch;
    mv_moment at;
    mv_peak_opts opts;
    uint32_t allocs;                /* number of allocations per piece */
    uint32_t pieces;                /* number of pieces done so far */
    mv_category_search *categories; /* NULL once the categories have been found */
    site_search t;
};

/* ---- parts ------------------------------------------------------------------------------- */

/* Returns the part of a group and category, and creates it if necessary. */
static uint32_t part_at(site_search *t, uint32_t group, uint16_t category, mv_stack_id stack)
{
    uint32_t at = t->first_part[group];

    while (at && t->out->parts[at - 1].category != category)
        at = t->next_part[at - 1];
    if (at)
        return at - 1;
    at = t->out->curve.parts++;
    t->out->parts[at] = (mv_peak_part){stack, category};
    t->next_part[at] = t->first_part[group];
    t->first_part[group] = at + 1;
    return at;
}

/* Returns the part of an allocation. Most have the category of the previous one of their stack. */
static uint32_t part_of(site_search *t, mv_stack_id stack, uint16_t category)
{
    uint32_t *latest = stack.row == MV_NO_ROW ? NULL : &t->latest[stack.row], part;

    if (latest && *latest && t->out->parts[*latest - 1].category == category)
        return *latest - 1;
    part = part_at(t, t->sites.group[mv_site_of(&t->sites, stack)], category, stack);
    if (latest)
        *latest = part + 1;
    else
        t->unattributed = part;
    return part;
}

typedef struct {
    const mv_arena *arena;
    uint32_t *at;
    uint64_t count;
} touching;

static void touch_part(void *user, uint32_t part)
{
    const touching *t = user;
    uint64_t first = (uint64_t)part * SOME_ALLOCS, left = t->count - first;

    mv_arena_touch(t->arena, t->at + first,
                   (left < SOME_ALLOCS ? left : SOME_ALLOCS) * sizeof *t->at);
}

static bool make_parts(mv_arena *arena, mv_arena *scratch, site_search *t)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    uint64_t most = (uint64_t)t->sites.groups * t->out->categories.count;

    if (most > a->count)
        most = a->count;
    t->out->part_of = mv_push_array(arena, uint32_t, a->count);
    t->first_part = mv_push_array(scratch, uint32_t, t->sites.groups);
    t->next_part = mv_push_array(scratch, uint32_t, most);
    t->latest = mv_push_array(scratch, uint32_t, t->trace->stacks.count);
    t->out->parts = mv_push_array(arena, mv_peak_part, most);
    if (!t->out->part_of || !t->first_part || !t->next_part || !t->latest || !t->out->parts)
        return false;
    mv_parallel_for((uint32_t)(((uint64_t)a->count + SOME_ALLOCS - 1) / SOME_ALLOCS), 0, touch_part,
                    &(touching){arena, t->out->part_of, a->count});
    for (uint32_t i = 0; i < a->count; i++)
        t->out->part_of[i] = part_of(t, a->stack[i], t->out->categories.of_alloc[i]);
    return true;
}

/* ---- the largest share of each part ------------------------------------------------------ */

/* The bytes of one part that have the same key, which is a stack or an annotation. */
typedef struct {
    uint32_t part;
    uint32_t key;
    uint64_t bytes;
} share;

/* Adds up the bytes of equal keys, then finds the key that has the most bytes of each part. */
static void find_most(mv_arena *scratch, share *shares, uint32_t count, uint32_t *most_of_part)
{
    uint64_t best = 0;

    mv_sort_rows(scratch, shares, count, MV_RISING(share, part), MV_RISING(share, key));
    for (uint32_t i = 0; i < count;) {
        share sum = shares[i];
        bool is_first = i == 0 || shares[i - 1].part != sum.part;
        for (i++; i < count && shares[i].part == sum.part && shares[i].key == sum.key; i++)
            sum.bytes += shares[i].bytes;
        if (is_first || sum.bytes > best) {
            best = sum.bytes;
            most_of_part[sum.part] = sum.key;
        }
    }
}

static bool find_annotations(mv_arena *scratch, site_search *t)
{
    uint32_t *birth = mv_push_array(scratch, uint32_t, t->out->alive.count);

    if (!birth)
        return false;
    for (uint32_t i = 0; i < t->out->alive.count; i++)
        birth[i] = t->lives->allocs.birth[t->out->alive.row[i]];
    t->annotation = mv_within_find(scratch, t->trace, t->lives->device, birth, t->out->alive.count);
    return t->annotation != NULL;
}

/* Sets the stack and annotation of each site from its live allocations. */
static bool describe_sites(mv_arena *scratch, site_search *t, const uint32_t *site_of_part)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    uint32_t count = t->out->alive.count, parts = t->out->curve.parts;
    share *stacks = mv_push_array(scratch, share, count);
    share *ranges = mv_push_array(scratch, share, count);
    share *tags = mv_push_array(scratch, share, count);
    uint32_t *stack = mv_push_array(scratch, uint32_t, parts);
    uint32_t *range = mv_push_array(scratch, uint32_t, parts);
    uint32_t *tag = mv_push_array(scratch, uint32_t, parts);

    if (!stacks || !ranges || !tags || !stack || !range || !tag)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = t->out->alive.row[i];
        stacks[i] = (share){t->out->part_of[row], a->stack[row].row, a->block[row]};
        ranges[i] = (share){t->out->part_of[row], t->annotation[i].row, a->block[row]};
        tags[i] = (share){t->out->part_of[row], mv_alloc_tag(t->lives, row).row, a->block[row]};
    }
    find_most(scratch, stacks, count, stack);
    find_most(scratch, ranges, count, range);
    find_most(scratch, tags, count, tag);
    for (uint32_t p = 0; p < parts; p++)
        if (site_of_part[p]) {
            t->out->sites[site_of_part[p] - 1].stack.row = stack[p];
            t->out->sites[site_of_part[p] - 1].annotation.row = range[p];
            t->out->sites[site_of_part[p] - 1].tag.row = tag[p];
        }
    return true;
}

static bool sum_ranges(mv_arena *arena, mv_arena *scratch, site_search *t)
{
    share *shares = mv_push_array(scratch, share, t->out->alive.count);
    mv_peak_range *ranges;
    uint32_t count = 0;

    t->out->ranges = ranges = mv_push_array(arena, mv_peak_range, t->out->alive.count);
    if (!shares || !ranges)
        return false;
    for (uint32_t i = 0; i < t->out->alive.count; i++)
        shares[i] = (share){0, t->annotation[i].row, t->lives->allocs.block[t->out->alive.row[i]]};
    mv_sort_rows(scratch, shares, t->out->alive.count, MV_RISING(share, part),
                 MV_RISING(share, key));
    for (uint32_t i = 0; i < t->out->alive.count; i++) {
        if (count == 0 || ranges[count - 1].name.row != shares[i].key)
            ranges[count++] = (mv_peak_range){.name.row = shares[i].key};
        ranges[count - 1].bytes += shares[i].bytes;
    }
    mv_sort_rows(scratch, ranges, count, MV_FALLING(mv_peak_range, bytes),
                 MV_RISING(mv_peak_range, name.row));
    t->out->range_count = count;
    return true;
}

/* ---- sites ------------------------------------------------------------------------------- */

static void count_block(site_search *t, uint32_t row, uint32_t *site_of_part)
{
    mv_attribution *out = t->out;
    uint64_t bytes = t->lives->allocs.block[row];
    uint32_t part = t->out->part_of[row];
    mv_peak_site *site;

    out->category_bytes[out->categories.of_alloc[row]] += bytes;
    if (part == t->unattributed) {
        out->unattributed += bytes;
        out->unattributed_blocks++;
        return;
    }
    if (!site_of_part[part]) {
        out->sites[out->count] =
            (mv_peak_site){.part = part, .category = out->parts[part].category};
        site_of_part[part] = ++out->count;
    }
    site = &out->sites[site_of_part[part] - 1];
    site->bytes += bytes;
    site->blocks++;
}

static bool make_sites(mv_arena *arena, mv_arena *scratch, site_search *t, mv_moment at)
{
    mv_attribution *out = t->out;
    uint32_t *site_of_part = mv_push_array(scratch, uint32_t, out->curve.parts);
    mv_err err = {0};

    if (mv_alive_allocs(arena, t->lives, at.event, &out->alive, &err) != MV_OK)
        return false;
    out->sites = mv_push_array(arena, mv_peak_site, out->curve.parts);
    out->category_bytes = mv_push_array(arena, uint64_t, out->categories.count);
    if (!site_of_part || !out->sites || !out->category_bytes)
        return false;
    for (uint32_t i = 0; i < t->out->alive.count; i++)
        count_block(t, t->out->alive.row[i], site_of_part);
    if (!find_annotations(scratch, t) || !describe_sites(scratch, t, site_of_part) ||
        !sum_ranges(arena, scratch, t))
        return false;
    mv_sort_rows(scratch, out->sites, out->count, MV_FALLING(mv_peak_site, bytes),
                 MV_RISING(mv_peak_site, part));
    return true;
}

/* Returns what remains at a moment without the part that then holds the most. */
static uint64_t least_without(const mv_attribution *out)
{
    uint64_t all = out->unattributed, most = all;

    for (uint32_t i = 0; i < out->count; i++) {
        all += out->sites[i].bytes;
        most = out->sites[i].bytes > most ? out->sites[i].bytes : most;
    }
    return all - most;
}

static bool find_marginals(mv_arena *scratch, mv_attribution *out)
{
    mv_window window = out->curve.window;
    uint32_t at = out->at.event + 1; /* MV_BEFORE + 1 is 0 */
    mv_curve_top top;
    uint64_t *without;

    if (at >= window.first && at <= window.end)
        out->curve.least = least_without(out);
    without = mv_curve_peaks_without(scratch, &out->curve, NULL, &top);

    if (!without)
        return false;
    out->peak = top.bytes;
    out->peak_event = top.event;
    for (uint32_t i = 0; i < out->count; i++)
        out->sites[i].marginal = out->peak - without[out->sites[i].part];
    return true;
}

mv_peak_search *mv_peak_search_begin(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                     mv_moment at, mv_peak_opts opts, mv_attribution *out)
{
    mv_peak_search *s = mv_push_struct(arena, mv_peak_search);

    if (!s)
        return NULL;
    *out = (mv_attribution){.at = at};
    *s = (mv_peak_search){
        .arena = arena,
        .at = at,
        .opts = opts,
        .allocs = SOME_ALLOCS,
        .t = {.trace = trace, .lives = lives, .out = out, .unattributed = MV_NO_ROW}};
    mv_arena_init(&s->scratch, arena->budget);
    return s;
}

static void end_categories(mv_peak_search *s)
{
    if (s->categories)
        mv_category_search_end(s->categories);
    s->categories = NULL;
}

static mv_code find_categories(mv_peak_search *s, mv_err *err)
{
    bool again = false;
    mv_code code;

    if (!s->categories)
        s->categories = mv_category_search_begin(s->arena, s->t.trace, s->t.lives, s->opts.kinds,
                                                 s->opts.rules, &s->t.out->categories);
    if (!s->categories)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "categories");
    code = mv_category_search_some(s->categories, s->allocs, &again, err);
    if (code != MV_OK || !again)
        end_categories(s);
    else
        s->pieces--;
    return code;
}

void mv_peak_search_end(mv_peak_search *s)
{
    end_categories(s);
    mv_arena_release(&s->scratch);
}

mv_code mv_peak_search_some(mv_peak_search *s, bool *again, mv_err *err)
{
    mv_attribution *out = s->t.out;
    bool has_memory;

    *again = true;
    switch (s->pieces++) {
    case 0:
        return mv_sites_find(&s->scratch, s->t.trace, &s->t.sites, err);
    case 1:
        return find_categories(s, err);
    case 2:
        has_memory = make_parts(s->arena, &s->scratch, &s->t);
        break;
    case 3:
        return mv_curve_find(s->arena, s->t.lives, s->opts.window, out->part_of, out->curve.parts,
                             &out->curve, err);
    case 4:
        has_memory = make_sites(s->arena, &s->scratch, &s->t, s->at);
        break;
    default:
        *again = false;
        has_memory = find_marginals(&s->scratch, out);
    }
    if (has_memory)
        return MV_OK;
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "sites at the peak");
}

mv_code mv_peak_attribute(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          mv_moment at, mv_peak_opts opts, mv_attribution *out, mv_err *err)
{
    mv_peak_search *s = mv_peak_search_begin(arena, trace, lives, at, opts, out);
    mv_code code = MV_OK;

    if (!s)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "sites at the peak");
    s->allocs = UINT32_MAX;
    for (bool again = true; again && code == MV_OK;)
        code = mv_peak_search_some(s, &again, err);
    mv_peak_search_end(s);
    return code;
}

uint32_t *mv_peak_sites_of_parts(mv_arena *arena, const mv_attribution *found)
{
    uint32_t *site = mv_push_array(arena, uint32_t, found->curve.parts);

    for (uint32_t i = 0; site && i < found->curve.parts; i++)
        site[i] = found->count;
    for (uint32_t i = 0; site && i < found->count; i++)
        site[found->sites[i].part] = i;
    return site;
}
