/* The held memory of one device, replayed from CUDA calls.
 *
 *     alloc, alloc_async, alloc_managed             held until the address is freed, by any API
 *     alloc_array                                   held until its handle is freed
 *     create                                        held while its handle has references (create,
 *                                                   retain; release) or mappings
 *     alloc_host, register, create on the host,     host memory, counted separately, of all devices
 *     alloc_async from a pool of the host
 *     open, import                                  another process's memory, counted separately;
 *                                                   but a multicast object is not
 *     reserve                                       addresses without memory: see ledger.h
 *     context_destroy                               frees what was allocated or opened, on the host
 *                                                   too, while the device was current, if it is a
 *                                                   reset or the end of the last recorded context
 *                                                   of the device; but not memory of create, and
 *                                                   not memory from a pool (alloc_async), which
 *                                                   is the device's own
 *
 * The effect of an action is in its row of MV_API_ACTION_LIST (capture/wire_live.h). Failed calls
 * have no effect, nor do frees of memory that is not held here. */
#ifndef MV_HOLDINGS_H
#define MV_HOLDINGS_H

#include "analyze/replay/gaps.h"
#include "base/map.h"
#include "parse/model/trace.h"

typedef enum { MV_LOT_DEVICE, MV_LOT_HOST, MV_LOT_FOREIGN, MV_LOT_KINDS } mv_lot_kind;

/* Memory of one alloc or create. */
typedef struct {
    uint32_t call;                /* row of api_calls that created it */
    uint32_t references, mapping; /* for created memory; else 0 */
    uint32_t prev, next;          /* in the list of its kind; MV_NO_ROW at the ends */
    uint32_t newer, older;        /* lots that are freed with the contexts of the same device */
    uint64_t bytes;
    uint64_t key; /* address or handle */
    uint8_t kind; /* mv_lot_kind */
} mv_lot;

typedef struct {
    uint64_t bytes;
    uint64_t count;
} mv_held;

/* Called for each gained or lost lot, with the call; for a loss, before the lot is removed. */
typedef void mv_lot_watch(void *user, const mv_lot *lot, uint32_t at, uint32_t call, bool is_gain);

typedef struct {
    const mv_trace *trace;
    mv_arena *arena;
    mv_lot_watch *watch; /* NULL: none */
    void *user;          /* of `watch` */
    uint32_t call;       /* the call being applied */
    int32_t device;
    bool takes_unplaced; /* calls of unknown device count for this device */
    mv_map by_addr;      /* lots of allocated memory, by address */
    mv_map by_array;     /* lots of arrays, by handle */
    mv_map by_handle;    /* lots of created memory with references, by handle */
    mv_gaps mapped;      /* address ranges with created memory; owner: the lot */
    mv_map by_context;   /* calls that created a context on any device, by the context's handle */
    mv_map contexts;     /* by device, number of recorded contexts that are not yet destroyed */
    mv_map of_contexts;  /* by device and kind, newest lot that is freed with the contexts */
    mv_lot *lots;        /* [lots_used]; rows outside all lists are unused */
    uint32_t lots_used, lots_capacity;
    uint32_t free_lots;           /* list of unused rows, or MV_NO_ROW */
    uint32_t first[MV_LOT_KINDS]; /* lists of held memory */
    mv_held held[MV_LOT_KINDS];
} mv_holdings;

/* Starts with empty holdings of `device`; memory comes from `arena`. */
void mv_holdings_init(mv_holdings *holdings, mv_arena *arena, const mv_trace *trace, int32_t device,
                      bool takes_unplaced);

/* Applies one call, a row of api_calls; must be called in order. False when out of memory. O(1) per
 * freed lot, O(log n) per mapping: the end of a context visits only freed lots. */
bool mv_holdings_apply(mv_holdings *holdings, uint32_t call);

/* Frees the memory of the holdings. */
void mv_holdings_drop(mv_holdings *holdings);

/* Whether the action gets device memory; whether it gets any memory. */
bool mv_is_device_alloc(uint8_t action);
bool mv_is_alloc(uint8_t action);

/* Whether memory of a device call is on the host: created there, or from a host pool. */
bool mv_is_on_host(const mv_api_calls *calls, uint32_t call);

#endif
