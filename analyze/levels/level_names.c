#include <stdio.h>

#include "analyze/events/recorder.h"
#include "analyze/ledger/holdings.h"
#include "analyze/levels/levels.h"
#include "base/numbers.h"

static const char *const names[] = {[MV_LEVEL_DEFAULT] = "default",
                                    [MV_LEVEL_PYTORCH] = "pytorch",
                                    [MV_LEVEL_CUDA] = "cuda",
                                    [MV_LEVEL_HOST] = "host",
                                    [MV_LEVEL_ALL] = "all"};

bool mv_level_read(const mv_trace *trace, const char *text, mv_level *out)
{
    const mv_heap_calls *c = &trace->heap_calls;
    const char *own = mv_trace_allocator(trace);

    if (own) { /* another tool's file has the level of its allocator and the host level */
        *out = strcmp(text, own) == 0 ? MV_LEVEL_PYTORCH : MV_LEVEL_HOST;
        return strcmp(text, mv_level_name_of(trace, *out)) == 0;
    }
    for (unsigned i = MV_LEVEL_PYTORCH; i < MV_LEVEL_HEAP; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (mv_level)i;
            return true;
        }
    for (uint32_t i = 0; i < c->count; i++)
        if (c->heap[i].row != MV_NO_ROW && strcmp(mv_string_text(trace, c->heap[i]), text) == 0) {
            *out = mv_level_of_heap(c->heap[i]);
            return true;
        }
    return false;
}

const char *mv_level_name(mv_level level)
{
    return names[level];
}

const char *mv_level_name_of(const mv_trace *trace, mv_level level)
{
    if (level == MV_LEVEL_PYTORCH && mv_trace_allocator(trace))
        return mv_trace_allocator(trace);
    return level < MV_LEVEL_HEAP
               ? names[level]
               : mv_string_text(trace, (mv_string_id){(uint32_t)level - MV_LEVEL_HEAP});
}

/* ---- levels of a trace -------------------------------------------------------------------- */

static bool has_pytorch(const mv_trace *trace)
{
    for (uint32_t d = 0; d < trace->device_count; d++)
        if (trace->devices[d].events.count)
            return true;
    return trace->segments.count > 0;
}

static bool is_of_host(const mv_api_calls *c, uint32_t call)
{
    return mv_is_alloc(c->action[call]) &&
           (!mv_is_device_alloc(c->action[call]) || mv_is_on_host(c, call));
}

static bool has_calls(const mv_trace *trace, bool of_host)
{
    const mv_api_calls *c = &trace->api_calls;

    for (uint32_t i = 0; i < c->count; i++)
        if (c->result[i] == 0 && mv_is_alloc(c->action[i]) && is_of_host(c, i) == of_host)
            return true;
    return false;
}

/* Returns the first call that allocates in the heap or, for MV_LEVEL_DEFAULT, in any heap.
 * MV_NO_ROW if there is no such call. */
static uint32_t first_alloc(const mv_trace *trace, mv_level level)
{
    const mv_heap_calls *c = &trace->heap_calls;

    for (uint32_t i = 0; i < c->count; i++)
        if (c->action[i] == MV_HEAP_ALLOC && c->heap[i].row != MV_NO_ROW &&
            (level == MV_LEVEL_DEFAULT || mv_level_of_heap(c->heap[i]) == level))
            return i;
    return MV_NO_ROW;
}

bool mv_level_has(const mv_trace *trace, mv_level level)
{
    bool host = level == MV_LEVEL_HOST || level == MV_LEVEL_DEFAULT;
    bool cuda = level == MV_LEVEL_CUDA || level == MV_LEVEL_ALL || level == MV_LEVEL_DEFAULT;
    bool pytorch = level == MV_LEVEL_PYTORCH || level == MV_LEVEL_ALL || level == MV_LEVEL_DEFAULT;

    if ((level >= MV_LEVEL_HEAP || level == MV_LEVEL_DEFAULT) &&
        first_alloc(trace, level) != MV_NO_ROW)
        return true;
    return (pytorch && has_pytorch(trace)) || (cuda && has_calls(trace, false)) ||
           (host && (trace->host_segments.count > 0 || trace->host_events.count > 0 ||
                     has_calls(trace, true)));
}

mv_level mv_level_default(const mv_trace *trace)
{
    static const mv_level order[] = {MV_LEVEL_PYTORCH, MV_LEVEL_CUDA, MV_LEVEL_HOST};
    uint32_t heap;

    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        if (mv_level_has(trace, order[i]))
            return order[i];
    heap = first_alloc(trace, MV_LEVEL_DEFAULT);
    return heap == MV_NO_ROW ? MV_LEVEL_PYTORCH : mv_level_of_heap(trace->heap_calls.heap[heap]);
}

/* ---- levels by name ---------------------------------------------------------------------- */

static const char *const abouts[] = {
    [MV_LEVEL_DEFAULT] = "",
    [MV_LEVEL_PYTORCH] = "blocks of PyTorch's caching allocator",
    [MV_LEVEL_CUDA] = "memory requested from the device with CUDA calls",
    [MV_LEVEL_HOST] = "pinned host memory",
    [MV_LEVEL_ALL] = "the device: PyTorch's blocks, and all other memory",
    [MV_LEVEL_HEAP] = "blocks of an allocator registered with memviz_heap()"};

