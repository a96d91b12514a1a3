#include "view/timeline/legend_count.h"

#include "analyze/code/labels.h"
#include "base/sort.h"

enum { GROUPS = 4096, LABELS = 64 };

typedef enum { AT_MOMENT, AT_HIGHEST, IN_TILES, DONE } counted_part;

/* ---- the table --------------------------------------------------------------------------- */

/* Returns the group with this key. Once the table is half full, all new groups share a row, because
 * nobody would read that many rows. */
static mv_legend_group *group_of(mv_legend *l, uint64_t key)
{
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) % GROUPS;

    while (l->groups[at].is_used && l->groups[at].key != key)
        at = (at + 1) % GROUPS;
    if (!l->groups[at].is_used) {
        if (l->count >= GROUPS / 2 && key != MV_GROUP_REST)
            return group_of(l, MV_GROUP_REST);
        l->groups[at] = (mv_legend_group){.key = key, .is_used = true, .alloc = MV_NO_ROW};
        l->count++;
    }
    return &l->groups[at];
}

bool mv_legend_begin(mv_legend *l, mv_arena *arena, const mv_legend_query *ask)
{
    mv_legend_group *groups = l->groups;
    mv_arena labels = l->labels;

    if (!groups)
        groups = mv_push_array(arena, mv_legend_group, GROUPS);
    if (!groups)
        return false;
    if (!labels.budget)
        mv_arena_init(&labels, arena->budget);
    memset(groups, 0, GROUPS * sizeof *groups);
    *l = (mv_legend){.ask = *ask, .groups = groups, .labels = labels};
    return true;
}

void mv_legend_release(mv_legend *l)
{
    if (l->labels.budget)
        mv_arena_release(&l->labels);
}

/* ---- counting ---------------------------------------------------------------------------- */

static bool is_drawn(const mv_legend_source *from, uint32_t rank)
{
    return !from->only || from->only[rank >> 6] >> (rank & 63) & 1;
}

static void add(mv_legend_sum *sum, uint64_t bytes)
{
    sum->bytes += bytes;
    sum->blocks++;
}

static void count_moment(mv_legend *l, const mv_legend_source *from, uint32_t rank)
{
    uint64_t bytes = from->index->bytes[rank];
    mv_legend_group *g;

    if (!is_drawn(from, rank)) {
        add(&l->hidden, bytes);
        return;
    }
    g = group_of(l, mv_colour_group(&from->colouring, rank));
    g->alloc = rank;
    g->bytes += bytes;
    g->blocks++;
    add(&l->all, bytes);
    if (from->matches && mv_filter_has(from->matches, rank))
        add(&l->hits, bytes);
    if (l->ask.high == l->ask.event)
        g->high_bytes += bytes;
}

static void count_highest(mv_legend *l, const mv_legend_source *from, uint32_t rank)
{
    mv_legend_group *g;

    if (!is_drawn(from, rank))
        return;
    g = group_of(l, mv_colour_group(&from->colouring, rank));
    g->high_bytes += from->index->bytes[rank];
    g->alloc = rank;
}

/* Adds the rows alive at a moment. Returns false if there are more. */
static bool walk_alive(mv_legend *l, const mv_legend_source *from, uint32_t event,
                       void (*count)(mv_legend *, const mv_legend_source *, uint32_t),
                       uint32_t *most)
{
    const mv_index *x = from->index;
    uint32_t born = mv_index_born(x, event);

    for (l->next = mv_index_next(x, l->next, born, event); l->next<born && * most> 0; --*most) {
        if (mv_index_is_alive(x, l->next, event))
            count(l, from, l->next);
        l->next = mv_index_next(x, l->next + 1, born, event);
    }
    return l->next >= born;
}

static void see(mv_legend *l, const mv_legend_source *from, uint32_t rank)
{
    mv_legend_group *g = group_of(l, mv_colour_group(&from->colouring, rank));

    g->is_seen = true;
    if (g->alloc == MV_NO_ROW)
        g->alloc = rank;
}

/* Adds the part of a tile that is in the window. */
static void see_tile(mv_legend *l, const mv_legend_source *from, const mv_tile_quad *q)
{
    const mv_tile *t = q->tile;
    uint32_t c0 = (uint32_t)q->from_x, c1 = (uint32_t)(q->from_x + q->from_w);
    uint32_t y1 = t->rows > (uint32_t)q->from_y ? t->rows - (uint32_t)q->from_y : 0;
    uint32_t high = (uint32_t)q->from_h, y0 = y1 > high ? y1 - high : 0, last = MV_NO_ROW;

    for (uint32_t c = c0; c < c1 && c < MV_TILE_COLUMNS; c++)
        for (uint32_t y = y0; y < y1; y++) {
            uint32_t rank = t->ids[(uint64_t)c * t->rows + y];
            if (rank == last || rank == MV_NO_ROW)
                continue;
            last = rank;
            see(l, from, rank);
        }
}

