/* Uses the terminal for a report that is redrawn repeatedly: shows the alternate screen and reads
 * single keys. */
#pragma once

#include <stdbool.h>

/* Whether standard input and output are a terminal on which such a report can be shown. */
bool mv_screen_is_there(void);

/* Opens the screen. Only one screen can be open at a time. mv_screen_close restores the terminal,
 * and so do SIGINT, SIGTERM and SIGHUP, which also end mv_screen_wait. */
bool mv_screen_open(void);
void mv_screen_close(void);

/* Waits at most `most_ms` for a key. Returns the key or one of these values. */
enum { MV_SCREEN_TIME = 0, MV_SCREEN_END = -1 };
int mv_screen_wait(int most_ms);

/* Runs another program on the terminal, then restores the screen. */
void mv_screen_run(char *const *argv);
