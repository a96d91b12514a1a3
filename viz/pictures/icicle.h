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
 * First numbers (mv_icicle_lay), which tests compare with a literal layout; then a scene. */
#ifndef MV_ICICLE_H
#define MV_ICICLE_H

#include "analyze/flame/flame_tree.h"
#include "viz/scene/heading.h"
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

/* A part of a segment that holds nothing: an outline instead of a colour. */
bool mv_icicle_is_idle(const mv_flame_node *node);

/* "train.py:62 forward · 64.0 MiB", or as much of it as is useful in that width; "". In the scene's
 * arena. */
const char *mv_icicle_label(mv_scene *scene, const mv_flame_node *node, const char *amount,
                            float size, float width);

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

typedef struct {
    uint32_t width;  /* pixels; 0: 1400 */
    uint32_t height; /* pixels: deeper boxes are cut, and the picture says so; 0: as high as needed,
                        up to 100 levels */
    uint32_t top;    /* most nodes that have a box, the heaviest; 0: 6000 */
    bool is_dark;
    const char *title;    /* the file's name; not NULL */
    const char *measure;  /* what the bytes are: "allocated" */
    mv_heading_part part; /* what a filter left, in blocks; zero: all */
    uint32_t event;       /* the moment is after it, or MV_BEFORE */
} mv_icicle_opts;

typedef struct {
    mv_scene scene;
    uint32_t drawn; /* nodes with a box, the root among them */
} mv_icicle;

/* The scene's size depends on opts and the depth alone. `kinds` from mv_frame_kinds. `arena` keeps
 * the scene. */
mv_code mv_icicle_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const uint8_t *kinds, const mv_flame_tree *tree, const mv_icicle_opts *opts,
                       mv_icicle *out, mv_err *err);

#endif
