#include "analyze/flame/flame_tree.h"

#include "base/grow.h"
#include "base/intern.h"
#include "base/sort.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    LABEL_SIZE = 512,
    MOST_SIDES = 2,
    MANY_NODES = 1 << 20, /* limit in `segments`, in which each segment repeats all frames of its
                           * blocks' stacks */
    FEW_FRAMES = 16       /* with more nodes, a stack is cut to this many frames */
};

typedef struct {
    mv_arena *arena; /* arena of the tree */
    mv_arena scratch;
    const mv_flame_code *code; /* [sides] */
    uint32_t sides;
    mv_flame_tree_opts opts;
    mv_flame_tree *tree;
    uint32_t capacity, node_labels; /* capacity of tree->nodes and of label_of_node */
    mv_intern by_step;              /* nodes by parent and label */
    mv_intern by_text;              /* labels */
    const char **labels;
    uint32_t label_count, label_capacity;
    uint32_t *label_of_frame[MOST_SIDES]; /* [frames.count] label + 1 */
    uint32_t *label_of_node;              /* [tree->count] */
} tree_builder;

/* Returns the number of a label, from 1; 0 when out of memory. */
static uint32_t label_number(tree_builder *p, const char *text)
{
    size_t length = strlen(text);
    uint64_t hash = XXH3_64bits_withSeed(text, length, mv_hash_key());

    for (mv_probe at = mv_intern_start(&p->by_text, hash); mv_intern_next(&p->by_text, &at);)
        if (strcmp(p->labels[at.row], text) == 0)
            return at.row + 1;
    if (!mv_room(&p->scratch, p->labels, p->label_count, p->label_capacity))
        return 0;
    p->labels[p->label_count] = mv_arena_text(p->arena, text, length);
    if (!p->labels[p->label_count] || !mv_intern_add(&p->by_text, hash, p->label_count))
        return 0;
    return ++p->label_count;
}

static uint32_t frame_label(tree_builder *p, uint32_t side, mv_frame_id frame)
{
    uint32_t *number = &p->label_of_frame[side][frame.row];
    char label[LABEL_SIZE];

    if (*number == 0)
        *number = label_number(p, mv_frame_label(p->code[side].trace, frame, label, sizeof label));
    return *number;
}

static bool add_node(tree_builder *p, uint32_t label, mv_flame_node node)
{
    if (!mv_room(p->arena, p->tree->nodes, p->tree->count, p->capacity) ||
        !mv_room(&p->scratch, p->label_of_node, p->tree->count, p->node_labels))
        return false;
    p->label_of_node[p->tree->count] = label;
    p->tree->nodes[p->tree->count++] = node;
    if (node.depth > p->tree->depth)
        p->tree->depth = node.depth;
    return true;
}

static void add_up(mv_flame_node *node, const mv_flame_row *row)
{
    node->bytes += row->bytes;
    node->less += row->is_less ? row->bytes : 0;
    node->blocks += row->blocks;
}

/* Adds a row to the child of `*at` with this label, and moves `*at` to the child. */
static bool step(tree_builder *p, uint32_t *at, uint32_t label, mv_flame_node node,
                 const mv_flame_row *row)
{
    uint64_t hash = mv_mix(*at, label);
    uint32_t child = MV_NO_ROW;

    if (label == 0)
        return false;
    for (mv_probe probe = mv_intern_start(&p->by_step, hash);
         child == MV_NO_ROW && mv_intern_next(&p->by_step, &probe);)
        if (p->tree->nodes[probe.row].parent == *at && p->label_of_node[probe.row] == label)
            child = probe.row;
    if (child == MV_NO_ROW) {
        child = p->tree->count;
        node.parent = *at;
        node.depth = p->tree->nodes[*at].depth + 1;
        node.label = p->labels[label - 1];
        node.side = row->side;
        if (!add_node(p, label, node) || !mv_intern_add(&p->by_step, hash, child))
            return false;
    }
    add_up(&p->tree->nodes[child], row);
    *at = child;
    return true;
}

static bool add_stack(tree_builder *p, uint32_t *at, const mv_flame_row *row)
{
    const mv_flame_code *code = &p->code[row->side];
    uint32_t count, shown = 0;
    const mv_frame_id *frames = mv_stack_frames(code->trace, row->stack, &count);
    mv_frame_kind shows = mv_stack_shows(code->trace, code->kinds, row->stack);
    char label[LABEL_SIZE];

    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = p->opts.is_inverted ? k : count - 1 - k;
        if (!code->has_all_frames && !mv_frame_is_shown(code->trace, code->kinds, shows, frames[i]))
            continue;
        if (!step(p, at, frame_label(p, row->side, frames[i]),
                  (mv_flame_node){.kind = MV_FLAME_FRAME, .frame = frames[i]}, row))
            return false;
        shown++;
        if (row->segment != MV_NO_ROW && shown >= FEW_FRAMES && p->tree->count >= MANY_NODES)
            break;
    }
    if (shown > 0)
        return true;
    mv_culprit_label(code->trace, code->kinds, row->stack, label, sizeof label);
    return step(p, at, label_number(p, label),
                (mv_flame_node){.kind = MV_FLAME_NO_FRAME, .frame = MV_NO_FRAME}, row);
}

