#include "analyze/replay/replay_driver.h"

#include "base/grow.h"

#define MIB   ((uint64_t)1 << 20)
#define CHUNK (32 * MIB) /* unit and alignment of the driver's reservations */
#define PAGE  4096

/* Address space as it is in recorded traces: user space ends at 2^47. */
#define SPACE_LOW  ((uint64_t)1 << 40)
#define SPACE_HIGH ((uint64_t)0x7f << 40)

/* Expandable segments are far below. The first one is at 0x302000000 in every recorded trace. */
#define FIRST_RESERVATION ((uint64_t)0x302000000)
#define RESERVATION_STEP  ((uint64_t)1 << 40)

static uint64_t chunk_size(uint64_t bytes)
{
    return (bytes + CHUNK - 1) / CHUNK * CHUNK;
}

bool mv_replay_driver_init(mv_replay_driver *driver, mv_arena *arena)
{
    *driver = (mv_replay_driver){
        .arena = arena, .rising = SPACE_LOW, .next_reservation = FIRST_RESERVATION};
    mv_gaps_init(&driver->space, arena);
    mv_gaps_init(&driver->holes, arena);
    return mv_gaps_add(&driver->space, SPACE_LOW, SPACE_HIGH - SPACE_LOW, 0);
}

void mv_replay_driver_follow(mv_replay_driver *driver, const mv_driver_record *recorded,
                             uint32_t count)
{
    driver->recorded = recorded;
    driver->recorded_count = count;
    driver->follows = true;
    mv_gaps_drop(&driver->space, driver->space.root);
}

static void add_gap(mv_replay_driver *d, mv_gaps *gaps, uint64_t addr, uint64_t size,
                    uint32_t owner)
{
    if (size > 0 && !mv_gaps_add(gaps, addr, size, owner))
        d->out_of_memory = true;
}

/* ---- address space ----------------------------------------------------------------------- */

/* Adds a free range, and joins it with the ranges that it touches. */
static void give_space(mv_replay_driver *d, uint64_t addr, uint64_t size)
{
    mv_gaps_join(&d->space, &addr, &size, 0);
    add_gap(d, &d->space, addr, size, 0);
}

/* Removes the free sections of [addr, addr + size) from the free space. */
static void take_space(mv_replay_driver *d, uint64_t addr, uint64_t size)
{
    uint64_t end = addr + size;

    for (;;) {
        uint32_t gap = mv_gaps_before(&d->space, end);
        uint64_t low, high;

        if (gap == MV_NO_GAP)
            return;
        low = d->space.gaps[gap].addr;
        high = low + d->space.gaps[gap].size;
        if (high <= addr)
            return;
        mv_gaps_drop(&d->space, gap);
        add_gap(d, &d->space, end, high > end ? high - end : 0, 0);
        if (low < addr) {
            add_gap(d, &d->space, low, addr - low, 0);
            return;
        }
    }
}

/* ---- chunks ------------------------------------------------------------------------------ */

static uint32_t new_chunk(mv_replay_driver *d, uint64_t addr, uint64_t size)
{
    if (!mv_append(d->arena, d->chunks, d->chunk_count, d->chunk_capacity,
                   (mv_driver_chunk){addr, size, 0})) {
        d->out_of_memory = true;
        return MV_NO_GAP;
    }
    return d->chunk_count - 1;
}

/* Finds room for a new chunk, from the top downwards. The driver requests one chunk (less a page)
 * more than it needs from the system, keeps the upper end and gives the remaining space back. So a
 * range that has no room for this extra chunk is skipped. */
static uint64_t reserve_chunk(mv_replay_driver *d, uint64_t size)
{
    uint32_t gap = mv_gaps_highest(&d->space, size + CHUNK - PAGE);
    uint64_t addr;

    if (gap == MV_NO_GAP)
        return 0;
    addr = d->space.gaps[gap].addr + d->space.gaps[gap].size - size;
    take_space(d, addr, size);
    return addr;
}

