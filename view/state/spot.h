/* Where the keyboard is in the window: a place, and in it one of the zones that a click would find.
 *
 *     Tab, F6       the next place: toolbar, main, tabs, lower (Shift: the one before)
 *     arrows        the next zone; a pane that has more to choose from than zones gets keys itself
 *                   (view/panes/panes.h)
 *     Enter         runs the command of the zone, as a click does */
#ifndef MV_SPOT_H
#define MV_SPOT_H

#include "view/state/command.h"

typedef enum {
    MV_PART_TOOLBAR,
    MV_PART_MAIN, /* with the minimap */
    MV_PART_TABS,
    MV_PART_LOWER,
    MV_PART_COUNT
} mv_window_part;

typedef struct {
    uint8_t place;         /* mv_window_part */
    bool is_shown;         /* it has a mark: a key moved it, and no button was pressed since */
    bool has_moved;        /* since the last frame: a list scrolls to its row */
    bool is_inside;        /* the pane takes the keys, and shows where it is */
    mv_command_id command; /* of the zone; MV_DO_NOTHING: the place, or what is in the pane */
    uint64_t arg;
    uint32_t copy; /* which of several zones with this command and number, in order of painting */
} mv_spot;

#endif
