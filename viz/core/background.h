/* Threads that work for a window and must not make it stutter. */
#ifndef MV_BACKGROUND_H
#define MV_BACKGROUND_H

/* From now on the calling thread gives way to the thread that draws, even if there are fewer
 * processors than threads. */
void mv_background_begin(void);

#endif
