#include <math.h>

#include "base/size.h"
#include "view/chrome/chrome.h"
#include "view/document/moment_text.h"

/* ---- available actions ------------------------------------------------------------------- */

/* Returns the first key of a command and a short text, such as "7: problems". */
static const char *hint_of(mv_view *view, mv_command_id id, const char *words)
{
    const char *keys = view->keymap.keys[id];

    return *keys
               ? mv_scene_format(&view->ui.scene, "%.*s: %s", (int)strcspn(keys, " "), keys, words)
               : words;
}

#define DOT " \xc2\xb7 "

static const char *hint(mv_view *view)
{
    const mv_chrome *c = view->chrome;
    mv_scene *scene = &view->ui.scene;
    const char *keys = hint_of(view, MV_DO_help, "all keys");

    if (view->desk->focus == MV_FOCUS_SEARCH)
        return "Enter: next hit" DOT "Escape: done";
    if (view->desk->focus == MV_FOCUS_ROWS)
        return "only rows that contain the text" DOT "Enter, Escape: done";
    if (view->document_count == 0)
        return mv_scene_format(scene, "%s" DOT "%s", hint_of(view, MV_DO_open_file, "open a file"),
                               keys);
    if (!mv_view_device(view))
        return hint_of(view, MV_DO_open_file, "open a file");
    if (c->captured)
        return "";
    if (view->spot.is_shown && view->spot.command != MV_DO_NOTHING)
        return mv_scene_format(scene, "Enter: %s" DOT "arrows: move" DOT "%s",
                               mv_view_commands[view->spot.command].title,
                               hint_of(view, MV_DO_next_focus, "next part of the window"));
    if (c->under == MV_PANE_TIMELINE)
        return mv_scene_format(scene, "wheel: zoom" DOT "drag: select" DOT "click: pin" DOT "%s",
                               keys);
    if (c->under == MV_PANE_MINIMAP && view->now->main == MV_MAIN_STATE)
        return "click or drag: the state at that moment" DOT "wheel: event by event";
    if (c->under == MV_PANE_MINIMAP)
        return "drag: move the window" DOT "outside: a new window" DOT "double-click: everything";
    if (c->under == MV_PANE_STATE)
        return mv_scene_format(scene,
                               "wheel: zoom" DOT "drag: move" DOT "click: pin" DOT "%s" DOT "%s",
                               hint_of(view, MV_DO_event_back, "previous event"),
                               hint_of(view, MV_DO_event_on, "next event"));
    if (c->under)
        return mv_scene_format(scene, "click: go there" DOT "%s",
                               hint_of(view, MV_DO_next_tab, "next tab"));
    if (view->now->has_interval)
        return mv_scene_format(scene, "%s" DOT "%s",
                               hint_of(view, MV_DO_zoom_interval, "zoom to the interval"),
                               hint_of(view, MV_DO_cancel, "clear the interval"));
    return mv_scene_format(
        scene, "%s" DOT "%s" DOT "%s" DOT "%s", hint_of(view, MV_DO_show_reports, "problems"),
        hint_of(view, MV_DO_peak_in_view, "peak"), hint_of(view, MV_DO_search, "search"), keys);
}

/* ---- the cursor -------------------------------------------------------------------------- */

static const char *time_text(mv_view *view, const mv_document_device *d, uint32_t event)
{
    char time[MV_TICK_TEXT];

    mv_event_time_text(&mv_view_document(view)->trace, &d->lives.events, event, time);
    return *time ? mv_scene_format(&view->ui.scene, " \xc2\xb7 %s", time) : "";
}

/* Returns a string such as "event 2,150 of 6,562 · 2.948 s", or without the total. */
static const char *event_text(mv_view *view, const mv_document_device *d, bool is_brief)
{
    uint32_t event = view->now->cursor, count = d->lives.events.count;
    char number[MV_TICK_TEXT], all[MV_TICK_TEXT];

    if (count == 0)
        return "no events were recorded";
    if (event == MV_BEFORE)
        return "before the first event";
    if (is_brief)
        return mv_scene_format(&view->ui.scene, "event %s", mv_axis_exact(event, number));
    return mv_scene_format(&view->ui.scene, "event %s of %s%s", mv_axis_exact(event, number),
                           mv_axis_exact(count, all), time_text(view, d, event));
}

/* Returns the description of the cursor in as many words as fit into `room` pixels. */
static const char *cursor_text(mv_view *view, const mv_document_device *d, float room)
{
    mv_levels levels = mv_pyramid_at(&view->levels, view->now->cursor);
    char allocated[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT], requested[MV_SIZE_TEXT];
    const char *where = event_text(view, d, false), *held, *texts[3];

    if (view->requested != MV_NO_BYTES)
        where = mv_scene_format(&view->ui.scene, "%s" DOT "requested %s", where,
                                mv_size_text(requested, view->requested));
    mv_size_text(allocated, levels.allocated);
    if (!mv_level_reserves(&mv_view_document(view)->trace))
        return mv_scene_format(&view->ui.scene, "%s" DOT "%s %s", where, allocated,
                               mv_level_held(&mv_view_document(view)->trace));
    held = mv_scene_format(&view->ui.scene, "allocated %s" DOT "reserved %s", allocated,
                           mv_size_text(reserved, levels.reserved));
    texts[0] = mv_scene_format(&view->ui.scene, "%s" DOT "%s", where, held);
    texts[1] = mv_scene_format(&view->ui.scene, "%s" DOT "%s", event_text(view, d, true), held);
    texts[2] = held;
    return mv_ui_longest(&view->ui, MV_UI_TEXT, room, texts, 3);
}

