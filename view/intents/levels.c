/* Chooses the memory level that is shown, for all files. */
#include <math.h>

#include "view/document/level_calls.h"
#include "view/document/moment_text.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"

/* ---- documents of a level ---------------------------------------------------------------- */

static mv_level_files *files_of(mv_view *view, const char *level)
{
    mv_level_files *files = view->all_level_files;

    while (files && strcmp(files->level, level) != 0)
        files = files->next;
    if (files)
        return files;
    files = mv_push_struct(&view->arena, mv_level_files);
    if (!files || !(files->level = mv_arena_text(&view->arena, level, strlen(level))) ||
        !(files->documents = mv_push_array(&view->arena, mv_document *, MV_MOST_FILES)))
        return NULL;
    files->next = view->all_level_files;
    view->all_level_files = files;
    return files;
}

static bool fill(mv_view *view, mv_level_files *files)
{
    for (; files->count < view->document_count; files->count++) {
        uint32_t i = files->count;
        files->documents[i] = mv_loader_level(view->loader, view->documents[i], files->level);
        if (!files->documents[i])
            return false;
    }
    return true;
}

bool mv_level_settle(mv_view *view)
{
    mv_level_files *shown = view->level_files, *files;

    if (shown && strcmp(shown->level, view->now->level) == 0)
        return true;
    files = files_of(view, view->now->level);
    if (!files || !fill(view, files)) {
        mv_view_say(view, true, "%s", "not enough memory to show the level");
        if (shown)
            memcpy(mv_view_write(view)->level, shown->level, strlen(shown->level) + 1);
        return false;
    }
    if (shown)
        shown->count = view->document_count;
    view->level_files = files;
    view->documents = files->documents;
    view->names.count = 0; /* names are looked up again, because devices have different names on
                            * this level */
    view->hover = view->hover_segment = MV_NO_ROW;
    return true;
}

void mv_level_open_lanes(mv_view *view)
{
    const mv_level_list *list = mv_view_levels(view);
    uint32_t shown = mv_view_level(view);

    for (uint32_t i = 0; view->now->has_level_lanes && i < list->count; i++) {
        mv_level_files *files = i == shown ? NULL : files_of(view, list->name[i]);
        if (i == shown || (files && fill(view, files)))
            continue;
        mv_view_write(view)->has_level_lanes = false;
        mv_view_say(view, true, "%s", "not enough memory to show the levels");
    }
}

void mv_level_write(mv_view *view, const char *level)
{
    mv_view_state *now = mv_view_write(view);

    memset(now->level, 0, sizeof now->level);
    snprintf(now->level, sizeof now->level, "%s", level);
    mv_level_settle(view);
}

/* ---- keeping the time -------------------------------------------------------------------- */

static bool has_times(const mv_events *e)
{
    return e->count > 0 && e->time_us[0] != MV_NO_TIME;
}

static mv_kept_events place_of(const mv_view *view, const mv_document_device *device)
{
    const mv_view_state *now = view->now;

    return (mv_kept_events){.of = device,
                            .from = now->from,
                            .to = now->to,
                            .cursor = now->cursor,
                            .a = now->a,
                            .b = now->b,
                            .has_interval = now->has_interval};
}

static mv_kept_times fresh_times(const mv_view *view, const mv_document_device *d)
{
    const mv_view_state *now = view->now;
    const mv_events *e = &d->lives.events;
    uint32_t last = e->count - 1;
    mv_kept_times kept = {.is_kept = true, .device = d->device, .chosen = place_of(view, d)};

    kept.is_all = now->from <= 0 && now->to >= e->count;
    kept.from_us = e->time_us[(uint32_t)fmin(now->from, last)];
    kept.to_us = e->time_us[(uint32_t)fmin(fmax(ceil(now->to), 1) - 1, last)];
    kept.has_cursor = now->cursor != MV_BEFORE && now->cursor <= last;
    if (kept.has_cursor)
        kept.cursor_us = e->time_us[now->cursor];
    kept.has_interval = now->has_interval && now->a < now->b && now->b <= e->count;
    if (kept.has_interval) {
        kept.a_us = e->time_us[now->a];
        kept.b_us = e->time_us[now->b - 1];
    }
    return kept;
}

