/* The viewer's findings: the reports' verdicts, each with the place that it is about. */
#include "parse/model/sums.h"
#include "tests/fixture/fixture_training.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/finding_places.h"

typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    mv_findings found;
    mv_finding_place *places; /* [found.count] */
} bench;

static bench b;

static void find(mv_view *view)
{
    b.document = mv_view_document(view);
    b.device = mv_view_device(view);
    mv_reports reports = mv_document_reports(b.document, b.device);
    mvt_ok(mv_findings_find(mvt_memory(), &reports, &b.found, mvt_err()));
    b.places = mv_finding_places_find(mvt_memory(), b.document, b.device, &b.found, NULL);
    cr_assert_not_null(b.places);
}

static const mv_finding *first_of(mv_finding_kind kind)
{
    for (uint32_t i = 0; i < b.found.count; i++)
        if (b.found.rows[i].kind == kind)
            return &b.found.rows[i];
    return NULL;
}

static void expect_first(const char *name, mv_finding_kind kind, const char *culprit)
{
    find(mvt_view(name));
    cr_assert_gt(b.found.count, 0);
    cr_expect_eq(b.found.rows[0].kind, kind, "%s", name);
    cr_expect(strstr(b.found.rows[0].culprit, culprit), "%s: %s", name, b.found.rows[0].culprit);
}

LongTest(findings, the_worst_finding_is_first_and_names_the_culprit)
{
    expect_first("leak_in_training", MV_FINDING_LEAK, "train.py:62 forward");
    expect_first("frag_pinned_by_small", MV_FINDING_FRAGMENTED, "train.py:159");
    expect_first("oom", MV_FINDING_OOM, "train.py:170 oom");
    expect_first("oom_fragmented", MV_FINDING_OOM, "more.py:9 E");
    expect_first("gpt_train", MV_FINDING_PEAK, "train.py:");
}

Test(findings, a_healthy_run_is_reported_too)
{
    uint32_t fine = 0;

    find(mvt_view("gpt_train"));
    for (uint32_t i = 0; i < b.found.count; i++) {
        cr_expect_gt(b.found.rows[i].kind, MV_FINDING_WAITING);
        fine += b.found.rows[i].kind == MV_FINDING_FINE;
    }
    cr_expect_eq(fine, 3, "no leak, not fragmented, no failure");
}

Test(findings, bytes_equal_those_of_the_reports)
{
    uint32_t leak = 0, site = 0;

    find(mvt_view("leak_in_training"));
    for (uint32_t i = 0; i < b.found.count; i++) {
        const mv_finding *f = &b.found.rows[i];
        if (f->kind == MV_FINDING_LEAK)
            cr_expect_eq(f->bytes, b.device->leaks.leaks[leak++].bytes);
        if (f->kind == MV_FINDING_PEAK)
            cr_expect_eq(f->bytes, b.device->attribution.sites[site++].bytes);
    }
    cr_expect_eq(leak, b.device->leaks.count);
    cr_expect_eq(site, MV_PEAK_FINDINGS);
    find(mvt_view("frag_pinned_by_small"));
    cr_expect_eq(first_of(MV_FINDING_FRAGMENTED)->bytes, b.device->fragmentation.beyond);
}

/* A file that records only one moment has no peak, but the rows used to name changes that lower
 * it. */
Test(findings, without_events_there_is_no_peak)
{
    static const char *const names[] = {"no_history", "state_only"};

    for (int n = 0; n < 2; n++) {
        find(mvt_view(names[n]));
        cr_expect_not_null(first_of(MV_FINDING_HELD), "%s", names[n]);
        for (uint32_t i = 0; i < b.found.count; i++) {
            const mv_finding *f = &b.found.rows[i];
            cr_expect(f->kind != MV_FINDING_PEAK && !strstr(f->what, "peak") &&
                          !strstr(f->title, "peak"),
                      "%s: %s: %s", names[n], f->title, f->what);
        }
    }
}

/* No two rows about the peak may have the same name, and the row with the most bytes must come
 * first. */
static void check_peak_rows(mv_view *view, const char *name)
{
    const mv_document_device *device = mv_view_device(view);
    const mv_reports reports = mv_document_reports(mv_view_document(view), device);
    const mv_finding *first = NULL;
    mv_findings found;

    mvt_ok(mv_findings_find(mvt_memory(), &reports, &found, mvt_err()));
    for (uint32_t i = 0; i < found.count; i++) {
        const mv_finding *f = &found.rows[i];
        if (f->kind != MV_FINDING_PEAK)
            continue;
        first = first ? first : f;
        cr_expect_geq(first->bytes, f->bytes, "%s: %s", name, f->title);
        for (uint32_t k = 0; k < i; k++)
            if (found.rows[k].kind == MV_FINDING_PEAK && found.rows[k].category == f->category)
                cr_expect(!f->culprit || !found.rows[k].culprit ||
                              strcmp(f->culprit, found.rows[k].culprit) != 0,
                          "%s: %s", name, f->culprit);
    }
}

