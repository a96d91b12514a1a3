#include "analyze/replay/release.h"

#include "analyze/lives/block_size.h"
#include "parse/model/digest.h"

#include <stdio.h>

/* The presence of a key in a file. NO is used only if a release that has the key would have written
 * it. */
typedef enum { UNSEEN, NO, YES } seen;

typedef struct {
    seen dict, history, requested, pool, addresses, time, settings, annotations, context, metadata,
        forward, event_pool, host, annotate, internal, mapped;
} evidence;

/* The releases for which each key or action is evidence. `since` is the first release that writes
 * it, and `until` is the last release; 0: all later releases. Source: PyTorch's code of these
 * releases, and the pull requests named below. */
static const struct {
    size_t seen; /* offset in `evidence` */
    uint32_t since, until;
    bool always; /* every release at or after `since` writes it whenever it applies */
} facts[] = {
#define FACT(field, since, until, always)               \
    {                                                   \
        offsetof(evidence, field), since, until, always \
    }
    FACT(dict, 200, 0, false),       /* _snapshot(): Module.cpp 2.0; earlier, memory_snapshot()
                                      * returns a list */
    FACT(history, 113, 200, false),  /* blocks[].history: Module.cpp 1.13, 2.0; only if recorded */
    FACT(requested, 200, 0, true),   /* requested_size of segments: Module.cpp 2.0 */
    FACT(pool, 201, 0, true),        /* segment_pool_id: absent in 2.0, present in 2.4's tree */
    FACT(addresses, 201, 0, true),   /* address of blocks: as segment_pool_id */
    FACT(mapped, 201, 0, false),     /* segment_map: CUDACachingAllocator.cpp 2.1 */
    FACT(time, 202, 0, true),        /* time_us: PR 112266, October 2023 */
    FACT(settings, 203, 0, true),    /* allocator_settings: PR 119404, February 2024 */
    FACT(annotations, 205, 0, true), /* external_annotations: PR 130964, July 2024 */
    FACT(context, 208, 0, true),     /* compile_context: PR 152707, May 2025 */
    FACT(metadata, 210, 0, true),    /* user_metadata: PR 165490, October 2025 */
    FACT(forward, 211, 0, false),    /* forward_frames: in 2.12's tree, not in 2.10's */
    FACT(event_pool, 212, 0, true),  /* pool_id of events: PR 177717; absent in 2.11.0's files */
    FACT(host, 213, 0, false),       /* host_segments: PR 182407, May 2026 */
    FACT(annotate, 214, 0, false),   /* action annotate: PR 190575, July 2026 */
    FACT(internal, 215, 0, false),   /* internal_metadata: PR 193432, August 2026 */
#undef FACT
};

static seen seen_if(bool there)
{
    return there ? YES : NO;
}

static void look_at_heap(const mv_trace *t, evidence *e)
{
    const mv_segments *s = &t->segments;
    bool pool = false, requested = false;

    if (s->count == 0)
        return;
    for (uint32_t i = 0; i < s->count; i++) {
        pool = pool || s->pool[i].row != MV_NO_ROW;
        requested = requested || s->requested[i] != MV_NO_BYTES;
    }
    e->pool = seen_if(pool);
    e->requested = seen_if(requested);
    if (t->blocks.count > 0)
        e->addresses = seen_if(mv_trace_had_key(t, MV_KEY_BLOCK_ADDRESS));
}

static void look_at_events(const mv_trace *t, evidence *e)
{
    for (uint32_t d = 0; d < t->device_count; d++)
        if (t->devices[d].events.count > 0)
            e->time = seen_if(mv_trace_has_times(t));
    if (mv_trace_has_action(t, MV_ACTION_SEGMENT_MAP))
        e->mapped = YES;
    if (mv_trace_has_action(t, MV_ACTION_ANNOTATE))
        e->annotate = YES;
    if (e->time == UNSEEN)
        return;
    e->context = e->metadata = e->event_pool = NO;
    for (uint32_t i = 0; i < t->tags.count; i++) {
        if (t->tags.compile_context[i].row != MV_NO_ROW)
            e->context = YES;
        if (t->tags.user_metadata[i].row != MV_NO_ROW)
            e->metadata = YES;
        if (t->tags.internal_metadata[i].row != MV_NO_ROW)
            e->internal = YES;
        if (t->tags.forward[i].row != MV_NO_ROW)
            e->forward = YES;
        if (t->tags.pool[i].row != MV_NO_ROW)
            e->event_pool = YES;
    }
}

