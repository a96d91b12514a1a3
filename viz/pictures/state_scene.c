#include "viz/pictures/state_scene.h"

#include <math.h>

#include "analyze/levels/levels.h"
#include "base/search.h"
#include "base/size.h"
#include "parse/model/event_times.h"
#include "viz/scene/axis.h"
#include "viz/scene/distinct_texts.h"
#include "viz/scene/heading.h"

enum { LABEL = 44, LABEL_HIGH = 11, KEY = 19, SIGN = 6 };

static const float head_size = 11, label_size = 10.5f, key_size = 11;
static const uint32_t rounding_shade = 0x00000066;

static uint32_t alloc_of(const mv_state_scene *s, const mv_state_box *box)
{
    return box->count == 1 ? s->map->piece_row[box->piece] : MV_NO_ROW;
}

static void rect(mv_state_scene *s, mv_box at, mv_shape shape)
{
    mv_scene_point(s->scene, at.x, at.y);
    mv_scene_point(s->scene, at.x + at.w, at.y + at.h);
    shape.kind = MV_SHAPE_RECTS;
    mv_scene_add(s->scene, shape);
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* Returns the visible part of a box. Labels are placed in this part, so that the label of a large
 * block is always in sight. */
static mv_box seen_part(const mv_state_scene *s, mv_box at)
{
    const mv_box *all = &s->place.box;
    float left = fmaxf(at.x, all->x), right = fminf(at.x + at.w, all->x + all->w);

    return (mv_box){left, at.y, right - left, at.h};
}

/* Whether an earlier row contains a part of the piece that is wide enough for its label. */
static bool is_labelled_before(const mv_state_scene *s, const mv_state_box *box)
{
    if (s->place.shown.zoom > 1)
        return false; /* that row may be outside the box */
    return box->before >= s->place.state->row_bytes ||
           mv_state_x(&s->place, box->before) - mv_state_x(&s->place, 0) >= LABEL * s->place.scale;
}

/* Writes the part of a label such as "train.py:62 forward, 4.00 MiB" that fits. */
static void label_box(mv_state_scene *s, const mv_state_box *box, mv_box at, uint32_t colour)
{
    uint32_t alloc = alloc_of(s, box);
    float size = label_size * s->place.scale;
    char bytes[MV_SIZE_TEXT];
    const char *text;

    at = seen_part(s, at);
    if (at.w < LABEL * s->place.scale || at.h < LABEL_HIGH * s->place.scale ||
        is_labelled_before(s, box))
        return;
    mv_size_text(bytes, s->map->piece_size[box->piece]);
    text = mv_scene_format(s->scene, "%s, %s",
                           alloc == MV_NO_ROW ? "free" : s->label(s->user, alloc), bytes);
    if (mv_text_width(text, size) > at.w - 6)
        text = mv_scene_format(s->scene, "%s", bytes);
    if (mv_text_width(text, size) <= at.w - 6)
        mv_scene_text(s->scene, at.x + 3, at.y + at.h / 2 + size * 0.36f, size, colour,
                      MV_ANCHOR_START, text);
}

/* Marks the rounding of a block, which is the bytes beyond the request, as a darker edge at its
 * end. Returns the width of the edge. */
static float mark_rounding(mv_state_scene *s, const mv_state_box *box, mv_box at)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t alloc = alloc_of(s, box);
    uint64_t lost;
    float w;

    if (box->goes_on || a->requested[alloc] >= a->block[alloc])
        return 0;
    lost = a->block[alloc] - a->requested[alloc];
    w = mv_state_x(&s->place, lost < box->bytes ? lost : box->bytes) - mv_state_x(&s->place, 0);
    if (w < 1)
        return 0;
    s->seen.rounding = true;
    rect(s, (mv_box){at.x + at.w - w, at.y, w, at.h}, (mv_shape){.fill = rounding_shade});
    return w;
}

static const char *title_of(const mv_state_scene *s, const mv_state_box *box)
{
    return s->title ? s->title(s->user, box) : NULL;
}

