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
 * change nothing, and neither do frees of memory that is not held here. */
#ifndef MV_HOLDINGS_H
#define MV_HOLDINGS_H

#include "analyze/replay/gaps.h"
#include "base/map.h"
#include "parse/model/trace.h"

typedef enum { MV_LOT_DEVICE, MV_LOT_HOST, MV_LOT_FOREIGN, MV_LOT_KINDS } mv_lot_kind;

/* Memory of one alloc or create. */
typedef struct {
    uint32_t call;                /* row of api_calls that created it */
    uint32_t references, mapping; /* of created memory; else 0 */
    uint32_t prev, next;          /* in the list of its kind; MV_NO_ROW at the ends */
    uint32_t newer, older;        /* among the lots freed with the contexts of its device */
    uint64_t bytes;
    uint64_t key; /* its address or handle */
    uint8_t kind; /* mv_lot_kind */
} mv_lot;

typedef struct {
    uint64_t bytes;
    uint64_t count;
} mv_held;

/* Called for each lot gained or lost, with its call; for a loss, before the lot is removed. */
typedef void mv_lot_watch(void *user, const mv_lot *lot, uint32_t at, uint32_t call, bool is_gain);

typedef struct {
    const mv_trace *trace;
    mv_arena *arena;
    mv_lot_watch *watch; /* NULL: none */
    void *user;          /* of `watch` */
    uint32_t call;       /* the call being applied */
    int32_t device;
    bool takes_unplaced; /* calls without a known device count for this one */
    mv_map by_addr;      /* lots of allocated memory */
    mv_map by_array;     /* lots of arrays */
    mv_map by_handle;    /* lots of created memory with references */
    mv_gaps mapped;      /* ranges of addresses with created memory; owner: its lot */
    mv_map by_context;   /* calls that created a context, on any device, by its handle */
    mv_map contexts;     /* number of contexts of a device recorded and not yet destroyed */
    mv_map of_contexts;  /* the newest lot of a kind that is freed with the contexts of a device */
    mv_lot *lots;        /* [lots_used]; rows in no list are free */
    uint32_t lots_used, lots_capacity;
    uint32_t free_lots;           /* list of free rows; MV_NO_ROW: none */
    uint32_t first[MV_LOT_KINDS]; /* lists of held memory */
    mv_held held[MV_LOT_KINDS];
} mv_holdings;

/* Empty holdings of `device`; memory comes from `arena`. */
void mv_holdings_init(mv_holdings *holdings, mv_arena *arena, const mv_trace *trace, int32_t device,
                      bool takes_unplaced);

/* Applies one call, a row of api_calls; pass the calls in order. False when out of memory. O(1) for
 * each freed lot, O(log n) for each mapping: the end of a context only visits freed lots. */
bool mv_holdings_apply(mv_holdings *holdings, uint32_t call);

/* Frees its memory. */
void mv_holdings_drop(mv_holdings *holdings);

/* Whether the action gets device memory; any memory. */
bool mv_is_device_alloc(uint8_t action);
bool mv_is_alloc(uint8_t action);

/* Whether memory of a device call is on the host: created there, or from a pool of the host. */
bool mv_is_on_host(const mv_api_calls *calls, uint32_t call);

#endif
