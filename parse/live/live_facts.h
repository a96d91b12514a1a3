/* Reads the facts in a live file, which are strings about the process and the recording.
 * read_live.h declares the functions for readers of a trace. */
#pragma once

#include "parse/model/build.h"

/* Adds the records of a FACTS chunk. Returns false if the chunk is damaged, in which case only the
 * records before the damage are added. */
bool mv_live_facts_read(mv_build *b, mv_span records);

void mv_live_fact_add(mv_build *b, const char *key, const char *value);
void mv_live_fact_add_number(mv_build *b, const char *key, uint64_t value);

/* Adds a note about events without a number, which occur if the program wrote faster than its
 * launcher folded. */
void mv_live_facts_note_lost(mv_build *b, const mv_trace *facts);

/* Returns true if the recording has ended, so nothing more will be written. */
bool mv_live_facts_have_end(const mv_trace *trace);
