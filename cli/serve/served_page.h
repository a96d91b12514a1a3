/* Prepares memviz.html for `serve`. The original page must not connect anywhere. The served page
 * may connect to its own origin, and is recognized by an element named "served" (web/served.js). */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

/* Fails with MV_FORMAT if the page is not as expected: its head must contain exactly one policy,
 * before any script, that begins with default-src 'none' and does not mention connections, and the
 * page must have exactly one place for a snapshot. */
mv_code mv_served_page_make(mv_arena *arena, mv_span page, mv_span *out, mv_err *err);
