/* How recordings without events, or without PyTorch's memory, are described. */
#include "tests/fixture/fixture_calls.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"

static void expect_advice(const char *name, bool is_state_only, const char *words)
{
    mv_view *view = mvt_view(name);
    const mv_lives *lives = &mv_view_device(view)->lives;
    const char *advice = mv_recording_advice(&mv_view_document(view)->trace, lives);

    cr_assert_eq(mv_recording_is_state_only(lives), is_state_only, "%s", name);
    cr_assert(words ? strstr(advice, words) != NULL : !*advice, "%s: %s", name, advice);
    cr_assert_eq(strcmp(view->message, advice) == 0, is_state_only || !*advice, "%s",
                 view->message);
    cr_assert_eq(view->now->main, is_state_only ? MV_MAIN_STATE : MV_MAIN_TIMELINE, "%s", name);
}

/* If the run recorded no events, the viewer opens on the state. */
LongTest(recording, advice_fits_the_missing_data)
{
    expect_advice("no_history", true, "recorded without history: call torch.cuda.memory._record");
    expect_advice("state_only", true, "recorded without history: call torch.cuda.memory._record");
    expect_advice("ring", false, "max_entries");
    expect_advice("late_start", false, "before the first allocation");
    expect_advice("gpt_train", false, NULL);
}

/* The reports say the same, and give the reason. */
Test(recording, reports_say_how)
{
    static const char *const names[] = {"no_history", "state_only", "ring", "late_start"};

    for (int i = 0; i < 4; i++) {
        mv_view *view = mvt_view(names[i]);
        bool is_said = false;
        mvt_view_frame(view);
        const mv_findings *f = &view->panels->findings_shown->findings;
        for (uint32_t row = 0; row < f->count; row++)
            is_said |=
                strcmp(f->rows[row].advice, mv_recording_advice(&mv_view_document(view)->trace,
                                                                &mv_view_device(view)->lives)) == 0;
        cr_assert(is_said, "%s", names[i]);
    }
}

static mv_recording_contents describe(const mv_trace *trace)
{
    mv_recording_contents out;

    mvt_ok(mv_recording_describe(mvt_memory(), trace, "run.bin", &out, mvt_err()));
    return out;
}

/* A CuPy program, with CUDA calls but no PyTorch events. */
Test(recording, calls_without_pytorch_are_described)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000000, .size = 512 << 20, .library = "/lib/libcupy.so");
    mvt_call(c, MV_API_ALLOC, .addr = 0x80000000, .size = 256 << 20, .library = "/lib/libcupy.so");
    mvt_call(c, MV_API_FREE, .addr = 0x1000000, .library = "/lib/libcupy.so");
    mv_recording_contents out = describe(mvt_calls_done(c));
    cr_assert_eq(out.count, 3);
    cr_assert(strstr(out.lines[0], "3 CUDA calls"), "%s", out.lines[0]);
    cr_assert(strstr(out.lines[1], "device 0: ") && strstr(out.lines[1], "768 MiB"), "%s",
              out.lines[1]);
    cr_assert(strstr(out.lines[2], "memviz ledger run.bin"), "%s", out.lines[2]);
}

/* The viewer opens on the memory that the calls allocated. */
LongTest(recording, the_viewer_opens_on_calls_without_pytorch)
{
    static const float widths[] = {800, 1280, 3840};
    mvt_calls *c = mvt_calls_new();
    mv_view *view = mvt_view_new(NULL);

    for (uint64_t i = 0; i < 1093; i++)
        mvt_call(c, MV_API_ALLOC, .addr = (i + 1) << 24, .size = 1 << 20,
                 .library = "/lib/libxla.so");
    mv_view_add(view, mvt_temp_file(mvt_snapshot_of(mvt_memory(), mvt_calls_done(c))));
    for (int i = 0; i < 3; i++) {
        mv_view_frame(view, widths[i], 600, 0);
        mvt_view_frame(view);
        cr_assert(mvt_scene_says(&view->ui.scene, "1.07 GiB"));
    }
}

/* A single event in a trace without any frame: the advice must be about missing stacks. */
Test(recording, missing_stacks_get_advice)
{
    mvt_trace *t = mvt_new();
    bool is_said = false;

    for (uint64_t i = 1; i < 9; i++)
        mvt_alloc(t, .addr = i << 20, .bytes = 1 << 20);
    mv_view *view = mvt_view_of(t);
    mvt_view_frame(view);
    for (uint32_t i = 0; i < view->panels->findings_shown->findings.count; i++)
        is_said |=
            strstr(view->panels->findings_shown->findings.rows[i].advice, "stacks='all'") != NULL;
    cr_assert(is_said);
    cr_assert_str_eq(mv_recording_stack_advice(&mv_view_document(mvt_view("gpt_train"))->trace),
                     "");
}

Test(recording, an_empty_recording_gets_advice)
{
    mv_recording_contents out = describe(mvt_calls_done(mvt_calls_new()));

    cr_assert_eq(out.count, 2);
    cr_assert(strstr(out.lines[1], "_record_memory_history()"));
}
