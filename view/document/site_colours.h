/* The colour of each line of code. It is the same in the viewer and in printed pictures
 * (docs/internals/timeline.md). The lines with the most bytes at the peak each have a colour, and
 * all other lines share pale colours. */
#pragma once

#include "analyze/code/culprit.h"
#include "viz/core/index.h"
#include "viz/scene/palette.h"

enum {
    MV_NAMED_SITES = MV_SITE_COLOURS, /* maximum number of lines with a separate colour */
    MV_NAMED_STACKS = 10              /* maximum number of stacks with a separate colour */
};

/* Colours that are independent of the theme: first the rows of mv_site_colour, then the rows of
 * mv_muted_colour, the colour of stacks without Python, and the rows of mv_hash_colour. */
enum {
    MV_HUE_MUTED = MV_SITE_COLOURS,
    MV_HUE_NATIVE = MV_HUE_MUTED + MV_MUTED_COLOURS,
    MV_HUE_HASH
};

typedef struct {
    uint32_t stacks; /* number of stacks in the trace */
    uint32_t line_count;
    uint32_t *line_of_stack; /* [stacks] row of the line in the arrays below; MV_NO_ROW: the stack
                                is empty */
    mv_frame_id *line_frame; /* [line_count] frame of the line, from mv_culprit_frame */
    mv_stack_id *line_stack; /* [line_count] first stack of the line */
    uint8_t *line_hue;       /* [line_count] */
    uint8_t *by_content; /* [stacks] hues that depend on all frames of a stack, so files with the
                          * same largest stacks, such as ranks, use the same hues */
} mv_site_colours;

/* Finds the colours. `kinds` comes from mv_frame_kinds. O(frames of all stacks + allocations alive
 * after `peak_event`). Fails only when out of memory. */
mv_code mv_site_colours_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                             const mv_index *index, uint32_t peak_event, mv_site_colours *out,
                             mv_err *err);

uint32_t mv_hue_colour(const mv_theme *theme, uint8_t hue);
