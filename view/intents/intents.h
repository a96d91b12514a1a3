/* Functions that change the view's state, for view.c and for tests. Every user action arrives
 * through mv_view_input or mv_view_do. */
#pragma once

#include "view/chrome/chrome.h"
#include "view/panes/listing.h"

/* Functions that run commands. If several commands share a function, the table has a number for
 * each of them. */
#define MV_VIEW_COMMAND(name, keys, needs, past, title, help) \
    void mv_do_##name(mv_view *view, uint64_t arg);
#define MV_VIEW_COMMAND_AS(name, keys, needs, past, title, help, run, arg)
#include "view/state/commands.def"
#undef MV_VIEW_COMMAND
void mv_do_turn(mv_view *view, uint64_t flag); /* `flag` is the offset of a bool in mv_view_state */
void mv_do_flame_turn(mv_view *view, uint64_t flag);
void mv_do_zoom(mv_view *view, uint64_t arg);
void mv_do_zoom_y(mv_view *view, uint64_t arg);
void mv_do_pan(mv_view *view, uint64_t arg);
void mv_do_pan_y(mv_view *view, uint64_t arg);
void mv_do_step(mv_view *view, uint64_t arg);
void mv_do_show_main(mv_view *view, uint64_t arg);
void mv_do_show_tab(mv_view *view, uint64_t arg);
void mv_do_turn_tab(mv_view *view, uint64_t arg);
void mv_do_show_hits(mv_view *view, uint64_t arg);
void mv_do_go_to_hit(mv_view *view, uint64_t arg);
void mv_do_resize(mv_view *view, uint64_t arg);
void mv_do_interval_edge(mv_view *view, uint64_t arg);
void mv_do_move_splitter(mv_view *view, uint64_t arg);
void mv_do_move_legend(mv_view *view, uint64_t arg);
void mv_do_open_menu(mv_view *view, uint64_t menu);
void mv_do_focus(mv_view *view, uint64_t focus);
void mv_do_travel(mv_view *view, uint64_t is_forward);
void mv_do_pin_user(mv_view *view, uint64_t is_next);
void mv_do_pin_neighbour(mv_view *view, uint64_t arg);
void mv_do_step_device(mv_view *view, uint64_t by);
void mv_do_step_focus(mv_view *view, uint64_t by);
void mv_do_step_mark(mv_view *view, uint64_t is_on);
void mv_do_step_oom(mv_view *view, uint64_t is_on);

/* Creates the initial state of a view. Returns false when out of memory. */
bool mv_intents_open(mv_view *view);

/* Shows all events of a device. `file` is a row of view->documents, and `device` a row of its
 * devices. */
void mv_view_choose(mv_view *view, uint32_t file, uint32_t device);

/* For a view that shows newer data of the same files (view/renewal.h). mv_view_catch_up opens the
 * files of `from` at its level. It returns false if some data is missing, in which case the data
 * must be read first. mv_view_take_over copies the state of `from`, with event and block numbers
 * adjusted to the newer data. It returns false in the same case. */
bool mv_view_catch_up(mv_view *to, const mv_view *from);
bool mv_view_take_over(mv_view *to, const mv_view *from);

/* Whether no button is held, and no list or field is open. */
bool mv_view_is_at_rest(const mv_view *view);

/* Sets the theme and the text size that the window chooses, rather than the user. */
void mv_view_look(mv_view *view, bool is_dark, double scale);

/* Navigation. These functions pin an allocation and make it visible, move the cursor, show a window
 * of events, or go to what a table row describes. */
void mv_view_pin(mv_view *view, uint32_t alloc);
void mv_view_point(mv_view *view, uint32_t alloc); /* pins the allocation, and shows Details */
void mv_view_move_cursor(mv_view *view, uint32_t event);
void mv_view_show(mv_view *view, double from, double to);
void mv_view_go(mv_view *view, const mv_listing_place *place, const char *only);

/* Returns the stack of the pinned allocation or segment; MV_NO_STACK: none. */
mv_stack_id mv_view_pinned_stack(const mv_view *view);

/* Goes to a position typed by the user: a moment as in --at, or the block at an address. Returns
 * false if the position is not valid, and shows a message with the reason. */
bool mv_go_to(mv_view *view, const char *where);

/* Finds the event that a value of --at names on the device that has arrived. Returns false, with a
 * sentence in `why`, if there is none. */
bool mv_moment_of(mv_view *view, const char *at, mv_window window, uint32_t *event, char *why,
                  uint32_t why_size);

/* mv_bookmark_set writes a note at the cursor, which keeps the window and the interval. It returns
 * false if the text is empty or there is no room. mv_bookmark_typed takes the text from the field,
 * and writes it to the note that is being edited there. */