/* Places a segment at the low end of a hole. */
static mv_driver_place put(mv_replay_driver *d, uint32_t hole, uint64_t size)
{
    mv_gap gap = d->holes.gaps[hole];

    mv_gaps_drop(&d->holes, hole);
    d->chunks[gap.owner].live += size;
    add_gap(d, &d->holes, gap.addr + size, gap.size - size, gap.owner);
    return (mv_driver_place){gap.addr, gap.owner};
}

static mv_driver_place put_into_chunks(mv_replay_driver *d, uint64_t size)
{
    uint32_t hole = mv_gaps_lowest(&d->holes, size), chunk;
    uint64_t addr;

    if (hole != MV_NO_GAP)
        return put(d, hole, size);
    addr = reserve_chunk(d, chunk_size(size));
    chunk = addr ? new_chunk(d, addr, chunk_size(size)) : MV_NO_GAP;
    if (chunk == MV_NO_GAP)
        return (mv_driver_place){0, MV_NO_GAP};
    d->chunks[chunk].live = size;
    add_gap(d, &d->holes, addr + size, chunk_size(size) - size, chunk);
    return (mv_driver_place){addr, chunk};
}

mv_driver_place mv_replay_driver_adopt(mv_replay_driver *d, uint64_t addr, uint64_t size)
{
    uint32_t hole = mv_gaps_before(&d->holes, addr + 1), chunk;
    uint64_t low = addr / CHUNK * CHUNK, end = addr + size, edge;

    if (low <= SPACE_LOW || end < addr || end > SPACE_HIGH)
        return (mv_driver_place){addr, MV_NO_GAP}; /* drivers never place memory there */
    d->floor = d->floor && d->floor < low ? d->floor : low;
    if (hole != MV_NO_GAP && d->holes.gaps[hole].addr + d->holes.gaps[hole].size >= end) {
        mv_gap gap = d->holes.gaps[hole];
        mv_gaps_drop(&d->holes, hole);
        d->chunks[gap.owner].live += size;
        add_gap(d, &d->holes, gap.addr, addr - gap.addr, gap.owner);
        add_gap(d, &d->holes, end, gap.addr + gap.size - end, gap.owner);
        return (mv_driver_place){addr, gap.owner};
    }
    /* within the chunk, the bytes below the segment belong to other segments, and the bytes above
     * it are free */
    edge = low + chunk_size(end - low);
    chunk = new_chunk(d, low, edge - low);
    if (chunk == MV_NO_GAP)
        return (mv_driver_place){0, MV_NO_GAP};
    take_space(d, low, edge - low);
    d->chunks[chunk].live = size + (addr - low);
    add_gap(d, &d->holes, end, edge - end, chunk);
    return (mv_driver_place){addr, chunk};
}

void mv_replay_driver_free(mv_replay_driver *d, uint64_t addr, uint64_t size, uint32_t home)
{
    if (home == MV_NO_GAP)
        return;
    d->chunks[home].live -= size;
    mv_gaps_join(&d->holes, &addr, &size, home);
    if (d->chunks[home].live == 0)
        give_space(d, d->chunks[home].addr, d->chunks[home].size);
    else
        add_gap(d, &d->holes, addr, size, home);
}

/* ---- segments and address spaces --------------------------------------------------------- */

/* Stops following the recorded run. Address space above the lowest chunk of the recorded run then
 * belongs to others, except for memory that was given back. */
static void stop_following(mv_replay_driver *d)
{
    d->follows = false;
    give_space(d, SPACE_LOW, (d->floor ? d->floor : SPACE_HIGH) - SPACE_LOW);
}

mv_driver_place mv_replay_driver_alloc(mv_replay_driver *d, uint64_t size)
{
    if (d->follows) {
        const mv_driver_record *r = &d->recorded[d->recorded_at];
        if (d->recorded_at < d->recorded_count && r->size == size) {
            d->recorded_at++;
            return mv_replay_driver_adopt(d, r->addr, size);
        }
        stop_following(d);
    }
    if (d->rule == MV_PLACE_CHUNKS)
        return put_into_chunks(d, size);
    d->rising += size;
    return (mv_driver_place){d->rising - size, MV_NO_GAP};
}

uint64_t mv_replay_driver_reserve(mv_replay_driver *d)
{
    uint64_t start = d->next_reservation;

    d->next_reservation += RESERVATION_STEP;
    return start;
}
