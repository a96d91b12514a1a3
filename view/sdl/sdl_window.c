/* The window. It receives events (view/sdl/user_events.h), and draws a frame when something has
 * changed or is moving. At all other times, the thread sleeps in SDL until an event arrives. Other
 * threads wake it with a single event, however much they have to report. */
#include <locale.h>
#include <stdlib.h>

#include "view/follow.h"
#include "view/sdl/display_scale.h"
#include "view/sdl/driver.h"
#include "view/sdl/frame_pace.h"
#include "view/sdl/presenter.h"
#include "view/sdl/user_events.h"
#include "view/viewer.h"

enum { LEAST_WIDTH = 640, LEAST_HEIGHT = 400 };

#define NO_DISPLAY                                                                              \
    "no display for a window (--headless needs none): memviz serve FILE shows it in a browser " \
    "over SSH, memviz trace_plot FILE -o X.html writes a page"

typedef struct {
    mv_sdl sdl;
    const mv_viewer_opts *opts;
    SDL_Window *window;
    mv_driver driver;
    mv_presenter presenter;
    mv_view *view;
    mv_follow follow;
    mv_live_readers *readers; /* of the followed files; NULL: nothing is followed */
    mv_pointer pointer;
    char *pasted; /* SDL's */
    uint32_t wake_type;
    atomic_bool is_woken; /* an event of wake_type has been posted */
    bool is_typing, has_quit;
    mv_frame_pace pace;
    float display_scale; /* the display's scale, measured before the window is created */
    char title[MV_VIEW_TITLE];
    mv_input pending; /* a move or a wheel input, into which later inputs of the same kind may be
                         merged */
    bool has_pending;
} shell;

/* ---- callbacks of the view --------------------------------------------------------------- */

static void wake(void *user)
{
    shell *s = user;
    SDL_Event event = {.type = s->wake_type};

    if (!atomic_exchange(&s->is_woken, true))
        s->sdl.PushEvent(&event);
}

static void copy(void *user, const char *text)
{
    shell *s = user;

    s->sdl.SetClipboardText(text);
}

static const char *paste(void *user)
{
    shell *s = user;

    s->sdl.free(s->pasted);
    s->pasted = s->sdl.GetClipboardText();
    return s->pasted;
}

/* ---- the window -------------------------------------------------------------------------- */

static mv_code fail_with_sdl(const shell *s, const char *what, mv_err *err)
{
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", what, s->sdl.GetError());
}

/* Whether the window is invisible, which happens if SDL finds no display. */
static bool is_unseen(const shell *s)
{
    static const char *const unseen[] = {"offscreen", "dummy", "evdev"};
    const char *driver = s->sdl.GetCurrentVideoDriver(), *asked = getenv("SDL_VIDEODRIVER");

    for (size_t i = 0; !(asked && *asked) && driver && i < sizeof unseen / sizeof *unseen; i++)
        if (strcmp(driver, unseen[i]) == 0)
            return true;
    return false;
}

static mv_code open_window(shell *s, mv_err *err)
{
    const mv_sdl *sdl = &s->sdl;
    uint32_t width = s->opts->width, height = s->opts->height;
    SDL_Rect usable = {0};

    /* Titles are UTF-8, but in the C locale, X accepts only ASCII. */
    setlocale(LC_CTYPE, "C.UTF-8");
    /* With these hints, Ctrl+C in the terminal ends the program as usual, rendering is batched even
     * if the driver was chosen by name, the machine may go to sleep, and a click that raises the
     * window also counts as a click. */
    sdl->SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
    sdl->SetHint(SDL_HINT_RENDER_BATCHING, "1");
    sdl->SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1");
    sdl->SetHint(SDL_HINT_MOUSE_FOCUS_CLICKTHROUGH, "1");
    sdl->SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0");
    sdl->SetHint(SDL_HINT_APP_NAME, "memviz");
    /* Without this variable, the Wayland library complains on standard error even if Wayland is not
     * used. */
    if (!getenv("WAYLAND_DISPLAY"))
        setenv("XDG_RUNTIME_DIR", "/", 0);
    /* Only video is initialised, because joysticks and sensors would make SDL poll instead of
     * wait. */
    if (sdl->InitSubSystem(SDL_INIT_VIDEO) != 0)
        return fail_with_sdl(s, NO_DISPLAY, err);
    if (is_unseen(s))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, NO_DISPLAY);
    sdl->StopTextInput();
    s->display_scale = mv_display_scale(sdl);
    if (width == 0 || height == 0) {
        sdl->GetDisplayUsableBounds(0, &usable);
        mv_first_window(usable, s->opts->scale > 0 ? s->opts->scale : s->display_scale, &width,
                        &height);
    }
    s->wake_type = sdl->RegisterEvents(1);
    s->window =
        sdl->CreateWindow("memviz", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED, (int)width,
                          (int)height, SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    if (!s->window)
        return fail_with_sdl(s, "no window", err);
    sdl->SetWindowMinimumSize(s->window, LEAST_WIDTH, LEAST_HEIGHT);
    if (mv_driver_open(&s->driver, sdl, s->window, s->opts->renderer, err) != MV_OK)
        return err->code;
    s->pace.has_vsync = s->driver.has_vsync;
    return MV_OK;
}

