#include "analyze/ranks/summary.h"

#include "analyze/diff/pairs.h"
#include "analyze/events/recorder.h"
#include "analyze/lives/alive.h"
#include "analyze/lives/lives_window.h"
#include "analyze/ranks/summary_code.h"
#include "analyze/totals/moment.h"
#include "base/sort.h"
#include "parse/model/build.h"
#include "parse/model/living.h"

typedef struct {
    const mv_trace *trace;
    mv_sites sites;
    uint64_t *keys;         /* [sites.count] */
    mv_summary_site *site;  /* [sites.count] */
    mv_stack_id leak_stack; /* stack of the largest leak, in `trace` */
} summary_state;

bool mv_device_is_used(const mv_trace *trace, uint32_t device)
{
    if (mv_trace_events(trace, device).count > 0)
        return true;
    for (uint32_t i = 0; i < trace->segments.count; i++)
        if (trace->segments.device[i] == (int32_t)device)
            return true;
    return false;
}

/* ---- keys -------------------------------------------------------------------------------- */

/* Returns the key of a site. If there are Python frames, only these are used, because different
 * kernels may have different native frames. */
static uint64_t site_key(const mv_sites *sites, const mv_trace *trace, uint32_t site)
{
    mv_frame_kind most = sites->depth[site] == UINT32_MAX ? MV_FRAME_NOISE : MV_FRAME_FRAMEWORK;
    uint64_t hash = sites->stack[site].row == MV_NO_STACK.row ? 1 : 2;
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, sites->stack[site], &count);

    for (uint32_t i = 0; i < count; i++)
        if (sites->kinds[frames[i].row] <= most)
            hash = mv_pair_mix(hash, mv_pair_mix_frame(1, trace, frames[i]));
    return mv_pair_key(hash);
}

/* ---- sites ------------------------------------------------------------------------------- */

/* Counts requests of a size. If there is no room for the size, it replaces the size with the fewest
 * bytes, provided that the new size has more. */
static void count_size(mv_summary_site *site, uint64_t size, uint32_t times)
{
    uint32_t least = 0;

    if (size == 0)
        return;
    for (uint32_t i = 0; i < MV_SUMMARY_SIZES; i++) {
        if (site->times[i] == 0 || site->size[i] == size) {
            site->size[i] = size;
            site->times[i] += times;
            return;
        }
        if (site->size[i] * site->times[i] < site->size[least] * site->times[least])
            least = i;
    }
    if (site->size[least] * site->times[least] < size * times) {
        site->size[least] = size;
        site->times[least] = times;
    }
}

static bool count_sites(mv_arena *scratch, summary_state *m, const mv_lives *lives, uint32_t peak)
{
    const mv_alloc_lives *a = &lives->allocs;

    m->site = mv_push_array(scratch, mv_summary_site, m->sites.count);
    if (!m->site)
        return false;
    for (uint32_t i = 0; i < m->sites.count; i++) {
        m->site[i].stack = m->sites.stack[i];
        m->site[i].key = site_key(&m->sites, m->trace, i);
    }
    for (uint32_t i = 0; i < a->count; i++) {
        mv_summary_site *site = &m->site[mv_site_of(&m->sites, a->stack[i])];
        if (i >= a->preexisting) {
            site->allocs++;
            site->requested += a->requested[i];
            count_size(site, a->requested[i], 1);
        }
        if (mv_alloc_is_allocated(lives, i, peak)) {
            site->peak_bytes += a->block[i];
            site->peak_blocks++;
        }
    }
    return true;
}

/* Joins sites that have equal keys because files in several folders have the same name. */
static uint32_t join_keys(mv_arena *scratch, mv_summary_site *site, uint32_t count)
{
    uint32_t kept = 0;

    mv_sort_rows(scratch, site, count, MV_RISING(mv_summary_site, key));
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && site[kept - 1].key == site[i].key) {
            site[kept - 1].peak_bytes += site[i].peak_bytes;
            site[kept - 1].peak_blocks += site[i].peak_blocks;
            site[kept - 1].allocs += site[i].allocs;
            site[kept - 1].requested += site[i].requested;
            for (int k = 0; k < MV_SUMMARY_SIZES; k++)
                count_size(&site[kept - 1], site[i].size[k], site[i].times[k]);
        } else if (site[i].allocs || site[i].peak_bytes) {
            site[kept++] = site[i];
        }
    }
    return kept;
}

/* ---- the sequence ------------------------------------------------------------------------ */