static void paint_block(mv_state_scene *s, const mv_state_box *box, mv_box at)
{
    bool is_named = true;
    uint32_t fill = s->colour(s->user, alloc_of(s, box), &is_named);

    if (at.w > 4 && !box->goes_on)
        at.w -= 0.8f;
    rect(s, at, (mv_shape){.fill = fill, .is_crisp = at.w < 3, .title = title_of(s, box)});
    if (box->pending) {
        s->seen.pending = true;
        rect(s, at, (mv_shape){.is_hatched = true, .stroke = s->theme->hatch});
        return;
    }
    at.w -= mark_rounding(s, box, at);
    if (is_named)
        label_box(s, box, at, mv_text_on(fill));
}

/* Paints small adjacent pieces as one box, whose height shows how full they are. */
static void paint_rest(mv_state_scene *s, const mv_state_box *box, mv_box at)
{
    float used = at.h * (float)((double)(box->allocated + box->pending) / (double)box->bytes);

    s->seen.rest = true;
    rect(s, (mv_box){at.x, at.y + at.h - used, at.w, used},
         (mv_shape){.fill = s->theme->rest, .is_crisp = true, .title = title_of(s, box)});
}

static void paint_hole(mv_state_scene *s, const mv_state_box *box, mv_box at)
{
    if (s->title && at.w >= 3)
        rect(s, at, (mv_shape){.fill = s->theme->plot, .title = title_of(s, box)});
    label_box(s, box, at, s->theme->faint_text);
}

static void paint_box(mv_state_scene *s, const mv_state_box *box)
{
    mv_box at = mv_state_box_of(&s->place, box);

    s->seen.drawn += box->count == 1;
    if (at.x + at.w < s->place.box.x || at.x > s->place.box.x + s->place.box.w)
        return;
    if (box->count > 1)
        paint_rest(s, box, at);
    else if (alloc_of(s, box) != MV_NO_ROW)
        paint_block(s, box, at);
    else
        paint_hole(s, box, at);
}

/* ---- segments and groups ----------------------------------------------------------------- */

static bool is_in_sight(const mv_state_scene *s, mv_box at)
{
    const mv_box *all = &s->place.box;

    return at.x + at.w >= all->x && at.x <= all->x + all->w && at.y + at.h >= all->y &&
           at.y <= all->y + all->h;
}

/* Paints outlines of a group's segments, cut where rows end. Segments that are too small to see
 * have no outline. */
static void outline_segments(mv_state_scene *s, uint32_t group)
{
    const mv_state_group *g = &s->place.state->groups[group];
    float zero = mv_state_x(&s->place, 0);

    for (uint32_t i = 0; i < g->segment_count; i++) {
        uint32_t segment = s->place.state->order[g->segments + i];
        uint64_t bytes = s->map->size[segment], done = 0;
        mv_box at;
        if (mv_state_x(&s->place, bytes) - zero < 3)
            continue;
        while (mv_state_range_next(&s->place, segment, 0, bytes, &done, &at)) {
            if (!is_in_sight(s, at))
                continue;
            mv_scene_point(s->scene, at.x, at.y);
            mv_scene_point(s->scene, at.x + at.w, at.y + at.h);
        }
    }
    mv_scene_add(s->scene,
                 (mv_shape){.kind = MV_SHAPE_RECTS, .stroke = s->theme->faint_text, .width = 1});
}

static const char *stream_name(const mv_state_scene *s, mv_stream_id stream)
{
    const mv_streams *streams = &s->trace->streams;

    if (stream.row >= streams->count)
        return "unknown stream";
    if (streams->value[stream.row] == 0)
        return "default stream";
    return mv_scene_format(s->scene, "stream 0x%llx",
                           (unsigned long long)streams->value[stream.row]);
}

const char *mv_state_level_name(mv_scene *scene, const mv_trace *trace)
{
    const mv_origin *origin = &trace->origin;

    if (!origin->level || mv_level_reserves(trace))
        return NULL;
    if (origin->is_heap)
        return mv_scene_format(scene, "heap %s", origin->level);
    return mv_level_is_host(origin->level) ? "pinned memory" : "memory from calls of CUDA";
}

/* Returns the pool of a segment of the map, such as "large pool, default stream" or "private small
 * pool (1, 0), stream 0x7f00". */
