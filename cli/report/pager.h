/* The pager of a terminal: what does not fit its screen goes to less. */
#ifndef MV_PAGER_H
#define MV_PAGER_H

#include <stdbool.h>
#include <stdio.h>

/* The command of MEMVIZ_PAGER, else of PAGER, else less; NULL when there is none: it is "", cat, or
 * not installed. */
const char *mv_pager_find(void);

/* Starts it; what is written to the file is its input. From now on a pager that the user quits, or
 * an interrupt that is meant for it, does not end this program. NULL when it cannot be started. */
FILE *mv_pager_open(const char *command);

/* Waits until the user quits it. Its exit status is no matter of ours. */
void mv_pager_close(FILE *pager);

#endif
