/* The index of a timeline: finds the rows alive at a moment, in time that depends on the answer and
 * not on the length of the trace. With it a viewer can show fifty million events.
 *
 *     rank   row of lives->allocs: in order of birth, which is the order of the stack
 *     birth  [rank] the event of its birth; MV_BEFORE: there from the start
 *     end    [rank] the event after which it is gone; MV_NEVER: still there at the end
 *
 *     alive after event E:   rank < born(E)  and  end > E
 *
 *         level 2          ┌────────── 900 ──────────┐        the latest end below a node;
 *         level 1      ┌─ 12 ─┐   ┌─ 900 ─┐   ┌─ 31 ─┐       for E = 40, two of the three
 *         end, by rank 7 12 … 9   3 … 900 …   31 … 8 22      subtrees are skipped
 *
 * Other bounds on the rank answer other questions:
 *
 *     after event E                              ranks [0, born(E))           end > E
 *     born in (A, B], still there after B        ranks [born(A), born(B))     end > B
 *
 * The name of a moment is the event before it, as in analyze/lives/alive.h; MV_BEFORE is the moment
 * before the first event. The index borrows the columns of `lives`, which must outlive it, and adds
 * 0.7 bytes an event: two bitmaps of events, two trees with 16 children in a node.
 * docs/internals/layout.md has the costs.
 *
 * For segments, pass the lives from mv_segment_lives_as_allocs: they have no alloc_of, so all their
 * ends are in `odd`, and all measures are equal. */
#ifndef MV_INDEX_H
#define MV_INDEX_H

#include "analyze/lives/alive.h"
#include "base/bitmap.h"

#define MV_INDEX_LEVELS 7 /* above the leaves, 16 to a node: 16^8 rows, any row number */

/* The bytes of a row, and when it ends. */
typedef enum {
    MV_INDEX_ALLOCATED, /* block bytes, until the free is requested: allocated_bytes */
    MV_INDEX_ACTIVE,    /* block bytes, until the free is completed: active_bytes */
    MV_INDEX_REQUESTED  /* requested bytes, until the free is completed: what PyTorch draws */
} mv_index_measure;

/* The end of a row at an event that lives->alloc_of gives to another row, or to none. */
typedef struct {
    uint32_t event;
    uint32_t rank;
} mv_index_end;

typedef struct {
    const mv_lives *lives;
    mv_index_measure measure;
    uint32_t count;        /* ranks */
    uint32_t events;       /* of the trace */
    uint32_t preexisting;  /* ranks [0, preexisting) have no birth event */
    const uint64_t *bytes; /* [count] lives->allocs.block or .requested */
    const uint32_t *birth; /* [count] of lives->allocs */
    const uint32_t *end;   /* [count] lives->allocs.freed or .completed */

    mv_bitmap changes;  /* [events] a row begins or ends there; tallied: the clock of MemoryViz */
    mv_bitmap ends;     /* [events] lives->alloc_of[event] is a row that ends there */
    uint32_t odd_count; /* ends that are not in alloc_of: almost always 0 */
    mv_index_end *odd;  /* [odd_count] by event, then rank */

    uint32_t levels;                       /* of both trees */
    uint32_t length[MV_INDEX_LEVELS];      /* nodes of each level */
    uint32_t *latest_end[MV_INDEX_LEVELS]; /* [length] of the 16^(level + 1) ranks below a node */
    uint64_t *most_bytes[MV_INDEX_LEVELS]; /* [length] of the same ranks */
} mv_index;

/* O(n). `arena` keeps the trees. Fails only when out of memory. */
mv_code mv_index_make(mv_arena *arena, const mv_lives *lives, mv_index_measure measure,
                      mv_index *out, mv_err *err);

/* The number of rows born at or before `event`: the ranks [0, born). O(log n). */
uint32_t mv_index_born(const mv_index *index, uint32_t event);

/* Whether a row is alive after an event; O(1). */
bool mv_index_is_alive(const mv_index *index, uint32_t rank, uint32_t event);

/* Whether the row is alive after any event. It is not if it ends at the event of its birth, or if
 * it waited for its free to complete before the first event (with the measure ALLOCATED; see
 * mv_alloc_was_pending). */
bool mv_index_is_ever_alive(const mv_index *index, uint32_t rank);

/* The first rank in [from, limit) that ends after `event`; `limit` when there is none. The caller
 * checks births: with limit <= mv_index_born() the row is alive. O(log n); iterating over all k
 * results visits O(k log n) nodes at worst, about k when they are dense.
 *
 *     for (uint32_t r = mv_index_next(x, 0, n, e); r < n; r = mv_index_next(x, r + 1, n, e)) */
uint32_t mv_index_next(const mv_index *index, uint32_t from, uint32_t limit, uint32_t event);

/* The first rank in [from, limit) of at least `bytes`; `limit` when there is none. O(log n). */
uint32_t mv_index_next_large(const mv_index *index, uint32_t from, uint32_t limit, uint64_t bytes);

/* Rows that are alive after `event`, ascending; `arena` keeps them. Fail only when out of memory.
 */
mv_code mv_index_alive(mv_arena *arena, const mv_index *index, uint32_t event, mv_alive *out,
                       mv_err *err);
mv_code mv_index_held(mv_arena *arena, const mv_index *index, uint32_t from, uint32_t to,
                      mv_alive *out, mv_err *err); /* born in (from, to], alive after `to` */

/* Bytes of the rows [0, limit) that are alive after `event`: the height of the stack below `limit`.
 * O(rows alive). */
uint64_t mv_index_bytes(const mv_index *index, uint32_t limit, uint32_t event);

/* ---- changes, event by event -------------------------------------------------------------- */

/* The rows that end at an event, one for each call; MV_NO_ROW when there are no more. `*state` is 0
 * at first. */
uint32_t mv_index_next_end(const mv_index *index, uint32_t event, uint32_t *state);

/* A walk over the events [from, to): every row that begins or ends there, each event's ends before
 * its births. Rows that are never alive are omitted; rows from before the first event appear only
 * when they end. Any number of walks may run at the same time.
 *
 *     mv_index_walk walk = mv_index_walk_from(index, from, to);
 *     while (mv_index_walk_next(&walk)) ... walk.event, walk.rank, walk.is_end */
typedef struct {
    uint32_t event;
    uint32_t rank;
    bool is_end;

    const mv_index *index; /* private to the walk from here on */
    uint32_t at, to;
    uint32_t born; /* next rank to be born */
    uint32_t odd;  /* next of index->odd */
    uint8_t stage;
} mv_index_walk;

mv_index_walk mv_index_walk_from(const mv_index *index, uint32_t from, uint32_t to);
bool mv_index_walk_next(mv_index_walk *walk);

#endif
