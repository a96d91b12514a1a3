/* The shown device's ledger at a point in time, for the panes. It is the result of `memviz ledger
 * --at`, and does not depend on the shown memory level. A worker computes it. */
#pragma once

#include "base/plain.h"
#include "view/document/document.h"

/* Whether the file has CUDA calls or device samples, and the level's memory belongs to a device. */
bool mv_document_has_ledger(const mv_document *document);

#define MV_LEDGER_OF_TIME UINT64_MAX

/* A query; queries are compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    int64_t time_us; /* the requested time, if `event` is MV_LEDGER_OF_TIME */
    uint64_t event;  /* the event after which the ledger is taken; MV_BEFORE: before the first
                      * event */
    const mv_document *document;
    const mv_document_device *device;
} mv_ledger_question;
MV_PLAIN_END

/* The ledger. Only at PyTorch's own level does it contain PyTorch's figures. */
typedef struct {
    mv_ledger_question question;
    const mv_trace *trace; /* the trace as stored in the file; the ledger's rows belong to it */
    mv_ledger ledger;
} mv_ledger_answer;

mv_ledger_question mv_ledger_question_at(const mv_document *document,
                                         const mv_document_device *device, uint64_t event);

/* An mv_job_fn. Returns NULL when out of memory. */
void *mv_ledger_moment_find(mv_arena *arena, void *context, const void *ask);

/* Describes when the device's memory use was sampled, relative to the requested time: "0.011 s
 * before". Returns `out`. */
enum { MV_LEDGER_DISTANCE = 48 };
const char *mv_ledger_distance(const mv_ledger *ledger, char out[MV_LEDGER_DISTANCE]);

/* Returns the bytes that PyTorch's allocator has reserved but does not use after an event;
 * MV_NO_BYTES: unknown at the shown level. */
uint64_t mv_document_unused(const mv_document *document, mv_pyramid_reader *levels, uint32_t event);
