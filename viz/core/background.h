/* Threads that do work for a window and must not slow down its drawing. */
#pragma once

/* Passed in place of a number of threads if no threads should be started. Pending work is then done
 * one piece at a time, whenever the owner asks for it (mv_view_run_one_task). This is for
 * single-threaded programs such as the web page. */
#define MV_COOPERATIVE 0xffffffffu

/* Lowers the calling thread's priority, so that the thread that draws runs first even if there are
 * more threads than processors. */
void mv_background_begin(void);
