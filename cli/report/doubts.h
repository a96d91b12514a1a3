/* Doubts about figures that peak, lines and memory compute from the events. Each doubt is a line of
 * text, and a device has three fields about its doubts. */
#pragma once

#include "analyze/peak/peak_words.h"
#include "cli/report/table.h"

typedef struct {
    mv_history_kind history;
    int64_t residual; /* allocated bytes in the final heap minus the sum of the events */
    uint64_t inexact_blocks;
    mv_peak_doubts words;
} mv_doubts;

/* Finds a device's doubts. Fails only if memory runs out. */
mv_code mv_doubts_find(mv_cli *cli, const mv_lives *lives, mv_doubted about, mv_doubts *out,
                       mv_err *err);

/* Prints the doubts as indented lines. Prints nothing if there are none. */
void mv_doubts_put(mv_cli *cli, const mv_doubts *doubts);

/* Prints the doubts about one time in a list: the peak of a window that begins with event `first`,
 * or the time that --at names. */
void mv_doubts_put_at(mv_cli *cli, const mv_lives *lives, uint32_t event, uint32_t first);

/* A device's fields (`d` is an mv_doubts *). */
#define MV_DOUBT_FIELDS(MEMBER, d)                   \
    MEMBER("history", mv_history_name((d)->history)) \
    MEMBER("residual", (d)->residual)                \
    MEMBER("inexact_blocks", (d)->inexact_blocks)
