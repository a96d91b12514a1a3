/* The allocator's state as a scene. */
#include <math.h>

#include "analyze/lives/alive.h"
#include "base/size.h"
#include "viz/pictures/state.h"
#include "viz/pictures/timeline_painter.h"
#include "viz/scene/axis.h"
#include "viz/scene/heading.h"

enum {
    WIDTH = 1400,
    LEAST_WIDTH = 800,
    LEAST_HEIGHT = 480,
    LEFT = 24,
    RIGHT = 362, /* the legend */
    FOOT = 30,
    ROWS_HEIGHT = 600, /* approximately */
    LEAST_ROW = 14,
    MOST_ROW = 34,
    LEGEND_HEIGHT = 520,
    GROUP_HEIGHT = 28, /* height of a group besides its rows */
    MOST_ROWS = 30,
    MOST_GROUPS = 9,
    COLUMNS = 640, /* limits of boxes in a row (about twice as many), of groups */
    HOVER_BYTES = 1400000
};

typedef struct {
    mv_painter p; /* callers, texts for the pointer */
    const mv_state_picture_opts *opts;
    mv_heap_map map;
    mv_state state;
    mv_heap_sums sums;
    uint64_t largest;     /* hole */
    mv_heading_part part; /* how much of what is allocated the filter leaves */
    float row_height;
    bool has_rest, has_pending, has_rounding;
    uint32_t drawn;
} state_picture;

/* ---- where ------------------------------------------------------------------------------- */

static float group_y(const state_picture *s, uint32_t group)
{
    return s->p.y + GROUP_HEIGHT * (float)(group + 1) - 4 +
           s->row_height * (float)s->state.groups[group].first_row;
}

static float x_of(const state_picture *s, uint64_t bytes)
{
    return s->p.x + s->p.w * (float)((double)bytes / (double)s->state.row_bytes);
}

static mv_box place_of(const state_picture *s, uint32_t group, const mv_state_box *box)
{
    float x = x_of(s, box->offset);

    return (mv_box){
        x, group_y(s, group) + s->row_height * (float)(box->row - s->state.groups[group].first_row),
        x_of(s, box->offset + box->bytes) - x, s->row_height - 3};
}

/* ---- boxes ------------------------------------------------------------------------------- */

static const char *describe_segment(state_picture *s, uint32_t segment)
{
    char size[MV_SIZE_TEXT];

    return mv_scene_format(
        s->p.scene, "%ssegment of %s at 0x%llx",
        s->p.lives->segments.is_expandable[s->map.segment[segment]] ? "expandable " : "",
        mv_size_text(size, s->map.size[segment]), (unsigned long long)s->map.addr[segment]);
}

static const char *describe(state_picture *s, const mv_state_box *box)
{
    uint32_t alloc = s->map.piece_row[box->piece];
    char size[MV_SIZE_TEXT], used[MV_SIZE_TEXT], exact[MV_TICK_TEXT];
    const char *text;

    if (box->count > 1) {
        text = mv_scene_format(s->p.scene, "%s small pieces: %s, of it %s in use\n%s",
                               mv_axis_exact(box->count, exact), mv_size_text(size, box->bytes),
                               mv_size_text(used, box->allocated + box->pending),
                               describe_segment(s, box->segment));
    } else if (alloc == MV_NO_ROW) {
        uint64_t bytes = s->map.piece_size[box->piece];
        text = mv_scene_format(s->p.scene, "free: %s (%s bytes) at 0x%llx\n%s",
                               mv_size_text(size, bytes), mv_axis_exact(bytes, exact),
                               (unsigned long long)s->map.piece_addr[box->piece],
                               describe_segment(s, box->segment));
    } else {
        uint32_t caller = s->p.callers.of_alloc[alloc];
        text = mv_scene_format(
            s->p.scene, "%s%s\nat 0x%llx in a %s",
            box->pending ? "freed, waiting for a stream: " : "",
            mv_shapes_describe(&s->p, alloc, s->p.callers.callers[caller].is_leak),
            (unsigned long long)s->map.piece_addr[box->piece], describe_segment(s, box->segment));
    }
    return mv_painter_hover(&s->p, text);
}

