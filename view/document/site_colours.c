#include "view/document/site_colours.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/sort.h"

enum { LABEL_SIZE = 256 };

/* ---- lines of code ----------------------------------------------------------------------- */

typedef struct {
    mv_frame_id frame;
    uint64_t bytes;
    uint64_t hash; /* hash of its label */
} line;

typedef struct {
    const mv_trace *trace;
    uint32_t *of_stack; /* [stacks] line + 1; 0: no frame */
    uint32_t *order;    /* [count] lines, most bytes first */
    uint32_t count;
    line *lines; /* [count] */
} lines;

static bool find_lines(mv_arena *arena, const uint8_t *kinds, lines *l)
{
    const mv_trace *t = l->trace;
    uint32_t *of_frame = mv_push_array(arena, uint32_t, (uint64_t)t->frames.count + 1);

    l->of_stack = mv_push_array(arena, uint32_t, (uint64_t)t->stacks.count + 1);
    l->lines = mv_push_array(arena, line, (uint64_t)t->frames.count + 1);
    if (!of_frame || !l->of_stack || !l->lines)
        return false;
    for (uint32_t i = 0; i < t->stacks.count; i++) {
        mv_frame_id frame = mv_culprit_frame(t, kinds, (mv_stack_id){i});
        if (frame.row == MV_NO_ROW)
            continue;
        if (of_frame[frame.row] == 0) {
            l->lines[l->count++].frame = frame;
            of_frame[frame.row] = l->count;
        }
        l->of_stack[i] = of_frame[frame.row];
    }
    return true;
}

static void add_bytes(const mv_index *index, uint32_t peak_event, lines *l)
{
    uint32_t limit = mv_index_born(index, peak_event);

    for (uint32_t r = mv_index_next(index, 0, limit, peak_event); r < limit;
         r = mv_index_next(index, r + 1, limit, peak_event)) {
        mv_stack_id stack = index->lives->allocs.stack[r];
        if (mv_index_is_alive(index, r, peak_event) && stack.row < l->trace->stacks.count &&
            l->of_stack[stack.row])
            l->lines[l->of_stack[stack.row] - 1].bytes += index->bytes[r];
    }
}

static int most_bytes_first(const void *left, const void *right, const void *of)
{
    const line *a = (const line *)of + *(const uint32_t *)left;
    const line *b = (const line *)of + *(const uint32_t *)right;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->frame.row < b->frame.row ? -1 : a->frame.row > b->frame.row;
}

static bool choose(mv_arena *arena, lines *l, uint8_t *hue_of_line, mv_site_colours *out)
{
    char label[LABEL_SIZE];
    uint32_t used = 0;

    l->order = mv_push_array(arena, uint32_t, l->count);
    if (!l->order)
        return false;
    for (uint32_t i = 0; i < l->count; i++) {
        mv_frame_label(l->trace, l->lines[i].frame, label, sizeof label);
        l->lines[i].hash = XXH3_64bits(label, strlen(label));
        l->order[i] = i;
    }
    mv_sort_by(arena, l->order, l->count, sizeof *l->order, most_bytes_first, l->lines);
    for (uint32_t i = 0; i < l->count; i++) {
        const line *at = &l->lines[l->order[i]];
        uint8_t *hue = &hue_of_line[l->order[i]];
        *hue = (uint8_t)(MV_HUE_MUTED + at->hash % 251 % MV_MUTED_COLOURS);
        if (at->bytes == 0 || out->named_count == MV_NAMED_SITES)
            continue;
        *hue = (uint8_t)mv_site_hue(at->hash, &used);
        out->named[out->named_count++] = (mv_named_site){at->frame, at->bytes, *hue};
    }
    return true;
}

/* ---- whole stacks ------------------------------------------------------------------------ */

static void colour_by_content(const mv_trace *t, mv_site_colours *out)
{
    char label[LABEL_SIZE];

    for (uint32_t i = 0; i < t->stacks.count; i++) {
        uint32_t frames;
        const mv_frame_id *frame = mv_stack_frames(t, (mv_stack_id){i}, &frames);
        uint64_t hash = 0;
        for (uint32_t f = 0; f < frames; f++) {
            mv_frame_label(t, frame[f], label, sizeof label);
            hash = XXH3_64bits_withSeed(label, strlen(label), hash);
        }
        out->by_content[i] = frames ? (uint8_t)(hash % MV_SITE_COLOURS) : MV_HUE_NATIVE;
    }
    out->by_content[t->stacks.count] = MV_HUE_NO_STACK;
}

mv_code mv_site_colours_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                             const mv_index *index, uint32_t peak_event, mv_site_colours *out,
                             mv_err *err)
{
    uint32_t stacks = trace->stacks.count;
    lines l = {.trace = trace};
    mv_arena scratch;
    uint8_t *hue_of_line;
    bool is_done = false;

    *out = (mv_site_colours){.stacks = stacks};
    out->of_stack = mv_push_array(arena, uint8_t, (uint64_t)stacks + 1);
    out->by_content = mv_push_array(arena, uint8_t, (uint64_t)stacks + 1);
    mv_arena_init(&scratch, arena->budget);
    if (out->of_stack && out->by_content && find_lines(&scratch, kinds, &l)) {
        add_bytes(index, peak_event, &l);
        hue_of_line = mv_push_array(&scratch, uint8_t, l.count);
        is_done = hue_of_line && choose(&scratch, &l, hue_of_line, out);
        for (uint32_t i = 0; is_done && i < stacks; i++)
            out->of_stack[i] = l.of_stack[i] ? hue_of_line[l.of_stack[i] - 1] : MV_HUE_NATIVE;
    }
    mv_arena_release(&scratch);
    if (!is_done)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "colours");
    out->of_stack[stacks] = MV_HUE_NO_STACK;
    colour_by_content(trace, out);
    return MV_OK;
}

uint32_t mv_hue_colour(const mv_theme *theme, uint8_t hue)
{
    if (hue < MV_HUE_MUTED)
        return mv_site_colour(hue);
    if (hue < MV_HUE_NO_STACK)
        return mv_muted_colour(hue - MV_HUE_MUTED);
    return hue == MV_HUE_NO_STACK ? theme->unknown
           : hue == MV_HUE_NATIVE ? theme->native
           : hue == MV_HUE_LEAK   ? theme->leak
                                  : theme->rest;
}
