/* The pager of a terminal: output longer than its screen goes to less. */
#ifndef MV_PAGER_H
#define MV_PAGER_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *input; /* data to show; NULL: no pager */
    int process;
} mv_pager;

/* Starts a process that executes the pager when it receives the first byte of its input, because
 * this process may not be able to start others later (cli/confine). Its command is MEMVIZ_PAGER,
 * else PAGER, else less. None if that is "", cat, or not installed. */
void mv_pager_start(mv_pager *out);

/* Tells that the pager is needed. After this call, quitting the pager, or an interrupt that is
 * meant for it, does not end this program. */
void mv_pager_take(void);

/* Waits until the user quits it; returns at once if nothing was written. Its exit status is
 * ignored. Later calls, and calls without a pager, do nothing. */
void mv_pager_end(mv_pager *pager);

#endif
