/* Threads that work for a window and must not slow down its drawing. */
#ifndef MV_BACKGROUND_H
#define MV_BACKGROUND_H

/* Given as the number of threads: no threads. Waiting work runs one piece at a time, whenever the
 * owner calls for it (mv_view_run_one_task). For single-threaded programs such as the page. */
#define MV_COOPERATIVE 0xffffffffu

/* Lowers the calling thread's priority, so that the drawing thread runs first even with fewer
 * processors than threads. */
void mv_background_begin(void);

#endif