/* As much of "train.py:62 forward · 4.00 MiB" as fits. */
static void label_box(state_picture *s, const mv_state_box *box, mv_box at, uint32_t colour)
{
    uint32_t alloc = s->map.piece_row[box->piece];
    char size[MV_SIZE_TEXT], label[256] = "free";
    const char *text;

    if (at.w < 44 || at.h < 11 || box->count > 1 || box->is_begun)
        return;
    if (alloc != MV_NO_ROW)
        mv_caller_label(&s->p, &s->p.callers.callers[s->p.callers.of_alloc[alloc]], label,
                        sizeof label);
    mv_size_text(size, s->map.piece_size[box->piece]);
    text = mv_scene_format(s->p.scene, "%s \xc2\xb7 %s", label, size);
    if (mv_text_width(text, 10.5f) > at.w - 6)
        text = mv_scene_format(s->p.scene, "%s", size);
    if (mv_text_width(text, 10.5f) <= at.w - 6)
        mv_scene_text(s->p.scene, at.x + 3, at.y + at.h / 2 + 4, 10.5f, colour, MV_ANCHOR_START,
                      text);
}

/* The rounding of the block, as a darker edge at its end; returns its width. */
static float mark_rounding(state_picture *s, const mv_state_box *box, mv_box at)
{
    const mv_alloc_lives *a = &s->p.lives->allocs;
    uint32_t alloc = s->map.piece_row[box->piece];
    uint64_t lost;
    float w;

    if (box->goes_on || a->requested[alloc] >= a->block[alloc])
        return 0;
    lost = a->block[alloc] - a->requested[alloc];
    w = x_of(s, lost < box->bytes ? lost : box->bytes) - s->p.x;
    if (w < 1)
        return 0;
    s->has_rounding = true;
    mv_scene_rect(s->p.scene, at.x + at.w - w, at.y, w, at.h, 0x00000066);
    return w;
}

static void paint_rest(state_picture *s, const mv_state_box *box, mv_box at)
{
    float used = at.h * (float)((double)(box->allocated + box->pending) / (double)box->bytes);

    s->has_rest = true;
    mv_scene_point(s->p.scene, at.x, at.y + at.h - used);
    mv_scene_point(s->p.scene, at.x + at.w, at.y + at.h);
    mv_scene_add(s->p.scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                                        .fill = s->p.theme->native,
                                        .is_crisp = true,
                                        .title = describe(s, box)});
}

static void paint_block(state_picture *s, const mv_state_box *box, mv_box at)
{
    uint32_t alloc = s->map.piece_row[box->piece];
    uint32_t fill = s->p.callers.callers[s->p.callers.of_alloc[alloc]].colour;
    float gap = at.w > 4 && !box->goes_on ? 0.8f : 0;

    bool is_grey = s->p.coloured && !mv_filter_has(s->p.coloured, alloc);

    if (is_grey)
        fill = s->p.theme->rest;
    else if (box->piece % 2)
        fill = mv_lighter(fill);
    mv_scene_point(s->p.scene, at.x, at.y);
    mv_scene_point(s->p.scene, at.x + at.w - gap, at.y + at.h);
    mv_scene_add(s->p.scene,
                 (mv_shape){.kind = MV_SHAPE_RECTS, .fill = fill, .title = describe(s, box)});
    if (box->pending) {
        s->has_pending = true;
        mv_scene_point(s->p.scene, at.x, at.y);
        mv_scene_point(s->p.scene, at.x + at.w - gap, at.y + at.h);
        mv_scene_add(
            s->p.scene,
            (mv_shape){.kind = MV_SHAPE_RECTS, .is_hatched = true, .stroke = s->p.theme->hatch});
        return;
    }
    at.w -= mark_rounding(s, box, at);
    if (!is_grey)
        label_box(s, box, at, mv_text_on(fill));
}

static void paint_box(state_picture *s, uint32_t group, const mv_state_box *box)
{
    mv_box at = place_of(s, group, box);

    s->drawn += box->count == 1;
    if (box->count > 1) {
        paint_rest(s, box, at);
    } else if (s->map.piece_row[box->piece] != MV_NO_ROW) {
        paint_block(s, box, at);
    } else if (at.w >= 3) {
        mv_scene_point(s->p.scene, at.x, at.y);
        mv_scene_point(s->p.scene, at.x + at.w, at.y + at.h);
        mv_scene_add(s->p.scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                                            .fill = s->p.theme->plot,
                                            .title = describe(s, box)});
        label_box(s, box, at, s->p.theme->faint_text);
    }
}

/* ---- segments and groups ----------------------------------------------------------------- */

