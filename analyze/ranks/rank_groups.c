#include "analyze/ranks/rank_groups.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/diff/pairs.h"
#include "base/sort.h"

/* Maximum relative difference between neighbouring peaks of one class, as in SAME_PART of
 * ranks.c. */
#define CLOSE_PART 50
/* Maximum number of classes with which a small class is compared. */
#define MOST_CANDIDATES 64
#define NO_CLASS        UINT32_MAX

typedef struct {
    mv_arena *scratch;
    const mv_summary *const *ranks;
    uint32_t count;
    const uint32_t *row; /* [count] rows of the ranks in order of their numbers; all other arrays
                          * are in this order */
    uint32_t *class;     /* [count] */
    uint32_t classes;
    uint32_t *size, *first; /* [classes] number of ranks in a class, and its first rank */
    bool *is_small;  /* [classes] the class is not a stage, because it has fewer than half of the
                      * usual number of ranks */
    uint32_t usual;  /* typical number of ranks in a class: the median over all ranks */
    uint32_t length; /* number of ranks in a stage */
} grouping;

static const mv_summary *rank_at(const grouping *g, uint32_t number)
{
    return g->ranks[g->row[number]];
}

/* ---- classes ----------------------------------------------------------------------------- */

typedef enum { BY_HOLDINGS, BY_CODE } class_kind;

typedef struct {
    uint64_t signature, peak;
    uint32_t number;
} signed_rank;

/* Returns a hash of the sites and, for BY_HOLDINGS, of the bytes at each site at the peak. Sites
 * are sorted by key. */
static uint64_t signature_of(const mv_summary *rank, class_kind kind)
{
    uint64_t hash = 1;

    for (uint32_t i = 0; i < rank->sites; i++) {
        const mv_summary_site *site = &rank->site[i];
        if (kind == BY_HOLDINGS && site->peak_bytes)
            hash = mv_pair_mix(mv_pair_mix(mv_pair_mix(hash, site->key), site->peak_bytes),
                               site->peak_blocks);
        else if (kind == BY_CODE && site->stack.row != MV_NO_STACK.row)
            hash = mv_pair_mix(hash, site->key);
    }
    return hash;
}

/* Finds classes. Returns the number of ranks that are not the only rank of their class. */
static uint32_t find_classes(grouping *g, class_kind kind, signed_rank *room)
{
    uint32_t with_peers = 0;

    for (uint32_t i = 0; i < g->count; i++)
        room[i] =
            (signed_rank){signature_of(rank_at(g, i), kind), rank_at(g, i)->peak_allocated, i};
    mv_sort_rows(g->scratch, room, g->count, MV_RISING(signed_rank, signature),
                 MV_RISING(signed_rank, peak), MV_RISING(signed_rank, number));
    g->classes = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        bool is_same = i > 0 && room[i].signature == room[i - 1].signature &&
                       room[i].peak - room[i - 1].peak <= room[i - 1].peak / CLOSE_PART;
        if (!is_same) {
            g->first[g->classes] = room[i].number;
            g->size[g->classes++] = 0;
        }
        g->class[room[i].number] = g->classes - 1;
        g->size[g->classes - 1]++;
        if (room[i].number < g->first[g->classes - 1])
            g->first[g->classes - 1] = room[i].number;
    }
    for (uint32_t i = 0; i < g->classes; i++)
        with_peers += g->size[i] > 1 ? g->size[i] : 0;
    return with_peers;
}

static bool find_small(grouping *g)
{
    uint32_t *sizes = mv_push_array(g->scratch, uint32_t, g->count);

    if (!sizes)
        return false;
    for (uint32_t i = 0; i < g->count; i++)
        sizes[i] = g->size[g->class[i]];
    mv_sort_rows(g->scratch, sizes, g->count, MV_RISING_VALUES(uint32_t));
    g->usual = sizes[(g->count - 1) / 2];
    for (uint32_t i = 0; i < g->classes; i++)
        g->is_small[i] = 2 * (uint64_t)g->size[i] <= g->usual;
    return true;
}

/* ---- stages by number --------------------------------------------------------------------- */

/* Returns the number of the i-th rank in a stage. */
static uint32_t member(mv_rank_grid grid, uint32_t stage, uint32_t i)
{
    return (i / grid.inner * grid.stages + stage) * grid.inner + i % grid.inner;
}

