/* Who holds which memory of one device, call by call: the calls of CUDA replayed.
 *
 *     alloc, alloc_async, alloc_managed             held from the call on, until a free of the
 *                                                   address, by whichever API
 *     alloc_array                                   until its handle is freed
 *     create                                        held by the handle's references (create,
 *                                                   retain; release) and by mappings: it goes with
 *                                                   the last of both
 *     alloc_host, register, create on the host      host memory: counted apart
 *     open, import                                  another process's memory: counted apart
 *     reserve                                       addresses without memory: nothing
 *     context_destroy                               a reset, or the end of the last context that
 * was seen to be made on the device, takes with it what was allocated there, not what was created
 *
 * Calls that failed change nothing, nor do frees of what is not held here. */
#ifndef MV_HOLDINGS_H
#define MV_HOLDINGS_H

#include "analyze/ledger/addrmap.h"
#include "parse/model/trace.h"

typedef enum { MV_LOT_DEVICE, MV_LOT_HOST, MV_LOT_FOREIGN, MV_LOT_KINDS } mv_lot_kind;

/* Memory of one alloc or create. */
typedef struct {
    uint32_t call;                /* row of api_calls that made it */
    uint32_t references, mapping; /* of created memory; 0 for other */
    uint32_t prev, next;          /* of the same list; MV_NOT_MAPPED at the ends */
    uint64_t bytes;
    uint64_t key; /* its address or handle */
    uint8_t kind; /* mv_lot_kind */
    uint8_t is_created;
} mv_lot;

typedef struct {
    uint64_t bytes;
    uint64_t count;
} mv_held;

typedef struct {
    const mv_trace *trace;
    mv_arena *arena;
    int32_t device;
    bool takes_unplaced;      /* calls whose device is not known are of this one */
    mv_addrmap by_addr;       /* lots: allocated memory */
    mv_addrmap by_array;      /* lots: arrays */
    mv_addrmap by_handle;     /* lots: created memory with a reference */
    mv_addrmap by_mapping;    /* mapped ranges, by where they start */
    mv_addrmap by_context;    /* calls that made a context of the device */
    mv_lot *lots;             /* [lots_used]; those of no list are free to be used again */
    struct mv_mapped *ranges; /* likewise */
    uint32_t lots_used, lots_capacity, ranges_used, ranges_capacity;
    uint32_t free_lots, free_ranges; /* lists of those, MV_NOT_MAPPED: none */
    uint32_t first[MV_LOT_KINDS];    /* lists of what is held */
    mv_held held[MV_LOT_KINDS];
    uint64_t contexts; /* that were made and are still there */
} mv_holdings;

/* Empty holdings of `device`; memory comes from `arena`. */
void mv_holdings_init(mv_holdings *holdings, mv_arena *arena, const mv_trace *trace, int32_t device,
                      bool takes_unplaced);

/* What one call, a row of api_calls, changes. Calls go in their order. False when memory is out. */
bool mv_holdings_apply(mv_holdings *holdings, uint32_t call);

/* Gives temporary memory back. */
void mv_holdings_drop(mv_holdings *holdings);

/* Whether the call asks for memory of the device itself. */
bool mv_is_device_alloc(uint8_t action);

#endif
