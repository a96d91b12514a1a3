/* Device memory by holder, call by call, and its sum, compared with the device's figures. Holdings
 * are compared with a slow and simple version, on random calls. */
#include "analyze/code/libraries.h"
#include "analyze/ledger/ledger.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/fixture/fixture_json.h"

#include <sys/resource.h>

static mv_held held_at_end(mvt_calls *c, mv_lot_kind kind)
{
    const mv_trace *trace = mvt_calls_done(c);
    mv_holdings h;
    mv_held held;

    mv_holdings_init(&h, mvt_memory(), trace, 0, true);
    for (uint32_t i = 0; i < trace->api_calls.count; i++)
        cr_assert(mv_holdings_apply(&h, i));
    held = h.held[kind];
    mv_holdings_drop(&h);
    return held;
}

static void expect_held(mvt_calls *c, uint64_t bytes, uint64_t count)
{
    mv_held held = held_at_end(c, MV_LOT_DEVICE);

    cr_assert_eq(held.bytes, bytes, "%llu bytes", (unsigned long long)held.bytes);
    cr_assert_eq(held.count, count);
}

/* One row of MV_API_ACTION_LIST. */
typedef struct {
    mv_api_action action;
    mv_api_way way;
    mv_api_key key;
    mv_api_memory memory;
} action_row;

static const action_row action_rows[] = {
#define ROW(name, number, text, way, key, memory) \
    {MV_API_##name, MV_API_##way, MV_API_BY_##key, MV_API_MAKES_##memory},
    MV_API_ACTION_LIST(ROW)
#undef ROW
};
enum { ACTION_ROWS = sizeof action_rows / sizeof *action_rows };

static uint64_t held_after(const action_row *made, const action_row *ended)
{
    static const mv_lot_kind kinds[] = {[MV_API_MAKES_DEVICE] = MV_LOT_DEVICE,
                                        [MV_API_MAKES_HOST] = MV_LOT_HOST,
                                        [MV_API_MAKES_FOREIGN] = MV_LOT_FOREIGN};
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, made->action, .addr = 0x1000, .handle = 7, .size = 100);
    if (ended)
        mvt_call(c, ended->action, .addr = 0x1000, .handle = 7, .size = 100);
    return held_at_end(c, kinds[made->memory]).bytes;
}

/* Holdings depend on an action only through the columns of its row, so a new action is a new
 * row. */
Test(ledger, memory_is_held_until_its_key_is_freed)
{
    unsigned makers = 0;

    for (const action_row *made = action_rows; made < action_rows + ACTION_ROWS; made++) {
        bool holds = made->memory != MV_API_MAKES_NONE;
        makers += holds;
        cr_assert_eq(mv_api_gives(made->action), made->way == MV_API_GIVES);
        cr_assert_eq(mv_is_device_alloc((uint8_t)made->action),
                     made->memory == MV_API_MAKES_DEVICE);
        cr_assert_eq(held_after(made, NULL), holds ? 100 : 0, "action %d", (int)made->action);
        for (const action_row *ended = action_rows; ended < action_rows + ACTION_ROWS; ended++) {
            bool frees = ended->way == MV_API_GIVES && ended->key == made->key;
            if (ended->way == MV_API_GIVES)
                cr_assert_eq(held_after(made, ended), holds && !frees ? 100 : 0, "actions %d, %d",
                             (int)made->action, (int)ended->action);
        }
    }
    cr_assert_geq(makers, 9);
}

Test(ledger, any_api_frees_an_address)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_ALLOC_ASYNC, .addr = 0x2000, .size = 200);
    mvt_call(c, MV_API_ALLOC_MANAGED, .addr = 0x3000, .size = 300);
    mvt_call(c, MV_API_ALLOC, .addr = 0x4000, .size = 400);
    mvt_call(c, MV_API_FREE, .addr = 0x2000);
    mvt_call(c, MV_API_FREE_ASYNC, .addr = 0x1000);
    mvt_call(c, MV_API_FREE, .addr = 0x9000);
    expect_held(c, 700, 2);
}

Test(ledger, failed_calls_change_nothing)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_ALLOC, .addr = 0x2000, .size = 1ull << 50, .result = 2);
    mvt_call(c, MV_API_FREE, .addr = 0x1000, .result = 1);
    expect_held(c, 100, 1);
}

Test(ledger, a_reused_address_ends_the_first_block)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 50);
    expect_held(c, 50, 1);
}

