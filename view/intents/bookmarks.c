/* Writes notes, and goes to them. */

#include "base/utf8.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "viz/scene/axis.h"

static bool is_here(const mv_view *view, const mv_bookmark *b)
{
    const mv_view_state *now = view->now;

    return b->file == now->file && b->device == now->device && b->cursor == now->cursor &&
           strcmp(b->level, now->level) == 0;
}

/* Opens the field, with the text of a note or with a suggestion. */
static void open_field(mv_view *view, uint32_t row, const char *text)
{
    mv_chrome_focus(view, MV_FOCUS_BOOKMARK);
    view->chrome->edited_bookmark = row;
    mv_field_set(&view->chrome->bookmark, text);
    mv_field_select_all(&view->chrome->bookmark);
}

/* Opens the field for a new note, and suggests a text for the position of the cursor. */
void mv_do_bookmark_add(mv_view *view, uint64_t arg)
{
    char event[MV_TICK_TEXT], name[MV_TICK_TEXT + 8];

    (void)arg;
    for (uint32_t i = 0; i < view->bookmarks->count; i++)
        if (is_here(view, &view->bookmarks->rows[i])) {
            mv_do_bookmark_edit(view, i);
            return;
        }
    if (view->bookmarks->count == MV_MOST_BOOKMARKS) {
        mv_view_say(view, true, "there are %d notes already: delete one first", MV_MOST_BOOKMARKS);
        return;
    }
    if (view->now->cursor == MV_BEFORE)
        snprintf(name, sizeof name, "start");
    else
        snprintf(name, sizeof name, "event %s", mv_axis_exact(view->now->cursor, event));
    open_field(view, MV_NO_ROW, name);
}

void mv_do_bookmark_edit(mv_view *view, uint64_t arg)
{
    if (arg < view->bookmarks->count)
        open_field(view, (uint32_t)arg, view->bookmarks->rows[arg].name);
    else
        mv_view_say(view, false, "there is no such note");
}

static void write_text(mv_bookmark *b, const char *text)
{
    memset(b->name, 0, sizeof b->name);
    memcpy(b->name, text, mv_utf8_cut(text, MV_BOOKMARK_NAME - 1));
}

bool mv_bookmark_set(mv_view *view, const char *text)
{
    mv_bookmarks *all = &view->intents->bookmarks;
    const mv_view_state *now = view->now;
    mv_bookmark *b;

    if (!*text || all->count == MV_MOST_BOOKMARKS)
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
    write_text(b, text);
    memcpy(b->level, now->level, mv_utf8_cut(now->level, MV_BOOKMARK_LEVEL - 1));
    mv_view_say(view, false, "note: %s", b->name);
    return true;
}

bool mv_bookmark_typed(mv_view *view)
{
    const char *text = view->chrome->bookmark.text;
    uint32_t row = view->chrome->edited_bookmark;

    if (row == MV_NO_ROW || row >= view->bookmarks->count)
        return mv_bookmark_set(view, text);
    if (*text)
        write_text(&view->intents->bookmarks.rows[row], text);
    return *text != '\0';
}

void mv_do_bookmark_go(mv_view *view, uint64_t arg)
{
    const mv_bookmark *b;
    bool is_elsewhere;

    mv_chrome_focus(view, MV_FOCUS_PANES);
    if (arg >= view->bookmarks->count) {
        mv_view_say(view, false, "there is no such note");
        return;
    }
    b = &view->bookmarks->rows[arg];
    if (b->file >= view->document_count) {
        mv_view_say(view, false, "the file of this note is not open");
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
        mv_view_say(view, false, "there is no such note");
        return;
    }
    all->count--;
    memmove(&all->rows[arg], &all->rows[arg + 1], (all->count - arg) * sizeof *all->rows);
}
