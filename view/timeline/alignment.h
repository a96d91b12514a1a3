/* How two recordings are aligned, that is, which events of one recording are shown at a position in
 * the other.
 *
 *     CLOCK   equal times are at equal positions
 *     STEPS   the k-th step is at the k-th step; between two steps both advance evenly
 *     START   both begin at the left, and time passes equally fast
 *     SHARE   both begin at the left and end at the right: half of the events are at the middle
 *
 * Positions are event numbers with fractions in the shown recording, which is called "here"; the
 * other recording is "there". Only SHARE always shows all of the other recording. */
#pragma once

#include "analyze/lives/position.h"
#include "view/document/document.h"

#define MV_ALIGN_LIST(X)            \
    X(AUTO, "automatic")            \
    X(CLOCK, "the clock")           \
    X(STEPS, "steps")               \
    X(START, "time from the start") \
    X(SHARE, "share of events")

typedef enum {
#define MV_ALIGN_ENUM(name, text) MV_ALIGN_##name,
    MV_ALIGN_LIST(MV_ALIGN_ENUM) MV_ALIGN_COUNT
} mv_align;

typedef struct {
    mv_align by; /* never AUTO */
    const mv_events *here, *there;
    double shift;             /* CLOCK, START: microseconds to add to a time here to get the time
                                 there */
    const uint32_t *steps[2]; /* STEPS: first event of each step, here and there */
    uint32_t step_count;      /* number of steps, the same in both */
} mv_alignment;

/* Makes an alignment. Both devices must be shown. Their steps are known only if their reports are
 * finished. If the wanted alignment is impossible (no times, no overlap, fewer than two steps), it
 * becomes SHARE. */
mv_alignment mv_alignment_make(const mv_document_device *here, const mv_document_device *there,
                               mv_align wanted);

/* Returns the first of CLOCK, STEPS and START that is possible, that overlaps at least half of
 * every other recording, and that shows all their peaks. If there is none, returns SHARE. O(count
 * log n). */
mv_align mv_alignment_best(const mv_document_device *here, const mv_document_device *const *others,
                           uint32_t count);

/* Finds the moments of the other recording between the positions `from` and `to`, in the form of
 * mv_viewport_column. Returns false outside that recording. */
bool mv_alignment_column(const mv_alignment *a, double from, double to, mv_window *out);

/* Finds the moment of the other recording at a position. Returns false outside that recording. */
bool mv_alignment_moment(const mv_alignment *a, double place, uint32_t *out);

/* Whether an event of the other recording is shown at any position in this one. */
bool mv_alignment_shows(const mv_alignment *a, uint32_t event);

bool mv_alignment_is_same(const mv_alignment *a, const mv_alignment *b);

const char *mv_align_name(mv_align by); /* returns a name such as "the clock" */
