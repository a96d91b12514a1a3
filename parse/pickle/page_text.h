/* The pickle inside a page of PyTorch's _memory_viz, as a source: trace_plot() and segment_plot()
 * put it there as base64, in a list of files that their script reads.
 *
 *     const local_files = [{"name": "snapshot.pickle", "base64": "gASV..."}]
 *
 * The same in 2.1 to 2.14 (_format_viz, torch/cuda/_memory_viz.py). Nothing else of the page is
 * looked at, so a page in which someone put the viewer's script itself is read as well. */
#ifndef MV_PAGE_TEXT_H
#define MV_PAGE_TEXT_H

#include "parse/source/source.h"

typedef struct {
    mv_source *page;
    uint64_t first; /* byte of the page at which the base64 begins */
    bool ended;     /* the closing quote came */
    bool padded;    /* '=' came: no letter may follow */
    bool failed;    /* the base64 is bad; the failure names the byte of the page */
    uint8_t rest[3], rest_at, rest_end; /* of the last group, not given yet */
} mv_page_text;

/* Moves `page` to the base64 of its snapshot. Fails with MV_FORMAT, and what the page is instead,
 * or as the page's source does. */
mv_code mv_page_find(mv_source *page, mv_page_text *text, mv_err *err);

/* Whether another snapshot follows. */
bool mv_page_has_more(mv_source *page);

/* A source of the bytes that the base64 says; `text` must live as long. */
mv_code mv_page_open(mv_arena *arena, mv_page_text *text, mv_source *out, mv_err *err);

/* The byte of the page that says byte `offset` of the snapshot. */
uint64_t mv_page_offset(const mv_page_text *text, uint64_t offset);

#endif
