/* The shared state of the leak report's parts for one device: leaks.c writes the report,
 * leak_sites.c evaluates the sites. */
#ifndef MV_LEAK_STATE_H
#define MV_LEAK_STATE_H

#include "analyze/code/sites.h"
#include "analyze/leaks/growth.h"
#include "analyze/leaks/leaks.h"
#include "analyze/steps/outer_call.h"
#include "analyze/steps/step_floor.h"
#include "base/map.h"

/* Facts about one site. Rows of blocks are rows of lives->allocs. */
typedef struct {
    uint32_t alive, freed; /* blocks born in the trace */
    uint32_t occasions;    /* runs of consecutive allocations of which the site kept a block */
    uint32_t first_alive;  /* first row of the site in alive_row and born */
    uint32_t first_freed;  /* first row of the site in lived */
    uint64_t leaked_bytes, retained_bytes, in_progress_bytes;
    uint64_t bytes_per_step;
    uint32_t leaked, retained; /* blocks */
    uint32_t first_event, last_event;
    bool is_growing_block;
    mv_growth growth;
} mv_site_use;

/* A live block: its requested bytes, and the bin of its birth. */
typedef struct {
    uint64_t bytes;
    uint32_t bin;
} mv_sized_block;

/* How often a line's blocks from several steps were freed all at once (piles.h). */
typedef struct {
    uint32_t times;
    uint32_t last_event; /* the event of the last time */
    uint32_t youngest;   /* birth of the youngest block freed then; other blocks were in use */
    uint32_t most_steps; /* the longest time between two of these frees */
    bool of_collector;   /* the garbage collector freed them */
} mv_bulks;

typedef struct {
    mv_arena *arena;   /* for the result */
    mv_arena *scratch; /* released at the end */
    const mv_trace *trace;
    const mv_lives *lives;
    mv_sites sites;
    mv_site_use *uses;     /* [sites.count] */
    uint32_t *alive_row;   /* live blocks, by site, in order of birth */
    uint32_t *born;        /* birth bin of each live block */
    mv_sized_block *sized; /* buffer for the blocks of one site */
    uint32_t *lived;       /* ages of freed blocks in bins, by site */
    uint32_t *kept;        /* buffer for the rows of one site */
    uint32_t alive_blocks; /* live blocks of all sites, including those from before the trace */
    mv_outer outer;
    mv_floor floor;
    mv_bulks *bulks;        /* [sites.groups] */
    int64_t *explained;     /* [floor.bins + 1] changes of the explained bytes in the floor */
    uint8_t *is_explained;  /* [allocs.count] 1: the block is part of `explained` */
    bool rises_plainly;     /* the floor rises beyond the needs of requests under way */
    const char *rises_by;   /* the explained part of a floor that rose, in words; NULL: none */
    bool explains_more;     /* more has been explained since the floor was last checked */
    uint8_t *of_own_thread; /* [sites.count] own_threads.h */
    uint32_t seldom;        /* a site that keeps a block now and then, with too few kept blocks to
                             * be sure; or MV_NO_ROW */
    uint32_t offset;        /* the site that keeps the most in steps whose floor stays because as
                             * much is freed elsewhere; or MV_NO_ROW */
    bool is_hidden;         /* without the lines that hold less and less, the floor rises */
    bool is_doubtful;       /* some site may grow, but the evidence is insufficient */
    const char *loop;       /* why the steps may not be real steps although a site would grow;
                             * or NULL */
    uint32_t waiting;       /* the site with the most blocks that may soon be freed all at once, as
                             * before; or MV_NO_ROW */
    const char *follows;    /* why a growing block may be the steps' input; NULL: no such block */
    bool is_nameless;       /* blocks without a stack grow */
    bool is_one_pass;       /* the steps may be layers of one pass: leak_sites.c */
    int direction;          /* -1 or 1: the steps need ever less or ever more temporary memory */
    mv_leaks *out;
} mv_leak_state;

static inline mv_site_use *mv_leak_use_of(const mv_leak_state *w, uint32_t row)
{
    return &w->uses[mv_site_of(&w->sites, w->lives->allocs.stack[row])];
}

/* Marks a block as explained: its bytes do not count towards a rise of the floors that
 * include it. */
static inline void mv_leak_explain(mv_leak_state *w, uint32_t row)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    uint32_t from = a->birth[row] == MV_BEFORE ? 0 : mv_floor_bin(&w->floor, a->birth[row]);

    if (w->is_explained[row])
        return;
    w->is_explained[row] = 1;
    w->explains_more = from < w->floor.bins || w->explains_more;
    w->explained[from] += (int64_t)a->block[row];
    w->explained[mv_floor_bin(&w->floor, a->freed[row])] -= (int64_t)a->block[row];
}

/* Sets w->out->floor.rises from the unexplained part of the floor. If the floor rose before and
 * more has been explained since, `what` names the explanation. False when out of memory. */
bool mv_leak_floor_rises(mv_leak_state *w, const char *what);

/* Counts each site's live and freed blocks. */
void mv_leak_sites_count(mv_leak_state *w);

/* Marks the blocks of the sites that grow, and adds them up in `uses`. Needs steps, floor and
 * outer. False when out of memory. */
bool mv_leak_sites_evaluate(mv_leak_state *w);

/* ---- the parts of mv_leaks_find, each in a file of that name ------------------------------ */

/* "the floor rises to the end, by 1.93 GiB over 298 steps, of which mm.py:31 to_device holds 1.93
 * GiB". Needs floor.steps. In w->arena; NULL when out of memory. O(n log n). */
const char *mv_floor_risen_why(mv_leak_state *w);

/* Sets w->out->floor.rises without the lines of which nothing is alive at the end: they keep
 * nothing, regardless of what they held before. Needs floor and the site counts. False when out of
 * memory. O(n log n). */
bool mv_floor_without_gone(mv_leak_state *w);

/* Fills out->grown; has_grown stays false if the fact is missing, damaged, or has too few spans.
 * False when out of memory. */
bool mv_folded_lines_find(mv_leak_state *w);

/* Changes the verdict "clean" to unknown if the end was paused, or if a line grew in the second
 * half of the folded time (folded_lines.c): the last events may be too few to show it. Without
 * counters by line, live memory that was allocated in that half may be growth. False when out
 * of memory. */
bool mv_folded_time_check(mv_leak_state *w);

/* Sets w->out->floor.rises without the blocks of lines that allocate once or twice. Needs floor.
 * False when out of memory. O(n log n). */
bool mv_made_once_explain(mv_leak_state *w);

/* Fills w->out->older. False when out of memory. O(n log n). */
bool mv_older_find(mv_leak_state *w);

/* Fills w->of_own_thread: [sites.count] 1: the site's memory is charged to another site's line,
 * whose group it joins. Needs the leaked sites. False when out of memory. */
bool mv_own_threads_join(mv_leak_state *w);

#endif
