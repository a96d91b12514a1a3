/* Everything around the panes: bars, overlays, fields, and code that they share.
 *
 *     layout.c                                              the layout of a frame
 *     toolbar.c, status_bar.c, loading_screen.c             always shown
 *     help.c, tour.c, command_list.c, device_list.c, export_view.c  overlays
 *     chrome.c                                              parts that all overlays use */
#pragma once

#include "view/chrome/open_dialogue.h"
#include "view/frame/field.h"
#include "view/frame/view.h"

enum { MV_MOST_FILES = 1024 };

/* The boxes of a frame, in pixels. */
typedef struct {
    mv_box toolbar, banner, main, minimap, splitter, tabs, lower, status;
} mv_view_layout;

/* The user's position before switching to another level, where events have different numbers. */
typedef struct {
    const mv_document_device *of; /* the device that the event numbers belong to */
    double from, to;
    uint32_t cursor, a, b;
    bool has_interval;
} mv_kept_events;

/* A position that is kept across levels as times, because times are valid on all levels, but event
 * numbers only on one. */
typedef struct {
    bool is_kept, is_all, has_cursor, has_interval;
    uint32_t device; /* ordinal */
    int64_t from_us, to_us, cursor_us, a_us, b_us;
    mv_kept_events chosen; /* the position that the user chose, which is restored on returning to
                              its device */
    mv_kept_events put;    /* `chosen` converted to the shown level. `chosen` remains valid as long
                            * as the shown position equals this one */
} mv_kept_times;

struct mv_chrome {
    mv_view_layout layout;
    mv_arena_mark frame_start;

    mv_text_field search, palette, export, go, bookmark;
    uint32_t edited_bookmark; /* index of the note that is being edited; MV_NO_ROW: a new note */
    mv_open_dialogue open;
    mv_box search_box;                    /* box of the search field in the last frame */
    mv_box tour_box;                      /* box of the tour's card in the last frame */
    uint32_t overlay_zone, overlay_shape; /* number of zones and shapes painted before the overlay
                                           * in the last frame */
    uint32_t row;    /* selected row of an overlay's list, which the arrows move */
    uint32_t first;  /* first row of the list that is shown */
    bool only_panes; /* the frame is printed, so it has no overlay and no tooltip */

    /* What the pointer is doing. */
    mv_pane captured; /* pane that receives all pointer input until the button is released */
    mv_box captured_box;
    uint8_t captured_button;
    bool is_splitting;
    bool is_selecting; /* the pointer is selecting text in a field */
    mv_pane under;     /* pane that the pointer was last over */
    mv_box under_box;
    double moved_ms;      /* time when the pointer last moved */
    bool has_menu_place;  /* the menu was opened with the right button, at menu_x, menu_y */
    float menu_x, menu_y; /* position of the menu */
    uint32_t menu_lane;   /* lane of the ranks that the menu belongs to, or MV_NO_ROW */

    uint32_t dropped;        /* number of files dropped since the last frame */
    uint32_t banners_closed; /* number of failed files whose banners were closed */
    uint32_t hover_before, hover_segment_before;
    mv_kept_times kept; /* position to restore as soon as the device of the next level is shown */
    mv_kept_times last; /* last position on the shown level, with `put` */
    mv_view_start start;
    bool has_start;
    bool has_bad_start; /* the start position does not exist in the file; the view's message reports
                         * it */
    struct {
        const mv_document *document;
        double ms; /* time when the file was first found being read; 0: no file is being read */
    } reading;
};

/* Computes the layout of a frame of this size. */
void mv_chrome_lay_out(mv_view *view, float width, float height);

/* Return the panes that are shown. */
mv_pane mv_chrome_main(const mv_view *view);
mv_pane mv_chrome_lower(const mv_view *view);

/* Returns the pane at a point of the last frame, and its box. */
mv_pane mv_chrome_pane_at(const mv_view *view, float x, float y, mv_box *box);

/* Whether an overlay is open. The panes then receive no pointer input. */
bool mv_chrome_is_covered(const mv_view *view);

/* Returns the zone that has the keyboard focus (view/state/spot.h); NULL: no zone in the last frame
 * has it. */
const mv_zone *mv_spot_zone(const mv_view *view);
bool mv_spot_is_in_place(const mv_view *view, mv_window_part place, const mv_zone *zone);
mv_box mv_spot_place_box(const mv_view *view); /* box of the part of the window that has the
                                                  keyboard focus */
void mv_spot_paint(mv_view *view);

/* Bars. The layout determines their heights. */
float mv_toolbar_height(mv_view *view, float width);
void mv_toolbar_paint(mv_view *view, mv_box box);
void mv_file_heading_paint(mv_view *view, mv_box box); /* painted instead of the toolbar in a
                                                          printed frame */
void mv_tabs_paint(mv_view *view, mv_box box);
void mv_status_bar_paint(mv_view *view, mv_box box);

/* Paints a screen in place of the panes while no file is open or the file is loading. Returns false
 * if there is a device to show. */
bool mv_loading_paint(mv_view *view, mv_box box);

/* Returns the failed file to report; NULL: none. */
const mv_document *mv_loading_failure(const mv_view *view);
void mv_loading_banner(mv_view *view, mv_box box);

/* Overlays. Each function paints an overlay over the panes if it is open. */
void mv_help_paint(mv_view *view, mv_box box);
enum { MV_COMMANDS_SHOWN = 12 }; /* visible rows of the command list */
void mv_command_list_paint(mv_view *view, mv_box box);
void mv_device_list_paint(mv_view *view, mv_box box);
void mv_export_paint(mv_view *view, mv_box box);
void mv_go_paint(mv_view *view, mv_box box);
void mv_bookmark_paint(mv_view *view, mv_box box);
void mv_search_paint(mv_view *view);

/* The tour (tour.c): a card next to the part of the window that the current step explains. The
 * panes can be used meanwhile. */
enum { MV_TOUR_STEPS = 5 };
void mv_tour_paint(mv_view *view, mv_box box);

/* Returns the command of the selected row in the command list, its argument, and the number of
 * rows; MV_DO_NOTHING: no row is selected. */
mv_command_id mv_command_list_chosen(const mv_view *view, uint64_t *arg, uint32_t *count);

/* Paints the background of an overlay, with a title, in the middle of `box`. Returns the box for
 * its content. */
mv_box mv_chrome_sheet(mv_view *view, mv_box box, float width, float height, const char *title);
/* Paints help text at the top of the box. Returns the box below it. */
mv_box mv_chrome_help(mv_ui *ui, mv_box sheet, uint32_t colour, const char *text);

/* Scrolls the list until its selected row is one of the `shown` rows. */
void mv_chrome_list_follow(mv_view *view, uint32_t count, uint32_t shown);

/* Writes the view without overlays to a file, whose extension determines the format. */
bool mv_export_write(mv_view *view, const char *path);

/* Fills in a session that describes the view, with full paths, allocated in `arena`. Returns false
 * when out of memory. */
bool mv_view_session(const mv_view *view, mv_arena *arena, mv_session *out);

/* Returns the arguments of a command line that shows the same view, allocated in `arena`; NULL when
 * out of memory. */
const char *mv_command_line(const mv_view *view, mv_arena *arena);

/* Returns one line with the notes and with the members of a session that differ from the initial
 * view of the open files, such as "main state;cursor 77"; "" if there are none. Returns NULL when
 * out of memory. */
const char *mv_view_link(const mv_view *view, mv_arena *arena);
