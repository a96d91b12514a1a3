/* Beginning where a session says, and saving one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/intents/intents.h"
#include "view/intents/writable.h"

/* The members that the session has, but for the device: that is chosen before. */
static void set_members(mv_view *view, const mv_session *session, bool of_desk)
{
    const char *from = of_desk ? (const char *)&session->desk : (const char *)&session->now;
    char *to = of_desk ? (char *)mv_view_write_desk(view) : (char *)mv_view_write(view);

    for (uint32_t i = 0; i < mv_state_member_count; i++) {
        const mv_state_member *m = &mv_state_members[i];
        bool is_device = m->offset == offsetof(mv_view_state, file) ||
                         m->offset == offsetof(mv_view_state, device);
        if (session->is_given[i] && m->is_of_desk == of_desk && (of_desk || !is_device))
            memcpy(to + m->offset, from + m->offset, m->size * m->count);
    }
}

void mv_session_set_desk(mv_view *view, const mv_session *session)
{
    set_members(view, session, true);
    view->intents->bookmarks = session->bookmarks;
}

void mv_session_set_place(mv_view *view, const mv_session *session)
{
    set_members(view, session, false);
    set_members(view, session, true); /* choosing the device may have scrolled */
    mv_view_fit(view);
    mv_field_set(&view->chrome->search, view->now->search);
}

static void fit_window(mv_view_state *now, double events)
{
    if (now->from < now->to && now->from < events) {
        now->to = fmin(now->to, events);
        return;
    }
    now->from = 0;
    now->to = events;
}

void mv_view_fit(mv_view *view)
{
    const mv_document_device *device = mv_view_device(view);
    mv_view_state *now = mv_view_write(view);
    const mv_lives *lives;
    uint32_t events;

    if (!device)
        return;
    lives = &device->lives;
    events = lives->events.count;
    fit_window(now, events ? events : 1);
    if (now->cursor != MV_BEFORE && now->cursor >= events)
        now->cursor = events ? events - 1 : MV_BEFORE;
    if (now->has_interval && now->b > events)
        now->b = events;
    now->has_interval = now->has_interval && now->a < now->b;
    if (now->pinned >= lives->allocs.count)
        now->pinned = MV_NO_ROW;
    if (now->pinned_segment >= lives->segments.count)
        now->pinned_segment = MV_NO_ROW;
    if (now->clock == MV_CLOCK_TIME && (!events || lives->events.time_us[0] == MV_NO_TIME))
        now->clock = MV_CLOCK_EVENTS;
    if (!*now->search)
        now->show = MV_SHOW_ALL;
}

/* Asks for a name, as for any other file that is written. */
void mv_do_save_session(mv_view *view, uint64_t arg)
{
    const mv_document *d = mv_view_document(view);
    char name[MV_FIELD_TEXT];

    (void)arg;
    mv_chrome_focus(view, MV_FOCUS_EXPORT);
    snprintf(name, sizeof name, "%.900s.session", d ? d->name : "memviz");
    mv_field_set(&view->chrome->export, name);
    mv_field_select_all(&view->chrome->export);
}
