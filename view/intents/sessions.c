/* Opens files and sessions, and saves a session. */
#include <math.h>

#include "parse/source/same_file.h"
#include "parse/source/text_file.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"

/* Sets the members that the session contains, except the device, which is chosen earlier. */
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
    set_members(view, session, true); /* choosing the device may have scrolled a list */
    mv_view_fit(view);
    mv_field_set(&view->chrome->search, view->now->search);
    mv_field_set(view->row_field, view->now->row_filter);
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

/* ---- opening ------------------------------------------------------------------------------ */

static void remember(mv_view *view, const char *path)
{
    if (view->opts.files && !view->opts.files->remember(path))
        mv_view_say(view, true, "%s", "the list of recent files was not written: the disk is full");
}

bool mv_view_add_file(mv_view *view, const char *path)
{
    mv_document *document = NULL;

    if (!*path) { /* a session cannot contain an empty file name */
        mv_view_say(view, true, "%s", "not opened: the file name is empty");
        return false;
    }
    if (view->document_count < MV_MOST_FILES) {
        if (view->document_count ==
            0) /* no other device is preferred, so the first device that becomes ready is shown */
            mv_loader_prefer(view->loader, NULL, MV_NO_ROW);
        document = mv_loader_add(view->loader, path, view->now->level);
    }
    if (!document) {
        mv_view_say(view, true, "%s: not opened: out of memory", path);
        return false;
    }
    view->documents[view->document_count++] = document;
    remember(view, path);
    return true;
}

/* Returns the row of an open file, which may also be found by its name, because a page has no
 * paths. MV_NO_ROW: the file is not open. */
static uint32_t open_row(const mv_view *view, const char *path)
{
    for (uint32_t i = 0; i < view->document_count; i++)
        if (strcmp(view->documents[i]->path, path) == 0 ||
            mv_is_same_file(view->documents[i]->path, path))
            return i;
    return MV_NO_ROW;
}

static uint32_t row_of(const mv_session *session, const uint32_t *rows, uint32_t file)
{
    return file < session->file_count ? rows[file] : MV_NO_ROW;
}

/* Opens the session's files. Then replaces the file numbers in the session by the rows of these
 * files in the view. */
static void place_files(mv_view *view, mv_session *session)
{
    uint32_t rows[MV_SESSION_FILES];

    for (uint32_t i = 0; i < session->file_count; i++) {
        rows[i] = open_row(view, session->files[i]);
        if (rows[i] == MV_NO_ROW && mv_view_add_file(view, session->files[i]))
            rows[i] = view->document_count - 1;
    }
    session->now.file = row_of(session, rows, session->now.file);
    session->now.other_file = row_of(session, rows, session->now.other_file);
    for (uint32_t i = 0; i < session->bookmarks.count; i++)
        session->bookmarks.rows[i].file = row_of(session, rows, session->bookmarks.rows[i].file);
}

static mv_code read_session(mv_view *view, const char *path, mv_session *out, mv_err *err)
{
    mv_arena scratch;
    mv_span text;
    mv_code code;

    mv_arena_init(&scratch, view->budget);
    code = mv_text_file_read(&scratch, path, &text, err);
    if (code == MV_OK)
        code = mv_session_read(&view->arena, text, out, err);
    mv_arena_release(&scratch);
    return code;
}

uint32_t mv_session_special_file(const mv_session *session)
{
    uint32_t i = 0;

    while (i < session->file_count && !mv_source_is_special(session->files[i]))
        i++;
    return i;
}

/* Opens a session file. If the file cannot be read, the view does not change, and a message gives
 * the reason. */
static void open_session(mv_view *view, const char *path)
{
    mv_session *session = mv_push_struct(&view->arena, mv_session);
    uint32_t special;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!session) {
        mv_view_say(view, true, "%s: not opened: out of memory", path);
        return;
    }
    if (read_session(view, path, session, &err) != MV_OK) {
        if (err.offset == MV_NO_OFFSET)
            mv_view_say(view, true, "not opened: %.150s: %s", path, err.detail);
        else
            mv_view_say(view, true, "%.150s: byte %llu: %s", path, (unsigned long long)err.offset,
                        err.detail);
        return;
    }
    if (session->file_count == 0) {
        mv_view_say(view, true, "%s: the session contains no file", path);
        return;
    }
    special = mv_session_special_file(session);
    if (special < session->file_count) {
        mv_view_say(view, true, "%.150s: not opened: %.60s is not a regular file", path,
                    session->files[special]);
        return;
    }
    mv_change_begin(view);
    place_files(view, session);
    remember(view, path);
    mv_view_begin_at(view, &(mv_view_start){.device = MV_NO_ROW, .session = session});
    mv_view_choose(view, session->now.file, MV_NO_ROW);
    mv_change_end(view);
}

static uint32_t first_file(const mv_view *view)
{
    const mv_session *session = view->chrome->start.session;

    return view->chrome->has_start && session ? session->now.file : 0;
}

/* Whether the shown file could not be read. */
static bool shows_a_failure(const mv_view *view)
{
    const mv_document *d = mv_view_document(view);

    return d && atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DOCUMENT_FAILED;
}

void mv_view_add(mv_view *view, const char *path)
{
    bool is_wanted = shows_a_failure(view);

    if (mv_text_file_begins(path, MV_SESSION_BEGINS))
        open_session(view, path);
    else if (mv_view_add_file(view, path) &&
             (is_wanted || view->document_count == first_file(view) + 1))
        mv_view_choose(view, view->document_count - 1, MV_NO_ROW);
}

/* Whether the open files are exactly those that were dropped since the last frame, and at least two
 * of them can be read. */
static bool are_ranks(const mv_view *view)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < view->document_count; i++)
        count += atomic_load_explicit(&view->documents[i]->stage, memory_order_acquire) !=
                 MV_DOCUMENT_FAILED;
    return view->chrome->dropped == view->document_count && count > 1;
}

void mv_view_drop(mv_view *view, const char *path)
{
    mv_chrome *c = view->chrome;

    mv_view_add(view, path);
    c->dropped++;
    if (!are_ranks(view))
        return;
    if (!c->has_start)
        mv_view_write(view)->main = MV_MAIN_RANKS;
    else if (!c->start.session)
        c->start.main = MV_MAIN_RANKS;
}

/* ---- saving ------------------------------------------------------------------------------- */

/* Opens the field for a name, as for all files that the viewer writes. */
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
