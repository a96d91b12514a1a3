#include "viz/pictures/change_icicle.h"

#include "base/size.h"
#include "viz/pictures/icicle.h"
#include "viz/scene/axis.h"

enum {
    WIDTH = 1400,
    LEAST_WIDTH = 400,
    LEAST_HEIGHT = 200,
    MOST_LEVELS = 100,
    MOST_BOXES = 6000,
    HOVER_BYTES = 1400000,
    SIDE = 24,
    ROW = 19, /* from one level to the next */
    FOOT = 46
};

typedef struct {
    const mv_flame_tree *tree;
    const mv_theme *theme;
    mv_scene *scene;
    float width;          /* of the root */
    uint32_t hover_bytes; /* budget: how many may still be added */
} change_icicle;

const char *mv_change_amount(mv_scene *scene, const mv_flame_node *node)
{
    char change[MV_SIZE_TEXT], more[MV_SIZE_TEXT], less[MV_SIZE_TEXT];

    mv_size_change_text(change, mv_flame_change(node));
    if (node->less == 0 || node->less == node->bytes)
        return mv_scene_format(scene, "%s", change);
    return mv_scene_format(scene, "%s (%s more, %s less)", change,
                           mv_size_text(more, node->bytes - node->less),
                           mv_size_text(less, node->less));
}

static float y_of(uint32_t depth)
{
    return MV_HEADING_HEIGHT + 4 + ROW * (float)depth;
}

static const char *hover(change_icicle *p, const mv_icicle_box *box)
{
    const mv_flame_node *node = &p->tree->nodes[box->node];
    double share = 100.0 * (double)box->bytes / (double)p->tree->nodes[0].bytes;
    char count[MV_TICK_TEXT];
    const char *text;

    if (box->rest)
        text = mv_scene_format(p->scene, "%s narrower boxes, %.1f %% of all changes",
                               mv_axis_exact(box->rest, count), share);
    else
        text = mv_scene_format(p->scene, "%s\n%s, %.1f %% of all changes", node->label,
                               mv_change_amount(p->scene, node), share);
    return mv_hover_take(&p->hover_bytes, text);
}

static void paint_box(change_icicle *p, const mv_icicle_box *box)
{
    const mv_flame_node *node = &p->tree->nodes[box->node];
    double unit = (double)p->width / (double)p->tree->nodes[0].bytes;
    float x = SIDE + (float)(unit * (double)box->offset);
    float w = SIDE + (float)(unit * (double)(box->offset + box->bytes)) - x;
    mv_icicle_shape shape = {.at = {x, y_of(box->depth), w, ROW},
                             .fill = box->rest ? p->theme->rest
                                               : mv_icicle_change_colour(p->theme, node),
                             .size = 11,
                             .title = hover(p, box)};

    if (!box->rest)
        shape.label =
            mv_icicle_label(p->scene, node, mv_change_amount(p->scene, node), shape.size, w - 8);
    mv_icicle_paint(p->scene, p->theme, &shape);
}

static void paint_legend(change_icicle *p)
{
    const mv_flame_node more = {.bytes = 1}, less = {.bytes = 1, .less = 1};
    const mv_flame_node both = {.bytes = 3, .less = 1};
    const mv_flame_node *const nodes[] = {&more, &less, &both};
    static const char *const names[] = {"more than before", "less than before",
                                        "pale: much of it went the other way"};
    float x = SIDE, y = p->scene->height - 18;

    for (int i = 0; i < 3; i++) {
        if (x + 18 + mv_text_width(names[i], 12) > p->scene->width - SIDE)
            continue;
        mv_scene_rect(p->scene, x, y - 10, 12, 12, mv_icicle_change_colour(p->theme, nodes[i]));
        mv_scene_text(p->scene, x + 18, y, 12, p->theme->text, MV_ANCHOR_START, names[i]);
        x += 18 + mv_text_width(names[i], 12) + 22;
    }
}

static void paint(change_icicle *p, const mv_icicle_boxes *boxes, const mv_change_icicle_opts *opts)
{
    const mv_flame_node *root = &p->tree->nodes[0];
    char more[MV_SIZE_TEXT], less[MV_SIZE_TEXT];
    const char *sums = mv_scene_format(p->scene, "%s more, %s less, by stack",
                                       mv_size_text(more, root->bytes - root->less),
                                       mv_size_text(less, root->less));

    mv_heading_paint(
        p->scene, p->theme,
        (mv_heading){opts->title, opts->what, root->bytes ? sums : "nothing changed", false});
    if (root->bytes == 0)
        return;
    for (uint32_t i = 0; i < boxes->count && !p->scene->failed; i++)
        paint_box(p, &boxes->boxes[i]);
    paint_legend(p);
}

mv_code mv_change_icicle_find(mv_arena *arena, const mv_flame_tree *tree,
                              const mv_change_icicle_opts *opts, mv_scene *out, mv_err *err)
{
    change_icicle p = {.tree = tree,
                       .theme = mv_theme_of(opts->is_dark),
                       .scene = out,
                       .hover_bytes = HOVER_BYTES};
    uint32_t levels = MOST_LEVELS;
    mv_icicle_boxes boxes;
    mv_arena scratch;
    mv_code code;

    mv_scene_init_shown(out, arena, opts->width ? opts->width : WIDTH,
                        opts->height ? opts->height : LEAST_HEIGHT, LEAST_WIDTH, LEAST_HEIGHT,
                        p.theme->background);
    if (opts->height)
        levels = (uint32_t)((out->height - MV_HEADING_HEIGHT - 4 - FOOT) / ROW);
    p.width = out->width - 2 * SIDE;
    mv_arena_init(&scratch, arena->budget);
    code = mv_icicle_lay(&scratch, tree, (uint64_t)((double)tree->nodes[0].bytes / p.width / 2),
                         MOST_BOXES, levels - 1, &boxes, err);
    if (code == MV_OK) {
        if (!opts->height)
            out->height = y_of(boxes.depth + 1) + FOOT;
        paint(&p, &boxes, opts);
        if (out->failed)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    }
    mv_arena_release(&scratch);
    return code;
}
