/* A flame graph that hangs from the top. Callers are above callees, and the width of each box is
 * its number of bytes.
 *
 *     ┌───────────────────────────────────────────────┐
 *     │ all  257 MiB                                  │   the boxes below a box add up to it
 *     ├──────────────────────────────────┬────────────┤
 *     │ train.py:200 main                │ (no stack) │   the heaviest on the left
 *     ├─────────────────────────┬────────┼──┬─────────┘
 *     │ train.py:62 forward     │ loss   │  │             ← grey: boxes too narrow to draw,
 *     └─────────────────────────┴────────┴──┘               together
 *
 * mv_icicle_lay computes only numbers, which tests compare with a literal layout; shapes are made
 * afterwards. The viewer's pane (view/panes/pane_flame.c) paints the graph both on the screen and
 * in print. */
#pragma once

#include "analyze/flame/flame_tree.h"
#include "viz/scene/palette.h"
#include "viz/scene/scene.h"

typedef struct {
    uint32_t node;   /* row in the tree; for a box that merges nodes, their parent */
    uint32_t rest;   /* number of the parent's lightest children that are merged in this box; 0: the
                        box is a single node */
    uint32_t depth;  /* depth in the tree, which is 0 for the root */
    uint64_t offset; /* number of bytes to the left of the box */
    uint64_t bytes;
} mv_icicle_box;

typedef struct {
    uint32_t count; /* number of boxes, which are ordered by node, so parents come before
                     * children */
    mv_icicle_box *boxes;
    uint32_t nodes; /* number of boxes that are nodes */
    uint32_t depth; /* depth of the deepest box */
} mv_icicle_boxes;

/* Lays out boxes of at least `least` bytes, down to `deepest` levels. If there are more than `most`
 * such boxes, only the heaviest are kept. Boxes at the same depth do not overlap. O(n log n) in the
 * number of nodes. Fails only when out of memory. */
mv_code mv_icicle_lay(mv_arena *arena, const mv_flame_tree *tree, uint64_t least, uint32_t most,
                      uint32_t deepest, mv_icicle_boxes *out, mv_err *err);

/* Like mv_icicle_lay, with `node` as the root, whose box is the first, at depth 0. */
mv_code mv_icicle_lay_node(mv_arena *arena, const mv_flame_tree *tree, uint32_t node,
                           uint64_t least, uint32_t most, uint32_t deepest, mv_icicle_boxes *out,
                           mv_err *err);

/* Returns the colour of a node, which shows whose code it is. Adjacent levels differ by a shade. */
uint32_t mv_icicle_colour(const mv_theme *theme, const uint8_t *kinds, const mv_flame_node *node);

/* Returns the colour of a node in a difference (analyze/flame/flame_change.h): orange for more,
 * blue for less, and grey for no change. The colour is pale if more than a quarter of the node's
 * change was in the opposite direction. The colours can be told apart with red-green colour
 * blindness. */
uint32_t mv_icicle_change_colour(const mv_theme *theme, const mv_flame_node *node);

enum { MV_ICICLE_KEYS = 8 };

/* A colour and what it means. */
typedef struct {
    uint32_t fill;
    bool is_idle; /* the colour is drawn as an outline; see mv_icicle_is_idle */
    const char *text;
} mv_icicle_key;

/* Finds the colours that occur in the boxes, and returns their number. `trace` and `kinds` are NULL
 * for a difference. O(boxes). */
uint32_t mv_icicle_keys(const mv_theme *theme, const mv_trace *trace, const uint8_t *kinds,
                        const mv_flame_tree *tree, const mv_icicle_boxes *boxes,
                        mv_icicle_key out[MV_ICICLE_KEYS]);

/* Whether a node is a part of a segment that contains nothing. Such a part is drawn as an outline,
 * without a colour. */
bool mv_icicle_is_idle(const mv_flame_node *node);

/* Returns how much a node of a difference has changed: "+42.0 MiB", or if the nodes below it
 * changed in both directions, "+42.0 MiB (50.0 MiB more, 8.00 MiB less)". The string is in the
 * scene's arena. */
const char *mv_icicle_change_amount(mv_scene *scene, const mv_flame_node *node);

enum { MV_ICICLE_LINES = 4 };

/* A box as every picture paints it. */
typedef struct {
    mv_box at; /* position and size, including the gaps to its neighbours */
    uint32_t fill;
    bool is_idle;
    float size;     /* size of the letters */
    uint32_t lines; /* number of lines in the label; a line that is too wide is not painted */
    const char *label[MV_ICICLE_LINES];
    const char *title; /* tooltip; NULL: none */
} mv_icicle_shape;

/* Sets the label of a shape whose position and letter size are set, such as "train.py:62 forward ·
 * 64.0 MiB". In a high box the label takes several lines; in a small box it is shortened to its
 * most useful part. The strings are in the scene's arena. */
void mv_icicle_label(mv_scene *scene, const mv_flame_node *node, const char *amount,
                     mv_icicle_shape *shape);

void mv_icicle_paint(mv_scene *scene, const mv_theme *theme, const mv_icicle_shape *shape);
