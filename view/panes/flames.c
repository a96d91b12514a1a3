#include "view/panes/flames.h"
#include "base/names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

const char *mv_flames_source_name(uint32_t source)
{
    static const char *const names[] = {MV_FLAMES_LIST(MV_SECOND)};

    return source < MV_FLAMES_COUNT ? names[source] : "";
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Return the moment before event a, and the moment after the last event before b. */
static uint32_t moment_before(uint32_t event)
{
    return event ? event - 1 : MV_BEFORE;
}

static mv_code rows_of(mv_arena *arena, const mv_index *index, mv_flames_query ask, mv_alive *out,
                       mv_err *err)
{
    uint32_t before = moment_before(ask.a), after = moment_before(ask.b), first, limit;

    if (ask.source == MV_FLAMES_CURSOR || ask.source == MV_FLAMES_PEAK)
        return mv_index_alive(arena, index, ask.event, out, err);
    if (ask.source == MV_FLAMES_HELD)
        return mv_index_held(arena, index, before, after, out, err);
    first = mv_index_born(index, before);
    limit = mv_index_born(index, after);
    *out = (mv_alive){.row = mv_push_array(arena, uint32_t, limit - first)};
    if (!out->row)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u rows of an interval", limit - first);
    for (uint32_t i = first; i < limit; i++)
        if (index->end[i] <= after)
            out->row[out->count++] = i;
    return MV_OK;
}

mv_code mv_flames_rows(mv_arena *arena, const mv_index *index, mv_flames_query ask, mv_alive *out,
                       mv_err *err)
{
    uint32_t kept = 0;

    if (rows_of(arena, index, ask, out, err) != MV_OK)
        return err->code;
    for (uint32_t i = 0; i < out->count; i++)
        if (!ask.only || mv_filter_has(ask.only, out->row[i]))
            out->row[kept++] = out->row[i];
    out->count = kept;
    return MV_OK;
}

/* ---- stacks ------------------------------------------------------------------------------ */

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
} sum;

/* Makes a flame row for each site, or with all frames for each stack. */
static bool sum_up(mv_arena *scratch, const mv_trace *trace, const mv_sites *sites,
                   const mv_index *index, const mv_alive *rows, bool has_all_frames, mv_flame *out)
{
    const mv_lives *lives = index->lives;
    uint32_t count = has_all_frames ? trace->stacks.count + 1 : sites->count;
    sum *sums = mv_push_array(scratch, sum, count);
    uint32_t used = 0;

    if (!sums)
        return false;
    for (uint32_t i = 0; i < rows->count; i++) {
        mv_stack_id stack = lives->allocs.stack[rows->row[i]];
        uint32_t at = has_all_frames
                          ? (stack.row < trace->stacks.count ? stack.row : trace->stacks.count)
                          : mv_site_of(sites, stack);
        used += sums[at].blocks++ == 0;
        sums[at].bytes += index->bytes[rows->row[i]];
    }
    out->rows = mv_push_array(scratch, mv_flame_row, used);
    for (uint32_t i = 0; out->rows && i < count; i++) {
        mv_stack_id stack = {i};
        if (has_all_frames && i == trace->stacks.count)
            stack = MV_NO_STACK;
        if (sums[i].blocks)
            out->rows[out->count++] =
                (mv_flame_row){.segment = MV_NO_ROW,
                               .stack = has_all_frames ? stack : sites->stack[i],
                               .blocks = sums[i].blocks,
                               .part = MV_FLAME_ALLOCATED,
                               .bytes = sums[i].bytes};
    }
    return out->rows != NULL;
}

static bool number_paths(mv_arena *arena, mv_flames *out)
{
    out->path = mv_push_array(arena, uint64_t, out->tree.count);
    if (!out->path)
        return false;
    for (uint32_t i = 1; i < out->tree.count; i++) {
        const mv_flame_node *node = &out->tree.nodes[i];
        out->path[i] =
            XXH3_64bits_withSeed(node->label, strlen(node->label), out->path[node->parent] + 1);
        out->path[i] += out->path[i] == 0;
    }
    return true;
}

/* Makes the tree of a flame, and computes its sum. */
static mv_code make_tree(mv_arena *arena, const mv_trace *trace, const mv_sites *sites,
                         const mv_lives *lives, const mv_flame *flame, mv_flames_query ask,
                         mv_flames *out, mv_err *err)
{
    mv_flame_tree_opts opts = {.is_inverted = ask.is_inverted, .by_blocks = ask.by_blocks};
    mv_code code =
        mv_flame_tree_make_as(arena, trace, lives, flame, ask.has_all_frames ? NULL : sites,
                              sites->kinds, opts, &out->tree, err);

    if (code == MV_OK && !number_paths(arena, out))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "flame graph");
    for (uint32_t i = 0; code == MV_OK && i < flame->count; i++) {
        out->bytes += flame->rows[i].bytes;
        out->blocks += flame->rows[i].blocks;
    }
    return code;
}