/* All outlines of a group are one shape; segments narrower than a few pixels have none. */
static void outline_segments(state_picture *s, uint32_t group)
{
    const mv_state_group *g = &s->state.groups[group];
    uint64_t offset = 0;

    for (uint32_t i = 0; i < g->segment_count; i++) {
        uint64_t left = s->map.size[s->state.order[g->segments + i]];
        bool is_seen = x_of(s, left) - s->p.x >= 3;
        while (left > 0) {
            uint64_t at = offset % s->state.row_bytes;
            uint64_t bytes = left < s->state.row_bytes - at ? left : s->state.row_bytes - at;
            mv_state_box box = {.row = g->first_row + (uint32_t)(offset / s->state.row_bytes),
                                .offset = at,
                                .bytes = bytes};
            mv_box place = place_of(s, group, &box);
            if (is_seen) {
                mv_scene_point(s->p.scene, place.x, place.y);
                mv_scene_point(s->p.scene, place.x + place.w, place.y + place.h);
            }
            offset += bytes;
            left -= bytes;
        }
    }
    mv_scene_add(s->p.scene,
                 (mv_shape){.kind = MV_SHAPE_RECTS, .stroke = s->p.theme->faint_text, .width = 1});
}

static const char *name_group(state_picture *s, const mv_state_group *group)
{
    const mv_trace *t = s->p.trace;
    const mv_segment_lives *segments = &s->p.lives->segments;
    uint32_t row = s->map.segment[s->state.order[group->segments]];
    mv_pool_id pool = segments->pool[row];
    bool is_default =
        pool.row >= t->pools.count || (!t->pools.a[pool.row] && !t->pools.b[pool.row]);

    if (group->pools > 1)
        return mv_scene_format(s->p.scene, "%u more pools and streams", group->pools);
    return mv_scene_format(s->p.scene, "%s%s pool%s \xc2\xb7 stream %llu",
                           is_default ? "" : "private ",
                           mv_segment_kind_name((mv_segment_kind)segments->kind[row]),
                           is_default ? ""
                                      : mv_scene_format(s->p.scene, " (%llu, %llu)",
                                                        (unsigned long long)t->pools.a[pool.row],
                                                        (unsigned long long)t->pools.b[pool.row]),
                           (unsigned long long)t->streams.value[segments->stream[row].row]);
}

static void head_group(state_picture *s, uint32_t group)
{
    const mv_state_group *g = &s->state.groups[group];
    char bytes[MV_SIZE_TEXT], used[MV_SIZE_TEXT], idle[MV_SIZE_TEXT], hole[MV_SIZE_TEXT],
        waiting[MV_SIZE_TEXT], count[MV_TICK_TEXT];
    const char *text = mv_scene_format(
        s->p.scene, "%s \xc2\xb7 %s in %s segment%s: %s allocated%s%s, %s free%s%s",
        name_group(s, g), mv_size_text(bytes, g->bytes), mv_axis_exact(g->segment_count, count),
        g->segment_count == 1 ? "" : "s", mv_size_text(used, g->allocated),
        g->pending ? ", waiting " : "", g->pending ? mv_size_text(waiting, g->pending) : "",
        mv_size_text(idle, g->free), g->free ? ", largest hole " : "",
        g->free ? mv_size_text(hole, g->largest) : "");

    mv_scene_text(s->p.scene, s->p.x, group_y(s, group) - 7, 12, s->p.theme->text, MV_ANCHOR_START,
                  mv_text_fit(s->p.scene, text, 12, s->p.w));
}

static void paint_groups(state_picture *s)
{
    uint32_t box = 0;

    for (uint32_t g = 0; g < s->state.group_count; g++) {
        uint32_t end = s->state.groups[g].first_row + s->state.groups[g].rows;
        head_group(s, g);
        for (; box < s->state.box_count && s->state.boxes[box].row < end && !s->p.scene->failed;
             box++)
            paint_box(s, g, &s->state.boxes[box]);
        outline_segments(s, g);
    }
}

/* ---- legend ------------------------------------------------------------------------------ */

static float key(state_picture *s, float x, float y, mv_shape swatch, const char *label)
{
    mv_scene_point(s->p.scene, x, y - 10);
    mv_scene_point(s->p.scene, x + 24, y + 1);
    mv_scene_add(s->p.scene, swatch);
    mv_scene_text(s->p.scene, x + 32, y, 12, s->p.theme->text, MV_ANCHOR_START, label);
    return y + 20;
}

