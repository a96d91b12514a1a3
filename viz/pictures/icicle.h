/* A flame graph that hangs from the top: what called what, as wide as the bytes they hold.
 *
 *     ┌───────────────────────────────────────────────┐
 *     │ all  257 MiB                                  │   what is below a box adds up to it
 *     ├──────────────────────────────────┬────────────┤
 *     │ train.py:200 main                │ (no stack) │   the heaviest on the left
 *     ├─────────────────────────┬────────┼──┬─────────┘
 *     │ train.py:62 forward     │ loss   │  │             ← grey: boxes too narrow to draw,
 * together └─────────────────────────┴────────┴──┘
 *
 * First numbers (mv_icicle_lay), which tests compare with a literal layout; then shapes. The pane
 * of the viewer (view/panes/pane_flame.c) paints both the window's and those on paper. */
#ifndef MV_ICICLE_H
#define MV_ICICLE_H

#include "analyze/flame/flame_tree.h"
#include "viz/scene/palette.h"
#include "viz/scene/scene.h"

typedef struct {
    uint32_t node;  /* of the tree; of a rest: the parent */
    uint32_t rest;  /* 0: a node; else how many of the parent's lightest children are merged here */
    uint32_t depth; /* 0: the root */
    uint64_t offset; /* bytes to the left of it */
    uint64_t bytes;
} mv_icicle_box;

typedef struct {
    uint32_t count; /* by node: parents first */
    mv_icicle_box *boxes;
    uint32_t nodes; /* boxes that are nodes */
    uint32_t depth; /* of the deepest box */
} mv_icicle_boxes;

/* Boxes of at least `least` bytes, the `most` heaviest of them, at most `deepest` levels down.
 * Boxes of one depth do not overlap. O(n log n) in nodes. Fails only when memory runs out. */
mv_code mv_icicle_lay(mv_arena *arena, const mv_flame_tree *tree, uint64_t least, uint32_t most,
                      uint32_t deepest, mv_icicle_boxes *out, mv_err *err);

/* The same for one node, as if it were the root: its box is the first, at depth 0. */
mv_code mv_icicle_lay_node(mv_arena *arena, const mv_flame_tree *tree, uint32_t node,
                           uint64_t least, uint32_t most, uint32_t deepest, mv_icicle_boxes *out,
                           mv_err *err);

/* The colour of a node: whose code it is. Levels next to each other differ by a shade. */
uint32_t mv_icicle_colour(const mv_theme *theme, const uint8_t *kinds, const mv_flame_node *node);

/* The colour of a node of a change (analyze/flame/flame_change.h): orange for more, blue for less,
 * grey for as much as before; pale where more than a quarter of it went the other way. People who
 * see no red or no green tell them apart. */
uint32_t mv_icicle_change_colour(const mv_theme *theme, const mv_flame_node *node);

enum { MV_ICICLE_KEYS = 8 };

/* A colour, and what it means. */
typedef struct {
    uint32_t fill;
    bool is_idle; /* an outline, as of mv_icicle_is_idle */
    const char *text;
} mv_icicle_key;

/* The colours that the boxes have; returns how many. `trace` and `kinds` NULL: of a change.
 * O(boxes). */
uint32_t mv_icicle_keys(const mv_theme *theme, const mv_trace *trace, const uint8_t *kinds,
                        const mv_flame_tree *tree, const mv_icicle_boxes *boxes,
                        mv_icicle_key out[MV_ICICLE_KEYS]);

/* A part of a segment that holds nothing: an outline instead of a colour. */
bool mv_icicle_is_idle(const mv_flame_node *node);

/* "train.py:62 forward · 64.0 MiB", or as much of it as is useful in that width; "". In the scene's
 * arena. */
const char *mv_icicle_label(mv_scene *scene, const mv_flame_node *node, const char *amount,
                            float size, float width);

/* By how much a node of a change changed: "+42.0 MiB"; where both more and less are below it,
 * "+42.0 MiB (50.0 MiB more, 8.00 MiB less)". In the scene's arena. */
const char *mv_icicle_change_amount(mv_scene *scene, const mv_flame_node *node);

/* A box as it is painted everywhere. */
typedef struct {
    mv_box at; /* with the gaps to its neighbours */
    uint32_t fill;
    bool is_idle;
    float size;        /* of the letters */
    const char *label; /* NULL, or too wide: none */
    const char *title; /* shown on hover; NULL: none */
} mv_icicle_shape;

void mv_icicle_paint(mv_scene *scene, const mv_theme *theme, const mv_icicle_shape *shape);

#endif