static bool find_points(mv_arena *arena, summary_state *m, const mv_lives *lives, uint32_t most,
                        mv_summary *out)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t allocs = a->count - a->preexisting, stride = 0;
    mv_summary_point now = {0};

    while (allocs >> stride > most)
        stride++;
    out->allocs = allocs;
    out->stride = stride;
    out->point = mv_push_array(arena, mv_summary_point, allocs >> stride);
    if (!out->point)
        return false;
    for (uint32_t i = 0; i < allocs; i++) {
        uint32_t row = a->preexisting + i;
        uint64_t key = m->keys[mv_site_of(&m->sites, a->stack[row])];
        now.key = key;
        now.size = a->requested[row];
        now.event = a->birth[row];
        now.shape = mv_pair_mix(now.shape, key);
        now.chain = mv_pair_mix(mv_pair_mix(now.chain, key), now.size);
        if (((i + 1) & ((1u << stride) - 1)) == 0)
            out->point[out->points++] = now;
    }
    out->end = now;
    return true;
}

/* ---- code -------------------------------------------------------------------------------- */

static mv_string_id copy_string(mv_build *b, const mv_trace *trace, mv_string_id id)
{
    mv_span text = mv_string_span(trace, id);

    if (id.row == MV_NO_ROW)
        return MV_NO_STRING;
    return mv_build_string(b, (const char *)text.data, text.length);
}

static mv_stack_id copy_stack(mv_build *b, mv_arena *scratch, const mv_trace *trace,
                              mv_stack_id stack)
{
    mv_arena_mark here = mv_arena_here(scratch);
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);
    mv_frame_id *copies = mv_push_array(scratch, mv_frame_id, count);
    mv_stack_id copy = MV_NO_STACK;

    if (stack.row == MV_NO_STACK.row)
        return stack;
    for (uint32_t i = 0; copies && i < count; i++) {
        mv_frame_row row = MV_FRAME_ROW;
        row.function = copy_string(b, trace, trace->frames.function[frames[i].row]);
        row.file = copy_string(b, trace, trace->frames.file[frames[i].row]);
        row.line = trace->frames.line[frames[i].row];
        copies[i] = mv_build_frame(b, &row);
    }
    if (copies)
        copy = mv_build_stack(b, copies, count);
    else
        b->code = MV_NOMEM;
    mv_arena_rewind(scratch, here);
    return copy;
}

static mv_code copy_code(mv_arena *arena, mv_arena *scratch, const summary_state *m,
                         mv_summary *out, mv_err *err)
{
    mv_trace code;
    mv_build build;
    mv_code status;

    mv_build_init(&build, scratch, &code);
    for (uint32_t i = 0; i < out->sites; i++)
        out->site[i].stack = copy_stack(&build, scratch, m->trace, out->site[i].stack);
    out->leak_stack = copy_stack(&build, scratch, m->trace, m->leak_stack);
    status = mv_build_finish(&build, &(mv_build_ranges){0}, err);
    if (status != MV_OK)
        return status;
    out->code = mv_code_copy(arena, &code);
    return out->code ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "summary");
}

/* ---- whole summaries --------------------------------------------------------------------- */

/* Finds the levels of the whole trace. */
static mv_code find_levels(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                           mv_summary *out, uint32_t *peak, mv_err *err)
{
    mv_totals totals;
    mv_code code = mv_totals_find(scratch, trace, lives, &totals, err);

    if (code != MV_OK)
        return code;
    out->peak_allocated = totals.peak.bytes.allocated;
    out->peak_reserved = totals.peak.bytes.reserved;
    out->end_allocated = totals.current.bytes.allocated;
    out->allocated = totals.audit.peak.allocated;
    out->reserved = totals.audit.peak.reserved;
    *peak = totals.peak.allocated_event;
    return MV_OK;
}

/* Finds the levels of a window, which does not include the final heap. */
static mv_code find_window_levels(mv_arena *scratch, const mv_lives *lives, mv_summary *out,
                                  uint32_t *peak, mv_err *err)
{
    mv_moment_query ask = {.kind = MV_MOMENT_PEAK, .window = {0, lives->events.count}};
    uint32_t last = lives->events.count ? lives->events.count - 1 : MV_BEFORE;
    mv_moment allocated, reserved;
    mv_bounds bounds;
    mv_code code = mv_moment_find(scratch, lives, ask, &allocated, err);

    ask.kind = MV_MOMENT_RESERVED_PEAK;
    if (code == MV_OK)
        code = mv_moment_find(scratch, lives, ask, &reserved, err);
    if (code != MV_OK)
        return code;
    out->peak_allocated = allocated.bytes.allocated;
    out->peak_reserved = reserved.bytes.reserved;
    out->end_allocated = mv_moment_levels(lives, last).allocated;
    bounds = mv_bounds_within(lives);
    out->allocated = bounds.allocated;
    out->reserved = bounds.reserved;
    *peak = allocated.event;
    return MV_OK;
}