static const char *pool_name(const mv_state_scene *s, uint32_t segment)
{
    const mv_trace *t = s->trace;
    const mv_segment_lives *segments = &s->lives->segments;
    uint32_t row = s->map->segment[segment];
    mv_pool_id pool = segments->pool[row];
    const char *kind = mv_segment_kind_name((mv_segment_kind)segments->kind[row]);

    if (mv_state_level_name(s->scene, s->trace))
        return mv_state_level_name(s->scene, s->trace);
    if (pool.row >= t->pools.count || (!t->pools.a[pool.row] && !t->pools.b[pool.row]))
        return mv_scene_format(s->scene, "%s pool, %s", kind,
                               stream_name(s, segments->stream[row]));
    return mv_scene_format(s->scene, "private %s pool (%llu, %llu), %s", kind,
                           (unsigned long long)t->pools.a[pool.row],
                           (unsigned long long)t->pools.b[pool.row],
                           stream_name(s, segments->stream[row]));
}

static const char *group_name(const mv_state_scene *s, const mv_state_group *group)
{
    if (s->by_address)
        return mv_state_level_name(s->scene, s->trace) ? "all blocks, by address"
                                                       : "all segments, by address";
    if (group->pools > 1)
        return mv_scene_format(s->scene, "%u more pools and streams", group->pools);
    return pool_name(s, s->place.state->order[group->segments]);
}

/* Returns the name and the sums of a group, as many of them as fit. */
static const char *head_text(const mv_state_scene *s, uint32_t group, float size)
{
    const mv_state_group *g = &s->place.state->groups[group];
    bool is_of_calls = mv_state_level_name(s->scene, s->trace) != NULL;
    char bytes[MV_SIZE_TEXT], used[MV_SIZE_TEXT], idle[MV_SIZE_TEXT], hole[MV_SIZE_TEXT],
        waiting[MV_SIZE_TEXT], count[MV_TICK_TEXT];
    const char *texts[4];
    uint32_t most = 0;

    texts[0] = mv_scene_format(s->scene, "%s \xc2\xb7 %s", group_name(s, g),
                               mv_size_text(bytes, g->bytes));
    texts[1] =
        mv_scene_format(s->scene, "%s in %s %s%s", texts[0], mv_axis_exact(g->segment_count, count),
                        is_of_calls ? "block" : "segment", g->segment_count == 1 ? "" : "s");
    texts[2] = mv_scene_format(
        s->scene, "%s: %s allocated%s%s%s%s", texts[1], mv_size_text(used, g->allocated),
        g->pending ? ", pending " : "", g->pending ? mv_size_text(waiting, g->pending) : "",
        g->free ? ", free " : "", g->free ? mv_size_text(idle, g->free) : "");
    texts[3] =
        mv_scene_format(s->scene, "%s, largest hole %s", texts[2], mv_size_text(hole, g->largest));
    for (uint32_t i = 1; i < (is_of_calls ? 2 : g->free ? 4 : 3); i++)
        if (mv_text_width(texts[i], size) <= s->place.box.w)
            most = i;
    return texts[most];
}

static void head_group(mv_state_scene *s, uint32_t group)
{
    float size = head_size * s->place.scale, y = mv_state_head_y(&s->place, group);

    if (y + s->place.head < s->place.box.y || y > s->place.box.y + s->place.box.h)
        return;
    mv_scene_text(s->scene, s->place.box.x, y + s->place.head - 11 * s->place.scale, size,
                  s->theme->text, MV_ANCHOR_START,
                  mv_text_fit(s->scene, head_text(s, group, size), size, s->place.box.w));
}

/* ---- marks ------------------------------------------------------------------------------- */

uint32_t mv_state_segment_at(const mv_heap_map *map, uint64_t addr)
{
    uint64_t after = mv_upper_bound_u64(map->addr, map->count, addr);

    if (after == 0 || addr - map->addr[after - 1] >= map->size[after - 1])
        return MV_NO_ROW;
    return (uint32_t)after - 1;
}

uint64_t mv_state_hole_at(const mv_heap_map *map, uint64_t addr)
{
    uint32_t segment = mv_state_segment_at(map, addr);

    if (segment == MV_NO_ROW)
        return 0;
    for (uint32_t i = map->first_piece[segment]; i < map->first_piece[segment + 1]; i++)
        if (map->piece_addr[i] == addr && map->piece_row[i] == MV_NO_ROW)
            return map->piece_size[i];
    return 0;
}

