#include "viz/pictures/icicle.h"

#include "analyze/flame/flame_change.h"
#include "base/size.h"
#include "base/sort.h"
#include "viz/scene/axis.h"
#include "viz/scene/heading.h"

enum {
    WIDTH = 1400,
    LEAST_WIDTH = 400,
    LEAST_HEIGHT = 200,
    MOST_LEVELS = 100,
    MOST_BOXES = 6000,
    HOVER_BYTES = 1400000,
    SIDE = 24,
    ROW = 19,   /* from one level to the next */
    FOOT = 46,  /* the legend */
    NARROW = 30 /* least width of a useful label, in pixels */
};

/* ---- boxes ------------------------------------------------------------------------------- */

/* The fewest bytes of a node among the `most` heaviest. */
static mv_code find_cut(mv_arena *arena, const mv_flame_tree *tree, uint64_t least, uint32_t most,
                        uint64_t *cut, mv_err *err)
{
    mv_arena scratch;
    uint64_t *bytes;

    *cut = least ? least : 1;
    if (tree->count <= most)
        return MV_OK;
    mv_arena_init(&scratch, arena->budget);
    bytes = mv_push_array(&scratch, uint64_t, tree->count);
    if (bytes) {
        for (uint32_t i = 0; i < tree->count; i++)
            bytes[i] = tree->nodes[i].bytes;
        mv_sort_rows(&scratch, bytes, tree->count, MV_FALLING_VALUES(uint64_t));
        /* Nodes of equal weight are all in or all out. */
        if (bytes[most] >= *cut)
            *cut = bytes[most] + 1;
    }
    mv_arena_release(&scratch);
    return bytes ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "flame graph");
}

/* The boxes below a box: its heaviest children, then the others as one box. */
static void lay_children(const mv_flame_tree *tree, uint64_t cut, uint32_t box,
                         mv_icicle_boxes *out)
{
    mv_icicle_box parent = out->boxes[box];
    uint64_t offset = parent.offset, rest_bytes = 0;
    uint32_t rest = 0;

    for (uint32_t i = tree->nodes[parent.node].child; i; i = tree->nodes[i].next) {
        if (tree->nodes[i].bytes < cut) {
            rest++;
            rest_bytes += tree->nodes[i].bytes;
            continue;
        }
        out->boxes[out->count++] =
            (mv_icicle_box){i, 0, parent.depth + 1, offset, tree->nodes[i].bytes};
        offset += tree->nodes[i].bytes;
        out->nodes++;
    }
    if (rest)
        out->boxes[out->count++] =
            (mv_icicle_box){parent.node, rest, parent.depth + 1, offset, rest_bytes};
}

mv_code mv_icicle_lay(mv_arena *arena, const mv_flame_tree *tree, uint64_t least, uint32_t most,
                      uint32_t deepest, mv_icicle_boxes *out, mv_err *err)
{
    return mv_icicle_lay_node(arena, tree, 0, least, most, deepest, out, err);
}

mv_code mv_icicle_lay_node(mv_arena *arena, const mv_flame_tree *tree, uint32_t node,
                           uint64_t least, uint32_t most, uint32_t deepest, mv_icicle_boxes *out,
                           mv_err *err)
{
    uint64_t cut, kept = 1;
    mv_code code = find_cut(arena, tree, least, most, &cut, err);

    *out = (mv_icicle_boxes){0};
    if (code != MV_OK)
        return code;
    for (uint32_t i = 1; i < tree->count; i++)
        kept += tree->nodes[i].bytes >= cut;
    out->boxes = mv_push_array(arena, mv_icicle_box, kept * 2);
    if (!out->boxes)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "flame graph");
    out->boxes[out->count++] = (mv_icicle_box){.node = node, .bytes = tree->nodes[node].bytes};
    out->nodes = 1;
    for (uint32_t i = 0; i < out->count; i++) {
        if (out->boxes[i].depth > out->depth)
            out->depth = out->boxes[i].depth;
        if (!out->boxes[i].rest && out->boxes[i].depth < deepest)
            lay_children(tree, cut, i, out);
    }
    return MV_OK;
}

