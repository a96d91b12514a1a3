#include "viz/pictures/icicle.h"

#include <ctype.h>
#include <math.h>

#include "analyze/flame/flame_change.h"
#include "base/size.h"
#include "base/sort.h"
#include "viz/scene/distinct_texts.h"
#include "viz/scene/heading.h"

#define LINE 1.25f /* height of a line in a label, as a multiple of the letter size */

enum { NARROW = 30 /* minimum width in pixels of a useful label */ };

/* ---- boxes ------------------------------------------------------------------------------- */

/* Finds the size of the smallest node among the `most` heaviest nodes. */
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
        /* Nodes of equal weight are either all kept or all dropped. */
        if (bytes[most] >= *cut)
            *cut = bytes[most] + 1;
    }
    mv_arena_release(&scratch);
    return bytes ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "flame graph");
}

/* Lays out the boxes below a box: one for each of the heaviest children, and one for all others. */
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

/* The colours that a difference uses. */
typedef enum { CHANGE_MORE, CHANGE_LESS, CHANGE_PALE, CHANGE_REST } change_key;

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

/* Whether more than a quarter of the change was in the opposite direction. */
static bool is_pale(const mv_flame_node *node)
{
    uint64_t other = mv_flame_change(node) < 0 ? node->bytes - node->less : node->less;

    return other > node->bytes / 4;
}

uint32_t mv_icicle_change_colour(const mv_theme *theme, const mv_flame_node *node)
{
    int64_t change = mv_flame_change(node);
    uint32_t colour = mv_site_colour(change < 0 ? 4 : 1);

    if (change == 0)
        return theme->rest;
    return is_pale(node) ? mv_lighter(mv_lighter(mv_lighter(colour))) : colour;
}

/* ---- the key ----------------------------------------------------------------------------- */

static uint32_t change_keys(const mv_flame_node *node)
{
    int64_t change = mv_flame_change(node);

    if (change == 0)
        return 1u << CHANGE_REST;
    return 1u << (change < 0 ? CHANGE_LESS : CHANGE_MORE) | (is_pale(node) ? 1u << CHANGE_PALE : 0);
}

static mv_icicle_key key_at(const mv_theme *theme, const mv_trace *trace, key k)
{
    bool is_of_other = mv_trace_allocator(trace);
    static const char *const texts[] = {
        "your code", "packages",        "PyTorch and Python",           "native code, or no frames",
        "segments",  "free or waiting", "boxes too narrow for a shape", "other allocations"};

    return (mv_icicle_key){key_colour(theme, k), k == KEY_IDLE,
                           k == KEY_TORCH && is_of_other ? "the framework and Python" : texts[k]};
}

static mv_icicle_key change_key_at(const mv_theme *theme, change_key k)
{
    static const mv_flame_node nodes[] = {
        {.bytes = 1}, {.bytes = 1, .less = 1}, {.bytes = 3, .less = 1}, {.bytes = 2, .less = 1}};
    static const char *const texts[] = {"more", "less", "pale: much of it went the other way",
                                        "no net change, or too narrow for a shape"};

    return (mv_icicle_key){mv_icicle_change_colour(theme, &nodes[k]), false, texts[k]};
}

uint32_t mv_icicle_keys(const mv_theme *theme, const mv_trace *trace, const uint8_t *kinds,
                        const mv_flame_tree *tree, const mv_icicle_boxes *boxes,
                        mv_icicle_key out[MV_ICICLE_KEYS])
{
    uint32_t bits = 0, count = 0;

    for (uint32_t i = 0; i < boxes->count; i++) {
        const mv_icicle_box *box = &boxes->boxes[i];
        const mv_flame_node *node = &tree->nodes[box->node];
        if (box->rest)
            bits |= 1u << (kinds ? (uint32_t)KEY_REST : (uint32_t)CHANGE_REST);
        else
            bits |= kinds ? 1u << key_of(node, kinds) : change_keys(node);
    }
    for (uint32_t k = 0; k < MV_ICICLE_KEYS; k++)
        if (bits >> k & 1)
            out[count++] =
                kinds ? key_at(theme, trace, (key)k) : change_key_at(theme, (change_key)k);
    return count;
}

/* ---- a box ------------------------------------------------------------------------------- */

bool mv_icicle_is_idle(const mv_flame_node *node)
{
    return node->kind == MV_FLAME_STATE && node->part != MV_FLAME_ALLOCATED &&
           node->part != MV_FLAME_OTHER;
}

