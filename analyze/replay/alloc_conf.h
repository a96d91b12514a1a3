/* Converts PYTORCH_CUDA_ALLOC_CONF, which contains the settings of PyTorch's caching allocator,
 * from a string to numbers and back.
 *
 *     expandable_segments:True,roundup_power2_divisions:[256:1,512:2,>:8]
 *
 * Grammar and limits are PyTorch's own (parseArgs in CUDACachingAllocator.cpp of 1.13,
 * CUDAAllocatorConfig.cpp, AllocatorConfig.cpp; up to 2.14). Blanks are ignored. Settings that are
 * not in the string have their default values. Settings for pinned host memory, locks and captures
 * are checked, but have no effect on device memory. */
#pragma once

#include "analyze/lives/block_size.h"

#define MV_LARGE_SEGMENT (20u << 20) /* kLargeBuffer; the default of large_segment_size_mb */
#define MV_SHARED_BELOW  (10u << 20) /* kMinLargeAlloc: smaller requests share a large segment */

typedef struct {
    mv_block_rules rules;            /* max_split_size, roundup_power2_divisions, expandable */
    uint64_t max_non_split_rounding; /* maximum number of bytes by which a block that is not
                                      * split may exceed its request */
    uint64_t large_segment;          /* size of a shared large segment, and of a large page of an
                                      * expandable segment */
    double gc_threshold;             /* fraction of the limit at which garbage is collected; 0:
                                      * off */
    double fraction;                 /* per_process_memory_fraction; 1: no limit */
} mv_alloc_conf;

mv_alloc_conf mv_alloc_conf_default(void);

/* Parses a string of settings. If no PyTorch from 1.13 to 2.14 accepts the string, or if it selects
 * another allocator (backend:cudaMallocAsync), returns false, and `why` receives a sentence that
 * names the key (NULL with size 0: none is written). The string may begin with the name of the
 * variable: PYTORCH_ALLOC_CONF=... */
bool mv_alloc_conf_parse(const char *text, mv_alloc_conf *out, char *why, uint32_t why_size);

/* Returns the settings under which a trace was recorded. They are taken from allocator_settings,
 * then from the string that PyTorch stored with the settings, and then from the defaults. */
mv_alloc_conf mv_alloc_conf_of(const mv_trace *trace);

/* Returns the string that PyTorch stored, or "". */
const char *mv_alloc_conf_text(const mv_trace *trace);

/* Whether both settings always lead to the same heap for the same requests. */
bool mv_alloc_conf_same(const mv_alloc_conf *a, const mv_alloc_conf *b);

/* Writes a string that parses to these settings; "" for the defaults. The string is cut to fit; 512
 * bytes are enough. */
const char *mv_alloc_conf_print(const mv_alloc_conf *conf, char *out, uint32_t size);

/* Finds the keys in a string that have no effect on the device, because they are for pinned host
 * memory, locks or captures. Returns their number. */
#define MV_MOST_IDLE_KEYS 16
uint32_t mv_alloc_conf_idle(const char *text, const char *keys[MV_MOST_IDLE_KEYS]);

/* Returns a copy of the string in which one setting has a new value or, if `value` is NULL, is
 * removed. All other settings are unchanged. Allocated in `arena`; NULL when out of memory. */
const char *mv_alloc_conf_change(mv_arena *arena, const char *text, const char *key,
                                 const char *value);
