/* Lists under a button: views, colours, clocks, bookmarks; each entry is a command with a number,
 * and explains its effect. */
#ifndef MV_MENU_H
#define MV_MENU_H

#include "view/chrome/chrome.h"

typedef struct {
    mv_command_id command;
    uint64_t arg;
    bool is_on; /* shown now */
    const char *title, *help;
} mv_menu_row;

enum { MV_MENU_MOST = MV_MOST_BOOKMARKS };

/* The entries of the open menu. Texts live as long as the frame. */
uint32_t mv_menu_rows(mv_view *view, mv_menu_row rows[MV_MENU_MOST]);

void mv_menu_paint(mv_view *view, mv_box box);

#endif