Test(ledger, created_memory_goes_with_the_last_handle_and_mapping)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_CREATE, .handle = 7, .size = 100);
    mvt_call(c, MV_API_RESERVE, .addr = 0x1000, .size = 1 << 20);
    mvt_call(c, MV_API_MAP, .handle = 7, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_RELEASE, .handle = 7);
    /* The mapping keeps the memory, so the handle's number may be reused. */
    mvt_call(c, MV_API_CREATE, .handle = 7, .size = 30);
    mvt_call(c, MV_API_MAP, .handle = 7, .addr = 0x1064, .size = 30);
    mvt_call(c, MV_API_RETAIN, .handle = 9, .addr = 0x1000);
    mvt_call(c, MV_API_UNMAP, .addr = 0x1000, .size = 130);
    /* Both are unmapped. 9 keeps the first one alive, 7 the second. */
    mvt_call(c, MV_API_RELEASE, .handle = 9);
    expect_held(c, 30, 1);
}

/* The handle is returned even for an address in the middle of a mapping. */
Test(ledger, a_retain_by_an_address_in_a_mapping_keeps_its_memory)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_CREATE, .handle = 7, .size = 100);
    mvt_call(c, MV_API_MAP, .handle = 7, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_RELEASE, .handle = 7);
    mvt_call(c, MV_API_CREATE, .handle = 8, .size = 30);
    mvt_call(c, MV_API_MAP, .handle = 8, .addr = 0x2000, .size = 30);
    mvt_call(c, MV_API_RELEASE, .handle = 8);
    mvt_call(c, MV_API_RETAIN, .handle = 7, .addr = 0x1000 + 99);
    mvt_call(c, MV_API_RETAIN, .handle = 8, .addr = 0x2000 + 30); /* after its end */
    mvt_call(c, MV_API_UNMAP, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_UNMAP, .addr = 0x2000, .size = 30);
    expect_held(c, 100, 1);
    c = mvt_calls_new();
    mvt_call(c, MV_API_CREATE, .handle = 7, .size = 100);
    mvt_call(c, MV_API_MAP, .handle = 7, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_RETAIN, .handle = 9, .addr = 0x1010);
    for (uint64_t i = 0; i < 2; i++)
        mvt_call(c, MV_API_RELEASE, .handle = 9);
    mvt_call(c, MV_API_UNMAP, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_CREATE, .handle = 7, .size = 1);
    mvt_call(c, MV_API_CREATE, .handle = 7, .size = 2);
    expect_held(c, 2, 1);
}

Test(ledger, arrays_are_known_by_handle)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC_ARRAY, .handle = 5, .size = 64);
    mvt_call(c, MV_API_ALLOC_ARRAY, .handle = 6, .size = 32);
    mvt_call(c, MV_API_FREE, .addr = 5);
    mvt_call(c, MV_API_FREE_ARRAY, .handle = 5);
    expect_held(c, 32, 1);
}

Test(ledger, host_and_foreign_memory_are_separate)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC_HOST, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_REGISTER, .addr = 0x2000, .size = 10, .device = -1);
    mvt_call(c, MV_API_OPEN, .addr = 0x3000, .size = 1000);
    mvt_call(c, MV_API_IMPORT, .handle = 3, .size = 1000);
    mvt_call(c, MV_API_CREATE, .handle = 4, .size = 7, .device = -1);
    mvt_call(c, MV_API_ALLOC_ASYNC, .addr = 0x4000, .handle = 9, .size = 200, .device = -1);
    mvt_call(c, MV_API_FREE_HOST, .addr = 0x1000);
    mv_held host = held_at_end(c, MV_LOT_HOST);
    cr_assert_eq(host.bytes, 217);
    cr_assert_eq(host.count, 3);
}

Test(ledger, a_reset_frees_allocations_and_keeps_created_memory)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_ALLOC_ARRAY, .handle = 5, .size = 64);
    mvt_call(c, MV_API_CREATE, .handle = 7, .size = 30);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cudaDeviceReset");
    expect_held(c, 30, 1);
}

/* A multicast object has no memory of its own; other calls create its contents. */
Test(ledger, a_multicast_object_holds_nothing)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_IMPORT, .handle = 3, .size = 1000, .api = "cuMulticastCreate");
    mvt_call(c, MV_API_IMPORT, .handle = 4, .api = "cuMemImportFromShareableHandle");
    mv_held foreign = held_at_end(c, MV_LOT_FOREIGN);
    cr_assert_eq(foreign.bytes, 0);
    cr_assert_eq(foreign.count, 1);
}