static uint32_t stage_of(mv_rank_grid grid, uint32_t number)
{
    return number / grid.inner % grid.stages;
}

/* Returns the class of more than half of a stage's ranks; NO_CLASS if there is no such class. *most
 * is set to the number of these ranks. */
static uint32_t class_of_most(const grouping *g, mv_rank_grid grid, uint32_t stage, uint32_t *most)
{
    uint32_t length = g->count / grid.stages, class = NO_CLASS, ahead = 0;

    for (uint32_t i = 0; i < length; i++) {
        uint32_t own = g->class[member(grid, stage, i)];
        if (ahead == 0)
            class = own;
        ahead = own == class ? ahead + 1 : ahead - 1;
    }
    *most = 0;
    for (uint32_t i = 0; i < length; i++)
        *most += g->class[member(grid, stage, i)] == class;
    return 2 * *most > length ? class : NO_CLASS;
}

/* Calls `try` for each way to number stages, and begins with the most ranks per stage. Returns true
 * if a call succeeds. */
typedef bool try_grid(grouping *g, mv_rank_grid grid);

static bool find_grid(grouping *g, try_grid *try, mv_rank_grid *out)
{
    for (uint32_t stages = 1; stages <= g->count; stages++) {
        uint32_t length = g->count / stages;
        if (length * stages != g->count)
            continue;
        for (uint32_t inner = length; inner > 0; inner--)
            if (length % inner == 0 && try(g, (mv_rank_grid){stages, inner})) {
                *out = (mv_rank_grid){stages, inner};
                return true;
            }
    }
    return false;
}

/* Returns the small class of a stage if all ranks of the class are in the stage and make up most of
 * its ranks. */
static uint32_t small_stage(const grouping *g, mv_rank_grid grid, uint32_t stage)
{
    uint32_t most, class = class_of_most(g, grid, stage, &most);

    return class != NO_CLASS && g->is_small[class] && most == g->size[class] ? class : NO_CLASS;
}

/* Accepts a numbering in which only the first and the last stage differ. The middle stages of a
 * pipeline may hold the same memory, so that their class is larger than one stage. The first stage
 * (embedding) and the last stage (loss) both differ from the middle stages. If each stage is a
 * single rank, these two ranks must also run different code, because two odd ranks may be the first
 * and the last rank by chance. */
static bool accept_ends(grouping *g, mv_rank_grid grid)
{
    uint32_t first, last;
    uint64_t code[3];

    if (grid.stages < 3)
        return false;
    first = small_stage(g, grid, 0);
    last = small_stage(g, grid, grid.stages - 1);
    if (first == NO_CLASS || last == NO_CLASS || first == last)
        return false;
    if (grid.stages == g->count) {
        code[0] = signature_of(rank_at(g, 0), BY_CODE);
        code[1] = signature_of(rank_at(g, g->count / 2), BY_CODE);
        code[2] = signature_of(rank_at(g, g->count - 1), BY_CODE);
        if (code[0] == code[1] || code[1] == code[2] || code[0] == code[2])
            return false;
    }
    for (uint32_t stage = 0; stage < grid.stages; stage++) {
        uint32_t class = small_stage(g, grid, stage);
        if (class != NO_CLASS)
            g->is_small[class] = false;
    }
    return true;
}

/* Whether all ranks of large enough classes are in stages of their class, and no small class makes
 * up most of a stage. */
static bool fits(grouping *g, mv_rank_grid grid)
{
    uint32_t length = g->count / grid.stages, most;

    for (uint32_t stage = 0; stage < grid.stages; stage++) {
        uint32_t class = class_of_most(g, grid, stage, &most);
        if (class != NO_CLASS && g->is_small[class])
            return false;
        for (uint32_t i = 0; i < length; i++) {
            uint32_t own = g->class[member(grid, stage, i)];
            if (own != class && !g->is_small[own])
                return false;
        }
    }
    return true;
}

/* Makes each stage a separate group. */
static void assign_stages(grouping *g, mv_rank_grid grid)
{
    g->length = g->count / grid.stages;
    for (uint32_t i = 0; i < g->count; i++)
        g->class[i] = stage_of(grid, i);
}

/* Joins stages of one or two ranks if they hold the same memory, because an odd rank cannot be
 * identified within such a stage. Ranks of small classes are put into the class of their stage or,
 * in a stage without a class, into the class of its first rank. */