static void frame(mv_state_scene *s, mv_box at, bool is_dashed, float width)
{
    float x1 = at.x + at.w, y1 = at.y + at.h;

    if (!is_dashed) {
        rect(s, at, (mv_shape){.stroke = s->theme->outline, .width = width});
        return;
    }
    mv_scene_point(s->scene, at.x, at.y);
    mv_scene_point(s->scene, x1, at.y);
    mv_scene_point(s->scene, x1, y1);
    mv_scene_point(s->scene, at.x, y1);
    mv_scene_point(s->scene, at.x, at.y);
    mv_scene_add(s->scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                      .stroke = s->theme->outline,
                                      .width = width,
                                      .is_dashed = true});
}

/* Paints a triangle that points down to the position, with an edge in the background's colour. */
static void sign(mv_state_scene *s, float x, float y)
{
    float high = roundf(SIGN * s->place.scale);

    mv_scene_point(s->scene, x - high, y + 1 - high * 1.4f);
    mv_scene_point(s->scene, x + high, y + 1 - high * 1.4f);
    mv_scene_point(s->scene, x, y + 1);
    mv_scene_add(s->scene, (mv_shape){.kind = MV_SHAPE_POLYGON,
                                      .fill = s->theme->alarm,
                                      .stroke = s->theme->background,
                                      .width = 1.5f});
}

/* Paints a mark. A block or segment lies in a single run of the map. */
static void paint_mark(mv_state_scene *s, const mv_state_mark *mark)
{
    bool has_sign = mark->kind == MV_STATE_EVENT || mark->kind == MV_STATE_GONE;
    uint32_t segment = mark->bytes ? mv_state_segment_at(s->map, mark->addr) : MV_NO_ROW;
    float thick = mark->kind == MV_STATE_HOVER ? 0 : 1;
    uint64_t offset, bytes, done = 0;
    mv_box at, first = {0};

    if (segment == MV_NO_ROW)
        return;
    offset = mark->addr - s->map->addr[segment];
    bytes = s->map->size[segment] - offset;
    bytes = mark->bytes < bytes ? mark->bytes : bytes;
    while (mv_state_range_next(&s->place, segment, offset, bytes, &done, &at)) {
        at = (mv_box){at.x - thick, at.y - thick, fmaxf(at.w, 3) + 2 * thick, at.h + 2 * thick};
        first = first.w > 0 ? first : at;
        if (is_in_sight(s, at))
            frame(s, at, mark->kind == MV_STATE_GONE, 1 + thick * s->place.scale);
    }
    if (has_sign && is_in_sight(s, first))
        sign(s, seen_part(s, first).x + seen_part(s, first).w / 2, first.y);
    s->seen.event |= mark->kind == MV_STATE_EVENT;
    s->seen.gone |= mark->kind == MV_STATE_GONE;
    s->seen.pinned |= mark->kind == MV_STATE_PINNED;
}

void mv_state_scene_paint(mv_state_scene *s)
{
    const mv_state *state = s->place.state;
    const mv_box *box = &s->place.box;
    bool is_cut = mv_state_is_cut(&s->place);
    uint32_t first, end;

    s->seen = (mv_state_seen){0};
    if (state->rows == 0)
        return;
    if (is_cut)
        mv_scene_clip(s->scene, box->x - 1, box->y, box->w + 2, box->h);
    mv_state_rows_seen(&s->place, &first, &end);
    for (uint32_t i = state->row_box[first]; i < state->row_box[end] && !s->scene->failed; i++)
        paint_box(s, &state->boxes[i]);
    for (uint32_t g = 0; g < state->group_count; g++) {
        head_group(s, g);
        if (state->groups[g].first_row < end &&
            state->groups[g].first_row + state->groups[g].rows > first)
            outline_segments(s, g);
    }
    for (uint32_t i = 0; i < MV_STATE_MARKS; i++)
        paint_mark(s, &s->marks[i]);
    if (is_cut)
        mv_scene_unclip(s->scene);
}

/* ---- the key ----------------------------------------------------------------------------- */

typedef struct {
    mv_state_scene *s;
    float x, y, width, bottom;
} key_column;

