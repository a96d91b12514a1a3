/* Records heaps and regions of NVTX's memory extension. At its first call of the extension, a
 * program opens the library that NVTX_INJECTION64_PATH names and calls
 * InitializeInjectionNvtxExtension, which stores functions in the slots through which the extension
 * makes its calls. Slots for names of regions and for permissions stay empty, so these calls are
 * ignored.
 *
 * A heap's handle is its number. A region's handle is its address, so references by handle and by
 * address both refer to the newest region at that address.
 *
 * Source: the public headers of NVTX 3 (nvToolsExtMem.h, nvtxDetail/nvtxExtTypes.h,
 * nvtxDetail/nvtxExtImplMem_v1.h). */
#include "capture/hooks/heaps.h"
#include "capture/hooks/nvtx_text.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { MODULE_MEMORY = 1, COMPATIBLE = 0x0102, VIRTUAL_ADDRESS = 1 };

/* nvtxExtModuleSegment_t, nvtxExtModuleInfo_t */
typedef struct {
    size_t id, slot_count;
    intptr_t *slots;
} module_segment;

typedef struct {
    uint16_t nvtx_version, size, module, compatible;
    size_t segment_count;
    module_segment *segments;
    intptr_t (*get_export)(uint32_t);
    const void *info;
} module_info;

/* nvtxMemHeapDesc_v1 */
typedef struct {
    uint16_t compatible, size;
    uint32_t reserved, usage, type;
    size_t range_bytes;
    const void *range;
    uint32_t category, message_kind;
    const void *message;
} heap_description;

/* nvtxMemVirtualRangeDesc_v1 */
typedef struct {
    size_t bytes;
    const void *address;
} virtual_range;

/* nvtxMemRegionsRegisterBatch_v1, and nvtxMemRegionsResizeBatch_v1, which has no heap and no
 * handles */
typedef struct {
    uint16_t compatible, size;
    uint32_t type;
    const void *heap;
    size_t count, each_bytes;
    const void *ranges;
    const void **handles;
} register_batch;

typedef struct {
    uint16_t compatible, size;
    uint32_t type;
    size_t count, each_bytes;
    const void *ranges;
} resize_batch;

/* nvtxMemRegionsUnregisterBatch_v1 */
typedef struct {
    uint16_t compatible, size;
    uint32_t reference;
    size_t count, each_bytes;
    const void *references;
} unregister_batch;

static_assert(sizeof(heap_description) == 48 && offsetof(heap_description, message) == 40 &&
                  sizeof(register_batch) == 48 && sizeof(unregister_batch) == 32,
              "as NVTX has it");

/* ---- heaps ------------------------------------------------------------------------------- */

/* Heap numbers in use. Each registered heap needs a separate number, because a reset affects all
 * blocks with the same number. */
static atomic_bool is_taken[MV_HEAPS_MOST + 1];

/* Takes a number for a heap, whose name is made unique: "pool", "pool #2". */
static unsigned take_number(const char *name)
{
    char text[MV_NVTX_MOST_TEXT + 8];
    size_t length = strnlen(name, MV_HEAPS_NAME / 2);

    memcpy(text, name, length);
    text[length] = 0;
    for (unsigned same = 2;; same++) {
        unsigned number = mv_heaps_named(text), rest = same, at = 0;
        char digits[12];
        if (number == MV_HEAPS_MOST || !atomic_exchange(&is_taken[number], true))
            return number;
        for (; rest; rest /= 10)
            digits[at++] = (char)('0' + rest % 10);
        memcpy(text + length, " #", 2);
        for (unsigned i = 0; i < at; i++)
            text[length + 2 + i] = digits[at - 1 - i];
        text[length + 2 + at] = 0;
    }
}

/* Returns the number of a heap. Regions without a heap share one heap, which is named after
 * NVTX. */
