/* Summarizes one device of one snapshot. A summary is small and self-contained, and can be compared
 * with the summaries of other processes that run the same code. `memviz ranks` needs only
 * summaries, so a snapshot can be released as soon as it is summarized. docs/ranks.md explains the
 * comparison and the file format.
 *
 * The keys of sites depend on content (functions, base names of files, lines) rather than on row
 * numbers or folders, so that equal keys stand for the same code in any process. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/leaks/leaks.h"
#include "analyze/lives/position.h"
#include "analyze/ranks/rank_names.h"
#include "analyze/totals/totals.h"

/* Maximum number of sites in a summary. The sites that hold the most bytes at the peak are kept
 * first, then the sites that requested the most bytes. */
#define MV_SUMMARY_SITES 4096
/* Maximum number of sizes per site. The sizes with the most bytes are kept. */
#define MV_SUMMARY_SIZES 8
/* Maximum number of points of a sequence: in memory, and in a file or in memory if there are many
 * ranks. */
#define MV_SUMMARY_POINTS      (1u << 17)
#define MV_SUMMARY_FILE_POINTS (1u << 10)

typedef struct {
    uint64_t key;        /* never 0 */
    mv_stack_id stack;   /* stack in mv_summary.code, including native frames; MV_NO_STACK: not
                          * recorded */
    uint64_t peak_bytes; /* number of bytes in blocks that are allocated at the peak */
    uint32_t peak_blocks;
    uint64_t allocs;                  /* number of allocations within the trace */
    uint64_t requested;               /* number of bytes that these allocations requested,
                                       * without rounding */
    uint64_t size[MV_SUMMARY_SIZES];  /* requested sizes; 0 after the last size */
    uint32_t times[MV_SUMMARY_SIZES]; /* number of requests of each size */
} mv_summary_site;

/* Hashes of the sequence of all allocations up to and including a certain allocation. */
typedef struct {
    uint64_t chain; /* hash of the sizes and sites */
    uint64_t shape; /* hash of the sites only */
    uint64_t key;   /* key of this allocation's site */
    uint64_t size;  /* bytes that this allocation requested */
    uint32_t event;
} mv_summary_point;

typedef struct {
    const char *name; /* name of the file */
    uint32_t device;
    mv_history_kind history;
    mv_leak_verdict verdict;
    mv_steps_source steps_source;
    uint32_t steps;
    uint64_t events, allocs, ooms;
    uint64_t peak_allocated, peak_reserved, end_allocated;
    mv_bound allocated;       /* bound of peak_allocated */
    mv_bound reserved;        /* bound of peak_reserved. Files store the doubts about both peaks
                               * together, along with a flag for each peak that is exact */
    bool is_missing_reserved; /* the file is from another tool and does not contain
                               * reserved memory */
    bool is_missing_failures; /* the file is from another tool and does not contain
                               * failed requests */
    uint64_t leaked_bytes;
    mv_stack_id leak_stack; /* stack of the largest leak, in `code`; MV_NO_STACK: none */
    bool is_cut;            /* some sites were left out */
    uint32_t sites;
    mv_summary_site *site;   /* [sites] sorted by key, ascending */
    uint32_t points;         /* number of points, allocs >> stride */
    uint32_t stride;         /* point i is at allocation ((i + 1) << stride) - 1 */
    mv_summary_point *point; /* [points] */
    mv_summary_point end;    /* point after all allocations; all zeros if there are none */
    const mv_trace *code;    /* code of the sites: a trace that contains only strings, frames and
                              * stacks */
} mv_summary;

/* Summarizes the events of `window`. Events keep the numbers that they have in the trace. The
 * sequence has at most `most_points` points. `name` is not copied; everything else is in `arena`,
 * whose budget also covers temporary memory. Fails only when out of memory. O(n log n). */
mv_code mv_summary_make(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_window window,
                        uint32_t most_points, const char *name, mv_summary *out, mv_err *err);

/* Returns the site that has this key, or NULL. */
const mv_summary_site *mv_summary_find(const mv_summary *summary, uint64_t key);

/* Returns the [count] files and devices that the summaries describe, in `arena`. Returns NULL when
 * out of memory. */
mv_rank_place *mv_summary_places(mv_arena *arena, const mv_summary *const *summaries,
                                 uint32_t count);

/* Whether a device has events or memory; other devices have no summary. */
bool mv_device_is_used(const mv_trace *trace, uint32_t device);