static bool has_same_cursor(const mv_kept_events *a, const mv_kept_events *b)
{
    return a->cursor == b->cursor;
}

static bool has_same_window(const mv_kept_events *a, const mv_kept_events *b)
{
    return a->from == b->from && a->to == b->to;
}

static bool has_same_interval(const mv_kept_events *a, const mv_kept_events *b)
{
    return a->has_interval == b->has_interval && a->a == b->a && a->b == b->b;
}

/* A level may have few events. If the user has not changed the position since the level was last
 * switched, the time that the user chose is kept, rather than the time of the nearest event at this
 * level. */
static mv_kept_times times_of(const mv_view *view)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_kept_times *last = &view->chrome->last;
    const mv_kept_events *put = &last->put;
    mv_kept_times kept = {0};
    mv_kept_events now;

    if (!d || !has_times(&d->lives.events))
        return kept;
    now = place_of(view, d);
    kept = fresh_times(view, d);
    if (!last->is_kept || put->of != d)
        return kept;
    if (has_same_cursor(&now, put)) {
        kept.has_cursor = last->has_cursor;
        kept.cursor_us = last->cursor_us;
    }
    if (has_same_window(&now, put)) {
        kept.is_all = last->is_all;
        kept.from_us = last->from_us;
        kept.to_us = last->to_us;
    }
    if (has_same_interval(&now, put)) {
        kept.has_interval = last->has_interval;
        kept.a_us = last->a_us;
        kept.b_us = last->b_us;
    }
    kept.device = last->device;
    if (has_same_cursor(&now, put) && has_same_window(&now, put) && has_same_interval(&now, put))
        kept.chosen = last->chosen;
    return kept;
}

static void put_times(mv_view *view, const mv_kept_times *kept, const mv_events *e)
{
    const mv_trace *trace = &mv_view_document(view)->trace;
    mv_view_state *now = mv_view_write(view);
    uint32_t after = kept->has_cursor ? mv_events_until(e, kept->cursor_us) : 0;

    if (!kept->is_all)
        mv_view_show(view, mv_events_until(e, kept->from_us - 1), mv_events_until(e, kept->to_us));
    now->cursor = after ? mv_call_last(trace, e, after - 1) : MV_BEFORE;
    now->a = kept->has_interval ? mv_events_until(e, kept->a_us - 1) : 0;
    now->b = kept->has_interval ? mv_events_until(e, kept->b_us) : 0;
    now->has_interval = now->a < now->b;
}

void mv_level_keep_time(mv_view *view, const mv_document_device *device)
{
    const mv_events *e = &device->lives.events;
    const mv_kept_times kept = view->chrome->kept;
    mv_view_state *now = mv_view_write(view);

    view->chrome->kept.is_kept = view->chrome->last.is_kept = false;
    if (!kept.is_kept || !has_times(e))
        return;
    if (kept.chosen.of == device) {
        now->from = kept.chosen.from;
        now->to = kept.chosen.to;
        now->cursor = kept.chosen.cursor;
        now->a = kept.chosen.a;
        now->b = kept.chosen.b;
        now->has_interval = kept.chosen.has_interval;
    } else
        put_times(view, &kept, e);
    view->chrome->last = kept;
    view->chrome->last.put = place_of(view, device);
}

/* ---- commands ---------------------------------------------------------------------------- */

void mv_level_go(mv_view *view, const char *level)
{
    mv_kept_times kept = times_of(view);

    mv_view_write(view)->other_file = mv_view_write(view)->other_device = MV_NO_ROW;
    mv_level_write(view, level);
    view->chrome->kept = kept;
    mv_view_choose(view, view->now->file, MV_NO_ROW);
}

void mv_do_level(mv_view *view, uint64_t arg)
{
    const mv_level_list *list = mv_view_levels(view);

    if (arg >= list->count)
        mv_view_say(view, false, "%s", "there is no such level");
    else if (arg != mv_view_level(view))
        mv_level_go(view, list->name[arg]);
}

void mv_do_next_level(mv_view *view, uint64_t arg)
{
    uint32_t count = mv_view_levels(view)->count, shown = mv_view_level(view);

    (void)arg;
    mv_do_level(view, shown < count ? (shown + 1) % count : 0);
}
