/* Nothing is drawn when nothing changes: every view comes to rest after a few frames, requests no
 * more work, and its next frame has the same pixels. Work is done in turns, as in a page: it is the
 * same work that a window's threads do, but always in the same order. */
#include "tests/fixture/fixture_view.h"
#include "viz/scene/raster.h"

enum { WIDTH = 1280, HEIGHT = 720, MOST_FRAMES = 60 };

typedef struct {
    mv_view *view;
    mv_raster *raster;
    double ms;
} window;

static window open_window(const char *const *names, uint32_t count)
{
    mv_view_opts opts = {.is_dark = true, .is_threaded = true, .is_cooperative = true};
    window w = {.view = mvt_view_new(&opts)};

    w.raster = mv_raster_open(w.view->budget, &(mv_raster_opts){0});
    cr_assert_not_null(w.raster);
    for (uint32_t i = 0; i < count; i++)
        mv_view_add(w.view, mvt_snapshot(names[i]));
    return w;
}

/* Returns how many rectangles of the picture differ from the previous one. */
static uint32_t draw(window *w)
{
    const mv_scene *scene = mv_view_frame(w->view, WIDTH, HEIGHT, w->ms += 16);
    mv_raster_frame frame;

    mvt_ok(mv_raster_next(w->raster, scene, &frame, mvt_err()));
    return frame.count;
}

static void check_rest(window *w, const char *file, const char *what)
{
    bool is_moving = true;
    uint32_t frames = 0;

    for (; is_moving && frames < MOST_FRAMES; frames++) {
        while (mv_view_run_one_task(w->view))
            ;
        draw(w);
        is_moving = mv_view_is_animating(w->view) || !mv_view_is_idle(w->view);
    }
    cr_assert_not(is_moving, "%s, %s: moves after %u frames", file, what, frames);
    for (int i = 0; i < 3; i++) {
        cr_assert_not(mv_view_run_one_task(w->view), "%s, %s: work", file, what);
        cr_assert_eq(draw(w), 0, "%s, %s: another picture", file, what);
        cr_assert_not(mv_view_is_animating(w->view), "%s, %s: moves again", file, what);
    }
}

static void check_commands(window *w, const char *file)
{
    static const mv_command_id commands[] = {
        MV_DO_show_segments,  MV_DO_show_pools,  MV_DO_show_ranks,    MV_DO_show_state,
        MV_DO_show_timeline,  MV_DO_show_flame,  MV_DO_show_tables,   MV_DO_show_details,
        MV_DO_show_reports,   MV_DO_next_colour, MV_DO_next_clock,    MV_DO_next_clock,
        MV_DO_show_requested, MV_DO_next_device, MV_DO_zoom_in,       MV_DO_pan_right,
        MV_DO_show_segments,  MV_DO_show_pools,  MV_DO_show_timeline, MV_DO_fit_all,
        MV_DO_next_level,     MV_DO_show_ledger, MV_DO_next_level,    MV_DO_show_device,
        MV_DO_show_device,    MV_DO_next_level,
    };

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        mv_view_do(w->view, commands[i], 0);
        check_rest(w, file, mv_view_commands[commands[i]].name);
    }
}

static void check_pointer(window *w, const char *file)
{
    mv_box box = w->view->main_box;

    for (int i = 1; i < 4; i++) {
        mv_input move = {.kind = MV_INPUT_MOVE,
                         .x = box.x + box.w * (float)i / 4,
                         .y = box.y + box.h * (float)i / 4};
        mv_view_input(w->view, &move);
        check_rest(w, file, "pointer");
        move.kind = MV_INPUT_WHEEL;
        move.dy = 2;
        mv_view_input(w->view, &move);
        check_rest(w, file, "wheel");
    }
}

static void check_search(window *w, const char *file)
{
    snprintf(mv_view_write(w->view)->search, sizeof w->view->now->search, "size>1M");
    check_rest(w, file, "search");
    mv_view_do(w->view, MV_DO_isolate, 0);
    check_rest(w, file, "isolate");
}

static void check_file(const char *const *names, uint32_t count)
{
    window w = open_window(names, count);

    check_rest(&w, names[0], "opened");
    check_commands(&w, names[0]);
    check_pointer(&w, names[0]);
    check_search(&w, names[0]);
    mv_raster_close(w.raster);
}

LongTest(rest, a_timeline_stops_drawing)
{
    check_file((const char *const[]){"gpt_train"}, 1);
}

LongTest(rest, compared_files_stop_drawing)
{
    check_file((const char *const[]){"two_devices", "leak_in_training"}, 2);
}

LongTest(rest, levels_and_the_whole_device_stop_drawing)
{
    check_file((const char *const[]){"train"}, 1);
}

LongTest(rest, incomplete_files_stop_drawing)
{
    check_file((const char *const[]){"no_history"}, 1);
    check_file((const char *const[]){"oom_fragmented"}, 1);
}
