/* memviz.html, the viewer's page without a snapshot (web/, docs/web.md). */
#ifndef MV_PAGE_FILE_H
#define MV_PAGE_FILE_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

/* Whether the page exists: at $MEMVIZ_PAGE, which is not checked, next to the program, next to its
 * build folder, or where it is installed. */
bool mv_page_file_is_there(void);

/* Advice when it is missing. */
#define MV_PAGE_FILE_ADVICE "memviz.html is missing: scripts/web makes it (docs/web.md)"

/* Its bytes, in the arena. MV_IO when it is missing. */
mv_code mv_page_file_read(mv_arena *arena, mv_span *page, mv_err *err);

#endif