/* Pools belong to a device, not to a context. */
Test(ledger, a_reset_keeps_memory_from_pools)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_ALLOC_ASYNC, .addr = 0x2000, .size = 200);
    mvt_call(c, MV_API_ALLOC_ASYNC, .addr = 0x3000, .size = 400);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuDevicePrimaryCtxReset_v2");
    mvt_call(c, MV_API_FREE_ASYNC, .addr = 0x3000);
    expect_held(c, 200, 1);

    c = mvt_calls_new();
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuCtxCreate_v2", .handle = 5);
    mvt_call(c, MV_API_ALLOC_ASYNC, .addr = 0x2000, .size = 200);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 5, .device = -1);
    expect_held(c, 200, 1);
}

static mvt_calls *pinned_on_three_devices(void)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuCtxCreate_v2", .handle = 5, .device = 1);
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuCtxCreate_v2", .handle = 6, .device = 1);
    mvt_call(c, MV_API_ALLOC_HOST, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_ALLOC_HOST, .addr = 0x2000, .size = 20, .device = 1);
    mvt_call(c, MV_API_REGISTER, .addr = 0x3000, .size = 3, .device = 1);
    mvt_call(c, MV_API_CREATE, .handle = 7, .size = 4000, .device = -1);
    mvt_call(c, MV_API_ALLOC_HOST, .addr = 0x4000, .size = 50000, .device = 2);
    return c;
}

/* The host's memory is in every device's holdings, and ends with the context in which it was
 * allocated. */
Test(ledger, pinned_memory_ends_with_the_context_of_its_device)
{
    mvt_calls *c = pinned_on_three_devices();

    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cudaDeviceReset", .device = 1);
    cr_assert_eq(held_at_end(c, MV_LOT_HOST).bytes, 54100);

    c = pinned_on_three_devices();
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 6, .device = -1);
    cr_assert_eq(held_at_end(c, MV_LOT_HOST).bytes, 54123, "another context remains");
    c = pinned_on_three_devices();
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 6, .device = -1);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 5, .device = -1);
    cr_assert_eq(held_at_end(c, MV_LOT_HOST).bytes, 54100);

    c = mvt_calls_new();
    mvt_call(c, MV_API_OPEN, .addr = 0x3000, .size = 1000);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cudaDeviceReset", .device = 0);
    cr_assert_eq(held_at_end(c, MV_LOT_FOREIGN).bytes, 0);
}

/* If each reset walked through all memory, it would take 10^10 steps; the limit below is half a
 * minute of CPU time. */
LongTest(ledger, a_reset_visits_only_the_memory_it_frees)
{
    enum { MANY = 100000 };
    const struct rlimit most = {30, 30};
    static const mv_api_action stays[] = {MV_API_ALLOC_HOST, MV_API_CREATE, MV_API_ALLOC_ASYNC};
    mvt_calls *c = mvt_calls_new();

    cr_assert_eq(setrlimit(RLIMIT_CPU, &most), 0);
    for (uint64_t i = 1; i <= MANY; i++)
        mvt_call(c, stays[i % 3], .addr = i << 20, .handle = i, .size = 3,
                 .device = stays[i % 3] == MV_API_ALLOC_HOST);
    for (uint64_t i = 1; i <= MANY; i++) {
        mvt_call(c, MV_API_ALLOC, .addr = (MANY + i) << 20, .size = 5);
        mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cudaDeviceReset");
    }
    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 7);
    expect_held(c, 3 * (MANY - MANY / 3) + 7, MANY - MANY / 3 + 1);
    cr_assert_eq(held_at_end(c, MV_LOT_HOST).count, MANY / 3);
}

/* The newest entry of each kind goes first, even if entries for other devices lie between. */
Test(ledger, a_reset_frees_each_block_of_its_device_once)
{
    mvt_calls *c = mvt_calls_new();

    for (uint64_t i = 1; i <= 12; i++) {
        mvt_call(c, MV_API_ALLOC_HOST, .addr = i << 20, .size = 1, .device = (int32_t)(i % 3));
        mvt_call(c, MV_API_ALLOC, .addr = (20 + i) << 20, .size = 100);
        mvt_call(c, MV_API_ALLOC_ARRAY, .handle = i, .size = 10000);
    }
    mvt_call(c, MV_API_FREE_HOST, .addr = 1 << 20);  /* the oldest entry of device 1 */
    mvt_call(c, MV_API_FREE_HOST, .addr = 7 << 20);  /* an entry between entries of other devices */
    mvt_call(c, MV_API_FREE_HOST, .addr = 10 << 20); /* the newest entry */
    mvt_call(c, MV_API_FREE, .addr = 22 << 20);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cudaDeviceReset", .device = 1);
    cr_assert_eq(held_at_end(c, MV_LOT_HOST).bytes, 8);
    expect_held(c, 11 * 100 + 12 * 10000, 23);
    mvt_call(c, MV_API_ALLOC_HOST, .addr = 1 << 20, .size = 1, .device = 1);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cudaDeviceReset");
    cr_assert_eq(held_at_end(c, MV_LOT_HOST).bytes, 5);
    expect_held(c, 0, 0);
}

