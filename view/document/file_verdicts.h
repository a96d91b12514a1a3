/* The verdicts on a whole file, for all devices and levels, as `memviz FILE` prints them. They do
 * not depend on the shown level. A worker computes them if the file has several levels. If it has
 * only one, the loader evaluates all devices anyway. view/frame/file_badge.h requests them. */
#pragma once

#include "analyze/advice/triage.h"
#include "view/document/document.h"

typedef struct {
    const char *level; /* value of --level */
    uint32_t device;   /* ordinal; 0 for the host */
    mv_finding_kind kind;
    mv_report report;
    const char *text; /* the sentence that triage prints */
    uint64_t bytes;
} mv_verdict;

typedef struct {
    uint32_t count;
    mv_verdict *rows;  /* [count] most alarming first */
    uint32_t problems; /* number of problems on all levels and devices */
    const char *level; /* the default level */
    const char *badge; /* "3: leak", "fine", or a label that says that leaks are unknown */
} mv_file_verdicts;

/* Whether the file contains memory that the reports of one device and level do not cover. */
bool mv_file_has_several_levels(const mv_document *document);

/* An mv_job_fn (jobs.h). `ask` is a const mv_document **, which may point to a document of the file
 * at any level. */
void *mv_file_verdicts_find(mv_arena *arena, void *context, const void *ask);