EachView(findings, rows_of_the_peak_are_distinguished, check_peak_rows);

Test(findings, memory_that_waits_for_streams_is_a_note)
{
    find(mvt_view("streams"));
    cr_assert(b.device->fragmentation.waits);
    for (uint32_t i = 0; i < b.found.count; i++)
        if (strstr(b.found.rows[i].title, "fragmentation"))
            cr_expect_eq(b.found.rows[i].kind, MV_FINDING_NOTE, "%s", b.found.rows[i].title);
}

static void check_view(mv_view *view, const char *name)
{
    uint32_t before = 0;

    find(view);
    cr_expect_gt(b.found.count, 0, "%s", name);
    for (uint32_t i = 0; i < b.found.count; i++) {
        mv_finding_kind kind = b.found.rows[i].kind;
        bool is_waste = kind >= MV_FINDING_LEAK && kind <= MV_FINDING_WAITING; /* sorted by bytes */
        uint32_t rank = is_waste ? MV_FINDING_LEAK : kind;
        cr_expect_geq(rank, before, "%s: the most alarming first", name);
        before = rank;
        /* The pinned block must be alive at the moment and visible in the window, and the search
         * must find it. */
        const mv_finding *f = &b.found.rows[i];
        const mv_finding_place *place = &b.places[i];
        mv_filter_bits bits;
        mv_filter filter;
        char why[MV_FILTER_WHY];
        cr_expect(*f->title && *f->what, "%s", name);
        cr_expect_lt(strlen(place->search), MV_SEARCH_TEXT);
        if (!f->has_place) {
            cr_expect_eq(place->alloc, MV_NO_ROW);
            continue;
        }
        if (b.device->lives.events.count)
            cr_expect_lt(place->from, place->to);
        cr_expect_leq(place->to, b.device->lives.events.count);
        cr_expect(f->event == MV_BEFORE || f->event < b.device->lives.events.count);
        if (place->alloc == MV_NO_ROW)
            continue;
        cr_expect(mv_index_is_alive(&b.device->index, place->alloc, f->event), "%s: %s", name,
                  f->title);
        if (!*place->search)
            continue;
        cr_assert(mv_filter_read(mvt_memory(), place->search, &filter, why), "%s: %s: %s", name,
                  place->search, why);
        mvt_ok(mv_filter_allocs(mvt_memory(), &b.document->trace, &b.device->lives,
                                &b.device->leaks, &filter, &bits, mvt_err()));
        cr_expect(mv_filter_has(&bits, place->alloc), "%s: \"%s\" does not find what %s pins", name,
                  place->search, f->title);
    }
}

EachView(findings, places_show_their_objects, check_view);

Test(findings, leaks_of_random_training_runs_are_named)
{
    for (uint32_t seed = 1; seed <= 8; seed++) {
        mvt_trace *t = mvt_new();
        mvt_training_truth truth;
        mvt_training(t, seed, MVT_LEAK_HOOK, &truth);
        find(mvt_view_of(t));
        const mv_finding *leak = first_of(MV_FINDING_LEAK);
        cr_assert_not_null(leak);
        cr_expect_str_eq(leak->culprit, truth.lines[0]);
        cr_expect_eq(leak->bytes, truth.leaked_bytes);
    }
}

Test(findings, almost_empty_traces_get_a_verdict)
{
    mvt_trace *t = mvt_new();

    mvt_oom(t, .addr = UINT64_MAX, .bytes = UINT64_MAX);
    mvt_free(t, .addr = 512, .bytes = MV_SUM_LIMIT / 4);
    check_view(mvt_view_of(t), "nothing");
}

Test(findings, fails_when_memory_is_out)
{
    find(mvt_view("leak_in_training"));
    mv_reports reports = mv_document_reports(b.document, b.device);
    for (mvt_limit l = {.step = 2048}; mvt_more_memory(&l);) {
        mv_findings found;
        l.code = mv_findings_find(&l.arena, &reports, &found, mvt_err());
        if (l.code == MV_OK &&
            !mv_finding_places_find(&l.arena, b.document, b.device, &found, NULL))
            l.code = MV_NOMEM;
    }
}