/* ---- colours ----------------------------------------------------------------------------- */

typedef enum {
    KEY_USER,
    KEY_PACKAGE,
    KEY_TORCH,
    KEY_NATIVE,
    KEY_PLACE,
    KEY_IDLE,
    KEY_REST,
    KEY_OTHER
} key;

static uint32_t key_colour(const mv_theme *theme, key k)
{
    switch (k) {
    case KEY_USER:
        return mv_site_colour(1);
    case KEY_PACKAGE:
        return mv_site_colour(8);
    case KEY_TORCH:
        return mv_site_colour(4);
    case KEY_NATIVE:
        return 0xb9c2caff;
    case KEY_PLACE:
        return mv_site_colour(3);
    case KEY_IDLE:
        return theme->plot;
    case KEY_OTHER:
        return theme->unknown;
    default:
        return theme->rest;
    }
}

static key key_of(const mv_flame_node *node, const uint8_t *kinds)
{
    if (node->kind == MV_FLAME_ROOT || node->kind == MV_FLAME_NO_FRAME)
        return KEY_NATIVE;
    if (node->kind == MV_FLAME_PLACE)
        return KEY_PLACE;
    if (node->kind == MV_FLAME_STATE)
        return node->part == MV_FLAME_ALLOCATED ? KEY_PLACE
               : node->part == MV_FLAME_OTHER   ? KEY_OTHER
                                                : KEY_IDLE;
    switch (kinds[node->frame.row]) {
    case MV_FRAME_USER:
        return KEY_USER;
    case MV_FRAME_PACKAGE:
        return KEY_PACKAGE;
    case MV_FRAME_FRAMEWORK:
        return KEY_TORCH;
    default:
        return KEY_NATIVE;
    }
}

uint32_t mv_icicle_colour(const mv_theme *theme, const uint8_t *kinds, const mv_flame_node *node)
{
    uint32_t fill = key_colour(theme, key_of(node, kinds));

    return node->depth % 2 && !mv_icicle_is_idle(node) ? mv_lighter(fill) : fill;
}

uint32_t mv_icicle_change_colour(const mv_theme *theme, const mv_flame_node *node)
{
    int64_t change = mv_flame_change(node);
    uint64_t other = change < 0 ? node->bytes - node->less : node->less;
    uint32_t colour = mv_site_colour(change < 0 ? 4 : 1);

    if (change == 0)
        return theme->rest;
    return other > node->bytes / 4 ? mv_lighter(mv_lighter(mv_lighter(colour))) : colour;
}

/* ---- a box ------------------------------------------------------------------------------- */

bool mv_icicle_is_idle(const mv_flame_node *node)
{
    return node->kind == MV_FLAME_STATE && node->part != MV_FLAME_ALLOCATED &&
           node->part != MV_FLAME_OTHER;
}

/* As much of a label as is useful in that width, or "". */
static const char *short_label(mv_scene *scene, const mv_flame_node *node, const char *amount,
                               float size, float w)
{
    const char *space = strrchr(node->label, ' '), *place;

    if (mv_text_width(node->label, size) <= w)
        return node->label;
    if (node->kind == MV_FLAME_PLACE && node->depth == 1)
        return mv_text_width(amount, size) <= w ? amount : "";
    if (node->kind == MV_FLAME_PLACE)
        space = strstr(node->label, " pool");
    if (space && node->kind != MV_FLAME_NO_FRAME) {
        place = mv_scene_format(scene, "%.*s", (int)(space - node->label), node->label);
        if (mv_text_width(place, size) <= w)
            return place;
    }
    return w > 5 * size ? mv_text_fit(scene, node->label, size, w) : "";
}

const char *mv_icicle_label(mv_scene *scene, const mv_flame_node *node, const char *amount,
                            float size, float width)
{
    const char *whole = mv_scene_format(scene, "%s \xc2\xb7 %s", node->label, amount);

    if (mv_text_width(whole, size) <= width)
        return whole;
    return mv_scene_format(scene, "%s", short_label(scene, node, amount, size, width));
}

