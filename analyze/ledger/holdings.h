/* Finds the memory that is held on one device, by replaying the CUDA calls.
 *
 *     alloc, alloc_async, alloc_managed             held until the address is freed, by any API
 *     alloc_array                                   held until its handle is freed
 *     create                                        held while its handle has references (create,
 *                                                   retain; release) or mappings
 *     alloc_host, register, create on the host,     host memory of all devices, counted separately
 *     alloc_async from a pool of the host
 *     open, import                                  memory of another process, counted separately;
 *                                                   a multicast object is not counted
 *     reserve                                       addresses without memory: see ledger.h
 *     context_destroy                               if the call resets the device, or ends its last
 *                                                   recorded context: frees what was allocated or
 *                                                   opened while the device was current, also on
 *                                                   the host; but neither memory of create nor
 *                                                   memory from a pool (alloc_async), which belongs
 *                                                   to the device
 *
 * The effect of an action is defined in its row of MV_API_ACTION_LIST (capture/wire_live.h). Failed
 * calls have no effect, and neither do frees of memory that is not held on this device. */
#pragma once

#include "analyze/replay/gaps.h"
#include "base/map.h"
#include "parse/model/trace.h"

typedef enum { MV_LOT_DEVICE, MV_LOT_HOST, MV_LOT_FOREIGN, MV_LOT_KINDS } mv_lot_kind;

/* Memory that one alloc or create call allocated. */
typedef struct {
    uint32_t call;                /* row of api_calls that made the memory */
    uint32_t references, mapping; /* number of references and mappings, for created memory;
                                   * otherwise 0 */
    uint32_t prev, next;   /* neighbours in the list of the same kind; MV_NO_ROW at the ends */
    uint32_t newer, older; /* neighbours in the list of lots that are freed with the contexts
                                   * of the same device */
    uint64_t bytes;
    uint64_t key; /* address or handle */
    uint8_t kind; /* mv_lot_kind */
} mv_lot;

typedef struct {
    uint64_t bytes;
    uint64_t count;
} mv_held;

/* Called for each lot that is added or removed, with the call that does this; on removal, it is
 * called before the lot is removed. */
typedef void mv_lot_watch(void *user, const mv_lot *lot, uint32_t at, uint32_t call, bool is_gain);

typedef struct {
    const mv_trace *trace;
    mv_arena *arena;
    mv_lot_watch *watch; /* NULL: none */
    void *user;          /* passed to `watch` */
    uint32_t call;       /* the call being applied */
    int32_t device;
    bool takes_unplaced; /* calls whose device is unknown count towards this device */
    mv_map by_addr;      /* lots of allocated memory, by address */
    mv_map by_array;     /* lots of arrays, by handle */
    mv_map by_handle;    /* lots of created memory with references, by handle */
    mv_gaps mapped;      /* address ranges with created memory; owner: the lot */
    mv_map by_context;   /* calls that created a context on any device, by the context's handle */
    mv_map contexts; /* number of recorded contexts that have not been destroyed yet, by device */
    mv_map of_contexts; /* newest lot that is freed with the contexts, by device and kind */
    mv_lot *lots;       /* [lots_used] rows that are in no list are unused */
    uint32_t lots_used, lots_capacity;
    uint32_t free_lots;           /* first row of the list of unused rows, or MV_NO_ROW */
    uint32_t first[MV_LOT_KINDS]; /* first row of each list of held memory */
    mv_held held[MV_LOT_KINDS];
} mv_holdings;

/* Initializes empty holdings of `device`; memory is allocated in `arena`. */
void mv_holdings_init(mv_holdings *holdings, mv_arena *arena, const mv_trace *trace, int32_t device,
                      bool takes_unplaced);

/* Applies one call, which is a row of api_calls. Calls must be applied in order. Returns false when
 * out of memory. O(1) per freed lot, O(log n) per mapping; the end of a context visits only lots
 * that it frees. */
bool mv_holdings_apply(mv_holdings *holdings, uint32_t call);

/* Releases the memory that the holdings themselves occupy. */
void mv_holdings_drop(mv_holdings *holdings);

/* mv_is_device_alloc returns whether the action allocates device memory, mv_is_alloc whether it
 * allocates memory of any kind. */
bool mv_is_device_alloc(uint8_t action);
bool mv_is_alloc(uint8_t action);

/* Whether the memory of a device call is on the host. This is the case if it was created there or
 * comes from a host pool. */
bool mv_is_on_host(const mv_api_calls *calls, uint32_t call);
