/* Finds out who holds the memory at a given moment, to the byte.
 *
 *     sum of sites.bytes + unattributed = at.bytes.allocated
 *     sum of category_bytes             = at.bytes.allocated
 *     sum of ranges.bytes               = at.bytes.allocated
 *
 * A site is a group of stacks that pass through the same lines of user and package code
 * (analyze/code/sites.h), limited to one category. For example, the gradients and the temporaries
 * of `loss.backward()` are two sites. Allocations without a recorded stack are unattributed.
 * docs/peak.md explains all figures. */
#pragma once

#include "analyze/lives/alive.h"
#include "analyze/peak/category.h"
#include "analyze/peak/curve.h"
#include "analyze/totals/bounds.h"
#include "analyze/totals/moment.h"

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint32_t part;           /* number of the part in the curve */
    uint64_t marginal;       /* how far the window's peak would fall without this site */
    uint16_t category;       /* row of attribution.categories */
    mv_stack_id stack;       /* stack that allocated the largest part of these bytes */
    mv_string_id annotation; /* range in which the largest part of these bytes was allocated, or
                              * MV_NO_STRING */
    mv_tag_id tag;           /* tag of the largest part of these bytes, which contains their
                              * operator and the operator's inputs */
} mv_peak_site;

typedef struct {
    mv_string_id name; /* name of the annotation; MV_NO_STRING: outside all ranges */
    uint64_t bytes;
} mv_peak_range;

/* A part of the curve, which is a site. It may hold no memory at the given moment. */
typedef struct {
    mv_stack_id stack; /* stack of the part's first allocation */
    uint16_t category;
} mv_peak_part;

typedef struct {
    mv_moment at;
    uint64_t peak; /* the window's highest allocated level */
    uint32_t peak_event;
    uint32_t count;
    mv_peak_site *sites; /* [count] sites sorted by bytes, largest first */
    uint64_t unattributed;
    uint32_t unattributed_blocks;
    mv_categories categories;
    uint64_t *category_bytes; /* [categories.count] */
    uint32_t range_count;
    mv_peak_range *ranges; /* [range_count] ranges sorted by bytes, largest first; the bytes add up
                            * to the allocated bytes */
    mv_curve curve;
    mv_peak_part *parts; /* [curve.parts] */
    uint32_t *part_of;   /* [allocs.count] part of the curve to which each allocation belongs */
    mv_alive alive;      /* allocations that make up `sites`: those allocated at that moment */
} mv_attribution;

typedef struct {
    mv_window window;      /* window whose peak is used for `marginal` */
    const uint8_t *kinds;  /* frame kinds, from mv_frame_kinds */
    const mv_rules *rules; /* the user's rules; NULL: none */
} mv_peak_opts;

/* Attributes the memory that is allocated at a moment to its holders. All results are allocated in
 * `arena`. O(n log n). Fails only when out of memory. */
mv_code mv_peak_attribute(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          mv_moment at, mv_peak_opts opts, mv_attribution *out, mv_err *err);

/* Runs mv_peak_attribute in pieces, for callers that do other work in between. Returns NULL when
 * out of memory. */
typedef struct mv_peak_search mv_peak_search;
mv_peak_search *mv_peak_search_begin(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                     mv_moment at, mv_peak_opts opts, mv_attribution *out);
/* Runs one piece; sets *again if pieces remain. Must not be called after a failure. */
mv_code mv_peak_search_some(mv_peak_search *search, bool *again, mv_err *err);
void mv_peak_search_end(mv_peak_search *search); /* may be called at any time */

/* Returns the site of each part of the curve, or the number of sites for a part without a site;
 * NULL when out of memory. */
uint32_t *mv_peak_sites_of_parts(mv_arena *arena, const mv_attribution *found);

/* Maximum number of sites listed for a target, because nobody would read a longer list. */
#define MV_PEAK_REACH_MOST 64

typedef struct {
    uint64_t bytes; /* the target in bytes */
    mv_bound bound; /* bound of the peak (mv_audit.peak.allocated). The true peak may be lower; it
                     * may be higher if the file lacks blocks of these sites */
} mv_peak_aim;

/* The sites without which the peak of the window is at most `bytes`. */
typedef struct {
    uint64_t bytes; /* the target in bytes */
    mv_bound bound; /* bound of the peak, copied from mv_peak_aim */
    bool reaches;   /* the target is reached, as shown by the recorded events */
    bool is_known;  /* whether `reaches` is certain */
    bool is_least;  /* no smaller set of sites is sufficient; this is proven only if the peak is
                     * exact */
    uint64_t peak;  /* the peak without these sites */
    uint32_t count; /* number of sites; 0 if the peak is not above the target */
    uint32_t *part; /* [count] parts of the curve, in the order in which they were chosen */
    uint64_t *fall; /* [count] how much further the peak falls without this site */
} mv_peak_target;

/* Chooses sites one by one. Each time, chooses the site without which the remaining peak is lowest.
 * If several sites are equally good, chooses the one with the most bytes at the remaining peak. O(n
 * log n) for each chosen site. */
mv_code mv_peak_reach(mv_arena *arena, const mv_attribution *found, mv_peak_aim aim,
                      mv_peak_target *out, mv_err *err);
