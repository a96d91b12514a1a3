/* The FACTS chunk: what is to know about the process, as texts. */
#ifndef MV_PROCESS_FACTS_H
#define MV_PROCESS_FACTS_H

#include "capture/live/live_chunk.h"

/* Fills the first MV_LIVE_CHUNK_BYTES of the file: its header, and the facts that are known when it
 * is made. */
void mv_facts_begin(void *first_chunk);

/* Writes counters of losses that have doubled, so that the chunk cannot fill up, and what there is
 * to say of Python. Does nothing while another thread is at it. */
void mv_facts_refresh(void);

/* The recording ends early, for the reason of an errno number. */
void mv_facts_stopped(int error);

/* The process ends in order. */
void mv_facts_end(void);

/* In a child: the chunk was the parent's. */
void mv_facts_forget(void);

/* The rank of this process as those who start ranks say it; NULL: none does. */
const char *mv_facts_rank(void);

#endif
