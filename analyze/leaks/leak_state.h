/* The state that the parts of the leak report share, for one device. leaks.c writes the report,
 * leak_sites.c evaluates the sites. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/leaks/growth.h"
#include "analyze/leaks/leaks.h"
#include "analyze/steps/outer_call.h"
#include "analyze/steps/step_floor.h"
#include "base/map.h"

/* Facts about one site. Fields that name a row of a block refer to lives->allocs. */
typedef struct {
    uint32_t alive, freed; /* number of live and of freed blocks, of those born in the trace */
    uint32_t occasions;    /* number of runs of consecutive allocations from which the site kept a
                            * block */
    uint32_t first_alive;  /* index of the site's first entry in alive_row and born */
    uint32_t outlived;     /* number of freed blocks that outlived the bin of their birth */
    uint32_t first_freed;  /* index of the site's first entry in lived */
    uint64_t leaked_bytes, retained_bytes, in_progress_bytes;
    uint64_t bytes_per_step;
    uint32_t leaked, retained; /* number of leaked and of retained blocks */
    uint32_t first_event, last_event;
    bool is_growing_block;
    mv_growth growth;
} mv_site_use;

/* The allocations of one stack, without those from before the trace. */
typedef struct {
    uint32_t births;
    uint32_t longest; /* the most events between the birth and the free of a freed block */
} mv_stack_use;

/* The requested bytes and the birth bin of a live block. */
typedef struct {
    uint64_t bytes;
    uint32_t bin;
} mv_sized_block;

/* A freed block without a stack that outlived the bin of its birth. */
typedef struct {
    uint64_t bytes;
    uint32_t lived; /* number of bins */
} mv_nameless_free;

/* How often blocks of one line, born in several steps, were freed all at once (piles.h). */
typedef struct {
    uint32_t times;
    uint32_t last_event;  /* event at which this happened last */
    uint32_t youngest;    /* birth of the youngest block freed at last_event; younger blocks were
                          * still in use then */
    uint64_t most_steps;  /* the most steps between two of these frees; if there was only one, the
                           * steps for which the line needs to allocate as many blocks */
    bool of_collector;    /* the garbage collector freed them */
    bool is_like_garbage; /* the collector may have freed them: of_collector, or there was only one
                           * bulk, or the frees have no stacks that would show the collector */
} mv_bulks;

typedef struct {
    mv_arena *arena;   /* arena for the result */
    mv_arena *scratch; /* arena for temporary memory, released at the end */
    const mv_trace *trace;
    const mv_lives *lives;
    mv_sites sites;
    mv_stack_use *stacks;       /* [sites.stacks + 1] the last entry is for MV_NO_STACK */
    mv_site_use *uses;          /* [sites.count] */
    uint32_t *alive_row;        /* [alive_blocks] rows of live blocks, by site, in order of birth */
    uint32_t *born;             /* birth bin of each block in alive_row */
    mv_sized_block *sized;      /* buffer for the live blocks of one site */
    mv_nameless_free *nameless; /* [nameless_count] sorted by size and age; NULL: not listed yet */
    uint32_t nameless_count;
    uint32_t *lived;       /* ages in bins of freed blocks that outlived the bin of their birth, by
                            * site */
    uint32_t *kept;        /* buffer for the rows of one site's blocks */
    uint32_t alive_blocks; /* number of live blocks of all sites, including blocks from before the
                            * trace */
    mv_outer outer;
    mv_floor floor;
    mv_bulks *bulks;        /* [sites.groups] */
    int64_t *explained;     /* [floor.bins + 1] changes, from bin to bin, of the explained bytes in
                             * the floor */
    uint8_t *is_explained;  /* [allocs.count] 1: the block is part of `explained` */
    bool rises_plainly;     /* the floor rises by more than the requests under way need */
    const char *rises_by;   /* the explanation of a floor that rose, in words; NULL: none */
    bool explains_more;     /* more bytes have been explained since the floor was last checked */
    uint8_t *of_own_thread; /* [sites.count] 1: the site's memory is charged to another line
                             * (own_threads.h) */
    uint32_t seldom;        /* site that keeps a block now and then, with too few kept blocks to be
                             * sure; or MV_NO_ROW */
    uint32_t slowing;       /* site with the most blocks that keeps fewer and fewer, as a cache
                             * that fills; or MV_NO_ROW */
    uint32_t offset;        /* site that keeps the most memory while the floor does not rise,
                             * because as much is freed elsewhere; or MV_NO_ROW */
    bool is_proven;         /* the floor rises by about as much as the growing sites keep */
    bool is_hidden;      /* the floor would rise without the lines that hold less and less memory */
    bool is_doubtful;    /* some site may grow, but there is not enough evidence */
    const char *loop;    /* why the steps may not be the program's real steps although a site
                             * grows over them; or NULL */
    uint32_t waiting;    /* site with the most blocks that may soon be freed all at once, as
                             * happened before; or MV_NO_ROW */
    const char *follows; /* why a growing block may be the steps' input; NULL: there is no such
                             * block */
    bool is_nameless;    /* blocks without a recorded stack grow */
    bool is_one_pass;    /* the steps may be layers of one pass (leak_sites.c) */
    int direction;       /* direction in which the steps' temporary memory changes: -1 falls, 1
                             * rises, 0 neither */
    mv_leaks *out;
} mv_leak_state;

