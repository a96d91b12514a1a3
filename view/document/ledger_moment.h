/* The ledger of the shown device at a moment, for panes: the result of `memviz ledger --at`,
 * independent of the shown memory level. A worker computes it. */
#ifndef MV_LEDGER_MOMENT_H
#define MV_LEDGER_MOMENT_H

#include "base/plain.h"
#include "view/document/document.h"

/* Whether the file has CUDA calls or device samples, and the level belongs to a device. */
bool mv_document_has_ledger(const mv_document *document);

#define MV_LEDGER_OF_TIME UINT64_MAX

/* Compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    int64_t time_us; /* the moment, if `event` is MV_LEDGER_OF_TIME */
    uint64_t event;  /* the moment after this event, or MV_BEFORE */
    const mv_document *document;
    const mv_document_device *device;
} mv_ledger_question;
MV_PLAIN_END

/* The ledger contains PyTorch's own figures only on PyTorch's level. */
typedef struct {
    mv_ledger_question question;
    const mv_trace *trace; /* the trace as in the file, to which the ledger's rows belong */
    mv_ledger ledger;
} mv_ledger_answer;

mv_ledger_question mv_ledger_question_at(const mv_document *document,
                                         const mv_document_device *device, uint64_t event);

/* A mv_job_fn; NULL when out of memory. */
void *mv_ledger_moment_find(mv_arena *arena, void *context, const void *ask);

/* When the device's use was sampled: "0.011 s before". Returns `out`. */
enum { MV_LEDGER_DISTANCE = 48 };
const char *mv_ledger_distance(const mv_ledger *ledger, char out[MV_LEDGER_DISTANCE]);

/* Bytes that PyTorch's allocator reserves but does not use after an event; MV_NO_BYTES: unknown on
 * the shown level. */
uint64_t mv_document_unused(const mv_document *document, mv_pyramid_reader *levels, uint32_t event);

#endif