/* A context from before the reset may be destroyed after it. */
Test(ledger, the_end_of_a_context_that_a_reset_ended_takes_nothing)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuCtxCreate_v2", .handle = 5);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cudaDeviceReset");
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 5, .device = -1);
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuCtxCreate_v2", .handle = 6);
    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 6, .device = -1);
    expect_held(c, 0, 0);
}

Test(ledger, only_the_last_context_takes_memory_with_it)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuCtxCreate_v2", .handle = 5);
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuCtxCreate_v2", .handle = 6);
    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 5, .device = -1);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 99, .device = -1);
    mvt_call(c, MV_API_ALLOC, .addr = 0x2000, .size = 10);
    expect_held(c, 110, 2);

    c = mvt_calls_new();
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuCtxCreate_v2", .handle = 5);
    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 5, .device = -1);
    mvt_call(c, MV_API_ALLOC, .addr = 0x2000, .size = 10);
    expect_held(c, 10, 1);
}

Test(ledger, the_primary_context_stays_until_a_reset)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuDevicePrimaryCtxRetain", .handle = 5);
    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_RELEASE, .api = "cuDevicePrimaryCtxRelease_v2");
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuCtxCreate_v2", .handle = 6);
    mvt_call(c, MV_API_CONTEXT_DESTROY, .api = "cuCtxDestroy_v2", .handle = 6, .device = -1);
    expect_held(c, 100, 1);
}

enum { KEYS = 12, CALLS = 4000 };

typedef struct {
    uint64_t alloc[KEYS];  /* by address; 0: none */
    uint64_t bytes[CALLS]; /* created memory, by the call that created it */
    int references[CALLS]; /* likewise */
    int created_by[KEYS];  /* by handle; -1: none */
    int mapped_by[KEYS];   /* by range; -1: none */
} obvious;

static uint64_t obvious_sum(const obvious *o)
{
    uint64_t sum = 0;

    for (int i = 0; i < KEYS; i++)
        sum += o->alloc[i];
    for (int call = 0; call < CALLS; call++) {
        bool kept = o->references[call] > 0;
        for (int i = 0; i < KEYS; i++)
            kept = kept || o->mapped_by[i] == call;
        sum += kept ? o->bytes[call] : 0;
    }
    return sum;
}

/* Makes a random call and applies it to both. Ranges are 0x100 long and 0x100 apart. */
static void random_call(mvt_calls *c, obvious *o, int call, unsigned *seed)
{
    int key = rand_r(seed) % KEYS, other = rand_r(seed) % KEYS;
    uint64_t size = (uint64_t)(rand_r(seed) % 1000 + 1), at = 0x10000 + (uint64_t)key * 0x100;

    switch (rand_r(seed) % 8) {
    case 0:
        mvt_call(c, MV_API_ALLOC, .addr = 0x1000 + (uint64_t)key, .size = size);
        o->alloc[key] = size;
        break;
    case 1:
        mvt_call(c, MV_API_FREE, .addr = 0x1000 + (uint64_t)key);
        o->alloc[key] = 0;
        break;
    case 2:
        if (o->created_by[key] >= 0)
            o->references[o->created_by[key]] = 0;
        mvt_call(c, MV_API_CREATE, .handle = (uint64_t)key + 1, .size = size);
        o->bytes[call] = size;
        o->references[call] = 1;
        o->created_by[key] = call;
        break;
    case 3:
        mvt_call(c, MV_API_RELEASE, .handle = (uint64_t)key + 1);
        if (o->created_by[key] >= 0 && --o->references[o->created_by[key]] == 0)
            o->created_by[key] = -1;
        break;
    case 4:
        mvt_call(c, MV_API_MAP, .handle = (uint64_t)other + 1, .addr = at, .size = 0x100);
        if (o->created_by[other] >= 0)
            o->mapped_by[key] = o->created_by[other];
        break;
    case 5:
        mvt_call(c, MV_API_UNMAP, .addr = at, .size = 0x200);
        if (o->mapped_by[key] >= 0) {
            o->mapped_by[key] = -1;
            if (key + 1 < KEYS)
                o->mapped_by[key + 1] = -1;
        }
        break;
    case 6: /* the handle at an address, which from now on is the memory's only name */
        if (o->created_by[key] >= 0 || o->mapped_by[other] < 0)
            break;
        mvt_call(c, MV_API_RETAIN, .handle = (uint64_t)key + 1,
                 .addr = 0x10000 + (uint64_t)other * 0x100 + size % 0x100);
        for (int i = 0; i < KEYS; i++)
            o->created_by[i] = o->created_by[i] == o->mapped_by[other] ? -1 : o->created_by[i];
        o->created_by[key] = o->mapped_by[other];
        o->references[o->created_by[key]]++;
        break;
    default:
        if (o->created_by[key] >= 0) {
            mvt_call(c, MV_API_RETAIN, .handle = (uint64_t)key + 1);
            o->references[o->created_by[key]]++;
        }
    }
}

