/* Simulates where the device's driver places memory: the addresses of cudaMalloc and of expandable
 * segments.
 *
 * Addresses matter, because if two free blocks have the same size, the allocator takes the one with
 * the lower address. Recorded traces show how the driver chooses addresses (docs/whatif.md). It
 * takes chunks of address space, in multiples of 32 MiB, from the top downwards, and puts a segment
 * into the lowest chunk that has enough room. */
#pragma once

#include "analyze/replay/gaps.h"

typedef enum {
    MV_PLACE_CHUNKS, /* as the driver does */
    MV_PLACE_RISING, /* each address above the previous one, without reuse; used for the
                      * comparison in docs/whatif.md */
} mv_place_rule;

typedef struct {
    uint64_t addr;
    uint64_t size;
    uint64_t live; /* bytes of the chunk that segments use */
} mv_driver_chunk;

/* A segment of the recorded run, for replays that follow the recorded run. */
typedef struct {
    uint64_t addr;
    uint64_t size;
} mv_driver_record;

typedef struct {
    mv_arena *arena;
    mv_place_rule rule;
    mv_gaps space; /* address space outside all chunks; owner: 0 */
    mv_gaps holes; /* free ranges within chunks; owner: row of the chunk */
    uint32_t chunk_count, chunk_capacity;
    mv_driver_chunk *chunks;
    uint64_t floor;  /* lowest chunk of the recorded run so far; 0: the recorded run was not
                      * followed */
    uint64_t rising; /* next address for MV_PLACE_RISING */
    uint64_t next_reservation;

    /* As long as the replay requests the same sizes as the recorded run, it receives the recorded
     * addresses. */
    const mv_driver_record *recorded;
    uint32_t recorded_count, recorded_at;
    bool follows;

    bool out_of_memory; /* the budget is spent */
} mv_replay_driver;

typedef struct {
    uint64_t addr; /* 0: there is no room */
    uint32_t home; /* argument for mv_replay_driver_free */
} mv_driver_place;

bool mv_replay_driver_init(mv_replay_driver *driver, mv_arena *arena);

/* Follows the recorded run: the first segments are given the addresses in `recorded`, as long as
 * their sizes agree. The driver must be empty. */
void mv_replay_driver_follow(mv_replay_driver *driver, const mv_driver_record *recorded,
                             uint32_t count);

mv_driver_place mv_replay_driver_alloc(mv_replay_driver *driver, uint64_t size);
void mv_replay_driver_free(mv_replay_driver *driver, uint64_t addr, uint64_t size, uint32_t home);

/* Adds a segment at a known address. */
mv_driver_place mv_replay_driver_adopt(mv_replay_driver *driver, uint64_t addr, uint64_t size);

/* Returns the start of the address space for an expandable segment. This also follows the recorded
 * run. */
uint64_t mv_replay_driver_reserve(mv_replay_driver *driver);
