/* The allocator's state as a scene. */
#include <math.h>

#include "base/size.h"
#include "viz/pictures/state_scene.h"
#include "viz/pictures/timeline_painter.h"
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
    MOST_ROWS = 30,
    MOST_GROUPS = 9,
    COLUMNS = 640, /* limits of boxes in a row (about twice as many), of groups */
    HOVER_BYTES = 1400000
};

typedef struct {
    mv_painter p; /* callers, texts for the pointer */
    const mv_state_picture_opts *opts;
    mv_heap_map map;
    mv_heap_sums sums;
    mv_state state;
    mv_state_scene scene;
    uint64_t largest;     /* hole */
    mv_heading_part part; /* how much of what is allocated the filter leaves */
    char label[256];
} state_picture;

/* ---- blocks ------------------------------------------------------------------------------ */

static const mv_caller *caller_of(const state_picture *s, uint32_t alloc)
{
    return &s->p.callers.callers[s->p.callers.of_alloc[alloc]];
}

/* Grey, and without a name, when a filter or --top leaves the block out. */
static uint32_t colour(void *user, uint32_t alloc, bool *is_named)
{
    const state_picture *s = user;

    *is_named = !s->p.coloured || mv_filter_has(s->p.coloured, alloc);
    return *is_named ? caller_of(s, alloc)->colour : s->p.theme->rest;
}

static const char *label(void *user, uint32_t alloc)
{
    state_picture *s = user;

    return mv_caller_label(&s->p, caller_of(s, alloc), s->label, sizeof s->label);
}

/* A block's tip has its stack as well. */
static const char *title(void *user, const mv_state_box *box)
{
    state_picture *s = user;
    uint32_t alloc = box->count == 1 ? s->map.piece_row[box->piece] : MV_NO_ROW;
    const char *text;

    if (alloc == MV_NO_ROW)
        text = mv_state_scene_describe(&s->scene, box);
    else
        text = mv_scene_format(s->p.scene, "%s%s\n%s",
                               box->pending ? "freed, a stream may still use it: " : "",
                               mv_shapes_describe(&s->p, alloc, caller_of(s, alloc)->is_leak),
                               mv_state_scene_where(&s->scene, box));
    return mv_painter_hover(&s->p, text);
}

/* ---- legend ------------------------------------------------------------------------------ */

static void paint_legend(state_picture *s)
{
    float x = s->p.scene->width - RIGHT + 24, w = RIGHT - 48, y = s->p.y + 18;
    char size[MV_SIZE_TEXT];

    mv_scene_text(s->p.scene, x, y, 12, s->p.theme->faint_text, MV_ANCHOR_START,
                  mv_scene_format(s->p.scene, "A row is %s; all have one scale",
                                  mv_size_text(size, s->state.row_bytes)));
    y = mv_state_scene_key(&s->scene, x, y + 10, w, s->p.scene->height - FOOT) + 24;
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

static void paint_heading(state_picture *s)
{
    const char *oom = oom_note(s);
    const char *note =
        oom ? oom : mv_state_holes_text(s->p.scene, s->p.lives, &s->sums, s->largest);
    const char *part = mv_heading_part_line(s->p.scene, s->part, "blocks", "the allocated");
    const char *what = mv_scene_format(
        s->p.scene, "%s \xc2\xb7 %s%s",
        mv_heading_moment(s->p.scene, s->p.trace, s->p.lives, s->opts->event),
        mv_state_sums_text(s->p.scene, &s->sums, s->state.whole), mv_heading_history(s->p.lives));

    if (part)
        note = mv_scene_format(s->p.scene, "%s \xc2\xb7 %s", part, note);
    mv_heading_paint(s->p.scene, s->p.theme, (mv_heading){s->opts->title, what, note, oom != NULL});
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
    float rows = (float)(s->state.rows ? s->state.rows : 1);
    float row = fminf(fmaxf(floorf(ROWS_HEIGHT / rows), LEAST_ROW), MOST_ROW);
    float height = mv_state_height(&s->state, 1, row) + 4;

    mv_scene_init_shown(scene, arena, s->opts->width ? s->opts->width : WIDTH,
                        s->opts->height ? s->opts->height : LEAST_HEIGHT, LEAST_WIDTH, LEAST_HEIGHT,
                        s->p.theme->background);
    if (s->opts->height)
        height = scene->height - MV_HEADING_HEIGHT - FOOT;
    else
        scene->height = fmaxf(MV_HEADING_HEIGHT + height + FOOT, LEGEND_HEIGHT);
    s->p.scene = scene;
    s->p.x = LEFT;
    s->p.y = MV_HEADING_HEIGHT;
    s->p.w = scene->width - LEFT - RIGHT;
    s->p.h = height;
}

static void paint_heap(state_picture *s)
{
    s->scene = (mv_state_scene){
        .trace = s->p.trace,
        .lives = s->p.lives,
        .map = &s->map,
        .event = s->opts->event,
        .place = mv_state_place_make(&s->state, (mv_box){s->p.x, s->p.y, s->p.w, s->p.h}, 1,
                                     (mv_state_shown){0}),
        .theme = s->p.theme,
        .scene = s->p.scene,
        .user = s,
        .colour = colour,
        .label = label,
        .title = title};
    mv_state_scene_paint(&s->scene);
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
            paint_heap(&s);
            paint_legend(&s);
        }
        out->drawn = s.scene.seen.drawn;
        if (out->scene.failed)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    }
    mv_arena_release(&scratch);
    return code;
}