Test(ledger, random_calls_equal_the_obvious_version)
{
    for (unsigned round = 0; round < 6; round++) {
        mvt_calls *c = mvt_calls_new();
        obvious *o = calloc(1, sizeof *o);
        unsigned seed = round;

        cr_assert_not_null(o);
        memset(o->created_by, -1, sizeof o->created_by);
        memset(o->mapped_by, -1, sizeof o->mapped_by);
        for (int call = 0; call < CALLS; call++)
            random_call(c, o, call, &seed);
        uint64_t want = obvious_sum(o);
        free(o);
        cr_assert_eq(held_at_end(c, MV_LOT_DEVICE).bytes, want);
    }
}

static mv_ledger ledger_of(mvt_calls *c, mv_ledger_query ask)
{
    const mv_trace *trace = mvt_calls_done(c);
    mv_ledger ledger;
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);

    mvt_ok(mv_ledger_find(mvt_memory(), trace, &lives, ask, &ledger, mvt_err()));
    return ledger;
}

/* The ranges of all devices count. */
Test(ledger, reserved_addresses_are_in_no_sum)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_RESERVE, .addr = 1 << 30, .size = 9 << 20);
    mvt_call(c, MV_API_RESERVE, .addr = 2u << 30, .size = 5 << 20, .device = 1);
    mvt_call(c, MV_API_UNRESERVE, .addr = 1 << 30, .size = 9 << 20);
    mvt_call(c, MV_API_UNRESERVE, .addr = 1 << 30, .size = 9 << 20);
    mvt_call(c, MV_API_RESERVE, .addr = 3u << 30, .size = 1ull << 47, .result = 2);
    mvt_call(c, MV_API_RESERVE, .addr = 2u << 30, .size = 6 << 20);
    mvt_call(c, MV_API_UNRESERVE, .addr = 2u << 30, .size = 6 << 20, .result = 1);
    mv_ledger ledger = ledger_of(c, (mv_ledger_query){.when = MV_LEDGER_END});
    cr_expect_eq(ledger.by_sum, 0);
    cr_expect_eq(ledger.addresses.held.bytes, 6 << 20);
    cr_expect_eq(ledger.addresses.held.count, 1);
    cr_expect_eq(ledger.addresses.peak, 14 << 20);
    cr_expect_eq(ledger.addresses.refused, 1);
}

/* A context of 500 MiB, then 100 MiB of PyTorch, code of 30 MiB, 60 MiB of NCCL, 7 MiB of unknown
 * origin, and then less again. `process` says whether the device reports processes. Other processes
 * use 1000 MiB. */
