/* Sends output that is longer than the terminal's screen to a pager such as less. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *input; /* stream for the data to show; NULL: no pager */
    int process;
} mv_pager;

/* Starts a process that executes the pager as soon as it receives the first byte of its input. It
 * is started early because this process may not be able to start others later (cli/confine). The
 * pager is the command in MEMVIZ_PAGER, else in PAGER, else less. There is no pager if the command
 * is "", cat, or not installed. */
void mv_pager_start(mv_pager *out);

/* Declares that the pager is needed. After this call, quitting the pager, or an interrupt that is
 * meant for it, does not end this program. */
void mv_pager_take(void);

/* Waits until the user quits the pager. Returns at once if nothing was written. The pager's exit
 * status is ignored. Does nothing if there is no pager, or when called again. */
void mv_pager_end(mv_pager *pager);