static void assign_by_number(grouping *g, mv_rank_grid grid)
{
    uint32_t length = g->count / grid.stages, most;

    if (length > 2) {
        assign_stages(g, grid);
        return;
    }
    g->length = length;
    for (uint32_t stage = 0; stage < grid.stages; stage++) {
        uint32_t class = class_of_most(g, grid, stage, &most);
        for (uint32_t i = 0; i < length; i++)
            g->class[member(grid, stage, i)] =
                class != NO_CLASS ? class : g->class[member(grid, stage, 0)];
    }
}

/* ---- stages by content -------------------------------------------------------------------- */

/* Returns the number of bytes at the peak that only one of the two ranks has. */
static uint64_t difference(const mv_summary *a, const mv_summary *b)
{
    uint64_t sum = 0;

    for (uint32_t i = 0, k = 0; i < a->sites || k < b->sites;) {
        uint64_t left = i < a->sites ? a->site[i].key : UINT64_MAX;
        uint64_t right = k < b->sites ? b->site[k].key : UINT64_MAX;
        uint64_t x = left <= right ? a->site[i++].peak_bytes : 0;
        uint64_t y = right <= left ? b->site[k++].peak_bytes : 0;
        sum += x < y ? y - x : x - y;
    }
    return sum;
}

/* Returns the number of ranks missing from the last stage of a class if each stage has `length`
 * ranks. */
static uint32_t missing_ranks(uint32_t size, uint32_t length)
{
    return (length - size % length) % length;
}

/* Returns the most similar class that has room for `class`; NO_CLASS if no stage has too few
 * ranks. */
static uint32_t similar_class(const grouping *g, uint32_t class, uint32_t length)
{
    uint64_t least = UINT64_MAX;
    uint32_t best = NO_CLASS, candidates = 0;

    for (uint32_t i = 0; i < g->classes && candidates < MOST_CANDIDATES; i++) {
        uint64_t far;
        if (g->is_small[i] || missing_ranks(g->size[i], length) < g->size[class])
            continue;
        candidates++;
        far = difference(rank_at(g, g->first[i]), rank_at(g, g->first[class]));
        if (far < least) {
            least = far;
            best = i;
        }
    }
    return best;
}

/* Assigns small classes to similar stages. Ranks for which no stage has room form a separate
 * stage. */
static bool assign_by_content(grouping *g)
{
    uint32_t *joined = mv_push_array(g->scratch, uint32_t, g->classes);
    uint32_t length = g->usual, rest = NO_CLASS;

    if (!joined)
        return false;
    while (g->count % length != 0)
        length++;
    g->length = length;
    for (uint32_t i = 0; i < g->classes; i++) {
        joined[i] = g->is_small[i] ? similar_class(g, i, length) : i;
        if (joined[i] == NO_CLASS)
            joined[i] = rest = rest == NO_CLASS ? i : rest;
    }
    for (uint32_t i = 0; i < g->count; i++)
        g->class[i] = joined[g->class[i]];
    return true;
}

/* ---- given sizes ------------------------------------------------------------------------- */

/* Reads one "name=size" of the string and moves past it. */
static bool take_size(const char **text, mv_span *name, uint32_t *size)
{
    char *end;
    unsigned long value;
    const char *at = *text;

    while (*at >= 'a' && *at <= 'z')
        at++;
    *name = (mv_span){(const uint8_t *)*text, (uint64_t)(at - *text)};
    if (name->length == 0 || at[0] != '=' || at[1] < '1' || at[1] > '9')
        return false;
    value = strtoul(at + 1, &end, 10);
    if (value > UINT32_MAX || (*end && *end != ','))
        return false;
    *size = (uint32_t)value;
    *text = *end ? end + 1 : end;
    return *end == 0 || end[1];
}

bool mv_rank_grid_parse(const char *text, uint32_t count, mv_rank_grid *out, char *why,
                        size_t why_size)
{
    uint64_t before = 1, after = 1, stages = 0;
    const char *at = text;

    do {
        mv_span name;
        uint32_t size;
        if (!take_size(&at, &name, &size)) {
            snprintf(why, why_size, "expected a list such as tp=8,pp=4");
            return false;
        }
        if (name.length == 2 && memcmp(name.data, "pp", 2) == 0 && !stages)
            stages = size;
        else
            *(stages ? &after : &before) *= size;
    } while (*at && before <= count && after <= count);
    stages = stages ? stages : 1;
    if (before > count || after > count || stages > count || count % (before * stages * after)) {
        snprintf(why, why_size, "the product does not divide the number of ranks, %u", count);
        return false;
    }
    *out = (mv_rank_grid){(uint32_t)stages, (uint32_t)(count / stages / after)};
    return true;
}

