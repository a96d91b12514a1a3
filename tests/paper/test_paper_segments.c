/* Printed pictures of segments over time. */
#include "tests/fixture/fixture_json.h"
#include "tests/paper/fixture_paper.h"

static void check_snapshot(const mv_trace *trace, const char *name)
{
    for (uint32_t device = 0; device < mv_trace_devices(trace); device++)
        for (int i = 0; i < 2; i++) {
            mvt_picture p = mvt_picture_of(&mv_paper_segments, trace, device,
                                           (mv_paper_opts){.is_dark = i, .by_line = true});
            mvt_scene_check(&p.paper.scene, name);
            p = mvt_picture_of(&mv_paper_segments, trace, device, (mv_paper_opts){.is_dark = i});
            mvt_scene_check(&p.paper.scene, name);
            cr_expect_leq(p.paper.drawn, p.lives.segments.count);
        }
}

EachSnapshot(paper_segments, pictures_of_every_snapshot_are_legible, check_snapshot);

/* Segments that come and go below other segments, which slide and change their colour all the
 * time. */
LongTest(paper_segments, restless_segments_stay_a_small_file)
{
    mvt_trace *t = mvt_new();
    uint64_t held[600] = {0}, state = 5;
    mvt_picture p;

    for (uint32_t e = 0; e < 12000; e++) {
        uint32_t i = mvt_random(&state, 600);
        if (held[i]) {
            mvt_free(t, .addr = held[i]);
            mvt_event(t, MV_ACTION_SEGMENT_FREE,
                      (mvt_event_args){.addr = held[i], .bytes = 2 << 20});
            held[i] = 0;
            continue;
        }
        held[i] = (uint64_t)(i + 1) << 21;
        mvt_segment_alloc(t, .addr = held[i], .bytes = 2 << 20, .stack = "f:a.py:1");
        mvt_alloc(t, .addr = held[i], .bytes = 512 + state % (2 << 20) / 512 * 512);
    }
    for (int by_line = 0; by_line < 2; by_line++) {
        p = mvt_picture_of(&mv_paper_segments, mvt_done(t), 0,
                           (mv_paper_opts){.height = 2000, .by_line = by_line});
        mvt_scene_check(&p.paper.scene, "restless");
    }
}

Test(paper_segments, a_picture_lists_its_contents)
{
    mv_trace trace = mvt_load(mvt_memory(), "gpt_train_expandable");

    mvt_picture p = mvt_picture_of(&mv_paper_segments, &trace, 0, (mv_paper_opts){0});
    cr_expect(mvt_scene_says(&p.paper.scene, "peak reserved 1.18 GiB"));
    cr_expect(mvt_scene_says(&p.paper.scene, "was reserved at the peak; tensors used"));
    cr_expect(mvt_scene_says(&p.paper.scene, "1.18 GiB at their peak, by how full"));
    cr_expect(mvt_scene_says(&p.paper.scene, "75 to 100 % in use"));
    cr_expect(mvt_scene_hovers(&p.paper.scene, "\nhere empty"));
    cr_expect(mvt_scene_hovers(&p.paper.scene, "mapped range of 20.0 MiB"));
    p = mvt_picture_of(&mv_paper_segments, &trace, 0, (mv_paper_opts){.by_line = true});
    cr_expect(mvt_scene_says(&p.paper.scene, "1.18 GiB at their peak, by line"));
    p = mvt_picture_of(&mv_paper_segments, &trace, 0, (mv_paper_opts){.window = {100, 200}});
    cr_expect_eq(p.paper.events, 100);
    mvt_scene_check(&p.paper.scene, "window");
}

Test(paper_segments, almost_empty_traces_are_drawn)
{
    mvt_trace *empty = mvt_new(), *one = mvt_new(), *nothing = mvt_new();
    mvt_picture p = mvt_picture_of(&mv_paper_segments, mvt_done(empty), 0, (mv_paper_opts){0});
    cr_expect(mvt_scene_says(&p.paper.scene, "nothing was reserved"));
    mvt_scene_check_texts(&p.paper.scene, "empty");
    mvt_segment_alloc(one, .addr = 1 << 21, .bytes = 2 << 20);
    p = mvt_picture_of(&mv_paper_segments, mvt_done(one), 0,
                       (mv_paper_opts){.width = 1, .height = 1});
    cr_expect_eq(p.paper.drawn, 1);
    mvt_scene_check(&p.paper.scene, "one segment");
    for (uint64_t i = 0; i < 4; i++)
        mvt_segment_alloc(nothing, .addr = i << 21);
    p = mvt_picture_of(&mv_paper_segments, mvt_done(nothing), 0, (mv_paper_opts){0});
    mvt_scene_check(&p.paper.scene, "no bytes");
}

Test(paper_segments, fails_when_memory_is_out)
{
    mvt_picture_without_memory(&mv_paper_segments, mvt_done(mvt_small()), (mv_paper_opts){0});
}

Test(paper_segments, the_scene_of_a_small_trace_is_unchanged)
{
    mvt_picture_golden(&mv_paper_segments, "small_segment_timeline", (mv_paper_opts){0});
}

Test(paper_segments, the_command_draws_segments)
{
    cJSON *json = mvt_json(
        0, "$MEMVIZ segment_plot --json --from 10 --to 110 $SNAPS/gpt_train.pickle -o x.svg");
    mvt_run r = mvt_sh("$MEMVIZ trace_plot --view segments $SNAPS/oom.pickle -o a.svg; "
                       "$MEMVIZ segment_plot $SNAPS/oom.pickle -o b.svg; cmp a.svg b.svg; "
                       "$MEMVIZ segment_plot --at oom $SNAPS/oom.pickle -o c.svg; "
                       "$MEMVIZ segment_plot --view segments --at oom $SNAPS/oom.pickle -o d.svg");

    mvt_json_has(json, "written events drawn");
    cr_expect_eq(mvt_json_number(json, "events"), 100);
    cr_expect_eq(r.status, 2);
    cr_expect_str_eq(r.out, "a.svg\nb.svg\nc.svg\n");
    cr_expect(strstr(r.err, "--at names a moment"));
}
