#include "view/chrome/open_dialogue.h"

#include <strings.h>
#include <time.h>

#include "base/size.h"
#include "base/utf8.h"
#include "view/chrome/chrome.h"

enum { ROW = 22, ROWS = 14, SIZE = 84, DATE = 130, KIND = 60, WIDTH = 720 };

/* ---- rows -------------------------------------------------------------------------------- */

/* Returns where the last component of the text begins. */
static const char *name_in(const char *text)
{
    const char *slash = strrchr(text, '/');

    return slash ? slash + 1 : text;
}

/* Finds the folder of the text: for "~/a/b" it is $HOME/a/, and for "b" it is "". */
static void find_folder(mv_open_dialogue *open, const mv_file_system *files)
{
    const char *text = open->field.text, *home = NULL;
    int length = (int)(name_in(text) - text);

    if (text[0] == '~' && text[1] == '/')
        home = files->home();
    if (home)
        snprintf(open->folder, sizeof open->folder, "%s%.*s", home, length - 1, text + 1);
    else
        snprintf(open->folder, sizeof open->folder, "%.*s", length, text);
}

static void add(mv_open_dialogue *open, mv_open_kind kind, const mv_file_entry *entry)
{
    open->rows[open->count++] = (mv_open_row){(uint8_t)kind, entry};
}

void mv_open_rows(mv_open_dialogue *open, const mv_file_system *files)
{
    const char *name = name_in(open->field.text);
    mv_file_listing recent = {0}, listing = {0};

    if (open->is_read || !files)
        return;
    open->is_read = true;
    open->count = 0;
    mv_arena_rewind(&open->arena, (mv_arena_mark){0});
    find_folder(open, files);
    if (!*open->field.text)
        files->recent(&open->arena, &recent);
    open->is_unreadable = !files->list(&open->arena, open->folder, &listing);
    open->rows = mv_push_array(&open->arena, mv_open_row, recent.count + listing.count + 1);
    if (!open->rows)
        return;
    for (uint32_t i = 0; i < recent.count; i++)
        add(open, MV_OPEN_RECENT, &recent.rows[i]);
    if (!*name && strcmp(open->folder, "/") != 0)
        add(open, MV_OPEN_UP, NULL);
    for (uint32_t i = 0; i < listing.count; i++)
        if (strncasecmp(listing.rows[i].name, name, strlen(name)) == 0)
            add(open, MV_OPEN_ENTRY, &listing.rows[i]);
}

void mv_open_path(const mv_open_dialogue *open, uint32_t row, char path[MV_FILE_PATH])
{
    const mv_open_row *r = &open->rows[row];

    if (r->kind == MV_OPEN_RECENT)
        snprintf(path, MV_FILE_PATH, "%s", r->entry->name);
    else
        snprintf(path, MV_FILE_PATH, "%s%s%s", open->folder,
                 r->kind == MV_OPEN_UP ? ".." : r->entry->name,
                 r->kind == MV_OPEN_UP || r->entry->is_folder ? "/" : "");
}

void mv_open_complete(mv_open_dialogue *open, const mv_file_system *files)
{
    char text[MV_FIELD_TEXT], common[MV_FIELD_TEXT] = "";
    size_t length = 0, folder = (size_t)(name_in(open->field.text) - open->field.text);
    uint32_t met = 0;
    bool is_folder = false;

    mv_open_rows(open, files);
    for (uint32_t i = 0; i < open->count; i++) {
        const mv_file_entry *e = open->rows[i].entry;
        size_t same = 0;
        if (open->rows[i].kind != MV_OPEN_ENTRY)
            continue;
        if (met++ == 0) {
            snprintf(common, sizeof common, "%s", e->name);
            length = strlen(common);
            is_folder = e->is_folder;
            continue;
        }
        while (same < length && e->name[same] == common[same])
            same++;
        length = same;
    }
    length = mv_utf8_cut(common, length);
    if (met == 0 || length < strlen(open->field.text + folder))
        return;
    snprintf(text, sizeof text, "%.*s%.*s%s", (int)folder, open->field.text, (int)length, common,
             met == 1 && is_folder ? "/" : "");
    mv_field_set(&open->field, text);
    open->is_read = false;
}

/* ---- painting ---------------------------------------------------------------------------- */