static bool walk_tiles(mv_legend *l, const mv_legend_source *from, uint32_t *most)
{
    enum { TILE_COST = 4000 };

    for (; from->tiles && l->next<from->tiles->count && * most> 0; l->next++) {
        if (from->tiles->quads[l->next].is_exact)
            see_tile(l, from, &from->tiles->quads[l->next]);
        *most -= *most > TILE_COST ? TILE_COST : *most;
    }
    if (from->tiles && l->next < from->tiles->count)
        return false;
    for (uint32_t i = 0; from->seen && i < from->seen_count; i++)
        see(l, from, from->seen[i]);
    for (uint32_t i = 0; from->spikes && i < from->spike_count; i++)
        if (from->spikes[i] != MV_NO_ROW)
            see(l, from, from->spikes[i]);
    return true;
}

/* ---- finishing --------------------------------------------------------------------------- */

static uint64_t weight(const mv_legend_group *g)
{
    return g->bytes > g->high_bytes ? g->bytes : g->high_bytes;
}

/* Drops groups that have neither bytes nor a pixel. */
static void sift(mv_legend *l, const mv_legend_source *from)
{
    l->rest = from->rest;
    for (uint32_t i = 0; i < GROUPS; i++) {
        mv_legend_group *g = &l->groups[i];
        if (g->is_used && !g->is_seen && weight(g) == 0) {
            g->is_used = false;
            l->count--;
        }
        g->is_rest = g->key == MV_GROUP_REST || (from->rest && !g->is_seen);
        l->named += g->is_used && !g->is_rest;
    }
}

/* Compares groups: leaks come first, then the groups with the most bytes at either moment, then
 * groups with a pixel. */