static mvt_calls *training(bool process)
{
    static const uint64_t used[] = {0, 500, 600, 630, 697, 697, 637};
    mvt_calls *c = mvt_calls_new();

#define SAMPLE(i) \
    mvt_sample(c, .used = (1000 + used[i]) * MIB, .process = process && used[i] ? used[i] * MIB : 0)
    SAMPLE(0);
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuDevicePrimaryCtxRetain");
    SAMPLE(1);
    mvt_call(c, MV_API_ALLOC, .addr = 1 << 20, .size = 60 * MIB, .function = "forward",
             .library = "/site-packages/torch/lib/libc10_cuda.so");
    mvt_call(c, MV_API_ALLOC, .addr = 2 << 20, .size = 40 * MIB, .function = "step",
             .library = "/site-packages/torch/lib/libc10_cuda.so");
    SAMPLE(2);
    mvt_call(c, MV_API_LOAD, .api = "cuLibraryLoadData");
    SAMPLE(3);
    mvt_call(c, MV_API_CREATE, .handle = 3, .size = 60 * MIB, .api = "cuMemCreate",
             .library = "/site-packages/nvidia/nccl/lib/libnccl.so.2");
    SAMPLE(4);
    SAMPLE(5);
    mvt_call(c, MV_API_RELEASE, .handle = 3);
    SAMPLE(6);
#undef SAMPLE
    return c;
}

static void expect_sums(const mv_ledger *ledger)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < ledger->count; i++)
        sum += ledger->by[i].bytes;
    cr_assert_eq(sum, ledger->by_sum);
    cr_assert_eq(sum + (uint64_t)ledger->context_estimate + (uint64_t)ledger->unexplained,
                 ledger->used);
}

/* Without figures of processes, the use of the device less earlier use counts. */
Test(ledger, rows_context_and_the_rest_add_up_to_the_use_of_the_process)
{
    char name[MV_LIBRARY_NAME];

    for (int process = 0; process < 2; process++) {
        mv_ledger ledger =
            ledger_of(training(process), (mv_ledger_query){.when = MV_LEDGER_MOST_USED});

        expect_sums(&ledger);
        cr_assert_eq(ledger.is_process, process);
        cr_assert_eq(ledger.used, 697 * MIB);
        cr_assert_eq(ledger.context_estimate, (int64_t)(530 * MIB));
        cr_assert_eq(ledger.unexplained, (int64_t)(7 * MIB));
        cr_assert_eq(ledger.others, 1000 * MIB);
        cr_assert_eq(ledger.count, 2);
        cr_assert_eq(ledger.by[0].bytes, 100 * MIB);
        cr_assert_eq(ledger.by[0].count, 2);
        cr_assert(ledger.by[0].is_framework);
    }
    cr_assert_str_eq(mv_library_name("/site-packages/nvidia/nccl/lib/libnccl.so.2", name), "NCCL");
}

/* The sample 100 ms before shows the growth. The sample before that one stays unchanged. */
Test(ledger, code_that_is_being_loaded_at_a_sample_counts_as_code)
{
    mvt_calls *c = mvt_calls_new();

    mvt_sample(c, .used = 1000 * MIB, .process = 100 * MIB, .time_us = 1000000);
    mvt_call(c, MV_API_ALLOC, .addr = 1 << 20, .size = 10 * MIB, .api = "cudaMalloc",
             .time_us = 1010000);
    mvt_sample(c, .used = 1110 * MIB, .process = 110 * MIB, .time_us = 1100000);
    mvt_sample(c, .used = 1120 * MIB, .process = 117 * MIB, .time_us = 1300000);
    mvt_sample(c, .used = 1140 * MIB, .process = 140 * MIB, .time_us = 1600000);
    mvt_call(c, MV_API_LOAD, .api = "cuLaunchKernel", .handle = 7, .time_us = 1660000);
    mvt_sample(c, .used = 1150 * MIB, .process = 150 * MIB, .time_us = 1700000);
    mv_ledger ledger = ledger_of(c, (mv_ledger_query){.when = MV_LEDGER_MOST_USED});
    expect_sums(&ledger);
    cr_assert_eq(ledger.context_estimate, (int64_t)((100 + 23 + 10) * MIB));
    cr_assert_eq(ledger.unexplained, (int64_t)(7 * MIB));
}

/* The device already has the memory of a call in progress, which is recorded only when it
 * returns. */
Test(ledger, memory_of_a_call_in_progress_is_not_context)
{
    mvt_calls *c = mvt_calls_new();

    mvt_sample(c, .used = 1000 * MIB, .process = 100 * MIB);
    mvt_call(c, MV_API_ALLOC, .addr = 1 << 20, .size = 10 * MIB, .api = "cudaMalloc");
    mvt_call(c, MV_API_LOAD, .api = "cuLaunchKernel", .handle = 7);
    mvt_sample(c, .used = 5150 * MIB, .process = 5150 * MIB); /* 40 MiB of code */
    mvt_call(c, MV_API_ALLOC, .addr = 2 << 20, .size = 5000 * MIB, .api = "cudaMalloc");
    mvt_sample(c, .used = 5150 * MIB, .process = 5150 * MIB);
    mv_ledger ledger = ledger_of(c, (mv_ledger_query){.when = MV_LEDGER_END});
    expect_sums(&ledger);
    cr_assert_eq(ledger.context_estimate, (int64_t)(140 * MIB));
    cr_assert_eq(ledger.unexplained, 0);
}

