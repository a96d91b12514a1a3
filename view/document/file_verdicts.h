/* The verdicts on a whole file, for all devices and levels, as `memviz FILE` prints them,
 * independent of the shown level. A worker computes them if a file has several levels; for one
 * level, the loader evaluates all devices anyway. Requested by view/frame/file_badge.h. */
#ifndef MV_FILE_VERDICTS_H
#define MV_FILE_VERDICTS_H

#include "analyze/advice/triage.h"
#include "view/document/document.h"

typedef struct {
    const char *level;  /* text of --level */
    const char *memory; /* "pinned memory", "device 1" */
    uint32_t device;    /* ordinal; of the host: 0 */
    mv_finding_kind kind;
    mv_report report;
    const char *text; /* the sentence of triage */
    uint64_t bytes;
    uint32_t count; /* findings of this kind */
} mv_verdict;

typedef struct {
    uint32_t count;
    mv_verdict *rows;  /* [count] the most alarming first */
    uint32_t problems; /* of all levels and devices */
    const char *level; /* the default one */
    const char *badge; /* "3: leak", "fine", or that leaks are unknown */
} mv_file_verdicts;

/* Whether the file has memory that the reports of one device and level do not cover. */
bool mv_file_has_several_levels(const mv_document *document);

/* A job (jobs.h) for a document of any level of the file: const mv_document **. */
void *mv_file_verdicts_find(mv_arena *arena, void *context, const void *ask);

#endif
