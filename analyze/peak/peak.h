/* The holders of memory at a moment, to the byte.
 *
 *     sum of sites.bytes + unattributed = at.bytes.allocated
 *     sum of category_bytes             = at.bytes.allocated
 *     sum of ranges.bytes               = at.bytes.allocated
 *
 * A site is a group of stacks that pass through the same lines of user and package code
 * (analyze/code/sites.h), limited to one category: gradients and temporaries of
 * `loss.backward()` are two sites. Allocations without a recorded stack are unattributed.
 * docs/peak.md explains all figures. */
#ifndef MV_PEAK_H
#define MV_PEAK_H

#include "analyze/peak/category.h"
#include "analyze/peak/curve.h"
#include "analyze/totals/bounds.h"
#include "analyze/totals/moment.h"

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint32_t part;           /* part of the curve */
    uint64_t marginal;       /* how much the window's peak would fall without this site */
    uint16_t category;       /* of attribution.categories */
    mv_stack_id stack;       /* the stack with most of the bytes */
    mv_string_id annotation; /* the range in which most of the bytes were allocated,
                              * or MV_NO_STRING */
    mv_tag_id tag;           /* tag of most of the bytes: their operator, and the
                              * operator's inputs */
} mv_peak_site;

typedef struct {
    mv_string_id name; /* annotation; MV_NO_STRING: outside all ranges */
    uint64_t bytes;
} mv_peak_range;

/* A part of the curve: a site, which may hold nothing at the moment. */
typedef struct {
    mv_stack_id stack; /* stack of the part's first allocation */
    uint16_t category;
} mv_peak_part;

typedef struct {
    mv_moment at;
    uint64_t peak; /* the window's highest allocated level */
    uint32_t peak_event;
    uint32_t count;
    mv_peak_site *sites; /* [count] most bytes first */
    uint64_t unattributed;
    uint32_t unattributed_blocks;
    mv_categories categories;
    uint64_t *category_bytes; /* [categories.count] */
    uint32_t range_count;
    mv_peak_range *ranges; /* [range_count] most bytes first; they add up to the allocated bytes */
    mv_curve curve;
    mv_peak_part *parts; /* [curve.parts] */
    uint32_t *part_of;   /* [allocs.count] part of the curve */
} mv_attribution;

typedef struct {
    mv_window window;      /* window that contains the peak for `marginal` */
    const uint8_t *kinds;  /* frame kinds, from mv_frame_kinds */
    const mv_rules *rules; /* NULL: none */
} mv_peak_opts;

/* Attributes the memory allocated at a moment. O(n log n). All results are in `arena`. Fails only
 * when out of memory. */
mv_code mv_peak_attribute(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          mv_moment at, mv_peak_opts opts, mv_attribution *out, mv_err *err);

/* mv_peak_attribute in pieces, for callers with other work in between. NULL when out of memory. */
typedef struct mv_peak_search mv_peak_search;
mv_peak_search *mv_peak_search_begin(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                     mv_moment at, mv_peak_opts opts, mv_attribution *out);
/* Runs a piece; sets *again if pieces remain. Must not be called after a failure. */
mv_code mv_peak_search_some(mv_peak_search *search, bool *again, mv_err *err);
void mv_peak_search_end(mv_peak_search *search); /* may be called at any time */

/* Maximum number of sites listed for a target; nobody would read a longer list. */
#define MV_PEAK_REACH_MOST 64

typedef struct {
    uint64_t bytes; /* the target */
    mv_bound bound; /* bound of the peak (mv_audit.peak.allocated). The true peak may be lower, or
                     * higher with blocks of these sites that are not in the file */
} mv_peak_aim;

/* The sites without which the window's peak is at most `bytes`. */
typedef struct {
    uint64_t bytes; /* the target */
    mv_bound bound; /* bound of the peak, copied from the goal */
    bool reaches;   /* the target is reached according to the recorded events */
    bool is_known;  /* whether `reaches` is certain */
    bool is_least;  /* no smaller set is sufficient; only proven if the peak is exact */
    uint64_t peak;  /* the peak without these sites */
    uint32_t count; /* 0 if the peak is not above the target */
    uint32_t *part; /* [count] in the order of choice */
    uint64_t *fall; /* [count] further reduction of the peak without this site */
} mv_peak_target;

/* Sites are chosen one by one: each time the site without which the remaining peak is lowest; among
 * equals, the site with most bytes at the remaining peak. O(n log n) for each chosen site. */
mv_code mv_peak_reach(mv_arena *arena, const mv_attribution *found, mv_peak_aim aim,
                      mv_peak_target *out, mv_err *err);

#endif