static float legend_keys(state_picture *s, float x, float y)
{
    const mv_theme *theme = s->p.theme;
    char size[MV_SIZE_TEXT];
    mv_shape plain = {.kind = MV_SHAPE_RECTS, .fill = theme->native};

    mv_scene_text(s->p.scene, x, y, 12, theme->faint_text, MV_ANCHOR_START,
                  mv_scene_format(s->p.scene, "A row is %s; all have one scale",
                                  mv_size_text(size, s->state.row_bytes)));
    y += 22;
    y = key(
        s, x, y,
        (mv_shape){
            .kind = MV_SHAPE_RECTS, .fill = theme->plot, .stroke = theme->faint_text, .width = 1},
        "segment, free where it is empty");
    if (s->has_pending) {
        y = key(s, x, y, plain, "hatched: freed, a stream may still use it");
        mv_scene_point(s->p.scene, x, y - 30);
        mv_scene_point(s->p.scene, x + 24, y - 19);
        mv_scene_add(
            s->p.scene,
            (mv_shape){.kind = MV_SHAPE_RECTS, .is_hatched = true, .stroke = theme->hatch});
    }
    if (s->has_rest)
        y = key(s, x, y, plain, "small pieces: the height shows how full they are");
    if (s->has_rounding) {
        y = key(s, x, y, plain, "dark edge: lost to rounding");
        mv_scene_rect(s->p.scene, x + 16, y - 30, 8, 11, 0x00000066);
    }
    return y;
}

static void paint_legend(state_picture *s)
{
    float x = s->p.scene->width - RIGHT + 24, w = RIGHT - 48;
    float y = legend_keys(s, x, s->p.y + 18) + 14;
    char size[MV_SIZE_TEXT];

    mv_callers_rows(
        &s->p, x, y, w,
        mv_scene_format(s->p.scene, "Who holds the %s allocated", mv_size_text(size, s->p.peak)));
}

/* ---- heading ----------------------------------------------------------------------------- */

static const char *oom_note(state_picture *s)
{
    const mv_events *e = &s->p.lives->events;
    char size[MV_SIZE_TEXT], hole[MV_SIZE_TEXT], idle[MV_SIZE_TEXT];

    if (s->opts->event >= e->count || e->action[s->opts->event] != MV_ACTION_OOM)
        return NULL;
    return mv_scene_format(s->p.scene,
                           "out of memory: asked for %s; %s is free here, the largest hole %s",
                           mv_size_text(size, e->size[s->opts->event]),
                           mv_size_text(idle, s->sums.free), mv_size_text(hole, s->largest));
}

static const char *hole_note(state_picture *s)
{
    char size[MV_SIZE_TEXT], hole[MV_SIZE_TEXT];

    if (s->sums.reserved == 0)
        return "nothing to draw: nothing is reserved at this moment";
    if (s->sums.free == 0)
        return "nothing is free in any segment";
    if (s->sums.free == s->largest)
        return mv_scene_format(s->p.scene, "%s is free, in one hole",
                               mv_size_text(size, s->sums.free));
    return mv_scene_format(s->p.scene,
                           "%s is free: the largest hole has %s, %.0f %% is in smaller ones",
                           mv_size_text(size, s->sums.free), mv_size_text(hole, s->largest),
                           100 - 100.0 * (double)s->largest / (double)s->sums.free);
}

static void paint_heading(state_picture *s)
{
    const mv_heap_sums *sums = &s->sums;
    char reserved[MV_SIZE_TEXT], used[MV_SIZE_TEXT], waiting[MV_SIZE_TEXT], lost[MV_SIZE_TEXT];
    const char *oom = oom_note(s), *note = oom ? oom : hole_note(s);
    const char *part = mv_heading_part_line(s->p.scene, s->part, "blocks", "the allocated");
    const char *what =
        mv_scene_format(s->p.scene, "%s \xc2\xb7 reserved %s \xc2\xb7 allocated %s%s%s%s%s%s",
                        mv_heading_moment(s->p.scene, s->p.trace, s->p.lives, s->opts->event),
                        mv_size_text(reserved, sums->reserved), mv_size_text(used, sums->allocated),
                        sums->pending ? " \xc2\xb7 waiting for a stream " : "",
                        sums->pending ? mv_size_text(waiting, sums->pending) : "",
                        sums->rounding ? " \xc2\xb7 rounding " : "",
                        sums->rounding ? mv_size_text(lost, sums->rounding) : "",
                        s->p.lives->doubts.inexact_blocks ? ", estimated" : "");

    if (mv_heap_unexplained(sums) != 0)
        note = mv_scene_format(s->p.scene, "%s \xc2\xb7 the file contradicts itself by %lld bytes",
                               note, (long long)mv_heap_unexplained(sums));
    if (part)
        note = mv_scene_format(s->p.scene, "%s \xc2\xb7 %s", part, note);
    mv_heading_paint(
        s->p.scene, s->p.theme,
        (mv_heading){s->opts->title,
                     mv_scene_format(s->p.scene, "%s%s", what, mv_heading_history(s->p.lives)),
                     note, oom != NULL});
}

