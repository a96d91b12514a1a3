/* Joins the lives of the pieces of a trace (parse/pieces.h) into the lives of the whole trace, equal
 * to those that mv_lives_find makes of all events. Only the columns that are needed afterwards take
 * memory for each event of the trace.
 *
 *     events of the device    |  piece 0  |  piece 1  |     piece 2     |
 *     rows of allocations     0 1 2 3 4   5 6 7       8 9
 *                               └───────────┘ ends in piece 1, whose first rows contain it again
 *
 *     begin   for each piece:  look    on any thread
 *                              place   in the order of the pieces
 *                              copy    on any thread
 *     end
 *
 * Only traces whose lives are certain are stored in pieces. Segments depend on all segment events
 * and on the final heap, so their table is made at the end, from a trace of these events and of the
 * first allocation in each segment. */
#pragma once

#include "analyze/lives/lives.h"
#include "parse/model/event_times.h"
#include "parse/model/living.h"

/* The columns of events from which lives with a complete history are found. */
enum {
    MV_LIVES_COLUMNS = MV_EVENT_action | MV_EVENT_addr | MV_EVENT_size | MV_EVENT_stream |
                       MV_EVENT_stack | MV_EVENT_tag,
    /* Not a column: keep mv_lives.freed_by. */
    MV_LIVES_FREED_BY = 1 << 30
};

/* The columns of events to keep. All others are NULL. Without MV_EVENT_time_us, times are packed.
 * Without MV_EVENT_addr in either set, addresses of allocations are left out, too, unless tensors have
 * to be found by address. */
typedef struct {
    uint32_t columns; /* set of columns of mv_events (MV_EVENT_addr) that have a value for each
                       * event; may contain MV_LIVES_FREED_BY */
    uint32_t of_few;  /* set of further columns, for callers that follow the heap. They have values
                       * only for segment events, and for the alloc after each. Other values must not
                       * be read, which AddressSanitizer checks. If not 0, lives.ranks is also kept,
                       * without of_event */
} mv_lives_kept;

typedef struct mv_lives_join mv_lives_join;

typedef struct {
    const mv_events *events;
    const mv_lives *lives;
    mv_living living;
    bool is_certain; /* false: the whole trace is needed */

    /* Rows before `old` are of blocks or segments that are alive before the piece; they are in
     * order of birth. */
    struct {
        uint32_t old, first; /* `first`: row in the whole table of row `old` */
        uint32_t *row;       /* [old] their rows in the whole table */
    } allocs, segments;
    uint32_t *alive; /* [alive_count] rows of allocations alive at the end of the piece */
    uint32_t alive_count;
    uint32_t *marks; /* [mark_count] segment events, and the first alloc in each segment */
    uint32_t mark_count;
    uint32_t *few; /* [few_count] events that have values in the columns of mv_lives_kept.of_few */
    uint32_t few_count;
    bool awaits_alloc; /* the next piece's first alloc may have values there */
    uint8_t *sizes;    /* [segments] 1: has small requests, 2: has large requests */
    mv_times_piece times;
} mv_lives_piece;

/* Begins with a device whose history is complete. `trace` has no events, but digests and the tables
 * of the whole file. The table is allocated in `arena`. Returns NULL when out of memory. */
mv_lives_join *mv_lives_join_begin(mv_arena *arena, const mv_trace *trace, uint32_t device,
                                   mv_lives_kept kept);

/* Examines a piece; lists are allocated in `arena`, and *out refers to `piece` and `lives`. */
mv_code mv_lives_join_look(mv_lives_join *join, mv_arena *arena, const mv_trace *piece,
                           const mv_lives *lives, mv_lives_piece *out, mv_err *err);

/* Gives the rows of the next piece their numbers in the whole table. Fails with MV_CORRUPT if the
 * whole trace is needed. */
mv_code mv_lives_join_place(mv_lives_join *join, mv_lives_piece *piece, mv_err *err);

/* Copies a piece to the whole table. */
void mv_lives_join_copy(mv_lives_join *join, const mv_lives_piece *piece);

/* Finishes the table after all pieces. Fails with MV_CORRUPT if the whole trace is needed. Releases
 * the join, which has to be ended even after a failure; `out` may then be NULL. */
mv_code mv_lives_join_end(mv_lives_join *join, mv_lives *out, mv_err *err);
