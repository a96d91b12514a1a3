/* PYTORCH_CUDA_ALLOC_CONF: the settings of PyTorch's caching allocator, as a text and as numbers.
 *
 *     expandable_segments:True,roundup_power2_divisions:[256:1,512:2,>:8]
 *
 * Grammar and limits are PyTorch's own (parseArgs in CUDACachingAllocator.cpp of 1.13,
 * CUDAAllocatorConfig.cpp, AllocatorConfig.cpp; up to 2.14): blanks are ignored, and a text sets
 * everything it does not name back to its default. Settings of pinned memory of the host, of locks
 * and of captures are checked, and change nothing on the device. */
#ifndef MV_ALLOC_CONF_H
#define MV_ALLOC_CONF_H

#include "analyze/lives/block_size.h"

#define MV_LARGE_SEGMENT \
    (20u << 20) /* kLargeBuffer; also what large_segment_size_mb is by default */
#define MV_SHARED_BELOW (10u << 20) /* kMinLargeAlloc: smaller requests share a large segment */

typedef struct {
    mv_block_rules rules;            /* max_split_size, roundup_power2_divisions, expandable */
    uint64_t max_non_split_rounding; /* bytes that an unsplit block may be larger than asked for */
    uint64_t large_segment;          /* shared large segment, large page of expandable segments */
    double gc_threshold;             /* of the limit; 0: off */
    double fraction;                 /* per_process_memory_fraction; 1: no limit */
} mv_alloc_conf;

mv_alloc_conf mv_alloc_conf_default(void);

/* False with a sentence in `why` that names the key when no PyTorch from 1.13 to 2.14 would take
 * the text, or when it chooses another allocator (backend:cudaMallocAsync). The name of the
 * variable may stand before it: PYTORCH_ALLOC_CONF=... */
bool mv_alloc_conf_parse(const char *text, mv_alloc_conf *out, char *why, uint32_t why_size);

/* The settings that a trace was recorded under: allocator_settings, and where these lack one,
 * the text that PyTorch kept with them. What neither says has its default. */
mv_alloc_conf mv_alloc_conf_of(const mv_trace *trace);

/* The text that PyTorch kept; "" when there is none. */
const char *mv_alloc_conf_text(const mv_trace *trace);

/* Whether both settings make the same heap of the same requests. */
bool mv_alloc_conf_same(const mv_alloc_conf *a, const mv_alloc_conf *b);

/* A text that parses to the settings; "" for the defaults. Cut to fit, which 512 bytes do. */
const char *mv_alloc_conf_print(const mv_alloc_conf *conf, char *out, uint32_t size);

/* The keys of a text that change nothing on the device: those of pinned memory of the host, of
 * locks and of captures. Returns how many there are. */
#define MV_MOST_IDLE_KEYS 16
uint32_t mv_alloc_conf_idle(const char *text, const char *keys[MV_MOST_IDLE_KEYS]);

/* The text with one setting changed, or left out (`value` NULL), and all others kept: in `arena`,
 * NULL when memory is out. */
const char *mv_alloc_conf_change(mv_arena *arena, const char *text, const char *key,
                                 const char *value);

#endif