static evidence evidence_of(const mv_trace *t)
{
    bool is_dict = t->notes[MV_NOTE_LIST_ROOT].count == 0;
    evidence e = {.dict = is_dict ? YES : UNSEEN, .history = t->history.count > 0 ? YES : UNSEEN};

    look_at_heap(t, &e);
    look_at_events(t, &e);
    if (!is_dict)
        return e;
    e.settings = seen_if(mv_trace_had_key(t, MV_KEY_SETTINGS));
    if (t->keys & MV_KEYS_KNOWN || t->annotations.count > 0)
        e.annotations = seen_if(mv_trace_had_key(t, MV_KEY_ANNOTATIONS));
    e.host = mv_trace_had_key(t, MV_KEY_HOST) ? YES : UNSEEN;
    return e;
}

/* Returns the release that precedes another. */
static uint32_t before(uint32_t release)
{
    return release == 200 ? 113 : release - 1;
}

static mv_release narrow(const evidence *e)
{
    mv_release r = {.kind = MV_WRITER_PYTORCH};
    uint32_t last = UINT32_MAX;

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        seen is_there = *(const seen *)(const void *)((const char *)e + facts[i].seen);
        if (is_there == YES && facts[i].since > r.first)
            r.first = facts[i].since;
        if (is_there == YES && facts[i].until && facts[i].until < last)
            last = facts[i].until;
        if (is_there == NO && facts[i].always && before(facts[i].since) < last)
            last = before(facts[i].since);
    }
    r.last = last == UINT32_MAX ? 0 : last;
    if (r.last && r.first > r.last)
        r.first = r.last = 0;
    return r;
}

static bool is_profile(const mv_trace *t)
{
    for (uint32_t i = 0; i < t->tags.count; i++)
        if (t->tags.category[i].row != MV_NO_ROW)
            return true;
    return false;
}

mv_release mv_release_of(const mv_trace *trace)
{
    evidence e;

    if (mv_trace_is_captured(trace))
        return (mv_release){.kind = MV_WRITER_MEMVIZ};
    if (mv_trace_allocator(trace))
        return (mv_release){.kind = MV_WRITER_OTHER};
    if (is_profile(trace))
        return (mv_release){.kind = MV_WRITER_PROFILER};
    if (mv_setting_find(trace, NULL, "PYTORCH_ALLOC_CONF") != MV_NO_ROW)
        return (mv_release){.kind = MV_WRITER_XPU}; /* xpu/Module.cpp, PR 169203 */
    if (mv_rounding_of(trace).is_npu)
        return (mv_release){.kind = MV_WRITER_NPU};
    e = evidence_of(trace);
    return narrow(&e);
}

const char *mv_release_conf(const mv_trace *trace)
{
    enum { RENAMED = 209 };
    mv_release r = mv_release_of(trace);

    if (r.kind == MV_WRITER_NPU)
        return "PYTORCH_NPU_ALLOC_CONF";
    return r.kind == MV_WRITER_XPU || r.first >= RENAMED ? "PYTORCH_ALLOC_CONF"
                                                         : "PYTORCH_CUDA_ALLOC_CONF";
}

static void add_number(char text[MV_RELEASE_TEXT], uint32_t release)
{
    size_t length = strlen(text);

    snprintf(text + length, MV_RELEASE_TEXT - length, "%u.%u", release / 100, release % 100);
}

const char *mv_release_text(char text[MV_RELEASE_TEXT], mv_release release)
{
    static const char *const others[] = {
        [MV_WRITER_MEMVIZ] = "",       [MV_WRITER_PROFILER] = "",
        [MV_WRITER_NPU] = "torch_npu", [MV_WRITER_XPU] = "PyTorch for XPU, 2.11 or later",
        [MV_WRITER_OTHER] = "",
    };
    const char *end = "";

    snprintf(text, MV_RELEASE_TEXT, "%s",
             release.kind == MV_WRITER_PYTORCH ? "PyTorch " : others[release.kind]);
    if (release.kind != MV_WRITER_PYTORCH)
        return text;
    if (release.first == 0 && release.last == 0) {
        text[0] = 0;
        return text;
    }
    add_number(text, release.first ? release.first : release.last);
    if (release.first == 0)
        end = " or earlier";
    else if (release.last == 0)
        end = " or later";
    snprintf(text + strlen(text), MV_RELEASE_TEXT - strlen(text), "%s", end);
    if (release.first && release.last && release.first != release.last) {
        snprintf(text + strlen(text), MV_RELEASE_TEXT - strlen(text), " to ");
        add_number(text, release.last);
    }
    return text;
}
