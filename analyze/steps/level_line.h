/* The allocated bytes after each event, computed while walking along the events instead of being
 * stored. A walk may begin at the first event of any part, so several threads can each walk along
 * some of the parts.
 *
 *     mv_level_walk w = mv_level_walk_at(&line, 0);
 *     while (w.event < lives->events.count)
 *         level = mv_level_walk_next(&w);
 */
#pragma once

#include "analyze/lives/lives.h"

enum { MV_LEVEL_PARTS = 64 };

typedef struct {
    uint32_t event, row;
} mv_level_end;

typedef struct {
    const mv_lives *lives;
    uint32_t parts; /* number of parts, each of 1 << shift events; the last may be shorter */
    uint32_t shift;
    uint64_t before[MV_LEVEL_PARTS + 1]; /* [parts + 1] bytes allocated before each part, and at the
                                          * end; sums wrap */
    mv_level_end *ends;                  /* [end_count] ends of allocations at events that are about
                                          * something else, sorted by event */
    uint64_t end_count;
} mv_level_line;

typedef struct {
    const mv_level_line *line;
    uint32_t event; /* next event */
    uint32_t row;   /* next row to be born */
    uint64_t end;   /* next entry of `ends` */
    uint64_t level; /* bytes allocated before `event` */
} mv_level_walk;

/* Prepares walks. O(allocations), on several threads. Returns false when out of memory. */
bool mv_level_line_find(mv_arena *arena, const mv_lives *lives, mv_level_line *out);

/* Begins a walk at the first event of a part. */
mv_level_walk mv_level_walk_at(const mv_level_line *line, uint32_t part);

/* Moves past an event. Returns the allocated bytes after it. */
static inline int64_t mv_level_walk_next(mv_level_walk *w)
{
    const mv_level_line *line = w->line;
    const mv_alloc_lives *a = &line->lives->allocs;
    uint32_t row = line->lives->alloc_of[w->event];

    if (w->row < a->count && a->birth[w->row] == w->event)
        w->level += a->block[w->row++];
    if (row < a->count && a->freed[row] == w->event)
        w->level -= a->block[row];
    while (w->end < line->end_count && line->ends[w->end].event == w->event)
        w->level -= a->block[line->ends[w->end++].row];
    w->event++;
    return (int64_t)w->level;
}
