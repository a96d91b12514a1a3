/* Doubts about figures computed from the events, in peak, lines and memory: a line of text for each
 * doubt, and three fields of a device. */
#ifndef MV_DOUBTS_H
#define MV_DOUBTS_H

#include "analyze/peak/peak_words.h"
#include "cli/report/table.h"

typedef struct {
    mv_history_kind history;
    int64_t residual; /* final heap's allocated bytes minus the sum of the events */
    uint64_t inexact_blocks;
    mv_peak_doubts words;
} mv_doubts;

/* Fails only if memory runs out. */
mv_code mv_doubts_find(mv_cli *cli, const mv_lives *lives, mv_doubted about, mv_doubts *out,
                       mv_err *err);

/* Prints the lines, indented; prints nothing if there are no doubts. */
void mv_doubts_put(mv_cli *cli, const mv_doubts *doubts);

/* Prints the doubts of a moment in a list: the peak of a window that begins with event `first`, or
 * the moment of --at. */
void mv_doubts_put_at(mv_cli *cli, const mv_lives *lives, uint32_t event, uint32_t first);

/* Fields of a device (`d` is an mv_doubts *). */
#define MV_DOUBT_FIELDS(MEMBER, d)                   \
    MEMBER("history", mv_history_name((d)->history)) \
    MEMBER("residual", (d)->residual)                \
    MEMBER("inexact_blocks", (d)->inexact_blocks)

#endif
