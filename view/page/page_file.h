/* memviz.html, the viewer's page without a snapshot (web/, docs/web.md). */
#ifndef MV_PAGE_FILE_H
#define MV_PAGE_FILE_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

/* Its bytes, in the arena. MV_IO when it is not there: it is looked for where $MEMVIZ_PAGE says,
 * beside the program's build folder, and where it is installed. */
mv_code mv_page_file_read(mv_arena *arena, mv_span *page, mv_err *err);

#endif
