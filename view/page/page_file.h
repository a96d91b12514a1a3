/* memviz.html, the viewer's page without a snapshot (web/, docs/web.md). */
#ifndef MV_PAGE_FILE_H
#define MV_PAGE_FILE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

/* Whether there is one: where $MEMVIZ_PAGE says, which is not doubted, beside the program, beside
 * its build folder, and where it is installed. */
bool mv_page_file_is_there(void);

/* What to do about it if there is none. */
#define MV_PAGE_FILE_ADVICE "memviz.html is not there: scripts/web makes it (docs/web.md)"

/* Its bytes, in the arena. MV_IO when it is not there. */
mv_code mv_page_file_read(mv_arena *arena, mv_span *page, mv_err *err);

#endif
