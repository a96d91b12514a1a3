/* libFuzzer target: any bytes as a pickle, with all analyses of the result, including traces that
 * no allocator could have written. */
#include "analyze/advice/headline.h"
#include "analyze/advice/triage.h"
#include "analyze/flame/flame.h"
#include "analyze/peak/lines.h"
#include "analyze/replay/release.h"
#include "analyze/totals/host_totals.h"
#include "parse/model/sums.h"
#include "tests/fixture/sweeps.h"
#include "tests/fuzz/target.h"

/* Finds the holders of memory at the peak. The sums must hold for any trace. */
static mv_code attribute(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_err *err)
{
    mv_peak_opts opts = {{0, lives->events.count}, mv_frame_kinds(arena, trace), NULL};
    mv_moment_query ask = {.kind = MV_MOMENT_PEAK, .window = opts.window};
    mv_attribution found;
    mv_peak_target target;
    mv_flame memory, segments;
    mv_lines lines;
    mv_moment at;

    if (!opts.kinds)
        return err->code = MV_NOMEM;
    if (mv_moment_find(arena, lives, ask, &at, err) != MV_OK ||
        mv_peak_attribute(arena, trace, lives, at, opts, &found, err) != MV_OK ||
        mv_peak_reach(arena, &found, (mv_peak_aim){found.peak / 2, MV_BOUND_EXACT}, &target, err) !=
            MV_OK ||
        mv_lines_find(arena, trace, lives, opts.kinds, opts.window, &lines, err) != MV_OK ||
        mv_flame_memory(arena, lives, at.event, NULL, &memory, err) != MV_OK ||
        mv_flame_segments(arena, trace, lives, at.event, NULL, NULL, &segments, err) != MV_OK)
        return err->code;
    uint64_t sum = found.unattributed;
    for (uint32_t i = 0; i < found.count; i++)
        sum += found.sites[i].bytes;
    if (sum != at.bytes.allocated || found.peak != at.bytes.allocated)
        mvt_finding("the sites do not add up to the peak", "");
    for (uint32_t i = 0; i < memory.count; i++)
        sum -= memory.rows[i].bytes;
    if (sum != 0)
        mvt_finding("the stacks do not add up to the peak", "");
    return MV_OK;
}

/* Every grouping must contain each allocation exactly once. */
static mv_code group(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_err *err)
{
    const uint8_t *kinds = mv_frame_kinds(arena, trace);
    mv_moment_query ask = {.kind = MV_MOMENT_PEAK, .window = {0, lives->events.count}};
    mv_moment at;

    if (!kinds)
        return err->code = MV_NOMEM;
    if (mv_moment_find(arena, lives, ask, &at, err) != MV_OK)
        return err->code;
    for (int by = 0; by < MV_BY_COUNT; by++) {
        mv_grouping grouping;
        mv_group_rows rows;
        mv_lines lines;
        uint64_t sum = 0;
        if (mv_grouping_find(arena, trace, lives, kinds, (mv_group_by)by, &grouping, err) !=
                MV_OK ||
            mv_grouping_sum(arena, lives, &grouping, at.event, &rows, err) != MV_OK ||
            mv_lines_by(arena, trace, lives, &grouping, ask.window, &lines, err) != MV_OK)
            return err->code;
        for (uint32_t i = 0; i < rows.count; i++)
            sum += rows.rows[i].bytes;
        if (sum != at.bytes.allocated)
            mvt_finding("the groups do not add up", "");
    }
    return MV_OK;
}

static void look_at_file(const mv_trace *trace)
{
    char text[MV_RELEASE_TEXT];
    mv_release release = mv_release_of(trace);

    if (release.first && release.last && release.first > release.last)
        mvt_finding("a release before the first", "");
    if (strlen(mv_release_text(text, release)) >= sizeof text)
        mvt_finding("a release without end", "");
    mv_host_totals_of(trace);
}

static mv_code look_at_heap(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            mv_err *err)
{
    mv_fragmentation_opts opts = {.window = {0, UINT32_MAX}};
    mv_fragmentation f;
    mv_sites sites;
    mv_ooms ooms;

    if (mv_sites_find(arena, trace, &sites, err) != MV_OK ||
        mv_fragmentation_find(arena, trace, lives, &sites, opts, &f, err) != MV_OK ||
        mv_ooms_find(arena, trace, lives, &sites, opts.window, &ooms, err) != MV_OK)
        return err->code;
    if (f.pins.stranded != f.stranded || f.bytes.free > f.bytes.reserved)
        mvt_finding("the holes do not add up", "");
    return MV_OK;
}