/* The messages for a file without memory of the level. */
static const char *const missing_texts[] = {
    [MV_LEVEL_DEFAULT] = "",
    [MV_LEVEL_PYTORCH] = "no memory of PyTorch's caching allocator",
    [MV_LEVEL_CUDA] = "no CUDA calls: memviz run records them",
    [MV_LEVEL_HOST] = "no pinned host memory",
    [MV_LEVEL_ALL] = "no memory of a device",
    [MV_LEVEL_HEAP] = "no block of that heap"};

const char *mv_level_about(const char *name)
{
    const mv_recorder *other = mv_recorder_named(name);
    mv_level level = MV_LEVEL_PYTORCH;

    while (level < MV_LEVEL_HEAP && strcmp(name, names[level]) != 0)
        level++;
    return other ? other->about : abouts[level];
}

bool mv_level_reserves(const mv_trace *trace)
{
    const char *level = trace->origin.level;

    return !level || strcmp(level, names[MV_LEVEL_ALL]) == 0 ||
           (strcmp(level, names[MV_LEVEL_PYTORCH]) == 0 && !mv_trace_is_missing_reserved(trace));
}

const char *mv_level_held(const mv_trace *trace)
{
    const char *level = trace->origin.level;

    if (level && strcmp(level, names[MV_LEVEL_CUDA]) == 0)
        return "held by CUDA calls";
    return mv_level_is_host(level) ? "pinned" : "allocated";
}

bool mv_level_is_host(const char *name)
{
    return name && strcmp(name, names[MV_LEVEL_HOST]) == 0;
}

/* Whether the device is the CPU, which in captures and JAX's profiles is numbered after the devices
 * that compute. */
static bool is_cpu(const mv_trace *trace, uint32_t device)
{
    const char *first = mv_fact_find(trace, MV_FACT_CPU_DEVICE);
    uint64_t number;

    return first && mv_number_read(first, &number) && device >= number;
}

const char *mv_level_place(const mv_trace *trace, uint32_t device, char out[MV_PLACE_TEXT])
{
    if (mv_level_is_host(trace->origin.level))
        snprintf(out, MV_PLACE_TEXT, "host");
    else
        snprintf(out, MV_PLACE_TEXT, "device %u%s", device, is_cpu(trace, device) ? " (CPU)" : "");
    return out;
}

const char *mv_level_missing_text(mv_level level)
{
    return missing_texts[level < MV_LEVEL_HEAP ? level : MV_LEVEL_HEAP];
}

static bool is_listed(const mv_level_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0)
            return true;
    return false;
}

/* Lists the heaps in order of their first blocks. */
static void list_heaps(const mv_trace *trace, mv_level_list *list)
{
    const mv_heap_calls *c = &trace->heap_calls;
    uint32_t last = MV_NO_ROW;

    for (uint32_t i = 0; i < c->count && list->count < MV_MOST_LEVELS; i++) {
        if (c->action[i] != MV_HEAP_ALLOC || c->heap[i].row == last || c->heap[i].row == MV_NO_ROW)
            continue;
        last = c->heap[i].row;
        if (!is_listed(list, mv_string_text(trace, c->heap[i])))
            list->name[list->count++] = mv_string_text(trace, c->heap[i]);
    }
}

mv_level_list mv_levels_of(const mv_trace *trace)
{
    mv_level_list list = {0};
    bool has_both = mv_level_has(trace, MV_LEVEL_PYTORCH) && mv_level_has(trace, MV_LEVEL_CUDA);

    for (mv_level level = MV_LEVEL_PYTORCH; level <= MV_LEVEL_ALL; level++)
        if (mv_level_has(trace, level) && (level != MV_LEVEL_ALL || has_both))
            list.name[list.count++] = mv_level_name_of(trace, level);
    list_heaps(trace, &list);
    return list;
}

/* "no level foo: this file has pytorch, cuda, all and cupy". */
static mv_code no_such_level(const mv_trace *trace, const char *name, mv_err *err)
{
    mv_level_list list = mv_levels_of(trace);
    char has[96] = "no memory";
    size_t at = 0;

    for (uint32_t i = 0; i < list.count && at < sizeof has; i++)
        at += (size_t)snprintf(has + at, sizeof has - at, "%s%s",
                               i == 0                ? ""
                               : i + 1 == list.count ? " and "
                                                     : ", ",
                               list.name[i]);
    return mv_fail(err, MV_ABSENT, MV_NO_OFFSET, "no level %.40s: this file has %s", name, has);
}

mv_code mv_level_take_named(mv_arena *arena, mv_trace *trace, const char *name, mv_err *err)
{
    mv_level level = MV_LEVEL_DEFAULT;
    bool is_named = name && *name;

    if (is_named && !mv_level_read(trace, name, &level))
        return no_such_level(trace, name, err);
    if (is_named && !mv_level_has(trace, level))
        return mv_fail(err, MV_ABSENT, MV_NO_OFFSET, "%s", mv_level_missing_text(level));
    return mv_level_take(arena, trace, level, err);
}