bool mv_bookmark_set(mv_view *view, const char *text);
bool mv_bookmark_typed(mv_view *view);

/* Shows an interval that was just selected. The lower pane shows it as a table by line or category,
 * unless the flame graph there already shows it. */
void mv_view_show_interval(mv_view *view);

/* Sets the state of a printed frame for view->sheet, on the first device of the first document. */
void mv_view_begin_paper(mv_view *view);

/* Called before each frame. Gives a device that has become ready its window, its cursor, and the
 * start position from the command line. */
void mv_view_settle(mv_view *view);
void mv_navigation_update(mv_view *view);

/* Called before and after the panes are painted, to pass the scroll positions of their lists. */
void mv_scroll_show(mv_view *view);
void mv_scroll_keep(mv_view *view);

/* Zoom and pan. `share` is a fraction of the plot's width, from the left, or of its height, from
 * the bottom. */
void mv_timeline_zoom(mv_view *view, double share, double factor);
void mv_timeline_zoom_y(mv_view *view, double share, double factor);
void mv_timeline_pan(mv_view *view, double by);

/* Shows only the bytes [from, to). They are limited to values that a session can store, which are
 * at most 2^62, and the range is never empty. */
void mv_timeline_show_bytes(mv_view *view, double from, double to);

/* Zoom and pan the allocator's state at the pointer, by fractions of its width and height. Return
 * false if another view is shown. */
bool mv_heap_zoom(mv_view *view, double factor);
bool mv_heap_pan(mv_view *view, double right, double down);
bool mv_heap_fit_all(mv_view *view);
bool mv_heap_fit_selection(mv_view *view);

/* Called before each frame. Zooms to a hole that was chosen while the allocator's state was not
 * shown. */
void mv_heap_settle(mv_view *view);

/* Only these two functions change the search. They make sure that hits are at least highlighted; an
 * empty search shows everything. */
void mv_search_set(mv_view *view, const char *words); /* updates the field; "": no search */
void mv_search_typed(mv_view *view);                  /* takes the words from the search field */

void mv_rows_typed(mv_view *view); /* takes the filter of rows from its field */

/* Pins the next or previous hit. */
void mv_search_go(mv_view *view, bool is_back);

/* Opens or closes the element that has the keyboard focus. */
void mv_chrome_focus(mv_view *view, mv_focus focus);

/* Handle Up, Down, PageUp, PageDown and the wheel in a list of `count` rows. */
bool mv_chrome_list_input(mv_view *view, const mv_input *input, uint32_t count, uint32_t shown);
bool mv_command_list_input(mv_view *view, const mv_input *input);
bool mv_device_list_input(mv_view *view, const mv_input *input);
bool mv_menu_input(mv_view *view, const mv_input *input);
bool mv_open_input(mv_view *view, const mv_input *input);

/* Begins the tour at the first frame that has a device, if opts.offers_tour is set. */
void mv_tour_offer(mv_view *view);

/* Steps through the tour with Enter and the arrows, and ends it with Escape. Returns false if there
 * is no tour, or if another key was pressed. */
bool mv_tour_input(mv_view *view, const mv_input *input);

/* Handles arrows, Enter and similar keys for keyboard navigation in the window (view/state/spot.h).
 * A click also moves the keyboard's position, but does not mark it. */
bool mv_spot_input(mv_view *view, const mv_input *input);
void mv_spot_clicked(mv_view *view, const mv_zone *zone);

/* Gives an input to a pane, as described below. A key without a command, such as an arrow, goes to
 * the pane if the keyboard focus is inside the pane but not on one of its zones (view->spot.command
 * is MV_DO_NOTHING). It also goes to the pane after the pane's last zone. A pane that uses the key
 * stores and marks its own position. */
bool mv_pane_give(mv_view *view, mv_pane pane, mv_box box, const mv_input *input);

/* Handle the pointer in a pane. A pane receives the inputs in its box and, after a press inside it,
 * all inputs until the release, unless a zone with a command was clicked. When the pointer leaves a
 * pane, the pane receives MV_INPUT_LEAVE. They return false if the pane does not use the input. */
bool mv_timeline_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_minimap_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_ranks_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_state_pointer(mv_view *view, mv_box box, const mv_input *input);
/* Handles keys in the flame graph: arrows move from box to box, Enter focuses on a box, and
 * Backspace on its caller. */
bool mv_flame_key(mv_view *view, const mv_input *input);
bool mv_flame_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_tables_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_details_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_reports_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_whatif_pointer(mv_view *view, mv_box box, const mv_input *input);
