/* Writes the FACTS chunk, which contains facts about the process, as strings. */
#pragma once

#include "capture/live/live_chunk.h"

/* Fills the first MV_LIVE_CHUNK_BYTES of the file with its header and the facts known at the
 * start. */
void mv_facts_begin(void *first_chunk);

/* Returns true if this process has more seccomp filters than `allowed`; always false if `allowed`
 * is UINT32_MAX. Makes only system calls that the loader also makes when it loads a library. */
bool mv_facts_has_filter(uint32_t allowed);

/* Writes the facts about Python, and the loss counters that have doubled since they were last
 * written, because writing every change would fill the chunk. Does nothing while another thread is
 * in this function. */
void mv_facts_refresh(void);

/* Records that the recording ends early; `error` is the reason, as for mv_process_stop. */
void mv_facts_stopped(int error);

/* Records that the process ends normally. */
void mv_facts_end(void);

/* Called in a forked child: forgets the parent's chunk. */
void mv_facts_forget(void);

/* Returns the rank of this process, from environment variables that launchers set; NULL if none of
 * them is set. */
const char *mv_facts_rank(void);
