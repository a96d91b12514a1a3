/* Makes a source from the pickle inside a page of PyTorch's _memory_viz. trace_plot() and
 * segment_plot() write the pickle as base64, in a list of files for the page's script.
 *
 *     const local_files = [{"name": "snapshot.pickle", "base64": "gASV..."}]
 *
 * PyTorch 2.1 to 2.14 all write this line (_format_viz, torch/cuda/_memory_viz.py). No other part
 * of the page is read, so even a page that contains the viewer's script itself is readable. */
#pragma once

#include "parse/source/source.h"

typedef struct {
    mv_source *page;
    uint64_t first; /* position in the page at which the base64 begins */
    bool ended;     /* the closing quote was read */
    bool padded;    /* '=' was read, so no letter may follow */
    bool failed;    /* the base64 is invalid; the error contains the position in the page */
    uint8_t rest[3], rest_at, rest_end; /* decoded bytes of the last group that have not been
                                         * returned yet */
} mv_page_text;

/* Moves `page` to the base64 of its snapshot. Fails with MV_FORMAT, naming the kind of page, or
 * with the error that occurred while reading the page. */
mv_code mv_page_find(mv_source *page, mv_page_text *text, mv_err *err);

/* Returns true if another snapshot follows in the page. */
bool mv_page_has_more(mv_source *page);

/* Opens a source of the decoded bytes; `text` must stay valid until the source is closed. */
mv_code mv_page_open(mv_arena *arena, mv_page_text *text, mv_source *out, mv_err *err);

/* Returns the position in the page of byte `offset` of the snapshot. */
uint64_t mv_page_offset(const mv_page_text *text, uint64_t offset);