void mv_icicle_paint(mv_scene *scene, const mv_theme *theme, const mv_icicle_shape *shape)
{
    mv_box at = shape->at;
    float gap = at.w > 3 ? 1 : 0, inside = at.w - 8;

    mv_scene_point(scene, at.x, at.y);
    mv_scene_point(scene, at.x + at.w - gap, at.y + at.h - 1);
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                                   .fill = shape->fill,
                                   .stroke = shape->is_idle ? theme->faint_text : 0,
                                   .width = shape->is_idle ? 0.6f : 0,
                                   .title = shape->title});
    if (inside >= NARROW && shape->label && *shape->label &&
        mv_text_width(shape->label, shape->size) <= inside)
        mv_scene_text(scene, at.x + 4, at.y + at.h / 2 + shape->size * 0.34f, shape->size,
                      mv_text_on(shape->fill), MV_ANCHOR_START, shape->label);
}

/* ---- painting ---------------------------------------------------------------------------- */

typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds;
    const mv_flame_tree *tree;
    const mv_icicle_opts *opts;
    const mv_theme *theme;
    mv_scene *scene;
    mv_icicle_boxes boxes;
    float width;          /* of the root */
    uint32_t hover_bytes; /* budget: how many may still be added */
    uint32_t keys;        /* bits: which colours occur */
    uint32_t levels;      /* that fit */
} icicle;

static float x_of(const icicle *p, uint64_t offset)
{
    return SIDE + p->width * (float)((double)offset / (double)p->tree->nodes[0].bytes);
}

static float y_of(uint32_t depth)
{
    return MV_HEADING_HEIGHT + 4 + ROW * (float)depth;
}

/* "27.1 %"; never "0.0 %" of anything but zero. */
static const char *share_text(const icicle *p, uint64_t bytes)
{
    double share = 100.0 * (double)bytes / (double)p->tree->nodes[0].bytes;

    return share < 0.1 ? "<0.1 %" : mv_scene_format(p->scene, "%.1f %%", share);
}

static const char *hover(icicle *p, const mv_icicle_box *box)
{
    const mv_flame_node *node = &p->tree->nodes[box->node];
    const mv_frames *frames = &p->trace->frames;
    const char *path = NULL, *text;
    char size[MV_SIZE_TEXT], exact[MV_TICK_TEXT], count[MV_TICK_TEXT];

    if (!box->rest && node->kind == MV_FLAME_FRAME &&
        frames->file[node->frame.row].row != MV_NO_ROW)
        path = mv_string_text(p->trace, frames->file[node->frame.row]);
    mv_axis_exact(box->rest ? box->rest : node->blocks, count);
    text = mv_scene_format(p->scene, "%s%s\n%s (%s bytes), %s of all%s%s%s%s",
                           box->rest ? count : node->label,
                           box->rest == 1 ? " narrower box"
                           : box->rest    ? " narrower boxes"
                                          : "",
                           mv_size_text(size, box->bytes), mv_axis_exact(box->bytes, exact),
                           share_text(p, box->bytes), box->rest ? "" : ", ", box->rest ? "" : count,
                           box->rest           ? ""
                           : node->blocks == 1 ? " piece"
                                               : " pieces",
                           path ? mv_scene_format(p->scene, "\n%s", path) : "");
    return mv_hover_take(&p->hover_bytes, text);
}

static void paint_box(icicle *p, const mv_icicle_box *box)
{
    const mv_flame_node *node = &p->tree->nodes[box->node];
    float x = x_of(p, box->offset), w = x_of(p, box->offset + box->bytes) - x;
    char size[MV_SIZE_TEXT], count[MV_TICK_TEXT];
    mv_icicle_shape shape = {.at = {x, y_of(box->depth), w, ROW},
                             .fill = box->rest ? p->theme->rest
                                               : mv_icicle_colour(p->theme, p->kinds, node),
                             .is_idle = !box->rest && mv_icicle_is_idle(node),
                             .size = 11,
                             .title = hover(p, box)};

    p->keys |= 1u << (box->rest ? KEY_REST : key_of(node, p->kinds));
    mv_size_text(size, box->bytes);
    if (box->rest)
        shape.label =
            mv_scene_format(p->scene, "%s more \xc2\xb7 %s", mv_axis_exact(box->rest, count), size);
    else
        shape.label = mv_icicle_label(p->scene, node, size, shape.size, w - 8);
    mv_icicle_paint(p->scene, p->theme, &shape);
}

