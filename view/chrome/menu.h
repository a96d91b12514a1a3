/* The lists under buttons: views, colours, clocks and bookmarks. Each entry is a command with a
 * number, and has a text that explains what the command does. */
#pragma once

#include "view/chrome/chrome.h"

typedef struct {
    mv_command_id command;
    uint64_t arg;
    bool is_on; /* this entry is what is currently shown */
    const char *title, *help;
} mv_menu_row;

enum { MV_MENU_MOST = MV_MOST_BOOKMARKS };

/* Writes the entries of the open menu, and returns their number. The strings stay valid until the
 * next frame. */
uint32_t mv_menu_rows(mv_view *view, mv_menu_row rows[MV_MENU_MOST]);

void mv_menu_paint(mv_view *view, mv_box box);
