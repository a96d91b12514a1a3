/* Writes sentences for the report on the peak: doubts about the report's figures, advice on the
 * memory of a category, and the result for a target. */
#pragma once

#include "analyze/peak/peak.h"

typedef struct {
    uint32_t count;
    const char *text[6];
} mv_peak_doubts;

/* What the doubts are about: the peak, for which all events count; another moment, for which events
 * after it also matter; or the end, whose memory is in the final heap. */
typedef enum { MV_DOUBTED_PEAK, MV_DOUBTED_MOMENT, MV_DOUBTED_END } mv_doubted;

/* Lists the reasons why the figures may be wrong. Returns false when out of memory. */
bool mv_peak_doubts_find(mv_arena *arena, const mv_lives *lives, mv_doubted about,
                         mv_peak_doubts *out);

/* Adds the doubt that the allocator itself recorded a peak higher than `peak`, which is the peak
 * according to the events. Returns false when out of memory. */
bool mv_peak_doubts_add_known(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              uint64_t peak, mv_peak_doubts *out);

/* Returns the advice on memory of one of the categories in mv_attribution. */
const char *mv_category_advice(uint16_t category);

/* Writes "target 400 MiB: without these 4 (fewer are not enough) the peak is 362 MiB"; if the peak
 * is inexact, adds "as far as recorded" and "the true one may be higher". The sentence is truncated
 * to fit. Returns `out`. */
const char *mv_peak_target_text(const mv_peak_target *target, char *out, size_t size);
