/* Threads that work for a window and must not make it stutter. */
#ifndef MV_BACKGROUND_H
#define MV_BACKGROUND_H

/* The calling thread gives way from now on: it runs on what the thread that draws leaves, also
 * where there are fewer processors than threads. */
void mv_background_begin(void);

#endif
