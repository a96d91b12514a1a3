/* Stores parts of summaries that are equal in many ranks only once: the ranks of a stage have
 * the same code, mostly the same sites, and often the same sequence. Several threads may use
 * one mv_shared_parts. */
#ifndef MV_SHARED_PARTS_H
#define MV_SHARED_PARTS_H

#include <pthread.h>

#include "analyze/ranks/summary.h"
#include "base/map.h"

typedef enum { MV_PART_CODE, MV_PART_SITES, MV_PART_POINTS } mv_part_kind;

/* Identifies the bytes of a part: a 128-bit hash, with a key that a file's author cannot
 * know (base/intern.h). */
typedef struct {
    uint64_t low, high;
} mv_part_key;

typedef struct {
    mv_part_key key;
    mv_summary of; /* only the members of the part */
} mv_shared_part;

typedef struct {
    mv_arena arena;
    pthread_mutex_t lock;
    mv_map rows; /* by key.low, row of `parts` + 1 */
    uint32_t count, capacity;
    mv_shared_part *parts;
} mv_shared_parts;

void mv_shared_parts_init(mv_shared_parts *shared, mv_budget *budget);
void mv_shared_parts_release(mv_shared_parts *shared);

/* `context`: values other than the bytes on which their meaning depends. */
mv_part_key mv_part_key_of(mv_part_kind kind, uint64_t context, mv_span bytes);

/* Copies the members of a part added before; false if there is none. */
bool mv_shared_parts_find(mv_shared_parts *shared, mv_part_kind kind, mv_part_key key,
                          mv_summary *out);

/* Keeps pointers into the memory of `of`, which must outlive `shared`. When out of memory, the part
 * is not shared. */
void mv_shared_parts_add(mv_shared_parts *shared, mv_part_key key, const mv_summary *of);

#endif
