/* Functions that change the view's state, for view.c and for tests. All user actions arrive through
 * mv_view_input or mv_view_do. */
#ifndef MV_INTENTS_H
#define MV_INTENTS_H

#include "view/chrome/chrome.h"
#include "view/panes/listing.h"

/* Command functions; a function shared by several commands has a number in the table. */
#define MV_VIEW_COMMAND(name, keys, needs, past, title, help) \
    void mv_do_##name(mv_view *view, uint64_t arg);
#define MV_VIEW_COMMAND_AS(name, keys, needs, past, title, help, run, arg)
#include "view/state/commands.def"
#undef MV_VIEW_COMMAND
void mv_do_turn(mv_view *view, uint64_t flag); /* offset of a bool in mv_view_state */
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

/* The initial state of a view; false: out of memory. */
bool mv_intents_open(mv_view *view);

/* Shows a device of a file completely; rows of view->documents and of its devices. */
void mv_view_choose(mv_view *view, uint32_t file, uint32_t device);

/* For a view of newer data of the same files (view/renewal.h). The first opens the files of `from`
 * at its level; false: data was missing, and must be read first. The second takes over the state of
 * `from`, with event and block numbers of the newer data; false: as above. */
bool mv_view_catch_up(mv_view *to, const mv_view *from);
bool mv_view_take_over(mv_view *to, const mv_view *from);

/* Whether no button is held, and no list or field is open. */
bool mv_view_is_at_rest(const mv_view *view);

/* Sets the theme and the text size, as chosen by the window and not by the user. */
void mv_view_look(mv_view *view, bool is_dark, double scale);

/* Navigation: pins an allocation and makes it visible; moves the cursor; shows a window of events;
 * goes to the place of a table row. */
void mv_view_pin(mv_view *view, uint32_t alloc);
void mv_view_point(mv_view *view, uint32_t alloc); /* pins it, and shows Details */
void mv_view_move_cursor(mv_view *view, uint32_t event);
void mv_view_show(mv_view *view, double from, double to);
void mv_view_go(mv_view *view, const mv_listing_place *place, const char *only);

/* The stack of the pinned allocation or segment; MV_NO_STACK: none. */
mv_stack_id mv_view_pinned_stack(const mv_view *view);

/* Goes to a position typed by the user: a moment as in --at, or the block at an address. False: it
 * is not valid, and the message gives the reason. */
bool mv_go_to(mv_view *view, const char *where);

/* The event that an --at text names on the device that has arrived; false, with a sentence in
 * `why`, if there is none. */
bool mv_moment_of(mv_view *view, const char *at, mv_window window, uint32_t *event, char *why,
                  uint32_t why_size);

/* Writes a note at the cursor, with its window and interval; false: no text, or no room. The second
 * takes the text from the field, for the note that the field edits. */
bool mv_bookmark_set(mv_view *view, const char *text);
bool mv_bookmark_typed(mv_view *view);

/* Shows the interval just selected in the lower pane: as a table by line or category, unless the
 * flame graph there already shows it. */
void mv_view_show_interval(mv_view *view);

/* Sets the state for view->sheet, on the first device of the first document. */
void mv_view_begin_paper(mv_view *view);

/* Before a frame: gives a device that has become ready its window, its cursor, and the start
 * position from the command line. */
void mv_view_settle(mv_view *view);
void mv_navigation_update(mv_view *view);

/* Before and after painting the panes: scroll positions of their lists. */
void mv_scroll_show(mv_view *view);
void mv_scroll_keep(mv_view *view);

/* Zooms and pans. Shares count from the left, and from below. */
void mv_timeline_zoom(mv_view *view, double share, double factor);
void mv_timeline_zoom_y(mv_view *view, double share, double factor);
void mv_timeline_pan(mv_view *view, double by);

/* Shows only these bytes: values that a session can store, so up to 2^62, and not an empty
 * range. */
void mv_timeline_show_bytes(mv_view *view, double from, double to);

/* Zooms and pans the allocator's state at the pointer; shares of its width and height. False:
 * another view is shown. */
bool mv_heap_zoom(mv_view *view, double factor);
bool mv_heap_pan(mv_view *view, double right, double down);
bool mv_heap_fit_all(mv_view *view);
bool mv_heap_fit_selection(mv_view *view);

/* Before a frame: zooms to a hole that was chosen while the state was not shown. */
void mv_heap_settle(mv_view *view);

/* The search: only these two functions write it. Hits are at least highlighted; without words
 * everything is shown. */
void mv_search_set(mv_view *view, const char *words); /* the field is updated; "": no search */
void mv_search_typed(mv_view *view);                  /* takes the words from the field */

void mv_rows_typed(mv_view *view); /* the filter of rows, from its field */

/* Pins the next or previous hit. */
void mv_search_go(mv_view *view, bool is_back);

/* Opens or closes the element that has the keyboard. */
void mv_chrome_focus(mv_view *view, mv_focus focus);

/* Up, Down, PageUp, PageDown and the wheel in a list of `count` rows. */
bool mv_chrome_list_input(mv_view *view, const mv_input *input, uint32_t count, uint32_t shown);
bool mv_command_list_input(mv_view *view, const mv_input *input);
bool mv_device_list_input(mv_view *view, const mv_input *input);
bool mv_menu_input(mv_view *view, const mv_input *input);
bool mv_open_input(mv_view *view, const mv_input *input);

/* Begins the tour at the first frame with a device, if opts.offers_tour. */
void mv_tour_offer(mv_view *view);

/* Enter and arrows step through the tour, Escape ends it. False: no tour, or another key. */
bool mv_tour_input(mv_view *view, const mv_input *input);

/* Keyboard navigation in the window (view/state/spot.h): uses arrows, Enter and similar keys. A
 * click moves the position too, but does not mark it. */
bool mv_spot_input(mv_view *view, const mv_input *input);
void mv_spot_clicked(mv_view *view, const mv_zone *zone);

/* Gives an input to a pane, as described below. A key without a command, such as an arrow, goes to
 * the pane if the keyboard is inside the pane but not in one of its zones (view->spot.command is
 * MV_DO_NOTHING), or after its last zone: a pane that uses the key keeps and marks its own
 * position. */
bool mv_pane_give(mv_view *view, mv_pane pane, mv_box box, const mv_input *input);

/* Pointer handling of a pane: events in its box and, after a press inside, all events until the
 * release, unless a zone with a command was clicked. A pane that the pointer leaves gets
 * MV_INPUT_LEAVE. False: the pane does not use the input. */
bool mv_timeline_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_minimap_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_ranks_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_state_pointer(mv_view *view, mv_box box, const mv_input *input);
/* Arrows move from box to box of the flame graph, Enter focuses on a box, Backspace on its
 * caller. */
bool mv_flame_key(mv_view *view, const mv_input *input);
bool mv_flame_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_tables_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_details_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_reports_pointer(mv_view *view, mv_box box, const mv_input *input);
bool mv_whatif_pointer(mv_view *view, mv_box box, const mv_input *input);

#endif
