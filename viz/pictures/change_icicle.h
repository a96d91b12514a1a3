/* The difference between two moments (analyze/flame/flame_change.h) as a flame graph that hangs
 * from the top. Each box says by how much it changed; orange is more, blue is less. */
#ifndef MV_CHANGE_ICICLE_H
#define MV_CHANGE_ICICLE_H

#include "analyze/flame/flame_change.h"
#include "viz/scene/scene.h"

typedef struct {
    uint32_t width;  /* pixels; 0: 1400 */
    uint32_t height; /* pixels: deeper boxes are cut; 0: as high as needed, up to 100 levels */
    bool is_dark;
    const char *title, *what; /* of the heading */
} mv_change_icicle_opts;

/* "+42.0 MiB"; where both more and less are below a node, "+42.0 MiB (50.0 MiB more, 8.00 MiB
 * less)". In the scene's arena. */
const char *mv_change_amount(mv_scene *scene, const mv_flame_node *node);

/* `arena` keeps the scene. O(n log n) in nodes. Fails only when memory runs out. */
mv_code mv_change_icicle_find(mv_arena *arena, const mv_flame_tree *tree,
                              const mv_change_icicle_opts *opts, mv_scene *out, mv_err *err);

#endif
