/* Sets bookmarks and goes to them. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "viz/scene/axis.h"

/* Suggests a name: the position of the cursor. */
void mv_do_bookmark_add(mv_view *view, uint64_t arg)
{
    char event[MV_TICK_TEXT], name[MV_BOOKMARK_NAME];

    (void)arg;
    if (view->bookmarks->count == MV_MOST_BOOKMARKS) {
        mv_view_say(view, true, "there are %d bookmarks already: delete one first",
                    MV_MOST_BOOKMARKS);
        return;
    }
    mv_chrome_focus(view, MV_FOCUS_BOOKMARK);
    if (view->now->cursor == MV_BEFORE)
        snprintf(name, sizeof name, "start");
    else
        snprintf(name, sizeof name, "event %s", mv_axis_exact(view->now->cursor, event));
    mv_field_set(&view->chrome->bookmark, name);
    mv_field_select_all(&view->chrome->bookmark);
}

bool mv_bookmark_set(mv_view *view, const char *name)
{
    mv_bookmarks *all = &view->intents->bookmarks;
    const mv_view_state *now = view->now;
    size_t length = mv_utf8_cut(name, MV_BOOKMARK_NAME - 1);
    mv_bookmark *b;

    if (length == 0 || all->count == MV_MOST_BOOKMARKS)
        return false;
    b = &all->rows[all->count++];
    *b = (mv_bookmark){.file = now->file,
                       .device = now->device,
                       .cursor = now->cursor,
                       .from = now->from,
                       .to = now->to,
                       .has_interval = now->has_interval,
                       .a = now->a,
                       .b = now->b};
    memcpy(b->name, name, length);
    memcpy(b->level, now->level, mv_utf8_cut(now->level, MV_BOOKMARK_LEVEL - 1));
    mv_view_say(view, false, "bookmark: %s", b->name);
    return true;
}

void mv_do_bookmark_go(mv_view *view, uint64_t arg)
{
    const mv_bookmark *b;
    bool is_elsewhere;

    mv_chrome_focus(view, MV_FOCUS_PANES);
    if (arg >= view->bookmarks->count) {
        mv_view_say(view, false, "there is no such bookmark");
        return;
    }
    b = &view->bookmarks->rows[arg];
    if (b->file >= view->document_count) {
        mv_view_say(view, false, "the file of this bookmark is not open");
        return;
    }
    is_elsewhere = b->file != view->now->file || b->device != view->now->device ||
                   strcmp(b->level, view->now->level) != 0;
    mv_level_write(view, b->level);
    if (is_elsewhere)
        mv_view_choose(view, b->file, b->device);
    mv_view_write(view)->from = b->from;
    mv_view_write(view)->to = b->to;
    mv_view_write(view)->cursor = b->cursor;
    mv_view_write(view)->has_interval = b->has_interval;
    mv_view_write(view)->a = b->a;
    mv_view_write(view)->b = b->b;
    mv_view_fit(view);
}

void mv_do_bookmark_delete(mv_view *view, uint64_t arg)
{
    mv_bookmarks *all = &view->intents->bookmarks;

    if (arg >= all->count) {
        mv_view_say(view, false, "there is no such bookmark");
        return;
    }
    all->count--;
    memmove(&all->rows[arg], &all->rows[arg + 1], (all->count - arg) * sizeof *all->rows);
}