static bool add_row(tree_builder *p, const mv_lives *lives, const mv_flame *flame,
                    const mv_flame_row *row)
{
    char prefix[MV_FLAME_PREFIX][MV_FLAME_TEXT];
    uint32_t count = mv_flame_prefix(p->code[0].trace, lives, flame, row, prefix), at = 0;

    add_up(&p->tree->nodes[0], row);
    for (uint32_t i = 0; i < count; i++) {
        mv_flame_node node = {.kind = i + 1 < count ? MV_FLAME_PLACE : MV_FLAME_STATE,
                              .part = row->part,
                              .frame = MV_NO_FRAME};
        if (!step(p, &at, label_number(p, prefix[i]), node, row))
            return false;
    }
    if (row->part == MV_FLAME_FREE || row->part == MV_FLAME_OTHER)
        return true;
    if (row->stack.row == MV_NO_ROW)
        p->tree->unrecorded += row->bytes;
    return add_stack(p, &at, row);
}

/* Sorts nodes by bytes, smallest first. Each child is linked before the existing children, so the
 * child with the most bytes ends up first. */
static int least_first(const void *left, const void *right, const void *nodes)
{
    const mv_flame_node *a = (const mv_flame_node *)nodes + *(const uint32_t *)left;
    const mv_flame_node *b = (const mv_flame_node *)nodes + *(const uint32_t *)right;
    int order;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    order = strcmp(b->label, a->label);
    return order ? order : (a < b) - (a > b);
}

static bool link_children(tree_builder *p)
{
    mv_flame_tree *tree = p->tree;
    uint32_t *order = mv_push_array(&p->scratch, uint32_t, tree->count);

    if (!order)
        return false;
    for (uint32_t i = 0; i < tree->count; i++)
        order[i] = i;
    mv_sort_by(&p->scratch, order, tree->count, sizeof *order, least_first, tree->nodes);
    for (uint32_t i = 0; i < tree->count; i++) {
        mv_flame_node *node = &tree->nodes[order[i]];
        if (node->parent == MV_NO_ROW)
            continue;
        node->next = tree->nodes[node->parent].child;
        tree->nodes[node->parent].child = order[i];
    }
    return true;
}

static void weigh_blocks(mv_flame_tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        uint64_t bytes = tree->nodes[i].bytes;
        tree->nodes[i].bytes = tree->nodes[i].blocks;
        tree->nodes[i].blocks = bytes;
    }
}

/* Begins a tree with its root. Returns false when out of memory. */
static bool begin(tree_builder *p, mv_arena *arena, mv_flame_tree *out)
{
    *out = (mv_flame_tree){0};
    p->arena = arena;
    p->tree = out;
    mv_arena_init(&p->scratch, arena->budget);
    p->by_step.arena = p->by_text.arena = &p->scratch;
    return add_node(
        p, 0,
        (mv_flame_node){
            .parent = MV_NO_ROW, .kind = MV_FLAME_ROOT, .frame = MV_NO_FRAME, .label = "all"});
}

static bool alloc_nodes(tree_builder *p, const mv_lives *lives, const mv_flame *flame)
{
    for (uint32_t i = 0; i < p->sides; i++) {
        p->label_of_frame[i] = mv_push_array(&p->scratch, uint32_t, p->code[i].trace->frames.count);
        if (!p->label_of_frame[i])
            return false;
    }
    for (uint32_t i = 0; i < flame->count; i++)
        if (flame->rows[i].bytes > 0 && !add_row(p, lives, flame, &flame->rows[i]))
            return false;
    if (p->opts.by_blocks)
        weigh_blocks(p->tree);
    return link_children(p);
}

mv_code mv_flame_tree_make(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const mv_flame *flame, const mv_sites *sites, const uint8_t *kinds,
                           mv_flame_tree *out, mv_err *err)
{
    return mv_flame_tree_make_as(arena, trace, lives, flame, sites, kinds, (mv_flame_tree_opts){0},
                                 out, err);
}

mv_code mv_flame_tree_make_as(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              const mv_flame *flame, const mv_sites *sites, const uint8_t *kinds,
                              mv_flame_tree_opts opts, mv_flame_tree *out, mv_err *err)
{
    return mv_flame_tree_of(arena, &(mv_flame_code){trace, kinds, !sites}, 1, lives, flame, opts,
                            out, err);
}

mv_code mv_flame_tree_of(mv_arena *arena, const mv_flame_code *code, uint32_t sides,
                         const mv_lives *lives, const mv_flame *flame, mv_flame_tree_opts opts,
                         mv_flame_tree *out, mv_err *err)
{
    tree_builder p = {.code = code, .sides = sides < MOST_SIDES ? sides : MOST_SIDES, .opts = opts};
    bool is_done = begin(&p, arena, out) && alloc_nodes(&p, lives, flame);

    mv_arena_release(&p.scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "flame graph");
}

static bool add_path(tree_builder *p, const mv_flame_path *path)
{
    mv_flame_row row = {.bytes = path->bytes, .blocks = path->blocks};
    uint32_t at = 0;

    add_up(&p->tree->nodes[0], &row);
    for (uint32_t i = 0; i < path->count; i++)
        if (!step(p, &at, label_number(p, path->label[i]),
                  (mv_flame_node){.kind = MV_FLAME_NO_FRAME, .frame = MV_NO_FRAME}, &row))
            return false;
    return true;
}

mv_code mv_flame_tree_of_paths(mv_arena *arena, const mv_flame_path *paths, uint32_t count,
                               mv_flame_tree *out, mv_err *err)
{
    tree_builder p = {0};
    bool is_done = begin(&p, arena, out);

    for (uint32_t i = 0; is_done && i < count; i++)
        is_done = paths[i].bytes == 0 || add_path(&p, &paths[i]);
    is_done = is_done && link_children(&p);
    mv_arena_release(&p.scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "tree of modules");
}