static mv_code replay(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_err *err)
{
    static const char *const confs[] = {"", "expandable_segments:True", "max_split_size_mb:64"};
    mv_sites sites;
    mv_whatif found;

    if (mv_sites_find(arena, trace, &sites, err) != MV_OK ||
        mv_whatif_find(arena, trace, lives, &sites, (mv_whatif_opts){0}, &found, err) != MV_OK ||
        mv_whatif_find(
            arena, trace, lives, &sites,
            (mv_whatif_opts){.conf_count = 3, .conf = confs, .capacity = (uint64_t)1 << 28}, &found,
            err) != MV_OK)
        return err->code;
    if (found.trials.fidelity.segment_matched > found.trials.fidelity.segment_events ||
        found.trials.fidelity.allocs_matched > found.trials.fidelity.allocs)
        mvt_finding("more is predicted than there is", "");
    return MV_OK;
}

static void analyze(mv_arena *arena, const mv_trace *trace, uint32_t device)
{
    mv_totals totals;
    mv_leaks leaks;
    mv_lives lives;
    uint32_t spans = 3;
    mv_err err;

    if (mvt_sweep_difference(arena, trace, device, &spans))
        mvt_finding("spans have other lives", "");
    if (mv_lives_find(arena, trace, device, &lives, &err) != MV_OK ||
        mv_totals_find(arena, trace, &lives, &totals, &err) != MV_OK ||
        mv_leaks_find(arena, trace, &lives, &leaks, &err) != MV_OK ||
        attribute(arena, trace, &lives, &err) != MV_OK ||
        group(arena, trace, &lives, &err) != MV_OK ||
        look_at_heap(arena, trace, &lives, &err) != MV_OK ||
        replay(arena, trace, &lives, &err) != MV_OK)
        if (err.code != MV_NOMEM)
            mvt_finding(mv_code_name(err.code), err.detail);
}

static void look_at_verdicts(mv_arena *arena, const mv_trace *trace, const mv_triage *triage)
{
    mv_headline headline;
    mv_err err;

    for (uint32_t i = 0; i < triage->device_count; i++) {
        const mv_triage_device *d = &triage->devices[i];
        mv_reports reports = {.trace = trace,
                              .sites = &triage->sites,
                              .lives = &d->lives,
                              .leaks = &d->leaks,
                              .ooms = &d->ooms,
                              .fragmentation = &d->fragmentation,
                              .peak = &d->peak,
                              .whatif = d->has_whatif ? &d->whatif : NULL,
                              .ledger = d->has_ledger ? &d->ledger : NULL};
        if (mv_headline_find(arena, &reports, &headline, &err) == MV_OK)
            mv_headline_badge(arena, &reports, &headline);
        else if (err.code != MV_NOMEM)
            mvt_finding("no headline", "");
    }
    for (uint32_t i = 0; i < triage->count; i++)
        if (!triage->rows[i].text || !triage->rows[i].text[0])
            mvt_finding("a verdict without words", "");
}

/* Makes all reports together, and their advice. */
static void evaluate(mv_arena *arena, const mv_trace *trace)
{
    mv_triage_query ask = {.read = trace, .trace = trace, .with_others = true, .end = 8};
    mv_triage triage;
    mv_err err;

    if (mv_triage_find(arena->budget, ask, 1, &triage, &err) == MV_OK)
        look_at_verdicts(arena, trace, &triage);
    else if (err.code != MV_NOMEM)
        mvt_finding("no reports", err.detail);
    mv_triage_release(&triage);
}

static void look_at(mv_arena *arena, const mv_trace *trace)
{
    mv_err err;

    look_at_file(trace);
    if (mv_sums_check(trace, &err) != MV_OK)
        return;
    for (uint32_t i = 0; i < mv_trace_devices(trace) && i < 8; i++)
        analyze(arena, trace, i);
    evaluate(arena, trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mvt_with_trace(data, size, look_at);
    return 0;
}