static void paint_row(mv_view *view, mv_box line, const mv_open_row *row, uint32_t number,
                      bool is_chosen)
{
    mv_ui *ui = &view->ui;
    const mv_file_entry *e = row->entry;
    char size[MV_SIZE_TEXT], date[40];
    struct tm when;
    time_t modified = e ? (time_t)e->modified : 0;
    mv_box cell;

    if (is_chosen || mv_ui_is_hot(ui, line))
        mv_ui_fill(ui, line, is_chosen ? ui->theme->grid : ui->theme->plot);
    mv_ui_zone(ui, line, MV_DO_open_row, number, "");
    mv_box_cut_left(&line, mv_ui_px(ui, 8));
    if (!e) {
        mv_ui_text(ui, line, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START, "../");
        return;
    }
    cell = mv_box_cut_right(&line, mv_ui_px(ui, DATE));
    cell.w -= mv_ui_px(ui, 8);
    if (localtime_r(&modified, &when) && strftime(date, sizeof date, "%Y-%m-%d %H:%M", &when))
        mv_ui_text(ui, cell, MV_UI_SMALL, ui->theme->faint_text, MV_ANCHOR_END, date);
    cell = mv_box_cut_right(&line, mv_ui_px(ui, SIZE));
    if (!e->is_folder)
        mv_ui_text(ui, cell, MV_UI_SMALL, ui->theme->faint_text, MV_ANCHOR_END,
                   mv_size_text(size, e->bytes));
    mv_box_cut_right(&line, mv_ui_px(ui, 8));
    if (e->is_session)
        mv_ui_text(ui, mv_box_cut_right(&line, mv_ui_px(ui, KIND)), MV_UI_SMALL,
                   ui->theme->faint_text, MV_ANCHOR_START, "session");
    mv_ui_text(
        ui, line, MV_UI_TEXT,
        e->is_snapshot || e->is_session || e->is_folder ? ui->theme->text : ui->theme->faint_text,
        MV_ANCHOR_START, mv_scene_format(&ui->scene, "%s%s", e->name, e->is_folder ? "/" : ""));
}

static void paint_rows(mv_view *view, mv_box box)
{
    mv_open_dialogue *open = &view->chrome->open;
    mv_chrome *c = view->chrome;
    mv_ui *ui = &view->ui;
    uint32_t shown = (uint32_t)(box.h / mv_ui_px(ui, ROW));
    bool was_recent = false;

    mv_chrome_list_follow(view, open->count, shown);
    mv_ui_scroll(ui, box, open->count, shown, &c->first);
    mv_box_cut_right(&box, mv_ui_px(ui, 12));
    for (uint32_t i = c->first; i < open->count && i < c->first + shown; i++) {
        mv_box line = mv_box_cut_top(&box, mv_ui_px(ui, ROW));
        bool is_recent = open->rows[i].kind == MV_OPEN_RECENT;
        paint_row(view, line, &open->rows[i], i, open->is_chosen && i == c->row);
        if (was_recent && !is_recent)
            mv_ui_fill(ui, (mv_box){line.x, line.y, line.w, 1}, ui->theme->grid);
        was_recent = is_recent;
    }
    if (open->count == 0 || open->is_unreadable)
        mv_ui_text(ui, mv_box_cut_top(&box, mv_ui_px(ui, ROW)), MV_UI_TEXT, ui->theme->faint_text,
                   MV_ANCHOR_START,
                   open->is_unreadable ? "this folder cannot be read"
                                       : "no file name begins with this");
}

void mv_open_paint(mv_view *view, mv_box box)
{
    mv_ui *ui = &view->ui;
    mv_open_dialogue *open = &view->chrome->open;
    bool has_files = view->opts.files != NULL;
    mv_box sheet =
        mv_chrome_sheet(view, box, WIDTH, 110 + (has_files ? ROWS * ROW + 8 : 0), "Open a file");

    mv_open_rows(open, view->opts.files);
    mv_field_paint(ui, mv_box_cut_top(&sheet, mv_ui_px(ui, 26)), &open->field, true, "");
    mv_box_cut_top(&sheet, mv_ui_px(ui, 4));
    sheet = mv_chrome_help(
        ui, sheet, *view->message ? ui->theme->alarm : ui->theme->faint_text,
        *view->message ? view->message
        : has_files
            ? "Type a name, then Enter; Tab completes. Files can also be dropped on the window."
            : "Type a name, then Enter. Files can also be dropped on the window.");
    mv_box_cut_top(&sheet, mv_ui_px(ui, 4));
    if (has_files)
        paint_rows(view, sheet);
}
