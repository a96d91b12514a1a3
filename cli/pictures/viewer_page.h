/* A snapshot as a page: memviz.html (web/, docs/web.md) with the trace inside, as memviz's own
 * container in base64. */
#ifndef MV_VIEWER_PAGE_H
#define MV_VIEWER_PAGE_H

#include "parse/writers.h"

/* Writes the page to the sink, like the writers of parse/writers.h. opts->name is what the page
 * calls the snapshot. Fails as mv_page_file_read does when memviz.html is not there. */
mv_code mv_viewer_page_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                             mv_sink *sink, mv_err *err);

#endif
