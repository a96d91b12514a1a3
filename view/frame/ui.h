/* One frame of the viewer: the scene that the panes paint, and its clickable zones.
 *
 * A frame is painted from scratch each time (immediate mode). Every clickable zone has a command
 * (view/state/command.h) and a number, so the keyboard, a script and the command palette can do
 * everything that the mouse can. Where zones overlap, the one painted last is on top. */
#pragma once

#include "view/state/command.h"
#include "viz/scene/palette.h"
#include "viz/scene/scene.h"

enum { MV_UI_TEXT = 12, MV_UI_SMALL = 11, MV_UI_LINE = 18, MV_UI_PAD = 8 }; /* pixels at scale 1 */

typedef struct {
    mv_box box;
    mv_command_id command; /* command that a click runs; MV_DO_NOTHING: the zone has only a tooltip,
                              and clicks go to the pane */
    uint64_t arg;
    const char *tip; /* tooltip; NULL: the help text of the command */
} mv_zone;

/* A list of clickable rows. All rows have the same command, with numbers from 0 to count - 1, and
 * `shown` rows fit in the list's box. Keys move from row to row, even to rows that are not
 * painted. */
typedef struct {
    mv_command_id command;
    uint32_t count, shown;
} mv_row_list;

enum { MV_UI_LISTS = 8 };

typedef struct {
    mv_scene scene;  /* cleared at the start of a frame; its strings are in its arena */
    mv_arena *frame; /* rewound at the start of a frame, so each allocation must be smaller than
                        MV_ARENA_LARGE */
    const mv_theme *theme;
    float scale; /* scale of text and padding: 1, or 2 on dense screens */
    uint32_t zone_count, zone_capacity;
    mv_zone *zones;
    uint32_t list_count;
    mv_row_list lists[MV_UI_LISTS];
    float pointer_x, pointer_y; /* position of the pointer; negative if there is no pointer */
    bool has_no_buttons;        /* the frame is printed, so elements that can only be clicked are
                                   left out */
    bool is_animating;          /* a pane needs another frame soon */
    mv_box caret;               /* box of the caret in the field that has the keyboard focus, as
                                 * last painted */
    bool ran_out_of_memory;     /* memory ran out, so part of the frame is missing and will not be
                                 * added later */
} mv_ui;

static inline bool mv_box_has(mv_box box, float x, float y)
{
    return x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;
}

/* Cuts a strip off a box and returns the strip. The box keeps what is left. */
mv_box mv_box_cut_top(mv_box *box, float h);
mv_box mv_box_cut_bottom(mv_box *box, float h);
mv_box mv_box_cut_left(mv_box *box, float w);
mv_box mv_box_cut_right(mv_box *box, float w);

/* Whether the pointer is in the box. */
bool mv_ui_is_hot(const mv_ui *ui, mv_box box);

void mv_ui_zone(mv_ui *ui, mv_box box, mv_command_id command, uint64_t arg, const char *tip);

/* Declares that the zones of a command are the rows of a list. */
void mv_ui_list(mv_ui *ui, mv_command_id command, uint32_t count, uint32_t shown);

/* Returns the topmost zone at a point; NULL: there is none. */
const mv_zone *mv_ui_zone_at(const mv_ui *ui, float x, float y);

void mv_ui_fill(mv_ui *ui, mv_box box, uint32_t colour);
void mv_ui_frame(mv_ui *ui, mv_box box, uint32_t colour); /* draws the box's edge, one pixel wide */

/* Marks the element that has the keyboard focus. */
void mv_ui_mark(mv_ui *ui, mv_box box);

/* Converts a length at scale 1 to whole pixels. */
float mv_ui_px(const mv_ui *ui, float length);

/* Paints a line of text in the box, vertically centred and cut to fit (mv_text_fit). `size` is the
 * size at scale 1 (MV_UI_TEXT). Returns the width of the text. */
float mv_ui_text(mv_ui *ui, mv_box box, float size, uint32_t colour, mv_anchor anchor,
                 const char *text);

/* Returns the width that mv_ui_text would return. */
float mv_ui_text_width(const mv_ui *ui, float size, const char *text);

/* Returns the first of `texts` that is not wider than `width`, or if none fits, the last one.
 * `texts` must be sorted, longest first. */
const char *mv_ui_longest(const mv_ui *ui, float size, float width, const char *const *texts,
                          uint32_t count);

/* How a text is laid out on several lines, which are broken at `gap`. */
typedef struct {
    float size, line; /* size of the letters and distance between lines, at scale 1 */
    uint32_t colour;
    bool is_bold;
    uint32_t most;   /* maximum number of lines; a longer text is cut with an ellipsis */
    const char *gap; /* where lines may be broken: " ", or " · " */
} mv_ui_lines;

/* Returns the text with line breaks at blanks, for a tooltip. Each line has at most `letters`
 * letters, unless a word is longer. The result is allocated in frame memory. */
const char *mv_ui_broken(mv_ui *ui, const char *text, uint32_t letters);

/* Returns the number of lines that mv_ui_paragraph paints in a box of this width. */
uint32_t mv_ui_line_count(mv_ui *ui, float width, const mv_ui_lines *lines, const char *text);

/* Paints the text at the top of the box. Returns the box below it. */
mv_box mv_ui_paragraph(mv_ui *ui, mv_box box, const mv_ui_lines *lines, const char *text);

/* Paints a button with its label. It is highlighted under the pointer and if `is_on`. In a printed
 * frame, only the labels of active buttons are painted. */
void mv_ui_button(mv_ui *ui, mv_box box, bool is_on, mv_command_id command, uint64_t arg,
                  const char *text);

/* Paints a vertical scroll bar at the right edge of `box` for `rows` rows, of which `shown` are
 * visible, starting at *first. Keeps *first in range. */
void mv_ui_scroll(mv_ui *ui, mv_box box, uint32_t rows, uint32_t shown, uint32_t *first);
