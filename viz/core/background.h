/* Threads that work for a window and must not make it stutter. */
#ifndef MV_BACKGROUND_H
#define MV_BACKGROUND_H

/* In place of a number of threads: none. What waits is done in turns, a piece at a time, when the
 * owner says so (mv_view_turn). For a program that has one thread, such as a page. */
#define MV_IN_TURNS 0xffffffffu

/* From now on the calling thread gives way to the thread that draws, even if there are fewer
 * processors than threads. */
void mv_background_begin(void);

#endif