static void paint_legend(icicle *p)
{
    static const char *const names[] = {
        "your code", "packages",        "PyTorch and Python",           "native code, or no frames",
        "segments",  "free or waiting", "boxes too narrow for a shape", "other allocations"};
    float x = SIDE, y = p->scene->height - 18;

    for (key k = KEY_USER; k <= KEY_OTHER; k++) {
        float w = mv_text_width(names[k], 12);
        if (!(p->keys >> k & 1) || x + w + 20 > p->scene->width - SIDE)
            continue;
        mv_scene_point(p->scene, x, y - 10);
        mv_scene_point(p->scene, x + 12, y + 2);
        mv_scene_add(p->scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                                          .fill = key_colour(p->theme, k),
                                          .stroke = k == KEY_IDLE ? p->theme->faint_text : 0,
                                          .width = k == KEY_IDLE ? 0.6f : 0});
        mv_scene_text(p->scene, x + 18, y, 12, p->theme->text, MV_ANCHOR_START, names[k]);
        x += 18 + w + 22;
    }
}

/* How the bytes are used, if the tree distinguishes states. */
static const char *state_note(icicle *p)
{
    uint64_t bytes[MV_FLAME_OTHER + 1] = {0};
    char used[MV_SIZE_TEXT], waiting[MV_SIZE_TEXT], idle[MV_SIZE_TEXT];
    bool is_told = false;

    for (uint32_t i = 1; i < p->tree->count; i++)
        if (p->tree->nodes[i].kind == MV_FLAME_STATE) {
            bytes[p->tree->nodes[i].part] += p->tree->nodes[i].bytes;
            is_told |= p->tree->nodes[i].part != MV_FLAME_OTHER;
        }
    if (!is_told)
        return NULL;
    return mv_scene_format(p->scene, "%s allocated \xc2\xb7 %s%s%s free",
                           mv_size_text(used, bytes[MV_FLAME_ALLOCATED] + bytes[MV_FLAME_OTHER]),
                           bytes[MV_FLAME_PENDING] ? mv_size_text(waiting, bytes[MV_FLAME_PENDING])
                                                   : "",
                           bytes[MV_FLAME_PENDING] ? " waiting for a stream \xc2\xb7 " : "",
                           mv_size_text(idle, bytes[MV_FLAME_FREE]));
}

/* The frame of the user's code below which most bytes were requested, without another such frame
 * between. */
static const char *heaviest_note(icicle *p, mv_arena *scratch)
{
    const mv_flame_tree *tree = p->tree;
    uint64_t *others = mv_push_array(scratch, uint64_t, tree->count), most = 0;
    uint32_t best = 0;
    char size[MV_SIZE_TEXT];

    if (!others) {
        p->scene->failed = true;
        return NULL;
    }
    for (uint32_t i = tree->count; i-- > 1;) {
        const mv_flame_node *node = &tree->nodes[i];
        bool is_user = node->kind == MV_FLAME_FRAME && p->kinds[node->frame.row] == MV_FRAME_USER;
        if (is_user && node->bytes - others[i] > most) {
            most = node->bytes - others[i];
            best = i;
        }
        others[node->parent] += is_user ? node->bytes : others[i];
    }
    if (best == 0)
        return NULL;
    return mv_scene_format(p->scene, "most: %s holds %s, %s", tree->nodes[best].label,
                           mv_size_text(size, most), share_text(p, most));
}

