/* Takes page faults for the machine: while it runs, another thread populates the memory that it is
 * about to write, which is the columns of events, the memo and the calls. How much of a list is
 * populated depends on how fast the list grows, and is never more than its capacity. */
#pragma once

#include "parse/source/source.h"
#include "parse/values/machine.h"

enum { MV_POPULATED = 16 };

typedef struct {
    uint64_t count; /* rows when the list was last looked at */
    uint64_t until; /* rows that are populated */
} mv_populated;

typedef struct {
    void *at;
    uint64_t bytes;
} mv_populate_range;

typedef struct {
    const mv_machine *m;
    mv_populated lists[MV_POPULATED];
    mv_populate_range ranges[MV_SOURCE_AHEAD][MV_POPULATED];
    uint32_t range_count[MV_SOURCE_AHEAD];
} mv_populate;

/* For mv_source_ahead: `user` is an mv_populate. The machine's thread decides what to populate, and
 * another thread does it. By then, the memory may have moved. The system then refuses the address, or
 * populates other memory, whose content does not change. */
void mv_populate_prepare(void *user, unsigned block);
void mv_populate_work(void *user, unsigned block);
