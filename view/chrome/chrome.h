/* Everything around the panes: bars, overlays, fields, and the code they share.
 *
 *     layout.c                                              the layout of a frame
 *     toolbar.c, status_bar.c, loading_screen.c             always there
 *     help.c, tour.c, command_list.c, device_list.c, export_view.c  overlays
 *     chrome.c                                              common parts of overlays */
#ifndef MV_CHROME_H
#define MV_CHROME_H

#include "view/chrome/open_dialogue.h"
#include "view/frame/field.h"
#include "view/frame/view.h"

enum { MV_MOST_FILES = 1024 };

/* The layout, in pixels. */
typedef struct {
    mv_box toolbar, banner, main, minimap, splitter, tabs, lower, status;
} mv_view_layout;

/* The user's position before a switch to another level, which has different events. */
typedef struct {
    const mv_document_device *of; /* the device that these event numbers belong to */
    double from, to;
    uint32_t cursor, a, b;
    bool has_interval;
} mv_kept_events;

/* Times are valid on all levels, event numbers only on one. */
typedef struct {
    bool is_kept, is_all, has_cursor, has_interval;
    uint32_t device; /* ordinal */
    int64_t from_us, to_us, cursor_us, a_us, b_us;
    mv_kept_events chosen; /* the position that the user chose: restored on return to its device */
    mv_kept_events put;    /* the position it became on the shown level: still `chosen` while the
                            * position equals this one */
} mv_kept_times;

struct mv_chrome {
    mv_view_layout layout;
    mv_arena_mark frame_start;

    mv_text_field search, palette, export, go, bookmark;
    uint32_t edited_bookmark; /* the edited note; MV_NO_ROW: a new one */
    mv_open_dialogue open;
    mv_box search_box;                    /* of the last frame */
    mv_box tour_box;                      /* of the tour's card in the last frame */
    uint32_t overlay_zone, overlay_shape; /* number of zones and shapes painted before the overlay
                                           * in the last frame */
    uint32_t row;    /* the selected row of an overlay's list: arrows move it */
    uint32_t first;  /* first row shown */
    bool only_panes; /* the frame is for a file: no overlay, no tooltip */

    /* The pointer. */
    mv_pane captured; /* gets the pointer until the button is released */
    mv_box captured_box;
    uint8_t captured_button;
    bool is_splitting;
    bool is_selecting; /* the text of a field */
    mv_pane under;     /* the pane it was last over */
    mv_box under_box;
    double moved_ms;      /* time of its last move */
    bool has_menu_place;  /* the menu was opened by the right button: */
    float menu_x, menu_y; /* here */
    uint32_t menu_lane;   /* at this lane of the ranks; or MV_NO_ROW */

    uint32_t dropped;        /* number of files dropped since the last frame */
    uint32_t banners_closed; /* number of failed files whose banner was closed */
    uint32_t hover_before, hover_segment_before;
    mv_kept_times kept; /* until the device of the next level is shown */
    mv_kept_times last; /* on the shown level, together with `put` */
    mv_view_start start;
    bool has_start;
    bool has_bad_start; /* the position does not exist in the file: the view's message reports
                         * that */
    struct {
        const mv_document *document;
        double ms; /* when the file was first seen being read; 0: no file is being read */
    } reading;
};

/* Computes the layout of a frame of this size. */
void mv_chrome_lay_out(mv_view *view, float width, float height);

/* The panes shown. */
mv_pane mv_chrome_main(const mv_view *view);
mv_pane mv_chrome_lower(const mv_view *view);

/* The pane at a point of the last frame, and its box. */
mv_pane mv_chrome_pane_at(const mv_view *view, float x, float y, mv_box *box);

/* Whether an overlay is open: the panes get no pointer input then. */
bool mv_chrome_is_covered(const mv_view *view);

/* The zone that has the keyboard (view/state/spot.h); NULL: none in the last frame. */
const mv_zone *mv_spot_zone(const mv_view *view);
bool mv_spot_is_in_place(const mv_view *view, mv_window_part place, const mv_zone *zone);
mv_box mv_spot_place_box(const mv_view *view); /* box of the place that has it */
void mv_spot_paint(mv_view *view);

/* Bars. The layout defines their heights. */
float mv_toolbar_height(mv_view *view, float width);
void mv_toolbar_paint(mv_view *view, mv_box box);
void mv_file_heading_paint(mv_view *view, mv_box box); /* its replacement in a file */
void mv_tabs_paint(mv_view *view, mv_box box);
void mv_status_bar_paint(mv_view *view, mv_box box);

/* Painted in place of the panes while nothing is open or the file is loading. False: there is a
 * device to show. */
bool mv_loading_paint(mv_view *view, mv_box box);

/* The failed file to report; NULL: none. */
const mv_document *mv_loading_failure(const mv_view *view);
void mv_loading_banner(mv_view *view, mv_box box);

/* Overlays: each paints itself over the panes if it is open. */
void mv_help_paint(mv_view *view, mv_box box);
enum { MV_COMMANDS_SHOWN = 12 }; /* visible rows of the command list */
void mv_command_list_paint(mv_view *view, mv_box box);
void mv_device_list_paint(mv_view *view, mv_box box);
void mv_export_paint(mv_view *view, mv_box box);
void mv_go_paint(mv_view *view, mv_box box);
void mv_bookmark_paint(mv_view *view, mv_box box);
void mv_search_paint(mv_view *view);

/* The tour (tour.c): a card beside the part of the window that the step explains. The panes stay in
 * use. */
enum { MV_TOUR_STEPS = 5 };
void mv_tour_paint(mv_view *view, mv_box box);

/* The selected row of the command list, its number, and the number of rows; MV_DO_NOTHING: none. */
mv_command_id mv_command_list_chosen(const mv_view *view, uint64_t *arg, uint32_t *count);

/* Paints an overlay's sheet, with a title, in the middle of `box`; returns the box for its
 * content. */
mv_box mv_chrome_sheet(mv_view *view, mv_box box, float width, float height, const char *title);
/* Paints help text at the top of the box; returns the rest. */
mv_box mv_chrome_help(mv_ui *ui, mv_box sheet, uint32_t colour, const char *text);

/* Scrolls the list so that its selected row is one of the `shown` rows. */
void mv_chrome_list_follow(mv_view *view, uint32_t count, uint32_t shown);

/* Writes the view, without overlays, to a file; the file's ending selects the format. */
bool mv_export_write(mv_view *view, const char *path);

/* Fills a session with the view's content, with full paths; in `arena`. False: out of memory. */
bool mv_view_session(const mv_view *view, mv_arena *arena, mv_session *out);

/* The arguments of a command line that shows the same view; in `arena`. NULL: out of memory. */
const char *mv_command_line(const mv_view *view, mv_arena *arena);

/* The members of a session that differ from the open files' initial view, and the notes, in one
 * line: "main state;cursor 77"; "" if there is no difference. NULL when out of memory. */
const char *mv_view_link(const mv_view *view, mv_arena *arena);

#endif