/* Two samples show 70 GiB during a call that allocates them, and two during a call that frees them.
 * Between these calls, the memory is held. The sample between them and the next call is
 * unchanged. */
static mvt_calls *big_calls(void)
{
    static const uint64_t used[] = {0, 520, 70520, 70520, 70540, 70540, 540, 540};
    mvt_calls *c = mvt_calls_new();

    for (int64_t i = 0; i < 8; i++) {
        int64_t at = 1000000 + i * 20000;
        mvt_sample(c, .used = (1000 + used[i]) * MIB, .process = used[i] * MIB, .time_us = at);
        if (i == 0)
            mvt_call(c, MV_API_ALLOC, .addr = 1 << 20, .size = 20 * MIB, .time_us = at + 5000);
        if (i == 1)
            mvt_call(c, MV_API_LOAD, .api = "cuLaunchKernel", .time_us = at + 1000);
        if (i == 3)
            mvt_call(c, MV_API_ALLOC, .addr = 2 << 20, .size = 70000 * MIB, .time_us = at + 5000);
        if (i == 4)
            mvt_call(c, MV_API_FREE, .addr = 2 << 20, .time_us = at - 1000);
    }
    return c;
}

Test(ledger, memory_of_a_call_in_progress_belongs_to_the_call)
{
    mvt_calls *c = big_calls();
    mv_ledger ledger = ledger_of(c, (mv_ledger_query){.when = MV_LEDGER_MOST_USED});

    expect_sums(&ledger);
    cr_expect_eq(ledger.by_sum, 70020 * MIB);
    cr_expect_eq(ledger.context_estimate, (int64_t)(500 * MIB));
    for (int64_t i = 0; i < 8; i++) {
        ledger = ledger_of(c, mv_ledger_at_time(mvt_calls_done(c), 0, 1000000 + i * 20000));
        expect_sums(&ledger);
        cr_expect(ledger.unexplained >= 0 && ledger.unexplained <= (int64_t)(20 * MIB),
                  "%lld: %lld", (long long)i, (long long)(ledger.unexplained >> 20));
    }
}

/* A call of 300 ms whose memory was in use on the device from the start. Nothing is sampled while
 * the driver works, so the next sample near the first one belongs to the same call. This was
 * measured with 112 GiB on an H200. */
Test(ledger, memory_of_a_long_call_belongs_to_the_call)
{
    static const int64_t at[] = {0, 60000, 80000, 120000, 440000, 480000};
    static const bool has[] = {false, false, true, true, false, false};
    mvt_calls *c = mvt_calls_new();

    for (uint64_t i = 0; i < 24; i++) {
        int64_t start = 1000000 + (int64_t)(i / 6) * 500000;
        uint64_t used = 620 + (has[i % 6] ? 114000 : 0);
        mvt_sample(c, .used = used * MIB, .process = used * MIB, .time_us = start + at[i % 6]);
        if (i == 0)
            mvt_call(c, MV_API_ALLOC, .addr = 1 << 20, .size = 20 * MIB, .time_us = start + 1000);
        if (i % 6 == 3)
            mvt_call(c, MV_API_ALLOC, .addr = 2 << 20, .size = 114000 * MIB,
                     .time_us = start + 430000);
        if (i % 6 == 3)
            mvt_call(c, MV_API_FREE, .addr = 2 << 20, .time_us = start + 430100);
    }
    for (int64_t i = 0; i < 4 * 6; i++) {
        int64_t time = 1000000 + i / 6 * 500000 + at[i % 6];
        mv_ledger ledger = ledger_of(c, mv_ledger_at_time(mvt_calls_done(c), 0, time));
        expect_sums(&ledger);
        cr_expect_eq(ledger.unexplained, 0, "%lld: %lld", (long long)i,
                     (long long)(ledger.unexplained >> 20));
    }
}

