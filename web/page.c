/* Functions that JavaScript calls, in this order:
 *
 *     mv_web_open                   called once, before all other functions
 *     mv_web_file, mv_web_add       called for each file, to register and to show it
 *     mv_web_key, _pointer, _wheel  user inputs (web/events.c)
 *     mv_web_turn                   does a piece of work; called until it returns 0
 *     mv_web_frame                  draws a picture; mv_web_image, mv_web_drawn return it
 *     mv_web_run                    runs a command, which writes to the file MV_FILE_OUT
 *
 * All strings are passed through one buffer, mv_web_texts. Numbers are doubles or 32-bit
 * integers. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "cli/program.h"
#include "parse/source/same_file.h"
#include "parse/source/text_file.h"
#include "view/chrome/chrome.h"
#include "view/chrome/spoken.h"
#include "view/intents/intents.h"
#include "view/renewal.h"
#include "view/timeline/pane_timeline.h"
#include "viz/scene/raster.h"
#include "web/exports.h"
#include "web/system/files.h"

#define MOST_MEMORY ((uint64_t)3840 << 20)
#define TEXTS       (256u << 10) /* room for the names of all files; same size as in core.js */
#define MOST_WORDS  (MV_MOST_FILES + 16)

IMPORT(void, copy) page_copy(const char *text, uint32_t length);
/* Reports the fraction of `file` that has been read. Called in the middle of a turn. */
IMPORT(void, progress) page_progress(uint32_t file, double share);

static struct {
    mv_budget budget;
    mv_view *view;
    mv_renewal renewal;
    bool wants_renewal;
    double began_ms; /* time when the renewal began */
    mv_raster *raster;
    mv_raster_frame frame;
    char texts[TEXTS];
    char pasted[TEXTS];
} page;

char *EXPORT(mv_web_texts)(void)
{
    return page.texts;
}

const mv_view *mv_web_view(void)
{
    return page.view;
}

void mv_web_give(const mv_input *input)
{
    mv_view_input(page.view, input);
}

/* ---- the viewer -------------------------------------------------------------------------- */

static void copy(void *user, const char *text)
{
    (void)user;
    page_copy(text, (uint32_t)strlen(text));
}

static const char *paste(void *user)
{
    (void)user;
    return page.pasted;
}

static void woken(void *user)
{
    (void)user;
    for (uint32_t i = 0; page.view && i < page.view->document_count; i++) {
        const mv_document *d = page.view->documents[i];
        uint64_t done = atomic_load_explicit(&d->bytes_done, memory_order_relaxed);
        uint64_t all = atomic_load_explicit(&d->bytes_all, memory_order_relaxed);
        if (atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DOCUMENT_READING && all > 0)
            page_progress(i, (double)done / (double)all);
    }
}

/* Opens the viewer. Returns false when out of memory. */
bool EXPORT(mv_web_open)(bool is_dark, float scale, bool offers_tour)
{
    mv_view_opts opts = {.is_dark = is_dark,
                         .is_threaded = true,
                         .is_cooperative = true,
                         .tries_settings = true,
                         .offers_tour = offers_tour,
                         .scale = scale,
                         .copy = copy,
                         .paste = paste,
                         .wake = woken};

    page.budget.limit = MOST_MEMORY;
    page.view = mv_view_open(&page.budget, &opts);
    page.raster = mv_raster_open(&page.budget, &(mv_raster_opts){.order = MV_PIXELS_RGBA});
    return page.view && page.raster;
}

/* Adds a file with the name in the buffer, and returns its number; 0: there are too many files. */
uint32_t EXPORT(mv_web_file)(double length)
{
    return mv_file_new(page.texts, (uint64_t)length);
}

/* Sets the initial state for the first file, which is a session line (view/state/session.h) in the
 * buffer. */
void EXPORT(mv_web_begin)(void)
{
    mv_session *session = mv_push_struct(&page.view->arena, mv_session);
    mv_err err = {.offset = MV_NO_OFFSET};

    if (session &&
        mv_session_read_line(&page.view->arena, mv_text_span(page.texts), session, &err) == MV_OK)
        mv_view_begin_at(page.view, &(mv_view_start){.device = MV_NO_ROW, .session = session});
    else
        mv_view_say(page.view, true, "the page's initial state is invalid: %s", err.detail);
}