/* ---- all --------------------------------------------------------------------------------- */

static mv_code find_heap(mv_arena *scratch, state_picture *s, mv_err *err)
{
    mv_heap heap;
    mv_code code = mv_heap_init(scratch, s->p.trace, s->p.lives, &heap, err);

    if (code != MV_OK)
        return code;
    mv_heap_advance(&heap, s->opts->event);
    s->sums = mv_heap_total(&heap);
    return mv_heap_map_make(scratch, &heap, &s->map, err);
}

static mv_code lay_out(mv_arena *scratch, state_picture *s, mv_err *err)
{
    mv_state_opts opts = {.most_rows = MOST_ROWS, .most_groups = MOST_GROUPS, .columns = COLUMNS};
    mv_code code =
        mv_state_lay(scratch, s->p.lives, &s->map, s->opts->event, &opts, &s->state, err);

    for (uint32_t g = 0; code == MV_OK && g < s->state.group_count; g++)
        if (s->state.groups[g].largest > s->largest)
            s->largest = s->state.groups[g].largest;
    return code;
}

static void open_scene(mv_arena *arena, state_picture *s, mv_scene *scene)
{
    float rows = (float)(s->state.rows ? s->state.rows : 1), row;
    float others = MV_HEADING_HEIGHT + GROUP_HEIGHT * (float)s->state.group_count + FOOT;

    mv_scene_init_shown(scene, arena, s->opts->width ? s->opts->width : WIDTH,
                        s->opts->height ? s->opts->height : LEAST_HEIGHT, LEAST_WIDTH, LEAST_HEIGHT,
                        s->p.theme->background);
    row = floorf(ROWS_HEIGHT / rows);
    row = row < LEAST_ROW ? LEAST_ROW : row > MOST_ROW ? MOST_ROW : row;
    if (s->opts->height)
        row = fminf((scene->height - others) / rows, MOST_ROW);
    else
        scene->height = fmaxf(others + rows * row, LEGEND_HEIGHT);
    s->row_height = row;
    s->p.scene = scene;
    s->p.x = LEFT;
    s->p.y = MV_HEADING_HEIGHT;
    s->p.w = scene->width - LEFT - RIGHT;
    s->p.h = scene->height - s->p.y - FOOT;
}

mv_code mv_state_picture_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              const mv_state_picture_opts *opts, mv_state_picture *out, mv_err *err)
{
    mv_timeline_opts shown = {.title = opts->title, .leaks = opts->leaks};
    state_picture s = {.opts = opts,
                       .p = {.trace = trace,
                             .lives = lives,
                             .opts = &shown,
                             .theme = mv_theme_of(opts->is_dark),
                             .hover_bytes = HOVER_BYTES,
                             .peak_event = opts->event}};
    mv_arena scratch;
    mv_code code;

    *out = (mv_state_picture){0};
    mv_arena_init(&scratch, arena->budget);
    code = find_heap(&scratch, &s, err);
    if (code == MV_OK)
        code = lay_out(&scratch, &s, err);
    if (code == MV_OK) {
        s.p.peak = s.sums.allocated;
        s.part.filter = opts->only ? opts->filter : NULL;
        code = mv_shown_blocks(&scratch, &s.p, opts->event, opts->only, opts->top, &s.part, err);
    }
    if (code == MV_OK) {
        open_scene(arena, &s, &out->scene);
        s.p.frame_kinds = mv_frame_kinds(&scratch, trace);
        out->scene.failed = !s.p.frame_kinds || !mv_callers_find(&scratch, &s.p);
        if (!out->scene.failed) {
            paint_heading(&s);
            paint_groups(&s);
            paint_legend(&s);
        }
        out->drawn = s.drawn;
        if (out->scene.failed)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    }
    mv_arena_release(&scratch);
    return code;
}
