#include "view/document/site_colours.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/sort.h"

enum { LABEL_SIZE = 256 };

/* ---- lines of code ----------------------------------------------------------------------- */

typedef struct {
    uint64_t bytes; /* bytes alive at the peak */
    uint64_t hash;  /* hash of the line's label */
} line;

typedef struct {
    const mv_trace *trace;
    mv_site_colours *out;
    line *lines; /* [out->line_count] */
} lines;

static bool find_lines(mv_arena *arena, mv_arena *scratch, const uint8_t *kinds, lines *l)
{
    const mv_trace *t = l->trace;
    mv_site_colours *out = l->out;
    uint32_t *of_frame = mv_push_array(scratch, uint32_t, (uint64_t)t->frames.count + 1);

    out->line_of_stack = mv_push_array(arena, uint32_t, (uint64_t)t->stacks.count + 1);
    out->line_frame = mv_push_array(arena, mv_frame_id, (uint64_t)t->frames.count + 1);
    out->line_stack = mv_push_array(arena, mv_stack_id, (uint64_t)t->frames.count + 1);
    if (!of_frame || !out->line_of_stack || !out->line_frame || !out->line_stack)
        return false;
    for (uint32_t i = 0; i < t->stacks.count; i++) {
        mv_frame_id frame = mv_culprit_frame(t, kinds, (mv_stack_id){i});
        out->line_of_stack[i] = MV_NO_ROW;
        if (frame.row == MV_NO_ROW)
            continue;
        if (of_frame[frame.row] == 0) {
            out->line_frame[out->line_count] = frame;
            out->line_stack[out->line_count++] = (mv_stack_id){i};
            of_frame[frame.row] = out->line_count;
        }
        out->line_of_stack[i] = of_frame[frame.row] - 1;
    }
    l->lines = mv_push_array(scratch, line, (uint64_t)out->line_count + 1);
    out->line_hue = mv_push_array(arena, uint8_t, (uint64_t)out->line_count + 1);
    return l->lines && out->line_hue;
}

static void add_bytes(const mv_index *index, uint32_t peak_event, lines *l)
{
    uint32_t limit = mv_index_born(index, peak_event);

    for (uint32_t r = mv_index_next(index, 0, limit, peak_event); r < limit;
         r = mv_index_next(index, r + 1, limit, peak_event)) {
        uint32_t stack = index->lives->allocs.stack[r].row;
        if (mv_index_is_alive(index, r, peak_event) && stack < l->trace->stacks.count &&
            l->out->line_of_stack[stack] != MV_NO_ROW)
            l->lines[l->out->line_of_stack[stack]].bytes += index->bytes[r];
    }
}

typedef struct {
    const line *lines;
    const mv_frame_id *frames;
} line_order;

static int most_bytes_first(const void *left, const void *right, const void *of)
{
    const line_order *order = of;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    if (order->lines[a].bytes != order->lines[b].bytes)
        return order->lines[a].bytes < order->lines[b].bytes ? 1 : -1;
    return order->frames[a].row < order->frames[b].row
               ? -1
               : order->frames[a].row > order->frames[b].row;
}

static bool choose(mv_arena *scratch, lines *l)
{
    uint32_t count = l->out->line_count, used = 0, named = 0;
    uint32_t *order = mv_push_array(scratch, uint32_t, (uint64_t)count + 1);
    line_order by = {l->lines, l->out->line_frame};
    char label[LABEL_SIZE];

    if (!order)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        mv_frame_label(l->trace, l->out->line_frame[i], label, sizeof label);
        l->lines[i].hash = XXH3_64bits(label, strlen(label));
        order[i] = i;
    }
    mv_sort_by(scratch, order, count, sizeof *order, most_bytes_first, &by);
    for (uint32_t i = 0; i < count; i++) {
        const line *at = &l->lines[order[i]];
        uint8_t *hue = &l->out->line_hue[order[i]];
        *hue = (uint8_t)(MV_HUE_MUTED + at->hash % 251 % MV_MUTED_COLOURS);
        if (at->bytes == 0 || named == MV_NAMED_SITES)
            continue;
        *hue = (uint8_t)mv_site_hue(at->hash, &used);
        named++;
    }
    return true;
}

