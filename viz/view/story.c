#include "viz/view/story.h"

#include "analyze/within.h"

static bool covers(const mv_alloc_lives *a, uint32_t row, uint64_t addr)
{
    return a->addr[row] <= addr && addr - a->addr[row] < (a->block[row] ? a->block[row] : 1);
}

mv_code mv_story_find(mv_arena *arena, const mv_trace *trace, const mv_document_device *device,
                      uint32_t alloc, mv_story *out, mv_err *err)
{
    const mv_alloc_lives *a = &device->lives.allocs;
    uint64_t addr = a->addr[alloc];
    mv_string_id *within = mv_within_find(arena, trace, device->device, &a->birth[alloc], 1);
    uint32_t skipped;

    *out = (mv_story){.alloc = alloc};
    for (uint32_t i = 0; i < a->count; i++) {
        out->version += i <= alloc && a->addr[i] == addr && a->birth[i] != MV_BEFORE;
        out->covered += covers(a, i, addr);
    }
    out->count = out->covered < MV_STORY_MOST ? out->covered : MV_STORY_MOST;
    out->history = mv_push_array(arena, uint32_t, out->count);
    if (!out->history || !within)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "history of an address");
    out->within = *within;
    skipped = out->covered - out->count;
    out->count = 0;
    for (uint32_t i = 0; i < a->count; i++)
        if (covers(a, i, addr) && (skipped == 0 || skipped-- == 0))
            out->history[out->count++] = i;
    out->total = mv_index_bytes(&device->index, device->index.count, a->birth[alloc]);
    return MV_OK;
}
