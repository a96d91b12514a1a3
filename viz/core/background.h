/* Threads that do work for a window and must not slow down its drawing. */
#ifndef MV_BACKGROUND_H
#define MV_BACKGROUND_H

/* Given in place of a number of threads if there are to be no threads. Waiting work is done one
 * piece at a time, whenever the owner calls for it (mv_view_run_one_task). This is for
 * single-threaded programs such as the web page. */
#define MV_COOPERATIVE 0xffffffffu

/* Lowers the calling thread's priority, so that the thread that draws runs first even if there are
 * fewer processors than threads. */
void mv_background_begin(void);

#endif