/* Calls between an event and the next one are not part of the state at that event. */
Test(ledger, calls_after_an_event_are_not_in_its_moment)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 1 << 20, .size = 20 * MIB);
    mvt_calls_event(c, MV_ACTION_SEGMENT_ALLOC, 1 << 20, 20 * MIB);
    mvt_call(c, MV_API_CREATE, .handle = 3, .size = 500 * MIB);
    mvt_calls_event(c, MV_ACTION_ALLOC, 1 << 20, MIB);
    mv_ledger ledger = ledger_of(c, mv_ledger_after_event(mvt_calls_done(c), 0, 0));
    cr_expect_eq(ledger.by_sum, 20 * MIB);
    ledger = ledger_of(c, mv_ledger_after_event(mvt_calls_done(c), 0, 1));
    cr_expect_eq(ledger.by_sum, 520 * MIB);
}

Test(ledger, the_end_is_after_the_last_call)
{
    mvt_calls *c = training(true);
    mv_ledger ledger = ledger_of(c, (mv_ledger_query){.when = MV_LEDGER_END});

    expect_sums(&ledger);
    cr_assert_eq(ledger.by_sum, 100 * MIB);
    cr_assert_eq(ledger.count, 1);
}

Test(ledger, a_row_names_the_stack_that_holds_most)
{
    mvt_calls *c = training(true);
    mv_ledger ledger = ledger_of(c, (mv_ledger_query){.when = MV_LEDGER_MOST_HELD});
    const mv_trace *trace = mvt_calls_done(c);
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, ledger.by[0].stack, &count);

    cr_assert_eq(count, 1);
    cr_assert_str_eq(mv_string_text(trace, trace->frames.function[frames[0].row]), "forward");
}

Test(ledger, without_samples_the_use_is_unknown)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 100);
    mvt_call(c, MV_API_ALLOC, .addr = 0x2000, .size = 100);
    mvt_call(c, MV_API_FREE, .addr = 0x1000);
    mv_ledger ledger = ledger_of(c, (mv_ledger_query){.when = MV_LEDGER_MOST_USED});
    cr_assert_eq(ledger.used, MV_NO_BYTES);
    cr_assert_not_null(ledger.why);
    cr_assert_eq(ledger.by_sum, 200, "the moment when most was held");
}

Test(ledger, the_command_reports_the_findings)
{
    mvt_calls *c = training(true);
    const char *path = mvt_temp_file(mvt_snapshot_of(mvt_memory(), mvt_calls_done(c)));
    const cJSON *device = mvt_member(mvt_json(0, "$MEMVIZ ledger --json %s", path), "devices.0");
    mvt_json_has(device, "device used framework_reserved by context_estimate unexplained at basis");
    cr_assert_eq(mvt_json_number(device, "used"), (double)(697 * MIB));
    cr_assert_eq(mvt_json_number(device, "unexplained"), (double)(7 * MIB));
    cr_assert_str_eq(mvt_json_text(device, "basis"), "process");
    const cJSON *row = mvt_member(device, "by.1");
    mvt_json_has(row, "library api bytes count frames");
    cr_assert_str_eq(mvt_json_text(row, "api"), "cuMemCreate");

    mvt_run run = mvt_here_or_sh("$MEMVIZ ledger %s", path);
    cr_assert_eq(run.status, 0);
    cr_assert(strncmp(run.out,
                      "device 0: 697 MiB used: PyTorch 100 MiB, NCCL 60.0 MiB, context and code "
                      "530 MiB, unexplained 7.00 MiB (1 %)\n",
                      60) == 0,
              "%s", run.out);
    run = mvt_here_or_sh("$MEMVIZ ledger --at 30 %s", path);
    cr_assert_eq(run.status, 1);
}

/* JSON shows what is unknown, and why. */
Test(ledger, a_snapshot_of_pytorch_has_no_calls)
{
    cJSON *report = mvt_json(1, "$MEMVIZ ledger --json $SNAPS/gpt_train.pickle 2>/dev/null");
    const cJSON *device = mvt_member(report, "devices.0");

    cr_assert(cJSON_IsNull(mvt_member(device, "used")));
    cr_assert_eq(cJSON_GetArraySize(mvt_member(device, "by")), 0);
    cr_assert_gt(mvt_json_number(device, "framework_reserved"), 0);
    cr_assert(strstr(mvt_json_text(device, "why"), "memviz run"));
}

Test(ledger, text_of_a_snapshot_explains_how_to_record)
{
    mvt_run run = mvt_here_or_sh("$MEMVIZ ledger $SNAPS/gpt_train.pickle");

    cr_expect_eq(run.status, 1);
    cr_expect_eq(run.out_length, 0);
    cr_expect(strstr(run.err, "this is a snapshot; record with `memviz run` to see"), "%s",
              run.err);
}