mv_code mv_flames_find(mv_arena *arena, const mv_trace *trace, const mv_sites *sites,
                       const mv_index *index, mv_flames_query ask, mv_flames *out, mv_err *err)
{
    mv_flame flame = {0};
    mv_arena scratch;
    mv_alive rows;
    mv_code code;

    *out = (mv_flames){0};
    mv_arena_init(&scratch, arena->budget);
    code = mv_flames_rows(&scratch, index, ask, &rows, err);
    if (code == MV_OK && !sum_up(&scratch, trace, sites, index, &rows, ask.has_all_frames, &flame))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "flame graph");
    if (code == MV_OK)
        code = make_tree(arena, trace, sites, index->lives, &flame, ask, out, err);
    mv_arena_release(&scratch);
    return code;
}

mv_code mv_flames_of_segments(mv_arena *arena, const mv_trace *trace, const mv_sites *sites,
                              const mv_lives *lives, const mv_heap_map *map, mv_flames_query ask,
                              mv_flames *out, mv_err *err)
{
    const mv_sites *shown = ask.has_all_frames ? NULL : sites;
    mv_flame flame = {0};
    mv_arena scratch;
    mv_code code;

    *out = (mv_flames){0};
    mv_arena_init(&scratch, arena->budget);
    code = mv_flame_of_map(&scratch, lives, ask.event, map, shown, NULL, &flame, err);
    ask.is_inverted = false;
    if (code == MV_OK)
        code = make_tree(arena, trace, sites, lives, &flame, ask, out, err);
    mv_arena_release(&scratch);
    return code;
}

mv_code mv_flames_of_change(mv_arena *arena, const mv_diff_code *code, const mv_diff *found,
                            mv_flames_query ask, mv_flames *out, mv_err *err)
{
    mv_flame_tree_opts opts = {.is_inverted = ask.is_inverted};
    mv_code result;

    *out = (mv_flames){0};
    result = mv_flame_change_find(arena, code, found, ask.has_all_frames, opts, &out->tree, err);
    if (result == MV_OK && !number_paths(arena, out))
        result = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "flame graph");
    if (result == MV_OK) {
        out->bytes = out->tree.nodes[0].bytes;
        out->blocks = out->tree.nodes[0].blocks;
    }
    return result;
}

/* ---- nodes ------------------------------------------------------------------------------- */

uint32_t mv_flames_node(const mv_flames *flames, uint64_t path)
{
    for (uint32_t i = 0; path && i < flames->tree.count; i++)
        if (flames->path[i] == path)
            return i;
    return 0;
}

/* Finds the labels from below the root down to `node`. Returns their number. */
static uint32_t labels_of(const mv_flame_tree *tree, uint32_t node, const char **labels)
{
    uint32_t depth = tree->nodes[node].depth;

    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        labels[tree->nodes[at].depth - 1] = tree->nodes[at].label;
    return depth;
}

/* Whether the path of a stack in the tree begins with `labels`. */
static bool passes(const mv_trace *trace, const mv_sites *sites, mv_flames_query ask,
                   mv_stack_id stack, const char *const *labels, uint32_t depth)
{
    uint32_t count, at = 0;
    const mv_frame_id *frames;
    mv_frame_kind shows;
    char label[512];

    if (!ask.has_all_frames)
        stack = sites->stack[mv_site_of(sites, stack)];
    frames = mv_stack_frames(trace, stack, &count);
    shows = mv_stack_shows(trace, sites->kinds, stack);
    for (uint32_t k = 0; k < count && at < depth; k++) {
        uint32_t i = ask.is_inverted ? k : count - 1 - k;
        if (!ask.has_all_frames && !mv_frame_is_shown(trace, sites->kinds, shows, frames[i]))
            continue;
        if (strcmp(mv_frame_label(trace, frames[i], label, sizeof label), labels[at]) != 0)
            return false;
        at++;
    }
    if (at == 0 && depth == 1)
        return strcmp(mv_culprit_label(trace, sites->kinds, stack, label, sizeof label),
                      labels[0]) == 0;
    return at == depth;
}

uint32_t mv_flames_largest(mv_arena *scratch, const mv_trace *trace, const mv_sites *sites,
                           const mv_index *index, mv_flames_query ask, const mv_flames *flames,
                           uint32_t node)
{
    const char **labels = mv_push_array(scratch, const char *, flames->tree.depth + 1);
    /* What is known about each stack: 0 nothing yet, 1 it passes, 2 it does not pass. */
    uint8_t *known = mv_push_array(scratch, uint8_t, (uint64_t)trace->stacks.count + 1);
    uint32_t best = MV_NO_ROW, depth;
    mv_err err = {0};
    mv_alive rows;

    if (!labels || !known || mv_flames_rows(scratch, index, ask, &rows, &err) != MV_OK)
        return MV_NO_ROW;
    depth = labels_of(&flames->tree, node, labels);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = rows.row[i];
        mv_stack_id stack = index->lives->allocs.stack[row];
        uint8_t *k = &known[stack.row < trace->stacks.count ? stack.row : trace->stacks.count];
        if (best != MV_NO_ROW && index->bytes[row] <= index->bytes[best])
            continue;
        if (*k == 0)
            *k = passes(trace, sites, ask, stack, labels, depth) ? 1 : 2;
        if (*k == 1)
            best = row;
    }
    return best;
}