/* ---- ranks without peers ------------------------------------------------------------------- */

/* Whether a rank holds most of its bytes at sites that the other rank does not have. */
static bool is_elsewhere(const mv_summary *rank, const mv_summary *other)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < rank->sites; i++)
        if (rank->site[i].stack.row != MV_NO_STACK.row &&
            !mv_summary_find(other, rank->site[i].key))
            bytes += rank->site[i].peak_bytes;
    return bytes > rank->peak_allocated / 2;
}

/* Makes one class of all ranks, except for those that run a different program from the rank with
 * the median peak. */
static void join_all(grouping *g, signed_rank *room)
{
    const mv_summary *middle;

    mv_sort_rows(g->scratch, room, g->count, MV_RISING(signed_rank, peak),
                 MV_RISING(signed_rank, number));
    middle = rank_at(g, room[(g->count - 1) / 2].number);
    for (uint32_t i = 0; i < g->count; i++) {
        bool is_other = is_elsewhere(rank_at(g, i), middle) && is_elsewhere(middle, rank_at(g, i));
        g->class[i] = is_other ? i : room[(g->count - 1) / 2].number;
    }
}

/* ---- all groups -------------------------------------------------------------------------- */

static bool find_all(grouping *g, signed_rank *room)
{
    mv_rank_grid grid;
    bool has_ends;

    if (2 * find_classes(g, BY_HOLDINGS, room) <= g->count &&
        2 * find_classes(g, BY_CODE, room) <= g->count) {
        join_all(g, room);
        return true;
    }
    if (!find_small(g))
        return false;
    has_ends = find_grid(g, accept_ends, &grid);
    if (!find_grid(g, fits, &grid))
        return assign_by_content(g);
    /* any numbering can be divided into stages of one or two ranks */
    if (g->count / grid.stages <= 2 && g->usual > 2 && !has_ends)
        return assign_by_content(g);
    assign_by_number(g, grid);
    return true;
}

/* Numbers the groups in the order of their first ranks. */
static bool number_groups(const grouping *g, mv_rank_groups *out)
{
    uint32_t *group = mv_push_array(g->scratch, uint32_t, g->count);

    if (!group)
        return false;
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t *own = &group[g->class[i]]; /* group number plus 1 */
        if (*own == 0)
            *own = ++out->count;
        out->of[g->row[i]] = *own - 1;
    }
    return true;
}

static bool find(grouping *g, mv_rank_grid grid, mv_rank_groups *out)
{
    signed_rank *room = mv_push_array(g->scratch, signed_rank, g->count);
    mv_rank_place *places = mv_summary_places(g->scratch, g->ranks, g->count);

    g->row = places ? mv_rank_order(g->scratch, places, g->count) : NULL;
    g->class = mv_push_array(g->scratch, uint32_t, g->count);
    g->size = mv_push_array(g->scratch, uint32_t, g->count);
    g->first = mv_push_array(g->scratch, uint32_t, g->count);
    g->is_small = mv_push_array(g->scratch, bool, g->count);
    if (!room || !g->row || !g->class || !g->size || !g->first || !g->is_small)
        return false;
    g->length = g->count;
    if (grid.stages)
        assign_stages(g, grid);
    if (!grid.stages && g->count > 2 && !find_all(g, room))
        return false;
    out->length = g->length;
    return number_groups(g, out);
}

bool mv_rank_groups_find(mv_arena *arena, const mv_summary *const *ranks, uint32_t count,
                         mv_rank_grid grid, mv_rank_groups *out)
{
    mv_arena scratch;
    grouping g = {.scratch = &scratch, .ranks = ranks, .count = count};
    bool found;

    *out = (mv_rank_groups){.of = mv_push_array(arena, uint32_t, count)};
    if (!out->of)
        return false;
    mv_arena_init(&scratch, arena->budget);
    found = find(&g, grid, out);
    mv_arena_release(&scratch);
    return found;
}