static inline mv_site_use *mv_leak_use_of(const mv_leak_state *w, uint32_t row)
{
    return &w->uses[mv_site_of(&w->sites, w->lives->allocs.stack[row])];
}

static inline uint32_t mv_leak_group_of(const mv_leak_state *w, uint32_t row)
{
    return w->sites.group[mv_site_of(&w->sites, w->lives->allocs.stack[row])];
}

/* Marks a block as explained, so that its bytes do not count towards a rise of the floors that
 * contain it. */
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

/* Sets w->out->floor.rises according to the unexplained part of the floor. If the floor rose
 * before, and more bytes have been explained since, `what` becomes the explanation. Returns false
 * when out of memory. */
bool mv_leak_floor_rises(mv_leak_state *w, const char *what);

/* Counts the blocks of each stack, and each site's live and freed blocks. Requires that the floor
 * is set. Returns false when out of memory. */
bool mv_leak_sites_count(mv_leak_state *w);

/* Marks the blocks of the sites that grow, and adds up their bytes in `uses`. Requires that steps,
 * floor and outer are set. Returns false when out of memory. */
bool mv_leak_sites_evaluate(mv_leak_state *w);

/* ---- the parts of mv_leaks_find, each in a file of that name ------------------------------ */

/* Returns a sentence such as "the floor rises to the end, by 1.93 GiB over 298 steps, of which
 * mm.py:31 to_device holds 1.93 GiB", or one about the line that is `slowing`, allocated in
 * w->arena; NULL when out of memory. Requires that floor.steps is set. O(n log n). */
const char *mv_floor_risen_why(mv_leak_state *w);

/* Sets w->out->floor.rises. Ignores blocks that are part of the floor of all judged steps and are
 * freed after the last one, such as a model that a program drops at its end, because they do not
 * contribute to a rise. Requires that the floor is set. Returns false when out of memory. O(n log n). */
bool mv_floor_without_set_up(mv_leak_state *w);

/* Sets w->out->floor.rises again, without the lines that have no live block at the end, because
 * such lines keep nothing, regardless of what they held before. Requires that the floor and the
 * site counts are set. Returns false when out of memory. O(n log n). */
bool mv_floor_without_gone(mv_leak_state *w);

/* Fills out->grown; has_grown stays false if the fact that lists the folded lines is missing,
 * damaged, or has too few spans. Returns false when out of memory. */
bool mv_folded_lines_find(mv_leak_state *w);

/* Changes the verdict "clean" to unknown if recording was paused at the end. Also does so if a line
 * grew in the second half of the folded time (folded_lines.c), because the remaining events may be
 * too few to show this growth. Without counters by line, live memory that was allocated in that
 * half may be growth. Returns false when out of memory. */
bool mv_folded_time_check(mv_leak_state *w);

/* Sets w->out->floor.rises again, without the blocks of lines that allocate only once or twice.
 * Requires that the floor is set. Returns false when out of memory. O(n log n). */
bool mv_made_once_explain(mv_leak_state *w);

/* Fills w->out->older. Returns false when out of memory. O(n log n). */
bool mv_older_find(mv_leak_state *w);

/* Adds freed blocks without a stack to a site that has freed no block, if they are of a size that
 * the site keeps. Requires that w->sized contains the site's blocks. Returns false when out of
 * memory. */
bool mv_nameless_frees_add(mv_leak_state *w, const mv_site_use *use, mv_growth_site *site);

/* Fills w->of_own_thread, [sites.count]: 1 if the site's memory is charged to the line of another
 * site, whose group the site then joins. Requires that the leaked sites are known. Returns false
 * when out of memory. */
bool mv_own_threads_join(mv_leak_state *w);