/* ---- whole stacks ------------------------------------------------------------------------ */

static uint64_t hash_of(const mv_trace *t, uint32_t stack)
{
    uint32_t frames;
    const mv_frame_id *frame = mv_stack_frames(t, (mv_stack_id){stack}, &frames);
    char label[LABEL_SIZE];
    uint64_t hash = 0;

    for (uint32_t f = 0; f < frames; f++) {
        mv_frame_label(t, frame[f], label, sizeof label);
        hash = XXH3_64bits_withSeed(label, strlen(label), hash);
    }
    return hash;
}

/* Finds the stacks with the most bytes at the peak, largest first. Returns their number. */
static uint32_t find_largest(mv_arena *scratch, const mv_trace *t, const mv_index *index,
                             uint32_t peak_event, uint32_t largest[MV_NAMED_STACKS])
{
    uint64_t *bytes = mv_push_array(scratch, uint64_t, (uint64_t)t->stacks.count + 1);
    uint32_t born = mv_index_born(index, peak_event), count = 0;

    for (uint32_t r = 0; bytes && r < born; r++) {
        uint32_t stack = index->lives->allocs.stack[r].row;
        if (mv_index_is_alive(index, r, peak_event) && stack < t->stacks.count)
            bytes[stack] += index->bytes[r];
    }
    for (uint32_t i = 0; bytes && i < t->stacks.count; i++) {
        uint32_t at = count;
        if (bytes[i] == 0 || i == MV_EMPTY_STACK.row)
            continue;
        while (at > 0 && bytes[i] > bytes[largest[at - 1]])
            at--;
        if (at == MV_NAMED_STACKS)
            continue;
        count += count < MV_NAMED_STACKS;
        for (uint32_t k = count - 1; k > at; k--)
            largest[k] = largest[k - 1];
        largest[at] = i;
    }
    return count;
}

/* Chooses hues by content. The largest stacks each have a separate colour, and all others have a
 * paler colour that several may share. */
static void colour_by_content(mv_arena *scratch, const mv_trace *t, const mv_index *index,
                              uint32_t peak_event, mv_site_colours *out)
{
    const uint32_t pale = MV_HASH_COLOURS - MV_SITE_COLOURS;
    uint32_t largest[MV_NAMED_STACKS], used = 0;
    uint32_t count = find_largest(scratch, t, index, peak_event, largest);

    for (uint32_t i = 0; i < t->stacks.count; i++)
        out->by_content[i] = i == MV_EMPTY_STACK.row
                                 ? MV_HUE_NATIVE
                                 : (uint8_t)(MV_HUE_HASH + MV_SITE_COLOURS + hash_of(t, i) % pale);
    for (uint32_t i = 0; i < count; i++)
        out->by_content[largest[i]] = (uint8_t)mv_site_hue(hash_of(t, largest[i]), &used);
}

mv_code mv_site_colours_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                             const mv_index *index, uint32_t peak_event, mv_site_colours *out,
                             mv_err *err)
{
    lines l = {.trace = trace, .out = out};
    mv_arena scratch;
    bool is_done = false;

    *out = (mv_site_colours){.stacks = trace->stacks.count};
    out->by_content = mv_push_array(arena, uint8_t, (uint64_t)out->stacks + 1);
    mv_arena_init(&scratch, arena->budget);
    if (out->by_content && find_lines(arena, &scratch, kinds, &l)) {
        add_bytes(index, peak_event, &l);
        is_done = choose(&scratch, &l);
        colour_by_content(&scratch, trace, index, peak_event, out);
    }
    mv_arena_release(&scratch);
    if (!is_done)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "colours");
    return MV_OK;
}

uint32_t mv_hue_colour(const mv_theme *theme, uint8_t hue)
{
    if (hue < MV_HUE_MUTED)
        return mv_site_colour(hue);
    if (hue < MV_HUE_NATIVE)
        return mv_muted_colour(hue - MV_HUE_MUTED);
    return hue == MV_HUE_NATIVE ? theme->native : mv_hash_colour(hue - MV_HUE_HASH);
}
