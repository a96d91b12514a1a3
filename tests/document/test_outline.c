#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"

Test(outline, is_shown_until_the_device_is_ready)
{
    mv_view *view = mvt_view("gpt_train");
    mv_document *d = view->documents[0];

    mv_document_sketch(d, MV_LONG_EVENTS);
    cr_assert_eq(d->outline_count, 0, "short traces are ready as soon");
    mv_document_sketch(d, 1);
    cr_assert_eq(d->outline_count, d->device_count);
    cr_assert_null(mv_view_outline(view), "the device itself is there");
    d->devices[0].stage = MV_DEVICE_BUILDING_LIFETIMES; /* as if it were still loading */
    cr_assert_not_null(mv_view_outline(view));
    cr_assert(mvt_scene_says(mvt_view_frame(view), "so far: up to"));
    mvt_scene_check(mvt_view_frame(view), "outline");
    d->devices[0].stage = MV_DEVICE_REPORTED;
}

/* Compares each column with the extent of its events, which is exact for segments. */
static void compare(const mv_outline *o, const mv_pyramid *pyramid, const char *name)
{
    uint64_t peak = 0;
    mv_pyramid_reader reader;

    mv_pyramid_reader_init(&reader, pyramid);
    cr_assert_eq(o->events, pyramid->events);
    cr_assert_eq(o->columns, o->events < MV_OUTLINE_COLUMNS ? o->events : MV_OUTLINE_COLUMNS);
    for (uint64_t c = 0; c < o->columns; c++) {
        uint32_t first = c == 0 ? MV_BEFORE : (uint32_t)(c * o->events / o->columns);
        mv_extent extent =
            mv_pyramid_range(&reader, first, (uint32_t)((c + 1) * o->events / o->columns));
        cr_assert_eq(o->reserved[c], extent.most.reserved, "%s: column %u", name, (unsigned)c);
        cr_assert_leq(o->reserved[c], o->most_reserved);
        cr_assert_leq(o->least[c], extent.most.allocated, "%s: column %u", name, (unsigned)c);
        cr_assert_leq(o->least[c], o->most[c]);
        peak = extent.most.allocated > peak ? extent.most.allocated : peak;
    }
    cr_assert(o->peak <= peak && o->peak >= peak / 2, "%s", name);
}

Test(outline, is_close_to_the_real_levels)
{
    static const char *const names[] = {"gpt_train",  "leak_in_training", "frag_pinned_by_small",
                                        "late_start", "expandable_empty", "oom"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static mv_outline outline;
        mv_arena *arena = mvt_memory();
        mv_pyramid pyramid;
        mv_trace trace = mvt_load(arena, names[i]);
        mv_lives lives = mvt_lives(arena, &trace, 0);

        mvt_ok(mv_pyramid_find(arena, &lives, &pyramid, mvt_err()));
        mv_outline_make(0, &trace, &outline);
        compare(&outline, &pyramid, names[i]);
    }
}
