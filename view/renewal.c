#include "view/renewal.h"

#include "view/intents/intents.h"
#include "view/timeline/pane_timeline.h"

/* maximum number of frames that the second view paints unseen until its tiles and tables are ready,
 * which is 3 s on a slow display. A view that is not complete by then is shown incomplete. */
enum { MOST_FRAMES = 100 };

static bool has_failed(const mv_document *d)
{
    return atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DOCUMENT_FAILED;
}

/* Returns a file that is open in the first view but failed in the second; NULL: there is none. */
static const mv_document *lost_file(const mv_view *next, const mv_view *view)
{
    for (uint32_t i = 0; i < next->document_count && i < view->document_count; i++)
        if (has_failed(next->documents[i]) && !has_failed(view->documents[i]))
            return next->documents[i];
    return NULL;
}

static void give_up(mv_renewal *r)
{
    mv_view_close(r->next);
    r->next = NULL;
    r->stage = MV_RENEWAL_FAILED;
}

/* Opens a new view of the same files, at no particular position. Returns NULL when out of
 * memory. */
static mv_view *open_again(const mv_view *view)
{
    mv_view_opts opts = view->opts;
    mv_view *next;

    opts.offers_tour = false;
    opts.files = NULL; /* the files are already in the list of recent files */
    next = mv_view_open(view->budget, &opts);
    if (!next)
        return NULL;
    mv_view_catch_up(next, view);
    if (next->document_count < view->document_count) {
        mv_view_close(next);
        return NULL;
    }
    next->opts.files = view->opts.files;
    if (view->now->file < next->document_count)
        mv_loader_prefer(next->loader, next->documents[view->now->file], view->now->device);
    return next;
}

bool mv_renewal_begin(mv_renewal *r, mv_view *view)
{
    if (r->next || r->old || !mv_loader_is_idle(view->loader))
        return false;
    r->next = open_again(view);
    r->frames = 0;
    r->stage = MV_RENEWAL_READING;
    if (!r->next) {
        mv_view_say(view, true, "%s", "not enough memory to read the recording again");
        give_up(r);
    }
    return true;
}

/* Closes the old view. Its threads finish their work first, so closing does not wait for them. */
static void close_old(mv_renewal *r)
{
    if (!r->old || (!r->old->opts.is_cooperative &&
                    (!mv_jobs_are_idle(r->old->jobs) || !mv_timeline_is_idle(r->old))))
        return;
    mv_view_close(r->old);
    r->old = NULL;
}

/* Whether the tiles and tables of the same picture are painted. */
static bool is_painted(mv_renewal *r, const mv_view *view, double ms)
{
    const mv_scene *scene = &view->ui.scene;
    bool is_idle;

    if (r->frames == 0 && !mv_view_take_over(r->next, view))
        return false;
    mv_view_frame(r->next, scene->width, scene->height, ms);
    is_idle = r->frames > 0 && mv_view_is_idle(r->next);
    return is_idle || ++r->frames > MOST_FRAMES;
}

mv_view *mv_renewal_update(mv_renewal *r, mv_view *view, double ms)
{
    mv_view *next = r->next;
    const mv_document *lost;

    close_old(r);
    if (r->stage == MV_RENEWAL_DONE)
        r->stage = MV_RENEWAL_NONE;
    if (!next || !mv_loader_is_idle(next->loader))
        return view;
    if ((lost = lost_file(next, view))) {
        mv_view_say(view, true, "%s", lost->why);
        give_up(r);
        return view;
    }
    if (!mv_view_is_at_rest(view) || !is_painted(r, view, ms) || !mv_view_take_over(next, view))
        return view;
    next->ui.pointer_x = view->ui.pointer_x;
    next->ui.pointer_y = view->ui.pointer_y;
    r->next = NULL;
    r->old = view;
    r->stage = MV_RENEWAL_DONE;
    return next;
}

bool mv_renewal_run_one_task(mv_renewal *r)
{
    return r->next && mv_view_run_one_task(r->next);
}

void mv_renewal_end(mv_renewal *r)
{
    mv_view_close(r->next);
    mv_view_close(r->old);
    *r = (mv_renewal){0};
}
