/* Records NVTX's ranges and marks, using NVTX's injection. At its first NVTX call, a program opens
 * the library that NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2, which stores
 * functions in the tables through which NVTX makes its calls. `memviz run` sets the variable to
 * this library, unless it already names another tool.
 *
 * Except for handles and ids, all calls return the same results as without a tool. Each named
 * domain has a separate stack of ranges, so these are recorded as ranges with a number, and named
 * "DOMAIN: TEXT".
 *
 * XLA's domain "TSL" is not created, because XLA reports its ranges to its own profiler only if
 * NVTX does not have this domain, and JAX's profiles would otherwise lose the ranges. With
 * MEMVIZ_NVTX_ALL, "TSL" is created too.
 *
 * Source: the public headers of NVTX 3 (nvToolsExt.h, nvtxDetail/nvtxTypes.h). */
#include "capture/hooks/nvtx_text.h"
#include "capture/record/recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* nvtxEventAttributes_v2 */
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t color_kind;
    uint32_t color;
    int32_t payload_kind, reserved;
    uint64_t payload;
    int32_t message_kind; /* MESSAGE_... */
    const void *message;
} attributes;

static_assert(sizeof(attributes) == 48 && offsetof(attributes, message) == 40, "as NVTX has it");

enum { NO_TRACKING = -2 }; /* returned by push and pop when depths are not counted */
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { TABLE_CALLBACKS = 1 };

typedef void any_fn(void);

/* NvtxExportTableCallbacks */
typedef struct {
    size_t size;
    int (*get_module)(int module, any_fn ***table[1], unsigned *size);
} callbacks;

static atomic_uint_fast64_t last_number;

/* ---- recording ---- */

static void record(mv_live_event kind, const char *domain, mv_nvtx_text text, uint64_t number)
{
    char room[MV_NVTX_MOST_TEXT];
    mv_rec_visit visit;
    int kept = errno;

    if (mv_rec_enter(&visit)) {
        mv_rec_mark(kind, mv_nvtx_spell(domain, text, room), number);
        mv_rec_leave(&visit);
    }
    errno = kept;
}

static mv_nvtx_text plain(const char *text)
{
    return (mv_nvtx_text){.text = text};
}

static mv_nvtx_text wide(const wchar_t *text)
{
    return (mv_nvtx_text){.wide = text};
}

static mv_nvtx_text message_of(const attributes *of)
{
    return of && of->size >= sizeof *of ? mv_nvtx_message((uint32_t)of->message_kind, of->message)
                                        : plain("");
}

static uint64_t begin(const char *domain, mv_nvtx_text text)
{
    uint64_t number = atomic_fetch_add(&last_number, 1) + 1;

    record(MV_LIVE_EVENT_BEGIN, domain, text, number);
    return number;
}

static void end(uint64_t number)
{
    record(MV_LIVE_EVENT_END, NULL, plain(""), number);
}

/* Opens a range on this thread. Returns the range's number, or 0 if the range is not recorded. */
static uint64_t open_range(const char *domain)
{
    mv_open_ranges *open;
    mv_rec_visit visit;
    uint64_t number = 0;

    if (!mv_rec_enter(&visit))
        return 0;
    open = mv_rec_open_ranges();
    if (open->count == MV_REC_OPEN_RANGES) {
        open->deeper++;
    } else {
        number = atomic_fetch_add(&last_number, 1) + 1;
        open->at[open->count].domain = domain;
        open->at[open->count++].number = number;
    }
    mv_rec_leave(&visit);
    return number;
}

/* Closes the domain's innermost range. Returns the range's number, or 0 if no range is open. */
static uint64_t close_range(const char *domain)
{
    mv_open_ranges *open;
    mv_rec_visit visit;
    uint64_t number = 0;
    uint32_t at;

    if (!mv_rec_enter(&visit))
        return 0;
    open = mv_rec_open_ranges();
    at = open->deeper ? 0 : open->count;
    open->deeper -= open->deeper > 0;
    while (at > 0 && strcmp(open->at[at - 1].domain, domain) != 0)
        at--;
    if (at > 0) {
        number = open->at[at - 1].number;
        for (open->count--; at <= open->count; at++)
            open->at[at - 1] = open->at[at];
    }
    mv_rec_leave(&visit);
    return number;
}

static int push_in(const char *domain, mv_nvtx_text text)
{
    uint64_t number = domain ? open_range(domain) : 0;

    if (!domain)
        record(MV_LIVE_EVENT_PUSH, NULL, text, 0);
    else if (number)
        record(MV_LIVE_EVENT_BEGIN, domain, text, number);
    return NO_TRACKING;
}

