/* The pager of a terminal: what does not fit its screen goes to less. */
#ifndef MV_PAGER_H
#define MV_PAGER_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *input; /* what is written to it is shown; NULL: there is no pager */
    int process;
} mv_pager;

/* A process that becomes the pager with the first byte of its input, since this one may not be able
 * to start others later (cli/confine). Its command is MEMVIZ_PAGER, else PAGER, else less. None
 * when that is
 * "", cat, or not installed. */
void mv_pager_start(mv_pager *out);

/* It is needed: from now on a pager that the user quits, or an interrupt that is meant for it, does
 * not end this program. */
void mv_pager_take(void);

/* Waits until the user quits it; at once when nothing was written. Its exit status is no matter of
 * ours. Afterwards, and with none, nothing. */
void mv_pager_end(mv_pager *pager);

#endif