void EXPORT(mv_web_add)(void)
{
    mv_view_drop(page.view, page.texts);
}

/* ---- sessions ---------------------------------------------------------------------------- */

static bool is_open(const char *path)
{
    for (uint32_t i = 0; i < page.view->document_count; i++)
        if (mv_is_same_file(page.view->documents[i]->path, path))
            return true;
    return false;
}

/* Replaces the session's name in the buffer with the names of the session's missing files,
 * separated by ", ". If the session cannot be read, the result is empty, because mv_web_add will
 * report the reason. */
void EXPORT(mv_web_lacks)(void)
{
    mv_session session = {0};
    mv_arena arena;
    mv_span text;
    mv_err err;
    size_t used = 0;

    mv_arena_init(&arena, &page.budget);
    if (mv_text_file_read(&arena, page.texts, &text, &err) != MV_OK ||
        mv_session_read(&arena, text, &session, &err) != MV_OK)
        session.file_count = 0;
    *page.texts = '\0';
    for (uint32_t i = 0; i < session.file_count && used < TEXTS / 2; i++)
        if (!is_open(session.files[i]))
            used += (size_t)snprintf(page.texts + used, TEXTS / 4, "%s%s", used ? ", " : "",
                                     session.files[i]);
    mv_arena_release(&arena);
}

/* Returns the current view as a session, which is valid until the next call; NULL: out of
 * memory. */
const char *EXPORT(mv_web_session)(void)
{
    static mv_arena arena;
    mv_session session;

    if (arena.budget)
        mv_arena_release(&arena);
    mv_arena_init(&arena, &page.budget);
    return mv_view_session(page.view, &arena, &session) ? mv_session_text(&arena, &session) : NULL;
}

/* Returns the part after '#' in a link to the current view, which is valid until the next call;
 * NULL: out of memory. */
const char *EXPORT(mv_web_link)(void)
{
    static mv_arena arena;

    if (arena.budget)
        mv_arena_release(&arena);
    mv_arena_init(&arena, &page.budget);
    return mv_view_link(page.view, &arena);
}

/* Sets the theme and the scale that the browser uses. If `scale` is 0, the scale does not
 * change. */
void EXPORT(mv_web_look)(bool is_dark, double scale)
{
    mv_view_look(page.view, is_dark, scale > 0 ? scale : page.view->desk->scale);
}

double EXPORT(mv_web_scale)(void)
{
    return page.view->desk->scale;
}

/* Returns the frame as text for a screen reader (view/chrome/spoken.h), which is valid until the
 * next frame. */
const char *EXPORT(mv_web_spoken)(void)
{
    return mv_view_spoken(page.view);
}

/* Returns the heights of the bars at the top and at the bottom, which are not printed. */
const float *EXPORT(mv_web_bars)(void)
{
    static float bars[2];

    bars[0] = page.view->chrome->layout.toolbar.h;
    bars[1] = page.view->chrome->layout.status.h;
    return bars;
}

/* Returns the position and size of the field's caret. */
const mv_box *EXPORT(mv_web_caret)(void)
{
    return &page.view->ui.caret;
}

/* Removes the file named in the buffer, which has been read, so its bytes are no longer needed. */
void EXPORT(mv_web_forget)(void)
{
    mv_file_remove(page.texts);
}

/* Sets the text that Ctrl+V pastes. */
void EXPORT(mv_web_paste)(void)
{
    memcpy(page.pasted, page.texts, sizeof page.pasted);
}

/* Does one piece of pending work. Returns false if there was nothing to do. */
bool EXPORT(mv_web_turn)(void)
{
    return mv_view_run_one_task(page.view) || mv_renewal_run_one_task(&page.renewal);
}

/* ---- following ----------------------------------------------------------------------------- */

/* Begins to read the newer bytes of an open file. As soon as they are ready, they replace the data
 * that is shown. */
void EXPORT(mv_web_renew)(void)
{
    page.wants_renewal = true;
}

/* Records that an open file is still being written but has no newer bytes now, or with `has_ended`,
 * that it will have no more. */
void EXPORT(mv_web_live)(bool has_ended, double ms)
{
    page.view->live.is_followed = true;
    page.view->live.has_ended = has_ended;
    page.view->live.fresh_ms = ms;
}

