/* Sentences for the report on the peak: doubts about its figures, advice on memory of a category,
 * the result of a target. */
#ifndef MV_PEAK_WORDS_H
#define MV_PEAK_WORDS_H

#include "analyze/peak/peak.h"

typedef struct {
    uint32_t count;
    const char *text[6];
} mv_peak_doubts;

/* The subject of the doubts: the peak, for which all events count; another moment, for which later
 * events also matter; or the end, which is in the final heap. */
typedef enum { MV_DOUBTED_PEAK, MV_DOUBTED_MOMENT, MV_DOUBTED_END } mv_doubted;

/* Reasons why the figures may be wrong. False when out of memory. */
bool mv_peak_doubts_find(mv_arena *arena, const mv_lives *lives, mv_doubted about,
                         mv_peak_doubts *out);

/* Adds the doubt that the file's allocator recorded a higher peak than `peak`, the peak according
 * to the events. */
bool mv_peak_doubts_add_known(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              uint64_t peak, mv_peak_doubts *out);

/* Advice on memory of one category in mv_attribution. */
const char *mv_category_advice(uint16_t category);

/* "target 400 MiB: without these 4 (fewer are not enough) the peak is 362 MiB"; for an inexact peak
 * with "as far as recorded" and "the true one may be higher". Cut to fit; returns `out`. */
const char *mv_peak_target_text(const mv_peak_target *target, char *out, size_t size);

#endif
