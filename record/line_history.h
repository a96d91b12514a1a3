/* Keeps statistics about each line of code for the folded time of a bounded recording. For each
 * line, they contain the number of allocations, the number of bytes, and the lowest number of bytes
 * that the line held in each of up to MV_HISTORY_SPANS time spans of equal length. When all spans
 * are used, neighbouring spans are merged in pairs. Folded records must be added in order.
 *
 * A line is a stack. Only blocks of the framework count. A record costs O(1), and each stack takes
 * about 200 bytes for each device. */
#pragma once

#include "parse/live/live_alive.h"

enum {
    MV_HISTORY_SPANS = 16,
    MV_HISTORY_LISTS = 16, /* maximum number of devices that are counted, because the facts must
                            * fit into one chunk */
    MV_HISTORY_ROWS = 64   /* maximum number of lines in the facts, for all devices together */
};

typedef struct {
    uint64_t allocations, born, freed; /* number of allocations, bytes allocated, and bytes freed */
    uint64_t least[MV_HISTORY_SPANS];  /* [last + 1] lowest number of bytes held in each span */
    uint32_t last;                     /* index of the span that contains the last record */
} mv_history_line;

typedef struct {
    mv_arena *arena;
    mv_map by_key;
    mv_history_line *lines; /* [count] */
    uint32_t count, capacity;
    mv_history_line total[MV_HISTORY_LISTS]; /* totals of all lines of each device */
    uint64_t first_us, span_us;              /* start of the first span, and length of a span;
                                              * span_us 0: nothing was folded */
    uint64_t last_us;
} mv_line_history;

/* Adds a BLOCK or FREE record. Must be called before the record is added to `alive`. False when out
 * of memory. */
bool mv_line_history_add(mv_line_history *h, const mv_live_alive *alive, const mv_live_record *r);

/* Returns the value of the fact folded_lines_D (capture/wire_folded.h), allocated in the arena. It
 * lists at most `rows` lines, namely those that hold memory and have grown the most. NULL: there
 * are no such lines, or memory ran out. */
const char *mv_line_history_text(mv_arena *arena, mv_line_history *h, const mv_live_alive *alive,
                                 uint32_t list, uint32_t rows);
