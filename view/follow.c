#include "view/follow.h"

#include "parse/live/live_progress.h"

enum {
    LOOK_MS = 1000, /* time between two checks of the files */
    SOON_MS = 30,   /* time between two checks while newer data is being prepared */
    SHARE = 10      /* after the files have been read, following pauses for this many times as long
                       as the reading took */
};

/* Returns a hash of what the live files contain; 0: no file is being written. *has_ended is set if
 * there will be no more data. */
static uint64_t find_mark(const mv_view *view, bool *has_ended)
{
    mv_live_progress progress;
    uint64_t mark = 0;

    *has_ended = true;
    for (uint32_t i = 0; i < view->document_count; i++)
        if (mv_live_progress_find(view->documents[i]->path, &progress)) {
            mark = mv_mix(mark, progress.mark);
            *has_ended = *has_ended && progress.has_ended;
        }
    return mark;
}

void mv_follow_begin(mv_follow *f, mv_view *view)
{
    bool has_ended;

    *f = (mv_follow){.shown = find_mark(view, &has_ended)};
    view->live.is_followed = true;
}

static void begin(mv_follow *f, mv_view *view, uint64_t mark, double ms)
{
    if (ms < f->due_ms || !mv_renewal_begin(&f->renewal, view))
        return;
    f->reading = mark;
    f->began_ms = ms;
    f->is_reading = true;
}

/* Checks the files. If a file is missing, its run has ended, and the launcher has written the
 * result. */
static void look(mv_follow *f, mv_view *view, double ms)
{
    bool has_ended;
    uint64_t mark = find_mark(view, &has_ended);

    f->look_ms = ms + LOOK_MS;
    if (mark && mark != f->shown) {
        begin(f, view, mark, ms);
        return;
    }
    if (has_ended && !mv_loader_is_idle(view->loader))
        return;
    view->live.fresh_ms = ms;
    view->live.has_ended = has_ended;
    if (has_ended)
        mv_view_say(view, false, "%s",
                    mark ? "the recording has ended"
                         : "the live file is gone: the result of the run contains the last events");
}

/* Returns true if records were read but are held back, and so are shown later without new data. */
static bool is_waiting(const mv_view *view)
{
    return view->opts.readers && mv_live_readers_status(view->opts.readers).are_waiting;
}

/* Says so if a file was found to be another one, or shorter, since the last call. */
static void say_replaced(mv_follow *f, mv_view *view)
{
    uint32_t replaced =
        view->opts.readers ? mv_live_readers_status(view->opts.readers).replaced : 0;

    if (replaced != f->replaced)
        mv_view_say(view, false, "%s",
                    "the file was replaced or became shorter: it was read from its beginning");
    f->replaced = replaced;
}

/* Closes the files once no newer data will be shown, so that files that are removed take no
 * space. */
static void close_files(const mv_follow *f, const mv_view *view)
{
    if (view->opts.readers && (view->live.is_paused || view->live.has_ended) && !f->is_reading &&
        mv_loader_is_idle(view->loader))
        mv_live_readers_drop(view->opts.readers);
}

static void finish(mv_follow *f, mv_view *view, double ms)
{
    f->due_ms = ms + (ms - f->began_ms) * SHARE;
    f->is_reading = false;
    if (f->renewal.stage == MV_RENEWAL_FAILED) {
        view->live.is_paused = true;
        return;
    }
    say_replaced(f, view);
    view->live.fresh_ms = f->began_ms;
    f->shown = is_waiting(view) ? 0 : f->reading;
}

mv_view *mv_follow_update(mv_follow *f, mv_view *view, double ms)
{
    view = mv_renewal_update(&f->renewal, view, ms);
    if (f->is_reading && f->renewal.stage >= MV_RENEWAL_DONE)
        finish(f, view, ms);
    if (view->live.is_followed && !view->live.is_paused && !view->live.has_ended &&
        !f->is_reading && ms >= f->look_ms)
        look(f, view, ms);
    close_files(f, view);
    return view;
}

uint32_t mv_follow_wait(const mv_follow *f, const mv_view *view)
{
    if (f->renewal.next || f->renewal.old)
        return SOON_MS;
    return view->live.is_followed && !view->live.has_ended ? LOOK_MS : UINT32_MAX;
}

void mv_follow_end(mv_follow *f)
{
    mv_renewal_end(&f->renewal);
}