/* Returns how many screen pixels a pixel of the design takes. */
static float scale_of(const shell *s)
{
    int width = 0, pixels = 0;

    if (s->opts->scale > 0)
        return s->opts->scale;
    s->sdl.GetWindowSize(s->window, &width, NULL);
    s->sdl.GetRendererOutputSize(s->driver.renderer, &pixels, NULL);
    return mv_window_scale((float)width, (float)pixels, s->display_scale);
}

static mv_code open_view(shell *s, mv_err *err)
{
    mv_live_readers *readers = s->opts->is_followed ? mv_live_readers_open(s->opts->budget) : NULL;
    mv_view_opts opts = {.is_dark = s->opts->is_dark,
                         .tries_settings = true,
                         .is_threaded = true,
                         .scale = scale_of(s),
                         .tile_bytes = s->opts->tile_bytes,
                         .wake = wake,
                         .copy = copy,
                         .paste = paste,
                         .keys = s->opts->keys,
                         .files = &mv_disk_files,
                         .readers = readers,
                         .offers_tour = mv_disk_files.offers_tour(),
                         .sources = &mv_disk_sources,
                         .user = s};

    s->readers = readers;
    s->view = mv_view_open(s->opts->budget, &opts);
    if (!s->view || !mv_presenter_open(&s->presenter, s->opts->budget, &s->sdl, s->driver.renderer))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "window");
    mv_view_begin_at(s->view, &s->opts->start); /* must come before adding files, because a small
                                                   file is ready at once */
    for (uint32_t i = 0; i < s->opts->file_count; i++)
        mv_view_add(s->view, s->opts->files[i]);
    if (s->opts->is_followed)
        mv_follow_begin(&s->follow, s->view);
    return MV_OK;
}

/* ---- events ------------------------------------------------------------------------------ */

static void give_pending(shell *s)
{
    if (s->has_pending)
        mv_view_input(s->view, &s->pending);
    s->has_pending = false;
}

/* Merges inputs until an input of a different kind arrives. Of several moves only the last counts,
 * and wheel notches are added up. */
static void give(shell *s, const mv_input *input)
{
    bool is_alike =
        s->has_pending && s->pending.kind == input->kind && s->pending.mods == input->mods;

    if (is_alike && input->kind == MV_INPUT_WHEEL) {
        s->pending.dx += input->dx;
        s->pending.dy += input->dy;
        return;
    }
    if (!is_alike || input->kind != MV_INPUT_MOVE)
        give_pending(s);
    s->pending = *input;
    s->has_pending = true;
    if (input->kind != MV_INPUT_MOVE && input->kind != MV_INPUT_WHEEL)
        give_pending(s);
}

static void on_window_event(shell *s, const SDL_WindowEvent *event)
{
    mv_frame_pace_window(&s->pace, event->event);
    if (event->event == SDL_WINDOWEVENT_CLOSE)
        s->has_quit = true;
}

/* Handles an event that comes from the window itself or from another thread, not from the user. */
static void on_event(shell *s, const SDL_Event *event)
{
    if (event->type == s->wake_type) {
        atomic_store(&s->is_woken, false);
        s->pace.is_dirty = true;
    } else if (event->type == SDL_QUIT) {
        s->has_quit = true;
    } else if (event->type == SDL_WINDOWEVENT) {
        on_window_event(s, &event->window);
    } else if (event->type == SDL_RENDER_TARGETS_RESET || event->type == SDL_RENDER_DEVICE_RESET) {
        mv_presenter_forget(&s->presenter);
        s->pace.is_dirty = true;
    }
}

static void take_event(shell *s, const SDL_Event *event)
{
    mv_input input;

    on_event(s, event);
    if (mv_user_event(event, (uint16_t)s->sdl.GetModState(), &s->pointer, &input)) {
        give(s, &input);
        s->pace.is_dirty = true;
    }
    /* A drag may continue outside the window. */
    if (event->type == SDL_MOUSEBUTTONDOWN || event->type == SDL_MOUSEBUTTONUP)
        s->sdl.CaptureMouse(event->type == SDL_MOUSEBUTTONDOWN);
    if (event->type == SDL_DROPFILE || event->type == SDL_DROPTEXT)
        s->sdl.free(event->drop.file);
}

