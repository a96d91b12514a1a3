/* A flame graph that hangs from the top: callers above callees, each as wide as its bytes.
 *
 *     ┌───────────────────────────────────────────────┐
 *     │ all  257 MiB                                  │   the boxes below a box add up to it
 *     ├──────────────────────────────────┬────────────┤
 *     │ train.py:200 main                │ (no stack) │   the heaviest on the left
 *     ├─────────────────────────┬────────┼──┬─────────┘
 *     │ train.py:62 forward     │ loss   │  │             ← grey: boxes too narrow to draw,
 *     └─────────────────────────┴────────┴──┘               together
 *
 * mv_icicle_lay computes numbers, which tests compare with a literal layout; shapes come later. The
 * viewer's pane (view/panes/pane_flame.c) paints both on the screen and on paper. */
#ifndef MV_ICICLE_H
#define MV_ICICLE_H

#include "analyze/flame/flame_tree.h"
#include "viz/scene/palette.h"
#include "viz/scene/scene.h"

typedef struct {
    uint32_t node;   /* row in the tree; for a rest box: the parent */
    uint32_t rest;   /* 0: a node; else the number of the parent's lightest children merged here */
    uint32_t depth;  /* 0: the root */
    uint64_t offset; /* bytes to the left of it */
    uint64_t bytes;
} mv_icicle_box;

typedef struct {
    uint32_t count; /* by node: parents first */
    mv_icicle_box *boxes;
    uint32_t nodes; /* boxes that are nodes */
    uint32_t depth; /* of the deepest box */
} mv_icicle_boxes;

/* Boxes of at least `least` bytes, the `most` heaviest of them, down to `deepest` levels. Boxes at
 * one depth do not overlap. O(n log n) in nodes. Fails only when out of memory. */
mv_code mv_icicle_lay(mv_arena *arena, const mv_flame_tree *tree, uint64_t least, uint32_t most,
                      uint32_t deepest, mv_icicle_boxes *out, mv_err *err);

/* mv_icicle_lay with one node as the root: its box is the first, at depth 0. */
mv_code mv_icicle_lay_node(mv_arena *arena, const mv_flame_tree *tree, uint32_t node,
                           uint64_t least, uint32_t most, uint32_t deepest, mv_icicle_boxes *out,
                           mv_err *err);

/* The colour of a node: shows whose code it is. Levels next to each other differ by a shade. */
uint32_t mv_icicle_colour(const mv_theme *theme, const uint8_t *kinds, const mv_flame_node *node);

/* The colour of a node of a change (analyze/flame/flame_change.h): orange for more, blue for less,
 * grey for no change; pale where more than a quarter of it went the other way. Readable with
 * red-green colour blindness. */
uint32_t mv_icicle_change_colour(const mv_theme *theme, const mv_flame_node *node);

enum { MV_ICICLE_KEYS = 8 };

/* A colour and its meaning. */
typedef struct {
    uint32_t fill;
    bool is_idle; /* drawn as an outline: see mv_icicle_is_idle */
    const char *text;
} mv_icicle_key;

/* The colours of the boxes; returns how many. `trace` and `kinds` are NULL for a change.
 * O(boxes). */
uint32_t mv_icicle_keys(const mv_theme *theme, const mv_trace *trace, const uint8_t *kinds,
                        const mv_flame_tree *tree, const mv_icicle_boxes *boxes,
                        mv_icicle_key out[MV_ICICLE_KEYS]);

/* A part of a segment that holds nothing: drawn as an outline, without a colour. */
bool mv_icicle_is_idle(const mv_flame_node *node);

/* The amount by which a node of a change changed: "+42.0 MiB"; with both more and less below it,
 * "+42.0 MiB (50.0 MiB more, 8.00 MiB less)". In the scene's arena. */
const char *mv_icicle_change_amount(mv_scene *scene, const mv_flame_node *node);

enum { MV_ICICLE_LINES = 4 };

/* A box as it is painted in every picture. */
typedef struct {
    mv_box at; /* including the gaps to its neighbours */
    uint32_t fill;
    bool is_idle;
    float size;     /* of the letters */
    uint32_t lines; /* of the label; one that is too wide is not painted */
    const char *label[MV_ICICLE_LINES];
    const char *title; /* shown on hover; NULL: none */
} mv_icicle_shape;

/* Sets the label of a shape with a place and a size of letters: "train.py:62 forward · 64.0 MiB";
 * over several lines in a high box, or the part of it that is useful. In the scene's arena. */
void mv_icicle_label(mv_scene *scene, const mv_flame_node *node, const char *amount,
                     mv_icicle_shape *shape);

void mv_icicle_paint(mv_scene *scene, const mv_theme *theme, const mv_icicle_shape *shape);

#endif