/* What the picture cannot show; without that, the answer. */
static const char *answer_of(icicle *p, mv_arena *scratch)
{
    const mv_flame_tree *tree = p->tree;
    const char *note = state_note(p);
    char size[MV_SIZE_TEXT];

    if (tree->nodes[0].bytes == 0)
        return mv_scene_format(p->scene, "nothing to draw: no bytes are %s at this moment",
                               p->opts->measure);
    if (tree->unrecorded > 0 && !note && tree->unrecorded == tree->nodes[0].bytes)
        return "no stacks were recorded: torch.cuda.memory._record_memory_history() records them";
    if (!note)
        note = heaviest_note(p, scratch);
    if (tree->unrecorded > 0)
        note = mv_scene_format(p->scene, "%s%sno stacks of %s were recorded", note ? note : "",
                               note ? " \xc2\xb7 " : "", mv_size_text(size, tree->unrecorded));
    if (p->boxes.depth < tree->depth && p->boxes.depth + 1 >= p->levels)
        note = mv_scene_format(p->scene, "%s%s%u more levels do not fit below", note ? note : "",
                               note ? " \xc2\xb7 " : "", tree->depth - p->boxes.depth);
    return note;
}

static const char *verdict_of(icicle *p, mv_arena *scratch)
{
    const char *answer = answer_of(p, scratch);
    const char *part = mv_heading_part_line(p->scene, p->opts->part, "blocks", "the allocated");

    if (!part)
        return answer;
    return answer && p->opts->part.matches
               ? mv_scene_format(p->scene, "%s \xc2\xb7 %s", part, answer)
               : part;
}

static void paint_heading(icicle *p, mv_arena *scratch, const mv_lives *lives)
{
    char size[MV_SIZE_TEXT], count[MV_TICK_TEXT];
    const mv_flame_node *root = &p->tree->nodes[0];
    const char *what = mv_scene_format(
        p->scene, "%s \xc2\xb7 %s %s in %s %s%s",
        mv_heading_moment(p->scene, p->trace, lives, p->opts->event),
        mv_size_text(size, root->bytes), p->opts->measure, mv_axis_exact(root->blocks, count),
        root->blocks == 1 ? "piece" : "pieces", mv_heading_history(lives));

    mv_heading_paint(p->scene, p->theme,
                     (mv_heading){p->opts->title, what, verdict_of(p, scratch), false});
}

static void paint(icicle *p, mv_arena *scratch, const mv_lives *lives)
{
    paint_heading(p, scratch, lives);
    if (p->tree->nodes[0].bytes == 0)
        return;
    mv_sort_rows(scratch, p->boxes.boxes, p->boxes.count, MV_FALLING(mv_icicle_box, bytes),
                 MV_RISING(mv_icicle_box, depth), MV_RISING(mv_icicle_box, offset));
    for (uint32_t i = 0; i < p->boxes.count && !p->scene->failed; i++)
        paint_box(p, &p->boxes.boxes[i]);
    paint_legend(p);
}

mv_code mv_icicle_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const uint8_t *kinds, const mv_flame_tree *tree, const mv_icicle_opts *opts,
                       mv_icicle *out, mv_err *err)
{
    icicle p = {.trace = trace,
                .kinds = kinds,
                .tree = tree,
                .opts = opts,
                .theme = mv_theme_of(opts->is_dark),
                .scene = &out->scene,
                .hover_bytes = HOVER_BYTES,
                .levels = MOST_LEVELS};
    uint32_t width = opts->width ? opts->width : WIDTH;
    mv_arena scratch;
    mv_code code;

    *out = (mv_icicle){0};
    mv_scene_init_shown(&out->scene, arena, width, opts->height ? opts->height : LEAST_HEIGHT,
                        LEAST_WIDTH, LEAST_HEIGHT, p.theme->background);
    if (opts->height)
        p.levels = (uint32_t)((out->scene.height - MV_HEADING_HEIGHT - 4 - FOOT) / ROW);
    p.width = out->scene.width - 2 * SIDE;
    mv_arena_init(&scratch, arena->budget);
    code = mv_icicle_lay(&scratch, tree, (uint64_t)((double)tree->nodes[0].bytes / p.width / 2),
                         opts->top ? opts->top : MOST_BOXES, p.levels - 1, &p.boxes, err);
    if (code == MV_OK) {
        if (!opts->height)
            out->scene.height = y_of(p.boxes.depth + 1) + FOOT;
        out->drawn = tree->nodes[0].bytes ? p.boxes.nodes : 0;
        paint(&p, &scratch, lives);
        if (out->scene.failed)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    }
    mv_arena_release(&scratch);
    return code;
}