static int pop_in(const char *domain)
{
    uint64_t number = domain ? close_range(domain) : 0;

    if (!domain)
        record(MV_LIVE_EVENT_POP, NULL, plain(""), 0);
    else if (number)
        end(number);
    return NO_TRACKING;
}

/* ---- callbacks: module CORE ---- */

static void mark_ex(const attributes *of)
{
    record(MV_LIVE_EVENT_MARK, NULL, message_of(of), 0);
}

static void mark_a(const char *text)
{
    record(MV_LIVE_EVENT_MARK, NULL, plain(text), 0);
}

static void mark_w(const wchar_t *text)
{
    record(MV_LIVE_EVENT_MARK, NULL, wide(text), 0);
}

static uint64_t start_ex(const attributes *of)
{
    return begin(NULL, message_of(of));
}

static uint64_t start_a(const char *text)
{
    return begin(NULL, plain(text));
}

static uint64_t start_w(const wchar_t *text)
{
    return begin(NULL, wide(text));
}

static int push_ex(const attributes *of)
{
    return push_in(NULL, message_of(of));
}

static int push_a(const char *text)
{
    return push_in(NULL, plain(text));
}

static int push_w(const wchar_t *text)
{
    return push_in(NULL, wide(text));
}

static int pop(void)
{
    return pop_in(NULL);
}

/* ---- callbacks: module CORE2, domains. A domain's handle is the shim's copy of its name. ---- */

static void domain_mark(const void *domain, const attributes *of)
{
    record(MV_LIVE_EVENT_MARK, mv_nvtx_kept(domain), message_of(of), 0);
}

static uint64_t domain_start(const void *domain, const attributes *of)
{
    return begin(mv_nvtx_kept(domain), message_of(of));
}

static void domain_end(const void *domain, uint64_t number)
{
    (void)domain;
    end(number);
}

static int domain_push(const void *domain, const attributes *of)
{
    return push_in(mv_nvtx_kept(domain), message_of(of));
}

static int domain_pop(const void *domain)
{
    return pop_in(mv_nvtx_kept(domain));
}

static const void *register_a(const void *domain, const char *text)
{
    (void)domain;
    return mv_nvtx_keep(plain(text));
}

static const void *register_w(const void *domain, const wchar_t *text)
{
    (void)domain;
    return mv_nvtx_keep(wide(text));
}

static bool has_all; /* MEMVIZ_NVTX_ALL */

static const void *create_a(const char *name)
{
    bool is_left_out = name && strcmp(name, "TSL") == 0 && !has_all;
    return is_left_out ? NULL : mv_nvtx_keep(plain(name));
}

static const void *create_w(const wchar_t *name)
{
    return mv_nvtx_keep(wide(name));
}

/* ---- the tables for NVTX ---- */

/* The functions, each at its index in NvtxCallbackIdCore or NvtxCallbackIdCore2. */
static any_fn *const core[] = {
    [1] = (any_fn *)mark_ex,  [2] = (any_fn *)mark_a,  [3] = (any_fn *)mark_w,
    [4] = (any_fn *)start_ex, [5] = (any_fn *)start_a, [6] = (any_fn *)start_w,
    [7] = (any_fn *)end,      [8] = (any_fn *)push_ex, [9] = (any_fn *)push_a,
    [10] = (any_fn *)push_w,  [11] = (any_fn *)pop,
};

static any_fn *const core2[] = {
    [1] = (any_fn *)domain_mark, [2] = (any_fn *)domain_start, [3] = (any_fn *)domain_end,
    [4] = (any_fn *)domain_push, [5] = (any_fn *)domain_pop,   [10] = (any_fn *)register_a,
    [11] = (any_fn *)register_w, [12] = (any_fn *)create_a,    [13] = (any_fn *)create_w,
};

static void fill(const callbacks *from, int module, any_fn *const *functions, unsigned count)
{
    any_fn ***table = NULL;
    unsigned size = 0;

    if (!from->get_module(module, &table, &size) || !table)
        return;
    for (unsigned i = 0; i < count && i < size; i++)
        if (functions[i] && table[i])
            *table[i] = functions[i];
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table));

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table))
{
    const callbacks *from = get_table ? get_table(TABLE_CALLBACKS) : NULL;

    if (!from || from->size < sizeof *from || !from->get_module)
        return 0;
    has_all = getenv("MEMVIZ_NVTX_ALL") != NULL;
    fill(from, MODULE_CORE, core, sizeof core / sizeof *core);
    fill(from, MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
    return 1;
}
