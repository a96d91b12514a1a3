/* Writes the view to a file, and paints the fields in which the user types a name. */

#include "parse/source/same_file.h"
#include "view/chrome/chrome.h"
#include "view/page/viewer_page.h"
#include "view/panes/panes.h"
#include "viz/scene/png.h"

/* ---- fields ------------------------------------------------------------------------------ */

static void paint_field(mv_view *view, mv_box box, const char *title, mv_text_field *field,
                        const char *help)
{
    mv_ui *ui = &view->ui;
    mv_box sheet = mv_chrome_sheet(view, box, 680, 144, title);

    mv_field_paint(ui, mv_box_cut_top(&sheet, mv_ui_px(ui, 26)), field, true, "");
    mv_box_cut_top(&sheet, mv_ui_px(ui, 6));
    sheet = mv_chrome_help(ui, sheet, ui->theme->faint_text, help);
    if (*view->message)
        mv_ui_text(ui, mv_box_cut_top(&sheet, mv_ui_px(ui, MV_UI_LINE)), MV_UI_TEXT,
                   view->is_alarm ? ui->theme->alarm : ui->theme->text, MV_ANCHOR_START,
                   view->message);
}

void mv_export_paint(mv_view *view, mv_box box)
{
    paint_field(
        view, box, "Export this view", &view->chrome->export,
        "The ending selects the format: .png or .svg for the picture, .html for the viewer with "
        "this file, .tsv for the table, or .session.");
}

void mv_go_paint(mv_view *view, mv_box box)
{
    paint_field(view, box, "Go to", &view->chrome->go,
                "An event number, a time (1.5s), @NAME#K, peak, oom, end, or an address (0x...).");
}

void mv_bookmark_paint(mv_view *view, mv_box box)
{
    paint_field(view, box,
                view->chrome->edited_bookmark == MV_NO_ROW ? "Write a note" : "Edit the note",
                &view->chrome->bookmark,
                "Type a text, then Enter. A note keeps the cursor, the window and the interval.");
}

/* ---- writing ----------------------------------------------------------------------------- */

/* Writes the view. Sets *left_out to a sentence about the parts that are missing from the file, if
 * there are any. */
typedef mv_code write_fn(mv_view *view, mv_arena *arena, mv_sink *sink, const char **left_out,
                         mv_err *err);

static mv_code write_png(mv_view *view, mv_arena *arena, mv_sink *sink, const char **left_out,
                         mv_err *err)
{
    (void)arena, (void)left_out;
    return mv_scene_write_png(view->budget, view->bare_frame(view), sink, err);
}

static mv_code write_svg(mv_view *view, mv_arena *arena, mv_sink *sink, const char **left_out,
                         mv_err *err)
{
    (void)arena, (void)left_out;
    return mv_svg_write(view->bare_frame(view), sink, err);
}

static bool session_of_file(const mv_view *view, mv_arena *arena, mv_session *out)
{
    uint32_t file = view->now->file, kept = 0;

    if (!mv_view_session(view, arena, out))
        return false;
    out->now.file = 0;
    out->now.other_file = out->now.other_device = MV_NO_ROW;
    if (out->now.main == MV_MAIN_RANKS)
        out->now.main = MV_MAIN_TIMELINE;
    for (uint32_t i = 0; i < out->bookmarks.count; i++)
        if (out->bookmarks.rows[i].file == file) {
            out->bookmarks.rows[kept] = out->bookmarks.rows[i];
            out->bookmarks.rows[kept++].file = 0;
        }
    out->bookmarks.count = kept;
    for (uint32_t i = 0; i < mv_state_member_count; i++)
        out->is_given[i] = mv_state_members[i].offset != offsetof(mv_view_desk, scale) ||
                           !mv_state_members[i].is_of_desk;
    return true;
}

static mv_code write_html(mv_view *view, mv_arena *arena, mv_sink *sink, const char **left_out,
                          mv_err *err)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_document *document = mv_view_document(view);
    mv_viewer_page_opts page = {.write.name = document->name};
    mv_page_gap gap;
    mv_session session;

    if (!session_of_file(view, arena, &session))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    page.session = &session;
    if (mv_view_is_evaluated(view)) {
        page.verdict = d->headline.line;
        page.is_alarm = d->headline.alarms > 0;
    }
    if (mv_viewer_page_write(arena, &document->trace, &page, sink, &gap, err) == MV_OK)
        *left_out = gap.words;
    return err->code;
}

static mv_code write_tsv(mv_view *view, mv_arena *arena, mv_sink *sink, const char **left_out,
                         mv_err *err)
{
    (void)left_out;
    const char *text = mv_tables_text(view, arena);

    if (!text)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "no table is ready: select one under Tables");
    mv_sink_write(sink, text, strlen(text));
    return MV_OK;
}

static mv_code write_session(mv_view *view, mv_arena *arena, mv_sink *sink, const char **left_out,
                             mv_err *err)
{
    (void)left_out;
    mv_session session;
    const char *text =
        mv_view_session(view, arena, &session) ? mv_session_text(arena, &session) : NULL;

    if (!text)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    mv_sink_write(sink, text, strlen(text));
    return MV_OK;
}

static const struct {
    const char *ending;
    write_fn *write;
} writers[] = {{".png", write_png},
               {".svg", write_svg},
               {".html", write_html},
               {".tsv", write_tsv},
               {".session", write_session}};
enum { WRITERS = sizeof writers / sizeof *writers };

static write_fn *writer_of(const char *path)
{
    size_t length = strlen(path);

    for (int i = 0; i < WRITERS; i++) {
        size_t tail = strlen(writers[i].ending);
        if (length > tail && strcmp(path + length - tail, writers[i].ending) == 0)
            return writers[i].write;
    }
    return NULL;
}

bool mv_export_write(mv_view *view, const char *path)
{
    write_fn *write = writer_of(path);
    mv_err err = {.offset = MV_NO_OFFSET};
    const char *left_out = NULL;
    mv_arena arena;
    mv_sink sink;

    if (!write) {
        mv_view_say(view, true, "the name must end in .png, .svg, .html, .tsv or .session");
        return false;
    }
    for (uint32_t i = 0; i < view->document_count; i++)
        if (mv_is_same_file(view->documents[i]->path, path)) {
            mv_view_say(view, true, "not written: %.200s is one of the open files", path);
            return false;
        }
    mv_arena_init(&arena, view->budget);
    if (mv_sink_open(&sink, path, &err) == MV_OK) {
        if (write(view, &arena, &sink, &left_out, &err) == MV_OK)
            mv_sink_commit(&sink, &err);
        else
            mv_sink_abort(&sink);
    }
    if (err.code == MV_OK)
        mv_view_say(view, false, "written: %.120s%s%s", path, left_out ? ": " : "",
                    left_out ? left_out : "");
    else
        mv_view_say(view, true, "not written: %s",
                    *err.detail ? err.detail : mv_code_text(err.code));
    mv_arena_release(&arena);
    return err.code == MV_OK;
}
