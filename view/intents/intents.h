/* What changes the view's state, for those that put the viewer together (view.c) and for tests.
 * Everything that a user does arrives by mv_view_input or mv_view_do. */
#ifndef MV_INTENTS_H
#define MV_INTENTS_H

#include "view/chrome/chrome.h"
#include "view/panes/listing.h"

/* What commands do; those that are several commands have a number in the table. */
#define MV_VIEW_COMMAND(name, keys, needs, past, title, help) \
    void mv_do_##name(mv_view *view, uint64_t arg);
#define MV_VIEW_COMMAND_AS(name, keys, needs, past, title, help, run, arg)
#include "view/state/commands.def"
#undef MV_VIEW_COMMAND
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

/* The state that a view begins with; false: memory is out. */
bool mv_intents_open(mv_view *view);

/* Shows a device of a file, all of it; rows of view->documents and of its devices. */
void mv_view_choose(mv_view *view, uint32_t file, uint32_t device);

/* Sets the theme and the size of texts, which the window chose and not the user. */
void mv_view_look(mv_view *view, bool is_dark, double scale);

/* Goes somewhere: pins an allocation and makes it visible; moves the cursor; shows a window of
 * events; all that a row of a table says. */
void mv_view_pin(mv_view *view, uint32_t alloc);
void mv_view_point(mv_view *view, uint32_t alloc); /* pins it, and shows Details */
void mv_view_move_cursor(mv_view *view, uint32_t event);
void mv_view_show(mv_view *view, double from, double to);
void mv_view_go(mv_view *view, const mv_listing_place *place);

/* Goes to what the user names: a moment as --at has it, or the block at an address. False: it is
 * none, and the message says why. */
bool mv_go_to(mv_view *view, const char *where);

/* The event that a text of --at names on the device that has arrived; false, with a sentence in
 * `why`, when it names none. */
bool mv_moment_of(mv_view *view, const char *at, mv_window window, uint32_t *event, char *why,
                  uint32_t why_size);

/* Names the cursor, the window and the interval; false: there is no name, or no room. */
bool mv_bookmark_set(mv_view *view, const char *name);

/* The interval that was just selected is shown in the lower pane: as a table by line or category,
 * unless the flame graph there is about it. */
void mv_view_show_interval(mv_view *view);

/* Sets the state that view->sheet asks for, on the first device of the first document. */
void mv_view_begin_paper(mv_view *view);

/* Opens a file that is a session; when it cannot be read, nothing changes and the message says why.
 */
void mv_view_open_session(mv_view *view, const char *path);

/* Before a frame: a device that is ready now gets its window, its cursor, and where the command
 * line asked to begin. */
void mv_view_settle(mv_view *view);
void mv_navigation_update(mv_view *view);

/* Before and after the panes are painted: where their lists are scrolled to. */
void mv_scroll_show(mv_view *view);
void mv_scroll_keep(mv_view *view);

/* Zooms and pans. Shares count from the left, and from below. */
void mv_timeline_zoom(mv_view *view, double share, double factor);
void mv_timeline_zoom_y(mv_view *view, double share, double factor);
void mv_timeline_pan(mv_view *view, double by);

/* Shows these bytes, and no longer all: what a session can have, so not above 2^62, and some. */
void mv_timeline_show_bytes(mv_view *view, double from, double to);

/* The same in the allocator's state, at the pointer; shares of its width and height. False: another
 * view is shown. */
bool mv_heap_zoom(mv_view *view, double factor);
bool mv_heap_pan(mv_view *view, double right, double down);
bool mv_heap_fit_all(mv_view *view);
bool mv_heap_fit_selection(mv_view *view);

/* The search: only these two write it. Hits are highlighted at least; without words everything is
 * shown. */
void mv_search_set(mv_view *view, const char *words); /* the field follows; "": none */
void mv_search_typed(mv_view *view);                  /* takes the words from the field */

/* Pins the next hit, or the one before. */
void mv_search_go(mv_view *view, bool is_back);

/* Opens or closes the thing that has the keyboard. */
void mv_chrome_focus(mv_view *view, mv_focus focus);

/* Up, Down, PageUp, PageDown and the wheel in a list of `count` rows. */
bool mv_chrome_list_input(mv_view *view, const mv_input *input, uint32_t count, uint32_t shown);
bool mv_command_list_input(mv_view *view, const mv_input *input);
bool mv_device_list_input(mv_view *view, const mv_input *input);
bool mv_menu_input(mv_view *view, const mv_input *input);
bool mv_open_input(mv_view *view, const mv_input *input);

/* The keyboard in the window (view/state/spot.h): uses arrows, Enter and their like; a click takes
 * it along, without a mark. */
bool mv_spot_input(mv_view *view, const mv_input *input);
void mv_spot_clicked(mv_view *view, const mv_zone *zone);

/* Gives an input to a pane, as below. A key that is no command, such as an arrow, goes to the pane
 * that has the keyboard at none of its zones (view->spot.command is MV_DO_NOTHING), or beyond the
 * last of them: a pane that uses it keeps and marks a place of its own. */
bool mv_pane_give(mv_view *view, mv_pane pane, mv_box box, const mv_input *input);

/* What the pointer does in a pane: what happens in its box and, from a press inside until the
 * release, wherever the pointer goes, unless a zone with a command was clicked. A pane that the
 * pointer leaves gets MV_INPUT_LEAVE. False: it does not use the input. */
bool mv_timeline_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_minimap_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_ranks_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_state_pointer(mv_view *view, mv_box box, const mv_input *input);
/* Arrows go from box to box of the flame graph, Enter shows one alone, Backspace its caller. */
bool mv_flame_key(mv_view *view, const mv_input *input);
bool mv_flame_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_tables_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_details_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_reports_pointer(mv_view *view, mv_box box, const mv_input *input);

#endif
