/* The contents of a served file in one line, for the list: the peak, the worst verdict of the
 * triage (analyze/advice/triage.h), and damaged parts. */
#ifndef MV_SERVED_VERDICT_H
#define MV_SERVED_VERDICT_H

#include "analyze/totals/bounds.h"
#include "base/err.h"

typedef enum { MV_SERVED_NOT_READ, MV_SERVED_READ, MV_SERVED_UNREADABLE } mv_served_stage;

typedef struct {
    mv_served_stage stage;
    char text[MV_ERR_TEXT + 32]; /* of UNREADABLE: why, in one line. Of READ: the sentence of the
                                    worst problem; without any, why leaks are unknown, or "no
                                    problem found" */
    /* of READ: */
    uint32_t devices, problems;
    uint64_t allocated, reserved; /* at the peaks of the device that holds most; MV_NO_BYTES:
                                     unknown */
    mv_bound bound;               /* of allocated */
    const char *kind;             /* of the worst problem: "LEAK"; "": none was found */
    char damaged[96];             /* the first damaged part that was skipped; "": none */
} mv_served_verdict;

/* Reads the whole file and runs the reports in this thread; all memory is returned to `budget`. */
void mv_served_verdict_find(mv_budget *budget, const char *path, mv_served_verdict *out);

/* "byte 12: what is wrong" */
void mv_served_explain(const mv_err *err, char *why, size_t size);

#endif
