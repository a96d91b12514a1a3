/* Finds and reads memviz.html, the viewer's page without a snapshot (web/, docs/web.md). */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

/* Whether the page exists next to the program, next to the program's build folder, or where it is
 * installed. If $MEMVIZ_PAGE is set, returns true without checking that the page it names
 * exists. */
bool mv_page_file_is_there(void);

/* Advice for when the page is missing. */
#define MV_PAGE_FILE_ADVICE "memviz.html is missing: scripts/web makes it (docs/web.md)"

/* Reads the page's bytes into the arena. Returns MV_IO if the page is missing. */
mv_code mv_page_file_read(mv_arena *arena, mv_span *page, mv_err *err);