static mv_code find_facts(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                          summary_state *m, mv_summary *out, uint32_t *peak, mv_err *err)
{
    bool is_whole = lives->events.count == mv_trace_events(trace, lives->device).count;
    mv_leaks leaks;
    mv_code code = is_whole ? find_levels(scratch, trace, lives, out, peak, err)
                            : find_window_levels(scratch, lives, out, peak, err);

    if (code == MV_OK)
        code = mv_leaks_find(scratch, trace, lives, &leaks, err);
    if (code != MV_OK)
        return code;
    out->history = lives->history;
    out->verdict = leaks.verdict;
    out->steps_source = leaks.steps.source;
    out->steps = leaks.steps.count;
    out->events = lives->events.count;
    for (uint32_t i = 0; i < lives->events.count; i++)
        out->ooms += lives->events.action[i] == MV_ACTION_OOM;
    out->leaked_bytes = leaks.leaked_bytes;
    m->leak_stack = leaks.count ? leaks.leaks[0].stack : MV_NO_STACK;
    return MV_OK;
}

static bool keep_sites(mv_arena *arena, mv_arena *scratch, summary_state *m, mv_summary *out)
{
    uint32_t count = join_keys(scratch, m->site, m->sites.count);

    out->is_cut = count > MV_SUMMARY_SITES;
    out->sites = out->is_cut ? MV_SUMMARY_SITES : count;
    out->site = mv_push_array(arena, mv_summary_site, out->sites);
    if (!out->site)
        return false;
    if (out->is_cut) {
        mv_sort_rows(scratch, m->site, count, MV_FALLING(mv_summary_site, peak_bytes),
                     MV_FALLING(mv_summary_site, requested), MV_RISING(mv_summary_site, key));
        mv_sort_rows(scratch, m->site, out->sites, MV_RISING(mv_summary_site, key));
    }
    memcpy(out->site, m->site, out->sites * sizeof *m->site);
    return true;
}

/* Renumbers events of a window to the numbers that they have in the trace. */
static void renumber(mv_summary *out, uint32_t first)
{
    for (uint32_t i = 0; i < out->points; i++)
        out->point[i].event += first;
    if (out->allocs)
        out->end.event += first;
}

static mv_code make(mv_arena *arena, mv_arena *scratch, const mv_trace *trace, uint32_t device,
                    mv_window window, uint32_t most_points, mv_summary *out, mv_err *err)
{
    summary_state m = {.trace = trace};
    mv_lives whole, lives;
    uint32_t peak = MV_BEFORE;
    mv_code code = mv_lives_find(scratch, trace, device, &whole, err);

    if (code == MV_OK)
        code = mv_lives_within(scratch, &whole, window, &lives, err);
    if (code == MV_OK)
        code = find_facts(scratch, trace, &lives, &m, out, &peak, err);
    if (code == MV_OK)
        code = mv_sites_find(scratch, trace, &m.sites, err);
    if (code != MV_OK)
        return code;
    m.keys = mv_push_array(scratch, uint64_t, m.sites.count);
    if (!m.keys || !count_sites(scratch, &m, &lives, peak))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "summary");
    for (uint32_t i = 0; i < m.sites.count; i++)
        m.keys[i] = m.site[i].key;
    if (!find_points(arena, &m, &lives, most_points, out) || !keep_sites(arena, scratch, &m, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "summary");
    renumber(out, mv_event_number(trace, device, window.first));
    return copy_code(arena, scratch, &m, out, err);
}

mv_code mv_summary_make(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_window window,
                        uint32_t most_points, const char *name, mv_summary *out, mv_err *err)
{
    mv_arena scratch;
    mv_code code;

    *out = (mv_summary){.name = name,
                        .device = device,
                        .is_missing_reserved = mv_trace_is_missing_reserved(trace),
                        .is_missing_failures = mv_recorder_of(trace)->is_missing_failures,
                        .leak_stack = MV_NO_STACK};
    mv_arena_init(&scratch, arena->budget);
    code = make(arena, &scratch, trace, device, window, most_points, out, err);
    mv_arena_release(&scratch);
    return code;
}

const mv_summary_site *mv_summary_find(const mv_summary *summary, uint64_t key)
{
    mv_bisect b = mv_bisect_over(0, summary->sites);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, summary->site[b.middle].key < key);
    return b.low < summary->sites && summary->site[b.low].key == key ? &summary->site[b.low] : NULL;
}

mv_rank_place *mv_summary_places(mv_arena *arena, const mv_summary *const *summaries,
                                 uint32_t count)
{
    mv_rank_place *places = mv_push_array(arena, mv_rank_place, count);

    for (uint32_t i = 0; places && i < count; i++)
        places[i] = (mv_rank_place){summaries[i]->name, summaries[i]->device};
    return places;
}
