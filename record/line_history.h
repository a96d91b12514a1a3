/* Counters of the lines of code for the folded time of a bounded recording: allocations and bytes,
 * and the least bytes that each line held in up to MV_HISTORY_SPANS spans of equal length. When the
 * spans are full, two become one. Fed with the records that are folded, in their order.
 *
 * A line is a stack. Only blocks of the framework count. A record costs O(1); each stack takes some
 * 200 bytes for each device. */
#ifndef MV_RECORD_LINE_HISTORY_H
#define MV_RECORD_LINE_HISTORY_H

#include "parse/live/live_alive.h"

enum {
    MV_HISTORY_SPANS = 16,
    MV_HISTORY_LISTS = 16, /* devices that are counted: the facts must fit in one chunk */
    MV_HISTORY_ROWS = 64   /* lines in the facts, of all devices together */
};

typedef struct {
    uint64_t key;                      /* stack and list */
    uint64_t allocations, born, freed; /* bytes */
    uint64_t least[MV_HISTORY_SPANS];  /* [last + 1] bytes */
    uint32_t last;                     /* span of the last record */
} mv_history_line;

typedef struct {
    mv_arena *arena;
    mv_map by_key;
    mv_history_line *lines; /* [count] */
    uint32_t count, capacity;
    mv_history_line total[MV_HISTORY_LISTS]; /* of all lines of a device */
    uint64_t first_us, span_us;              /* span_us 0: nothing was folded */
    uint64_t last_us;
} mv_line_history;

/* A BLOCK or FREE record, before `alive` gets it. False: memory is out. */
bool mv_line_history_add(mv_line_history *h, const mv_live_alive *alive, const mv_live_record *r);

/* The value of the fact folded_lines_D (capture/wire_folded.h), with at most `rows` lines: those
 * that have grown most, and hold memory. In `arena`; NULL: there is none, or memory is out. */
const char *mv_line_history_text(mv_arena *arena, mv_line_history *h, const mv_live_alive *alive,
                                 uint32_t list, uint32_t rows);

#endif
