/* The colour of the line of code that a stack belongs to: the same as in pictures
 * (docs/timeline.md). The lines that hold most at the peak have a colour of their own, the others a
 * pale one. */
#ifndef MV_SITE_COLOURS_H
#define MV_SITE_COLOURS_H

#include "analyze/code/culprit.h"
#include "viz/core/index.h"
#include "viz/scene/palette.h"

enum { MV_NAMED_SITES = MV_SITE_COLOURS };

/* A colour independent of the theme: rows of mv_site_colour, then of mv_muted_colour, then these.
 */
enum {
    MV_HUE_MUTED = MV_SITE_COLOURS,
    MV_HUE_NO_STACK = MV_SITE_COLOURS + MV_MUTED_COLOURS,
    MV_HUE_NATIVE,
    MV_HUE_LEAK,
    MV_HUE_REST
};

typedef struct {
    mv_frame_id frame; /* the line: of mv_culprit_frame */
    uint64_t bytes;    /* bytes allocated by it at the peak */
    uint8_t hue;
} mv_named_site;

typedef struct {
    uint32_t stacks;   /* of the trace */
    uint8_t *of_stack; /* [stacks + 1] the last one is for MV_NO_STACK */
    uint8_t
        *by_content; /* [stacks + 1] the same, by all frames of the stack: equal in every file */
    uint32_t named_count; /* most bytes first */
    mv_named_site named[MV_NAMED_SITES];
} mv_site_colours;

/* O(frames of all stacks + what is alive after `peak_event`). `kinds` from mv_frame_kinds. Fails
 * only when memory runs out. */
mv_code mv_site_colours_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                             const mv_index *index, uint32_t peak_event, mv_site_colours *out,
                             mv_err *err);

uint32_t mv_hue_colour(const mv_theme *theme, uint8_t hue);

#endif