/* Enables text input and input method windows only while a field has the keyboard focus. */
static void follow_field(shell *s)
{
    bool is_typing = mv_view_wants_text(s->view);
    mv_box box = s->view->main_box;
    SDL_Rect rect = {(int)(box.x / s->pointer.scale_x), (int)(box.y / s->pointer.scale_y),
                     (int)(box.w / s->pointer.scale_x), 24};

    if (is_typing == s->is_typing)
        return;
    s->is_typing = is_typing;
    if (!is_typing) {
        s->sdl.StopTextInput();
        return;
    }
    s->sdl.StartTextInput();
    s->sdl.SetTextInputRect(&rect);
    s->sdl.FlushEvent(SDL_TEXTINPUT); /* discards text from the key that opened the field */
}

static void follow_title(shell *s)
{
    char title[MV_VIEW_TITLE];

    mv_view_title(s->view, title);
    if (strcmp(title, s->title) == 0)
        return;
    memcpy(s->title, title, sizeof title);
    s->sdl.SetWindowTitle(s->window, title);
}

/* ---- frames ------------------------------------------------------------------------------ */

static void draw_frame(shell *s)
{
    int width = 0, height = 0, units_x = 1, units_y = 1;
    const mv_scene *scene;

    s->sdl.GetRendererOutputSize(s->driver.renderer, &width, &height);
    s->sdl.GetWindowSize(s->window, &units_x, &units_y);
    if (width <= 0 || height <= 0 || units_x <= 0 || units_y <= 0)
        return;
    s->pointer.scale_x = (float)width / (float)units_x;
    s->pointer.scale_y = (float)height / (float)units_y;
    s->pace.is_dirty = false;
    s->pace.frame_at = s->sdl.GetTicks64();
    scene = mv_view_frame(s->view, (float)width, (float)height, (double)s->pace.frame_at);
    mv_presenter_show(&s->presenter, scene, s->pace.is_lost);
    s->pace.is_lost = false;
    follow_field(s);
    follow_title(s);
}

/* Shows newer data and its age, even if nothing else happens. */
static void follow(shell *s)
{
    double ms = (double)s->sdl.GetTicks64();
    mv_view *view = mv_follow_update(&s->follow, s->view, ms);

    if (view != s->view || ms >= (double)s->pace.frame_at + mv_follow_wait(&s->follow, view))
        s->pace.is_dirty = true;
    s->pace.is_lost = s->pace.is_lost || view != s->view;
    s->view = view;
}

static int wait_of(const shell *s)
{
    int wait = mv_frame_pace_wait(&s->pace, mv_view_is_animating(s->view), s->sdl.GetTicks64());
    uint32_t longest = mv_follow_wait(&s->follow, s->view);

    return (uint32_t)wait < longest ? wait : (int)longest;
}

static void run(shell *s)
{
    SDL_Event event;

    while (!s->view->is_closing && !s->has_quit) {
        int wait = wait_of(s);
        if (wait > 0 && s->sdl.WaitEventTimeout(&event, wait))
            take_event(s, &event);
        while (s->sdl.PollEvent(&event))
            take_event(s, &event);
        give_pending(s);
        follow(s);
        if (mv_frame_pace_wait(&s->pace, mv_view_is_animating(s->view), s->sdl.GetTicks64()) == 0)
            draw_frame(s);
    }
}

/* Closes everything. The window closes first, because other threads may take a while to stop. */
static void close_all(shell *s)
{
    if (s->window)
        s->sdl.HideWindow(s->window);
    if (s->presenter.raster)
        mv_presenter_close(&s->presenter);
    mv_driver_close(&s->driver);
    if (s->window)
        s->sdl.DestroyWindow(s->window);
    mv_follow_end(&s->follow);
    mv_view_close(s->view);
    mv_live_readers_close(s->readers);
    if (s->sdl.library) {
        s->sdl.free(s->pasted);
        s->sdl.QuitSubSystem(SDL_INIT_VIDEO);
    }
    mv_sdl_unload(&s->sdl);
}

bool mv_viewer_can_show(void)
{
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    bool can = (x11 && *x11) || (wayland && *wayland);
    mv_sdl sdl;
    mv_err err;

    can = can && mv_sdl_load(&sdl, &err) == MV_OK;
    if (can)
        mv_sdl_unload(&sdl);
    return can;
}

mv_code mv_viewer_show(const mv_viewer_opts *opts, mv_err *err)
{
    shell s = {.opts = opts, .pointer = {.scale_x = 1, .scale_y = 1, .x = -1, .y = -1}};
    mv_code code = mv_sdl_load(&s.sdl, err);

    if (code == MV_OK)
        code = open_window(&s, err);
    if (code == MV_OK)
        code = open_view(&s, err);
    if (code == MV_OK)
        run(&s);
    close_all(&s);
    return code;
}
