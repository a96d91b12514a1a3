/* The sentences of the report on the peak: what is doubtful about its figures, what one can do
 * about memory of a kind, what a target comes to. */
#ifndef MV_PEAK_WORDS_H
#define MV_PEAK_WORDS_H

#include "analyze/peak/peak.h"

typedef struct {
    uint32_t count;
    const char *text[4];
} mv_peak_doubts;

/* "history is late: the true peak may be earlier and higher"; "" where the history is complete.
 * NULL when memory is out. */
const char *mv_peak_history_doubt(mv_arena *arena, mv_history_kind history);

/* Why the peak of these lives may not be the true one, which is `peak` by their events. False when
 * memory is out. */
bool mv_peak_doubts_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         uint64_t peak, mv_peak_doubts *out);

/* What one can do about memory of a category of mv_attribution. */
const char *mv_category_advice(uint16_t category);

/* "target 400 MiB: without these 4 (fewer are not enough) the peak is 362 MiB". Cut to fit; returns
 * `out`. */
const char *mv_peak_target_text(const mv_peak_target *target, char *out, size_t size);

#endif