/* Returns the label without a segment's size, because the amount already shows it. */
static const char *label_of(mv_scene *scene, const mv_flame_node *node)
{
    const char *size =
        node->kind == MV_FLAME_PLACE && node->depth == 1 ? strstr(node->label, " of ") : NULL;

    return size ? mv_scene_format(scene, "%.*s", (int)(size - node->label), node->label)
                : node->label;
}

/* Returns the number of bytes that "train.py:62" takes in "train.py:62 forward", or "large" in
 * "large pool (0, 0)" and "large (unknown pool)"; 0: the label has no such part. */
static size_t brief_length(const mv_flame_node *node, const char *label)
{
    const char *space = strrchr(label, ' ');

    if (node->kind == MV_FLAME_PLACE)
        return strcspn(label, " ");
    if (!space || space == label || node->kind == MV_FLAME_NO_FRAME)
        return 0;
    return isdigit((unsigned char)space[-1]) ? (size_t)(space - label) : 0;
}

/* Returns the part of a label that is useful in this width, or "". */
static const char *short_label(mv_scene *scene, const mv_flame_node *node, const char *amount,
                               float size, float w)
{
    const char *label = label_of(scene, node), *brief;
    size_t length = brief_length(node, label);

    if (mv_text_width(label, size) <= w)
        return label;
    if (node->kind == MV_FLAME_PLACE && node->depth == 1)
        return mv_text_width(amount, size) <= w ? amount : "";
    brief = mv_scene_format(scene, "%.*s", (int)length, label);
    if (length && mv_text_width(brief, size) <= w)
        return brief;
    return w > 5 * size ? mv_text_fit(scene, label, size, w) : "";
}

/* Breaks a text into lines of this width. Returns their number, or 0 if a word or the whole text is
 * too long. */
static uint32_t break_lines(mv_scene *scene, const char *text, float size, float width,
                            uint32_t most, const char *out[])
{
    uint32_t count = 0;

    while (*text) {
        size_t kept = 0, end = strcspn(text, " ");
        const char *line = "";
        while (end > kept) {
            const char *longer = mv_scene_format(scene, "%.*s", (int)end, text);
            if (mv_text_width(longer, size) > width)
                break;
            line = longer;
            kept = end;
            end += text[end] ? 1 + strcspn(text + end + 1, " ") : 0;
        }
        if (kept == 0 || count == most)
            return 0;
        out[count++] = line;
        text += kept + (text[kept] == ' ');
    }
    return count;
}

void mv_icicle_label(mv_scene *scene, const mv_flame_node *node, const char *amount,
                     mv_icicle_shape *shape)
{
    float size = shape->size, width = shape->at.w - 8;
    const char *label = label_of(scene, node);
    const char *whole = mv_scene_format(scene, "%s \xc2\xb7 %s", label, amount);
    uint32_t most = (uint32_t)fmaxf(1, (shape->at.h - 4) / (LINE * size));

    shape->lines = 1;
    shape->label[0] = whole;
    if (mv_text_width(whole, size) <= width)
        return;
    most = most < MV_ICICLE_LINES ? most : MV_ICICLE_LINES;
    if (most > 1 && mv_text_width(amount, size) <= width)
        shape->lines = break_lines(scene, label, size, width, most - 1, shape->label);
    else
        shape->lines = 0;
    if (shape->lines)
        shape->label[shape->lines++] = amount;
    else if (most > 1)
        shape->lines = break_lines(scene, label, size, width, most, shape->label);
    if (shape->lines)
        return;
    shape->lines = 1;
    shape->label[0] = mv_scene_format(scene, "%s", short_label(scene, node, amount, size, width));
}

const char *mv_icicle_change_amount(mv_scene *scene, const mv_flame_node *node)
{
    char change[MV_SIZE_TEXT], more[MV_SIZE_TEXT], less[MV_SIZE_TEXT];

    mv_size_change_text(change, mv_flame_change(node));
    if (node->less == 0 || node->less == node->bytes)
        return mv_scene_format(scene, "%s", change);
    return mv_scene_format(scene, "%s (%s more, %s less)", change,
                           mv_size_text(more, node->bytes - node->less),
                           mv_size_text(less, node->less));
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
    for (uint32_t i = 0; inside >= NARROW && i < shape->lines; i++)
        if (*shape->label[i] && mv_text_width(shape->label[i], shape->size) <= inside)
            mv_scene_text(scene, at.x + 4,
                          at.y + at.h / 2 + shape->size * 0.34f +
                              ((float)i - (float)(shape->lines - 1) / 2) * LINE * shape->size,
                          shape->size, mv_text_on(shape->fill), MV_ANCHOR_START, shape->label[i]);
}
