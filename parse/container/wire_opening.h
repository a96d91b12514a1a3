/* Reads and writes openings. An opening contains, for each address, the number of allocations
 * before a certain event. Openings are stored before every few chunks of EVENTS, so that a reader
 * of a part can number the allocations in it without reading earlier events.
 *
 *     mv_openings_init(&o, arena, events);
 *     mv_openings_pass(&o, count)            for each chunk; where an opening is wanted:
 *     bytes = mv_opening_encode(&o, work, data)
 *
 * The payload is two columns, encoded as in chunks of tables: ascending addresses (1) and
 * allocations (2). */
#ifndef MV_WIRE_OPENING_H
#define MV_WIRE_OPENING_H

#include "base/map.h"
#include "parse/model/trace.h"

typedef struct {
    const mv_events *events;
    uint32_t next;    /* event */
    mv_map id_of;     /* row + 1 of each address, by address */
    uint64_t *addr;   /* [count] addresses in order of discovery */
    uint32_t *allocs; /* [count] number of allocations at each address before event `next` */
    uint32_t count, capacity, allocs_capacity;
} mv_openings;

void mv_openings_init(mv_openings *o, mv_arena *arena, const mv_events *events);

/* Advances by `count` events. False when out of memory. */
bool mv_openings_pass(mv_openings *o, uint32_t count);

/* Returns an upper bound for the size of a payload in bytes; 0 if there are no addresses, or too
 * many. */
uint64_t mv_opening_room(const mv_openings *o);

/* Writes the payload of the opening of event `next` and returns its bytes; 0 when out of memory.
 * `work` has room for `count` numbers. */
uint64_t mv_opening_encode(mv_openings *o, uint64_t *work, uint8_t *data);

/* Reads a payload into arrays of the arena. Fails with MV_CORRUPT or MV_NOMEM. */
mv_code mv_opening_decode(mv_arena *arena, const mv_wire_chunk *head, const uint8_t *payload,
                          mv_opening *out);

#endif
