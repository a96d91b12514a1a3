/* The facts of a live file: texts about the process and the recording. read_live.h has the questions
 * that readers of a trace ask. */
#ifndef MV_LIVE_FACTS_H
#define MV_LIVE_FACTS_H

#include "parse/model/build.h"

/* Adds the records of a FACTS chunk. False: they are damaged from some byte on. */
bool mv_live_facts_read(mv_build *b, mv_span records);

void mv_live_fact_add(mv_build *b, const char *key, const char *value);
void mv_live_fact_add_number(mv_build *b, const char *key, uint64_t value);

/* Notes events without a number: of a program that wrote faster than its launcher folded. */
void mv_live_facts_note_lost(mv_build *b);

/* Whether the recording has ended: nothing more is written. */
bool mv_live_facts_have_end(const mv_trace *trace);

#endif
