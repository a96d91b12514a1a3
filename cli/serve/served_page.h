/* memviz.html as `serve` sends it. The page itself must not connect anywhere; the served page may
 * connect to its own address, and is recognized by an element "served" (web/served.js). */
#ifndef MV_SERVED_PAGE_H
#define MV_SERVED_PAGE_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

/* MV_FORMAT if the page is not as expected: one policy in its head, before any script, that begins
 * with default-src 'none' and does not mention connections, and one place for a snapshot. */
mv_code mv_served_page_make(mv_arena *arena, mv_span page, mv_span *out, mv_err *err);

#endif