static unsigned number_of(const void *heap)
{
    return heap ? (uintptr_t)heap <= MV_HEAPS_MOST ? (unsigned)(uintptr_t)heap : 0
                : mv_heaps_named("nvtx");
}

static const void *heap_register(const void *domain, const heap_description *of)
{
    char room[MV_NVTX_MOST_TEXT];
    const char *name = "";

    if (of && of->size >= sizeof *of)
        name = mv_nvtx_spell(NULL, mv_nvtx_message(of->message_kind, of->message), room);
    if (!*name && mv_nvtx_kept(domain))
        name = mv_nvtx_kept(domain);
    return (const void *)(uintptr_t)take_number(*name ? name : "nvtx heap");
}

static void reset(const void *heap, const void *caller)
{
    unsigned number = number_of(heap);

    /* The last number is shared by all remaining heaps. */
    if (number && number != MV_HEAPS_MOST)
        mv_heaps_report(number, MV_HEAP_RESET, NULL, 0, caller);
}

static void heap_reset(const void *domain, const void *heap)
{
    (void)domain;
    reset(heap, __builtin_return_address(0));
}

static void heap_unregister(const void *domain, const void *heap)
{
    (void)domain;
    if (!heap)
        return;
    reset(heap, __builtin_return_address(0));
    atomic_store(&is_taken[number_of(heap)], false);
}

/* ---- regions ----------------------------------------------------------------------------- */

static const void *element(const void *first, size_t each_bytes, size_t i)
{
    return (const char *)first + i * each_bytes;
}

static void regions_register(const void *domain, const register_batch *of)
{
    unsigned heap = of && of->size >= sizeof *of ? number_of(of->heap) : 0;

    (void)domain;
    if (!heap || of->type != VIRTUAL_ADDRESS || of->each_bytes < sizeof(virtual_range))
        return;
    for (size_t i = 0; i < of->count; i++) {
        const virtual_range *range = element(of->ranges, of->each_bytes, i);
        mv_heaps_report(heap, MV_HEAP_ALLOC, range->address, range->bytes,
                        __builtin_return_address(0));
        if (of->handles)
            of->handles[i] = range->address;
    }
}

static void regions_resize(const void *domain, const resize_batch *of)
{
    (void)domain;
    if (!of || of->size < sizeof *of || of->type != VIRTUAL_ADDRESS ||
        of->each_bytes < sizeof(virtual_range))
        return;
    for (size_t i = 0; i < of->count; i++) {
        const virtual_range *range = element(of->ranges, of->each_bytes, i);
        mv_heaps_report(0, MV_HEAP_RESIZE, range->address, range->bytes,
                        __builtin_return_address(0));
    }
}

static void regions_unregister(const void *domain, const unregister_batch *of)
{
    (void)domain;
    if (!of || of->size < sizeof *of || of->each_bytes < sizeof(const void *))
        return;
    for (size_t i = 0; i < of->count; i++) {
        const void *const *address = element(of->references, of->each_bytes, i);
        mv_heaps_report(0, MV_HEAP_FREE, *address, 0, __builtin_return_address(0));
    }
}

/* ---- the slots --------------------------------------------------------------------------- */

typedef void any_fn(void);

/* The functions, each at its index NVTX3EXT_CBID_nvtxMem... */
static any_fn *const functions[] = {
    [0] = (any_fn *)heap_register,  [1] = (any_fn *)heap_unregister,
    [2] = (any_fn *)heap_reset,     [3] = (any_fn *)regions_register,
    [4] = (any_fn *)regions_resize, [5] = (any_fn *)regions_unregister,
};

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(module_info *of);

int InitializeInjectionNvtxExtension(module_info *of)
{
    if (!of || of->size < sizeof *of || of->module != MODULE_MEMORY ||
        of->compatible != COMPATIBLE || of->segment_count == 0)
        return 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (i < of->segments[0].slot_count)
            of->segments[0].slots[i] = (intptr_t)functions[i];
    return 1;
}
