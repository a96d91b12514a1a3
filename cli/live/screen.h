/* The terminal for a report that is drawn again and again: the alternate screen, keys one by one. */
#ifndef MV_SCREEN_H
#define MV_SCREEN_H

#include <stdbool.h>

/* Whether standard input and output are a terminal that can do this. */
bool mv_screen_is_there(void);

/* Only one at a time. The terminal is as it was after mv_screen_close, and after SIGINT, SIGTERM
 * and SIGHUP, which end mv_screen_wait. */
bool mv_screen_open(void);
void mv_screen_close(void);

/* A wait ends with the key that was typed, or one of these. */
enum { MV_SCREEN_TIME = 0, MV_SCREEN_END = -1 };
int mv_screen_wait(int most_ms);

/* Runs another program on the terminal until it ends, and takes the terminal back. */
void mv_screen_run(char *const *argv);

#endif