static int important_first(const void *left, const void *right, const void *context)
{
    const mv_legend_group *a = left, *b = right;
    int leak = !!(b->key & MV_GROUP_LEAK) - !!(a->key & MV_GROUP_LEAK);

    (void)context;
    if (a->is_used != b->is_used)
        return a->is_used ? -1 : 1;
    if (a->is_rest != b->is_rest)
        return a->is_rest ? 1 : -1;
    if (leak)
        return leak;
    if (weight(a) != weight(b))
        return weight(a) < weight(b) ? 1 : -1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static bool make_code_labels(mv_legend *l, const mv_colouring *c, uint32_t count)
{
    mv_labelled *rows = mv_push_array(&l->labels, mv_labelled, count);
    const char **labels;

    if (!rows)
        return false;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (mv_labelled){.trace = &c->document->trace,
                                .kinds = c->document->sites.kinds,
                                .stack = c->lives->allocs.stack[l->groups[i].alloc],
                                .key = !!(l->groups[i].key & MV_GROUP_LEAK),
                                .bytes = weight(&l->groups[i])};
    labels = mv_labels_find(&l->labels, rows, count, c->mode == MV_COLOUR_STACK);
    for (uint32_t i = 0; labels && i < count; i++)
        l->groups[i].label = labels[i];
    return labels != NULL;
}

static bool make_labels(mv_legend *l, const mv_colouring *c)
{
    uint32_t count = l->named < LABELS ? l->named : LABELS;
    char label[MV_GROUP_LABEL];

    mv_arena_release(&l->labels);
    mv_arena_init(&l->labels, l->labels.budget);
    if (count == 0)
        return true;
    if (mv_colouring_is_by_code(c))
        return make_code_labels(l, c, count);
    for (uint32_t i = 0; i < count; i++) {
        mv_group_label(c, l->groups[i].key, label);
        l->groups[i].label = mv_arena_text(&l->labels, label, strlen(label));
        if (!l->groups[i].label)
            return false;
    }
    return true;
}

bool mv_legend_count(mv_legend *l, mv_arena *arena, const mv_legend_source *from, uint32_t most)
{
    while (l->part < DONE) {
        bool is_over = l->part == AT_MOMENT ? walk_alive(l, from, l->ask.event, count_moment, &most)
                       : l->part == IN_TILES ? walk_tiles(l, from, &most)
                       : l->ask.high == l->ask.event
                           ? true
                           : walk_alive(l, from, l->ask.high, count_highest, &most);
        if (!is_over)
            return false;
        l->next = 0;
        l->part++;
    }
    sift(l, from);
    mv_sort_by(arena, l->groups, GROUPS, sizeof *l->groups, important_first, NULL);
    make_labels(l, &from->colouring); /* if memory runs out, rows have no label */
    l->is_done = true;
    return true;
}

/* ---- rows -------------------------------------------------------------------------------- */

static uint32_t leak_groups(const mv_legend *l)
{
    uint32_t count = 0;

    while (count < l->named && l->groups[count].key & MV_GROUP_LEAK)
        count++;
    return count;
}

static int most_bytes_first(const void *left, const void *right, const void *context)
{
    const mv_legend_row *a = left, *b = right;
    int leak = !!(b->key & MV_GROUP_LEAK) - !!(a->key & MV_GROUP_LEAK);

    (void)context;
    if ((a->bytes == 0) != (b->bytes == 0))
        return a->bytes == 0 ? 1 : -1;
    if (leak)
        return leak;
    return a->bytes < b->bytes ? 1 : a->bytes > b->bytes ? -1 : 0;
}

static int steps_in_order(const void *left, const void *right, const void *context)
{
    const mv_legend_row *a = left, *b = right;

    (void)context;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Merges the groups [from, to) into a row. */
static void take(const mv_legend *l, uint32_t from, uint32_t to, mv_legend_row *row)
{
    for (uint32_t i = from; i < to; i++) {
        row->bytes += l->groups[i].bytes;
        row->blocks += l->groups[i].blocks;
        row->groups++;
    }
}

static mv_legend_row row_of(const mv_legend *l, uint32_t group, const mv_colouring *c,
                            const mv_theme *theme, mv_scene *scene)
{
    const mv_legend_group *g = &l->groups[group];
    mv_legend_row row = {.key = g->key, .colour = mv_group_colour(c, theme, g->key)};
    bool is_leak = g->key & MV_GROUP_LEAK && mv_colouring_is_by_code(c);

    take(l, group, group + 1, &row);
    row.label = mv_scene_format(scene, "%s%s", is_leak ? "leak: " : "", g->label ? g->label : "");
    return row;
}

void mv_legend_choose(const mv_legend *l, const mv_colouring *c, const mv_theme *theme,
                      mv_scene *scene, uint32_t most, mv_legend_rows *out)
{
    uint32_t leaks = leak_groups(l), first = 0, named;
    const char *what = c->mode == MV_COLOUR_SITE    ? "lines of code"
                       : c->mode == MV_COLOUR_STACK ? "stacks"
                                                    : "";

    most = most < MV_LEGEND_MOST ? most : MV_LEGEND_MOST;
    *out = (mv_legend_rows){.device = l->ask.device, .colours = l->ask.colours};
    if (most == 0 || l->count == 0)
        return;
    if (leaks > 1 && leaks > most / 2) {
        mv_legend_row *row = &out->row[out->count++];
        *row = (mv_legend_row){.key = MV_GROUP_LEAK, .is_all_leaks = true, .colour = theme->leak};
        take(l, 0, leaks, row);
        row->label = mv_scene_format(scene, "leaks of %s %s", mv_scene_count(scene, leaks), what);
        first = leaks;
    }
    named = l->named - first;
    if (out->count + named + (l->named < l->count) > most)
        named = most - out->count > 0 ? most - out->count - 1 : 0;
    if (first + named > LABELS)
        named = LABELS - first;
    for (uint32_t i = first; i < first + named; i++)
        out->row[out->count++] = row_of(l, i, c, theme, scene);
    mv_sort_by(scene->arena, out->row, out->count, sizeof *out->row,
               mv_colouring_steps(c) ? steps_in_order : most_bytes_first, NULL);
    if (first + named < l->count && out->count < most) {
        mv_legend_row *row = &out->row[out->count++];
        *row =
            (mv_legend_row){.is_others = true, .colour = first + named == l->named ? l->rest : 0};
        take(l, first + named, l->count, row);
        row->label = mv_scene_format(scene, *what ? "%s other %s" : "%s others%s",
                                     mv_scene_count(scene, row->groups), what);
    }
}

bool mv_legend_words(const mv_legend_rows *rows, const mv_colouring *c, uint32_t row,
                     char out[MV_SEARCH_TEXT])
{
    uint64_t named[MV_LEGEND_MOST];
    uint32_t count = 0;

    if (row >= rows->count)
        return false;
    if (rows->row[row].is_all_leaks) {
        snprintf(out, MV_SEARCH_TEXT, "leak");
        return true;
    }
    if (!rows->row[row].is_others)
        return mv_group_words(c, rows->row[row].key, out, MV_SEARCH_TEXT);
    for (uint32_t i = 0; i < rows->count; i++)
        if (!rows->row[i].is_others)
            named[count++] = rows->row[i].key;
    return mv_group_words_of_others(c, named, count, out, MV_SEARCH_TEXT);
}
