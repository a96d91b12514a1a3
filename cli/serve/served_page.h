/* memviz.html as `serve` sends it. By itself the page may connect to nothing; here it may to the
 * address that it came from, and is told so by an element "served" (web/served.js). */
#ifndef MV_SERVED_PAGE_H
#define MV_SERVED_PAGE_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

/* MV_FORMAT when the page is not what it has to be: one policy in its head, before any script, that
 * begins with default-src 'none' and says nothing of connections, and one place for a snapshot. */
mv_code mv_served_page_make(mv_arena *arena, mv_span page, mv_span *out, mv_err *err);

#endif
