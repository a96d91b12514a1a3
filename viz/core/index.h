/* The index of a timeline finds the rows that are alive after an event. The time this takes depends
 * on how many rows are found, and not on the length of the trace, so the viewer can show fifty
 * million events.
 *
 *     rank   row of lives->allocs, in order of birth, which is the order of the stack
 *     birth  [rank] the event of its birth; MV_BEFORE: it exists from the start
 *     end    [rank] the event after which it is gone; MV_NEVER: it exists until the end
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
 * A moment is identified by the event before it, as in analyze/lives/alive.h; MV_BEFORE is the
 * moment before the first event. The index borrows the columns of `lives`, which must outlive it.
 * In addition, it takes 0.7 bytes per event, for two bitmaps of events and two trees with 16
 * children per node. docs/internals/layout.md lists the costs.
 *
 * For segments, pass the lives from mv_segment_lives_as_allocs. These have no alloc_of, so all
 * their ends are in `odd`, and all measures are the same. */
#pragma once

#include "analyze/lives/alive.h"
#include "base/bitmap.h"

/* Number of levels above the leaves. With 16 children per node, there can be 16^8 rows, which is
 * enough for any row number. */
#define MV_INDEX_LEVELS 7

/* Which bytes of a row are counted, and when the row ends. */
typedef enum {
    MV_INDEX_ALLOCATED, /* block bytes, until the free is requested (allocated_bytes) */
    MV_INDEX_ACTIVE,    /* block bytes, until the free is completed (active_bytes) */
    MV_INDEX_REQUESTED  /* requested bytes, until the free is completed, which is what PyTorch
                           draws */
} mv_index_measure;

/* The end of a row whose event is not assigned to the row in lives->alloc_of. */
typedef struct {
    uint32_t event;
    uint32_t rank;
} mv_index_end;

typedef struct {
    const mv_lives *lives;
    mv_index_measure measure;
    uint32_t count;        /* number of ranks */
    uint32_t events;       /* number of events in the trace */
    uint32_t preexisting;  /* the ranks [0, preexisting) have no birth event */
    const uint64_t *bytes; /* [count] lives->allocs.block or .requested */
    const uint32_t *birth; /* [count] the event of birth, from lives->allocs */
    const uint32_t *end;   /* [count] lives->allocs.freed or .completed */

    mv_bitmap changes;  /* [events] set if a row begins or ends there; tallied. This is the clock of
                           MemoryViz */
    mv_bitmap ends;     /* [events] set if lives->alloc_of[event] is a row that ends there */
    uint32_t odd_count; /* number of ends that are not in alloc_of; almost always 0 */
    mv_index_end *odd;  /* [odd_count] sorted by event, then by rank */

    uint32_t levels;                       /* number of levels of both trees */
    uint32_t length[MV_INDEX_LEVELS];      /* number of nodes on each level */
    uint32_t *latest_end[MV_INDEX_LEVELS]; /* [length] the latest end of the 16^(level + 1) ranks
                                              below a node */
    uint64_t *most_bytes[MV_INDEX_LEVELS]; /* [length] the largest number of bytes that any of these
                                            * ranks has */
} mv_index;

/* Makes the index. `arena` keeps the trees. O(n). Fails only when out of memory. */
mv_code mv_index_make(mv_arena *arena, const mv_lives *lives, mv_index_measure measure,
                      mv_index *out, mv_err *err);

/* Returns the number of rows born at or before `event`, which are the ranks [0, born). O(log n). */
uint32_t mv_index_born(const mv_index *index, uint32_t event);

/* Whether a row is alive after an event. O(1). */
bool mv_index_is_alive(const mv_index *index, uint32_t rank, uint32_t event);

/* Whether a row is alive after any event. It is not if it ends at the event of its birth, or, with
 * the measure ALLOCATED, if its free was requested before the first event but not completed (see
 * mv_alloc_was_pending). */
bool mv_index_is_ever_alive(const mv_index *index, uint32_t rank);

/* Returns the first rank in [from, limit) that ends after `event`, or `limit` if there is none. The
 * caller must check births: if limit <= mv_index_born(), the row is alive. O(log n). Iterating over
 * all k results visits O(k log n) nodes in the worst case, and about k nodes if the results are
 * dense.
 *
 *     for (uint32_t r = mv_index_next(x, 0, n, e); r < n; r = mv_index_next(x, r + 1, n, e)) */
uint32_t mv_index_next(const mv_index *index, uint32_t from, uint32_t limit, uint32_t event);

/* Returns the first rank in [from, limit) that has at least `bytes`, or `limit` if there is none.
 * O(log n). */
uint32_t mv_index_next_large(const mv_index *index, uint32_t from, uint32_t limit, uint64_t bytes);

/* Find the rows that are alive after `event` or `to`, in ascending order. The result is allocated
   in `arena`. Fail only when out of memory. */
mv_code mv_index_alive(mv_arena *arena, const mv_index *index, uint32_t event, mv_alive *out,
                       mv_err *err);
mv_code mv_index_held(mv_arena *arena, const mv_index *index, uint32_t from, uint32_t to,
                      mv_alive *out, mv_err *err); /* rows born in (from, to] and alive after
                                                      `to` */

/* Returns the bytes of the rows [0, limit) that are alive after `event`, which is the height of the
 * stack below `limit`. O(rows alive). */
uint64_t mv_index_bytes(const mv_index *index, uint32_t limit, uint32_t event);

/* ---- changes, event by event -------------------------------------------------------------- */

/* Returns the rows that end at an event, one per call; MV_NO_ROW when there are no more. `*state`
 * must be 0 before the first call. */
uint32_t mv_index_next_end(const mv_index *index, uint32_t event, uint32_t *state);

/* A walk over the events [from, to). It visits every row that begins or ends there. At each event,
 * rows that end come before rows that begin. Rows that are never alive are omitted, and rows from
 * before the first event appear only when they end. Any number of walks may run at the same time.
 *
 *     mv_index_walk walk = mv_index_walk_from(index, from, to);
 *     while (mv_index_walk_next(&walk)) ... walk.event, walk.rank, walk.is_end */
typedef struct {
    uint32_t event;
    uint32_t rank;
    bool is_end;

    const mv_index *index; /* from here on, the members are private to the walk */
    uint32_t at, to;
    uint32_t born; /* the next rank to be born */
    uint32_t odd;  /* the next element of index->odd */
    uint8_t stage;
} mv_index_walk;

mv_index_walk mv_index_walk_from(const mv_index *index, uint32_t from, uint32_t to);
bool mv_index_walk_next(mv_index_walk *walk);