/* ---- work in progress ------------------------------------------------------------------------ */

/* Returns a text about the files whose reports are not complete yet. */
static const char *work_text(mv_view *view)
{
    const mv_document *shown = mv_view_document(view);
    uint32_t waiting = 0;

    for (uint32_t i = 0; i < view->document_count; i++) {
        int stage = atomic_load_explicit(&view->documents[i]->stage, memory_order_acquire);
        waiting += stage == MV_DOCUMENT_WAITING || stage == MV_DOCUMENT_READING;
    }
    if (waiting)
        return mv_scene_format(&view->ui.scene,
                               waiting == 1 ? "reading a file" : "reading %u files", waiting);
    if (shown && mv_view_device(view) && !mv_view_is_evaluated(view))
        return atomic_load_explicit(&mv_view_device(view)->is_unevaluated, memory_order_acquire)
                   ? "out of memory for the reports"
                   : "looking for leaks ...";
    return "";
}

/* Returns a text such as "live · 12 s ago", which gives the age of the data that is shown of a
 * followed recording. */
static const char *live_text(mv_view *view)
{
    const mv_view_live *live = &view->live;
    uint32_t seconds =
        view->ms > live->fresh_ms ? (uint32_t)((view->ms - live->fresh_ms) / 1e3) : 0;
    const char *word = live->is_paused ? "paused" : "live";

    if (!live->is_followed || live->has_ended)
        return live->has_ended ? "ended" : "";
    if (seconds < 2)
        return word;
    if (seconds < 120)
        return mv_scene_format(&view->ui.scene, "%s" DOT "%u s ago", word, seconds);
    return mv_scene_format(&view->ui.scene, "%s" DOT "%u min ago", word, seconds / 60);
}

/* Returns a text if parts of the file were skipped, so that the drawing is incomplete. */
static const char *damage_text(mv_view *view)
{
    return mv_view_device(view) && mv_view_document(view)->trace.notes[MV_NOTE_DAMAGED].count
               ? "damaged file"
               : "";
}

static mv_box take_right(mv_ui *ui, mv_box *box, const char *text)
{
    float width = ceilf(mv_ui_text_width(ui, MV_UI_TEXT, text)) + 1;
    mv_box taken = mv_box_cut_right(box, width);

    mv_box_cut_right(box, mv_ui_px(ui, 16));
    return taken;
}

static void right_text(mv_ui *ui, mv_box *box, uint32_t colour, const char *text)
{
    if (*text)
        mv_ui_text(ui, take_right(ui, box, text), MV_UI_TEXT, colour, MV_ANCHOR_END, text);
}

/* Paints a message that is too long for the bar on lines above it. */
static void paint_long_message(mv_view *view, mv_box bar)
{
    mv_ui *ui = &view->ui;
    mv_ui_lines style = {.size = MV_UI_TEXT,
                         .line = MV_UI_LINE,
                         .colour = view->is_alarm ? ui->theme->alarm : ui->theme->text,
                         .most = 6,
                         .gap = " "};
    float pad = mv_ui_px(ui, 8), width = bar.w - 4 * pad;
    float height =
        (float)mv_ui_line_count(ui, width, &style, view->message) * mv_ui_px(ui, MV_UI_LINE) + pad;
    mv_box box = {bar.x + pad, bar.y - height - pad / 2, bar.w - 2 * pad, height};

    mv_ui_fill(ui, box, ui->theme->background);
    mv_ui_frame(ui, box, ui->theme->faint_text);
    mv_ui_paragraph(ui, (mv_box){box.x + pad, box.y + pad / 2, width, height}, &style,
                    view->message);
}

void mv_status_bar_paint(mv_view *view, mv_box box)
{
    mv_ui *ui = &view->ui;
    const mv_document_device *device = mv_view_device(view);
    bool has_message = *view->message && !view->chrome->only_panes;
    const char *cursor;
    mv_box bar = box;

    mv_ui_fill(ui, box, ui->theme->plot);
    mv_ui_fill(ui, (mv_box){box.x, box.y, box.w, 1}, ui->theme->grid);
    mv_box_cut_left(&box, mv_ui_px(ui, 8));
    mv_box_cut_right(&box, mv_ui_px(ui, 8));
    /* A message disappears with the next input. Then the cursor's position is shown again. */
    if (has_message && mv_ui_text_width(ui, MV_UI_TEXT, view->message) > box.w) {
        paint_long_message(view, bar);
        has_message = false;
    }
    cursor = device ? cursor_text(view, device, box.w) : "";
    if (!has_message || mv_ui_text_width(ui, MV_UI_TEXT, view->message) <=
                            box.w - mv_ui_text_width(ui, MV_UI_TEXT, cursor) - mv_ui_px(ui, 16))
        right_text(ui, &box, ui->theme->text, cursor);
    right_text(ui, &box, ui->theme->alarm, damage_text(view));
    right_text(ui, &box, ui->theme->text, live_text(view));
    right_text(ui, &box, ui->theme->faint_text, work_text(view));
    if (view->chrome->only_panes)
        return;
    if (!has_message && mv_ui_text_width(ui, MV_UI_TEXT, hint(view)) > box.w)
        return;
    mv_ui_text(ui, box, MV_UI_TEXT,
               !has_message     ? ui->theme->faint_text
               : view->is_alarm ? ui->theme->alarm
                                : ui->theme->text,
               MV_ANCHOR_START, has_message ? view->message : hint(view));
}
