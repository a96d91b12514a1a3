/* The sentences of the report on the peak: what is doubtful about its figures, what one can do
 * about memory of a kind, what a target comes to. */
#ifndef MV_PEAK_WORDS_H
#define MV_PEAK_WORDS_H

#include "analyze/peak/peak.h"

typedef struct {
    uint32_t count;
    const char *text[6];
} mv_peak_doubts;

/* "history is late: the true peak may be earlier and higher"; "" where the history is complete.
 * NULL when memory is out. */
const char *mv_peak_history_doubt(mv_arena *arena, mv_history_kind history);

/* What is told: the peak, for which all events count; another moment, whose levels follow from
 * those after it; the end, which the final heap has. */
typedef enum { MV_DOUBTED_PEAK, MV_DOUBTED_MOMENT, MV_DOUBTED_END } mv_doubted;

/* Why it may not be as the figures say. False when memory is out. */
bool mv_peak_doubts_find(mv_arena *arena, const mv_lives *lives, mv_doubted about,
                         mv_peak_doubts *out);

/* Adds that the allocator of the file knows of a higher peak than `peak`, that of the events. */
bool mv_peak_doubts_add_known(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              uint64_t peak, mv_peak_doubts *out);

/* What one can do about memory of a category of mv_attribution. */
const char *mv_category_advice(uint16_t category);

/* "target 400 MiB: without these 4 (fewer are not enough) the peak is 362 MiB"; where the peak is
 * not known, "as far as recorded" and "the true one may be higher". Cut to fit; returns `out`. */
const char *mv_peak_target_text(const mv_peak_target *target, char *out, size_t size);

#endif