/* Adds a line with room for a swatch on the left. Returns false if there is no room. */
static bool key_line(key_column *k, const char *text, mv_box *swatch)
{
    const mv_state_scene *s = k->s;
    float scale = s->place.scale, high = roundf(KEY * scale), size = key_size * scale;

    if (k->y + high > k->bottom)
        return false;
    *swatch = (mv_box){k->x, k->y + 4 * scale, 20 * scale, high - 8 * scale};
    mv_scene_text(s->scene, k->x + 26 * scale, k->y + high / 2 + size * 0.36f, size, s->theme->text,
                  MV_ANCHOR_START, mv_text_fit(s->scene, text, size, k->width - 26 * scale));
    k->y += high;
    return true;
}

static void key_blocks(key_column *k)
{
    mv_state_scene *s = k->s;
    mv_shape plain = {.fill = s->theme->native};
    mv_box at;

    if (key_line(k, "empty: free", &at))
        rect(s, at, (mv_shape){.fill = s->theme->plot, .stroke = s->theme->faint_text, .width = 1});
    if (s->seen.pending && key_line(k, "freed; a stream may use it", &at)) {
        rect(s, at, plain);
        rect(s, at, (mv_shape){.is_hatched = true, .stroke = s->theme->hatch});
    }
    if (s->seen.rounding && key_line(k, "dark edge: lost to rounding", &at)) {
        rect(s, at, plain);
        rect(s, (mv_box){at.x + at.w * 0.7f, at.y, at.w * 0.3f, at.h},
             (mv_shape){.fill = rounding_shade});
    }
    if (s->seen.rest && key_line(k, "small blocks, by how full", &at))
        rect(s, (mv_box){at.x, at.y + at.h * 0.4f, at.w, at.h * 0.6f},
             (mv_shape){.fill = s->theme->rest});
}

float mv_state_scene_key(mv_state_scene *s, float x, float y, float width, float bottom)
{
    key_column k = {s, x, y, width, bottom};
    mv_box at;

    key_blocks(&k);
    if (s->seen.event && key_line(&k, "changed by the event", &at)) {
        frame(s, at, false, 2);
        sign(s, at.x + at.w / 2, at.y + 1);
    }
    if (s->seen.gone && key_line(&k, "was there before the event", &at)) {
        frame(s, at, true, 2);
        sign(s, at.x + at.w / 2, at.y + 1);
    }
    if (s->seen.pinned && key_line(&k, "pinned", &at))
        frame(s, at, false, 2);
    return k.y;
}

/* ---- descriptions ------------------------------------------------------------------------ */

static const char *size_of(const mv_state_scene *s, uint64_t bytes)
{
    char text[MV_SIZE_TEXT];

    return mv_scene_format(s->scene, "%s", mv_size_text(text, bytes));
}

static const char *describe_segment(const mv_state_scene *s, uint32_t segment)
{
    if (mv_state_level_name(s->scene, s->trace))
        return mv_state_level_name(s->scene, s->trace);
    return mv_scene_format(
        s->scene, "in %s segment of %s at 0x%llx, %s of it free\n%s",
        s->lives->segments.is_expandable[s->map->segment[segment]] ? "an expandable" : "a",
        size_of(s, s->map->size[segment]), (unsigned long long)s->map->addr[segment],
        size_of(s, s->map->free[segment]), pool_name(s, segment));
}

/* Returns "at 0x7f... in a segment of 20.0 MiB at 0x7f..., 3.00 MiB of it free", and its pool. */
static const char *address_of(const mv_state_scene *s, const mv_state_box *box)
{
    return mv_scene_format(s->scene, "at 0x%llx %s",
                           (unsigned long long)s->map->piece_addr[box->piece],
                           describe_segment(s, box->segment));
}

/* Returns the time from one event to another, such as "12.3 ms", or "713 events" if there are no
 * times. */
static const char *span_text(const mv_state_scene *s, uint32_t from, uint32_t to)
{
    const mv_events *e = &s->lives->events;
    char text[MV_TICK_TEXT];
    int64_t span;

    if (mv_event_time(e, from) == MV_NO_TIME || mv_event_time(e, to) == MV_NO_TIME ||
        mv_event_time(e, to) < mv_event_time(e, from))
        return mv_scene_format(s->scene, "%s event%s", mv_axis_exact(to - from, text),
                               to - from == 1 ? "" : "s");
    span = mv_event_time(e, to) - mv_event_time(e, from);
    return mv_scene_format(s->scene, "%s", mv_axis_time(span, span, text));
}