static void renew(double ms)
{
    mv_view *view = page.view;

    if (page.wants_renewal && mv_renewal_begin(&page.renewal, view)) {
        page.wants_renewal = false;
        page.began_ms = ms;
    }
    page.view = mv_renewal_update(&page.renewal, view, ms);
    if (page.view != view)
        page.view->live.fresh_ms = page.began_ms;
}

/* Draws a frame, and returns the number of rectangles that have changed since the previous frame;
 * -1: out of memory. */
int EXPORT(mv_web_frame)(float width, float height, double ms)
{
    const mv_scene *scene;
    mv_err err;

    renew(ms);
    scene = mv_view_frame(page.view, width, height, ms);
    if (mv_raster_next(page.raster, scene, &page.frame, &err) != MV_OK)
        return -1;
    return (int)page.frame.count;
}

/* Returns the rectangles that have changed, each as x, y, width and height. */
const mv_pixel_rect *EXPORT(mv_web_drawn)(void)
{
    return page.frame.drawn;
}

/* Returns the pixels of the frame, in canvas format. */
const uint8_t *EXPORT(mv_web_image)(void)
{
    return page.frame.image.pixels;
}

/* Whether a device is shown and only its reports are missing, which take long to compute. */
static bool is_missing_reports(const mv_view *view)
{
    return mv_view_device(view) && !mv_view_is_evaluated(view) && mv_jobs_are_idle(view->jobs) &&
           mv_timeline_is_idle(view);
}

/* Returns the sum of these bits: 1 something is moving, 2 a field accepts text, 4 the user wants to
 * close the viewer, 8 the theme is dark, 16 the viewer is idle, 32 only reports are missing, 64 a
 * device is shown, 128 the tour is open, 256 newer data is being read, 512 the user has paused
 * following. */
uint32_t EXPORT(mv_web_state)(void)
{
    bool is_renewing = page.wants_renewal || page.renewal.next;

    return (mv_view_is_animating(page.view) || is_renewing ? 1u : 0) | (is_renewing ? 256u : 0) |
           (page.view->live.is_paused ? 512u : 0) | (mv_view_wants_text(page.view) ? 2u : 0) |
           (page.view->is_closing ? 4u : 0) | (page.view->desk->is_dark ? 8u : 0) |
           (mv_view_is_idle(page.view) ? 16u : 0) | (is_missing_reports(page.view) ? 32u : 0) |
           (mv_view_device(page.view) ? 64u : 0) | (page.view->desk->tour ? 128u : 0);
}

/* Returns the stage of a file. The stages are 0 if the file is waiting, 1 if it is being read, 2 if
 * it is open, and 3 if it could not be read, with the reason in the buffer. -1: there is no such
 * file. */
int EXPORT(mv_web_stage)(uint32_t file)
{
    const mv_document *d = file < page.view->document_count ? page.view->documents[file] : NULL;
    int stage = d ? atomic_load_explicit(&d->stage, memory_order_acquire) : -1;

    if (stage == MV_DOCUMENT_FAILED)
        snprintf(page.texts, sizeof page.texts, "%s", d->why);
    return stage;
}

/* ---- commands ---------------------------------------------------------------------------- */

/* Runs the program with `count` NUL-terminated words from the buffer, such as "leaks", "--json",
 * "train.pickle". Returns the exit status. */
int EXPORT(mv_web_run)(uint32_t count)
{
    char *words[MOST_WORDS + 2] = {(char *)"memviz"}, *at = page.texts;
    int status;

    for (uint32_t i = 1; i <= count && i <= MOST_WORDS; i++, at += strlen(at) + 1)
        words[i] = at;
    mv_file_remove(MV_FILE_OUT);
    mv_file_remove(MV_FILE_ERRORS);
    optind = 0;
    if (count > MOST_WORDS) {
        fprintf(stderr, "memviz: a report takes at most %d words\n", (int)MOST_WORDS);
        status = 2;
    } else {
        status = mv_program((int)count + 1, words, NULL);
    }
    fflush(stdout);
    fflush(stderr);
    return status;
}

/* Returns the bytes of the file named in the buffer; NULL: there is no such file, or its bytes are
 * not in memory. */
const uint8_t *EXPORT(mv_web_bytes)(void)
{
    const mv_file *file = mv_file_find(page.texts);

    return file ? file->bytes : NULL;
}

double EXPORT(mv_web_length)(void)
{
    const mv_file *file = mv_file_find(page.texts);

    return file ? (double)file->length : 0;
}
