/* The levels in each column of the plot: approximate in a moving frame, and exact at rest. */
#include "tests/fixture/fixture_view.h"
#include "view/timeline/plot.h"

/* Columns of a plot that is `width` pixels wide, with `most` of them exact. */
static const mv_envelope *find(mv_view *view, float width, mv_stretch shown, uint32_t most,
                               mv_pyramid_reader *reader)
{
    const mv_timeline_rows *rows = mv_timeline_rows_of(view, false);
    mv_viewport at = mv_viewport_make(&rows->scale, (mv_box){0, 0, width, 100}, shown, 0, 1e9);
    mv_envelope *e = &view->timeline->envelope;

    cr_assert_not_null(rows);
    *e = (mv_envelope){0};
    mv_pyramid_reader_init(reader, view->levels.pyramid);
    mv_envelope_find(view->timeline, e, reader, at, NULL, most);
    cr_assert_eq(e->end, (uint32_t)width);
    return e;
}

static mv_extent range(mv_pyramid_reader *reader, const mv_envelope *e, uint32_t from, uint32_t to)
{
    mv_window first = mv_viewport_column(&e->at, from), last = mv_viewport_column(&e->at, to);

    return mv_pyramid_range(reader, first.first, last.end);
}

/* No column may differ by more than its neighbours do, and together they must not lose a peak. */
static void check_rounded(mv_view *view, const mv_envelope *e)
{
    mv_pyramid_reader reader;
    uint64_t most = 0, exact;

    mv_pyramid_reader_init(&reader, view->levels.pyramid);
    for (uint32_t c = 0; c < e->end; c++) {
        const mv_extent *got = &e->columns[c];
        mv_extent near = range(&reader, e, c ? c - 1 : 0, c + 1 < e->end ? c + 1 : c);
        cr_assert_leq(got->most.allocated, near.most.allocated, "column %u", c);
        cr_assert_geq(got->least.allocated, near.least.allocated, "column %u", c);
        cr_assert_leq(got->most.reserved, near.most.reserved, "column %u", c);
        most = got->most.allocated > most ? got->most.allocated : most;
    }
    exact = range(&reader, e, 0, e->end - 1).most.allocated;
    cr_assert_eq(most, exact, "%lu of %lu", (unsigned long)most, (unsigned long)exact);
}

static void check_exact(mv_view *view, const mv_envelope *e)
{
    mv_pyramid_reader reader;

    mv_pyramid_reader_init(&reader, view->levels.pyramid);
    for (uint32_t c = 0; c < e->end; c++) {
        mv_extent want = range(&reader, e, c, c);
        cr_assert_eq(memcmp(&e->columns[c], &want, sizeof want), 0, "column %u", c);
    }
}

Test(envelope, columns_in_motion_replay_nothing)
{
    static const float widths[] = {50, 30, 10, 3, 1};
    mv_view *view = mvt_view("gpt_train");
    double count = mv_view_device(view)->events;
    mv_pyramid_reader reader;

    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        check_rounded(view, find(view, widths[i], (mv_stretch){0, count}, 0, &reader));
        cr_assert_eq(reader.bucket, MV_NO_ROW, "%g columns replay", (double)widths[i]);
        check_exact(view, find(view, widths[i], (mv_stretch){0, count}, UINT32_MAX, &reader));
    }
}

ViewTest(envelope, narrow_columns_are_exact_at_once, mvt_view("gpt_train"))
{
    mv_pyramid_reader reader;

    check_exact(view, find(view, 500, (mv_stretch){100, 2100}, 0, &reader));
}
