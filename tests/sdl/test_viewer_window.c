/* Decisions that depend on a window: its size, the size of its letters, its title, and when it
 * draws. */
#include "tests/fixture/fixture_view.h"
#include "view/sdl/display_scale.h"
#include "view/sdl/frame_pace.h"

Test(viewer_window, scale_is_that_of_the_desktop)
{
    cr_assert_eq(mv_scale_of_words(NULL, NULL, NULL), 0);
    cr_assert_eq(mv_scale_of_words("2", NULL, NULL), 2);
    cr_assert_eq(mv_scale_of_words(NULL, "1.5", NULL), 1.5f);
    cr_assert_eq(mv_scale_of_words("", "no", "Xcursor.size:\t24\nXft.dpi:\t192\nXft.rgba: none\n"),
                 2);
    cr_assert_eq(mv_scale_of_words("2", NULL, "Xft.dpi: 192\n"), 2); /* both say the same */
    cr_assert_eq(mv_scale_of_words("-3", "1e9", "Xft.dpi: 100000\n"), 0);
    cr_assert_eq(mv_scale_of_words(NULL, NULL, "My.Xft.dpi: 192\nXft.dpi:"), 0);
}

Test(viewer_window, scale_of_its_pixels)
{
    cr_assert_eq(mv_window_scale(1280, 1280, 1.5f), 1.5f);
    cr_assert_eq(mv_window_scale(1280, 2560, 1), 2);
    cr_assert_eq(mv_window_scale(1280, 2200, 1), 1.75f);
}

Test(viewer_window, first_size_fits_the_screen)
{
    static const struct {
        int w, h;
        float scale;
    } screens[] = {{1280, 720, 1},  {1366, 740, 1},  {1920, 1080, 1}, {2560, 1440, 1.25f},
                   {3840, 2160, 1}, {3840, 2160, 2}, {3840, 2100, 3}};
    uint32_t width, height;

    for (size_t i = 0; i < sizeof screens / sizeof *screens; i++) {
        mv_first_window((SDL_Rect){0, 0, screens[i].w, screens[i].h}, screens[i].scale, &width,
                        &height);
        cr_assert_lt(width, (uint32_t)screens[i].w);
        cr_assert_leq(height, (uint32_t)screens[i].h - 40); /* and a title bar */
        cr_assert_gt((float)width / screens[i].scale, 1200);
    }
    mv_first_window((SDL_Rect){0}, 1, &width, &height);
    cr_assert_eq(width, 1440);
    cr_assert_eq(height, 900);
}

/* ---- frames ------------------------------------------------------------------------------ */

/* Draws frames of `ms` milliseconds, as a window's loop does. */
static uint32_t frames_in(mv_frame_pace *pace, bool is_animating, uint64_t from, uint64_t ms)
{
    uint32_t frames = 0;

    for (uint64_t now = from; now < from + ms;) {
        int wait = mv_frame_pace_wait(pace, is_animating, now);
        if (wait > 0) {
            now += (uint64_t)wait;
            continue;
        }
        pace->is_dirty = false;
        pace->frame_at = now;
        frames++;
    }
    return frames;
}

Test(viewer_window, draws_nothing_when_nothing_changes)
{
    mv_frame_pace pace = {.is_dirty = true};

    cr_assert_eq(frames_in(&pace, false, 1000, 5000), 1);
    cr_assert_eq(frames_in(&pace, false, 6000, 60000), 0);
    pace.is_dirty = true;
    cr_assert_eq(frames_in(&pace, false, 70000, 1000), 1);
    cr_assert_eq(frames_in(&pace, true, 80000, 1600), 100);
}

Test(viewer_window, draws_nothing_while_it_is_hidden)
{
    static const uint8_t hides[] = {SDL_WINDOWEVENT_HIDDEN, SDL_WINDOWEVENT_MINIMIZED};
    static const uint8_t shows[] = {SDL_WINDOWEVENT_SHOWN, SDL_WINDOWEVENT_EXPOSED,
                                    SDL_WINDOWEVENT_RESTORED, SDL_WINDOWEVENT_MAXIMIZED};

    for (int h = 0; h < 2; h++)
        for (int s = 0; s < 4; s++) {
            mv_frame_pace pace = {.is_dirty = true};
            mv_frame_pace_window(&pace, hides[h]);
            mv_frame_pace_window(&pace, SDL_WINDOWEVENT_SIZE_CHANGED);
            cr_assert_eq(frames_in(&pace, true, 1000, 10000), 0);
            mv_frame_pace_window(&pace, shows[s]);
            cr_assert_eq(frames_in(&pace, false, 11000, 1000), 1);
        }
}

/* A view that is loaded and has its reports, with the pointer still on the picture, in the lower
 * pane or on a button, comes to rest and asks for no more frames. */
LongTest(viewer_window, a_view_stops_drawing)
{
    mv_view *view = mvt_view("gpt_train");
    static const float places[][2] = {{300, 300}, {300, 460}, {300, 560}, {300, 15}, {1100, 200}};
    double ms = 1000;

    for (int i = 0; i < 5; i++) {
        mv_view_input(view,
                      &(mv_input){.kind = MV_INPUT_MOVE, .x = places[i][0], .y = places[i][1]});
        for (int f = 0; f < 60; f++)
            mv_view_frame(view, 1280, 720, ms += 16);
        cr_assert_not(mv_view_is_animating(view), "pointer at %g %g", (double)places[i][0],
                      (double)places[i][1]);
    }
}

/* ---- the title --------------------------------------------------------------------------- */

ViewTest(viewer_window, title_names_the_file, mvt_view_new(NULL))
{
    char title[MV_VIEW_TITLE];

    mv_view_title(view, title);
    cr_assert_str_eq(title, "memviz");
    mvt_view_open(view, mvt_snapshot("gpt_train"));
    mv_view_title(view, title);
    cr_assert_str_eq(title, "gpt_train.pickle \xe2\x80\x94 memviz");
    mvt_view_open(view, mvt_snapshot("two_devices"));
    mvt_view_do(view, MV_DO_next_device, 0);
    mv_view_title(view, title);
    cr_assert_str_eq(title, "two_devices.pickle, device 0 \xe2\x80\x94 memviz");
}