/* Returns the age of a block. */
static const char *age_text(const mv_state_scene *s, uint32_t alloc)
{
    uint32_t birth = s->lives->allocs.birth[alloc];
    char text[MV_TICK_TEXT];

    if (birth == MV_BEFORE)
        return "allocated before the first event";
    if (birth >= s->event)
        return mv_scene_format(s->scene, "allocated by event %s", mv_axis_exact(birth, text));
    return mv_scene_format(s->scene, "allocated by event %s, %s before", mv_axis_exact(birth, text),
                           span_text(s, birth, s->event));
}

const char *mv_state_scene_describe(const mv_state_scene *s, const mv_state_box *box)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t alloc = alloc_of(s, box);
    char count[MV_TICK_TEXT];

    if (box->count > 1)
        return mv_scene_format(s->scene, "%s small blocks: %s, %s of it in use\n%s",
                               mv_axis_exact(box->count, count), size_of(s, box->bytes),
                               size_of(s, box->allocated + box->pending),
                               describe_segment(s, box->segment));
    if (alloc == MV_NO_ROW)
        return mv_scene_format(s->scene, "free: %s (%s bytes) at 0x%llx\n%s",
                               size_of(s, s->map->piece_size[box->piece]),
                               mv_axis_exact(s->map->piece_size[box->piece], count),
                               (unsigned long long)s->map->piece_addr[box->piece],
                               describe_segment(s, box->segment));
    return mv_scene_format(s->scene, "%s%s by %s\n%s requested\n%s\n%s",
                           box->pending ? "freed, but a stream may still use it: " : "",
                           size_of(s, a->block[alloc]), s->label(s->user, alloc),
                           size_of(s, a->requested[alloc]), age_text(s, alloc), address_of(s, box));
}

const char *mv_state_sums_text(mv_scene *scene, const mv_trace *trace, const mv_heap_sums *sums,
                               uint64_t whole)
{
    struct {
        uint64_t bytes;
        const char *name;
    } parts[] = {{sums->pending, "pending"},
                 {sums->free - whole, "stranded in used segments"},
                 {whole, sums->free > whole ? "in unused ones" : "in unused segments"}};
    char all[MV_SIZE_TEXT], size[MV_SIZE_TEXT];
    const char *text;

    if (sums->reserved == 0)
        return mv_trace_allocator(trace) ? "nothing is allocated at this moment"
                                         : "nothing is reserved at this moment";
    mv_size_text(size, sums->allocated);
    if (mv_trace_allocator(trace) || !mv_level_reserves(trace)) /* the trace has no reserved
                                                                 * bytes */
        return mv_scene_format(scene, "%s %s", size, mv_level_held(trace));
    text = mv_scene_format(scene, "%s reserved = %s allocated", mv_size_text(all, sums->reserved),
                           size);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].bytes)
            text = mv_scene_format(scene, "%s + %s %s", text, mv_size_text(size, parts[i].bytes),
                                   parts[i].name);
    if (mv_heap_unexplained(sums))
        text = mv_scene_format(scene, "%s + %lld bytes in which the file contradicts itself", text,
                               (long long)mv_heap_unexplained(sums));
    return text;
}

const char *mv_state_holes_text(mv_scene *scene, const mv_trace *trace, const mv_lives *lives,
                                const mv_heap_sums *sums, uint64_t largest)
{
    char size[MV_SIZE_TEXT], hole[MV_SIZE_TEXT];
    const char *text = "nothing is free in any segment";

    if (sums->reserved == 0 || mv_state_level_name(scene, trace))
        return ""; /* calls have no segments with free memory */
    if (sums->free && sums->free == largest)
        text = mv_scene_format(scene, "%s is free, in one hole", mv_size_text(size, sums->free));
    else if (sums->free)
        text = mv_scene_format(scene,
                               "%s is free: the largest hole has %s, %.0f %% is in smaller holes",
                               mv_size_text(size, sums->free), mv_size_text(hole, largest),
                               100 - 100.0 * (double)largest / (double)sums->free);
    if (sums->rounding)
        text = mv_scene_format(scene, "%s \xc2\xb7 %s%s is lost to rounding", text,
                               lives->doubts.inexact_blocks ? "about " : "",
                               mv_size_text(size, sums->rounding));
    return text;
}
