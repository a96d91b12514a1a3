/* A trace as a page: one self-contained HTML file that any browser opens from disk, without a
 * network, a server or a library. It holds the whole trace, as coded columns, and a script that
 * draws what is looked at: memory over time, segments over time, the allocator's state at a
 * moment, flame graphs of it. docs/html.md explains both.
 *
 *     mv_html_init(&page, arena, trace, "train.pickle");
 *     page.view = MV_PAGE_STATE;
 *     mv_html_add_device(&page, &reports, &opening, &err);         once a device
 *     mv_html_write(&page, &sink, &err);
 *
 * Texts of the trace are untrusted. In the file they are in base64 only, except for the title and
 * the verdict, which are escaped; the script shows them as text, never as markup. */
#ifndef MV_HTML_H
#define MV_HTML_H

#include "analyze/advice/headline.h"
#include "analyze/filter/filter.h"
#include "viz/html/packed_columns.h"

enum { MV_HTML_VERDICT = 512 };

typedef enum { MV_PAGE_PREFERRED, MV_PAGE_LIGHT, MV_PAGE_DARK } mv_page_theme;

/* What a page shows first; the others are a key away. These numbers are in the file. */
typedef enum {
    MV_PAGE_ACTIVE,         /* allocations over time */
    MV_PAGE_SEGMENTS,       /* segments over time */
    MV_PAGE_STATE,          /* every segment at the moment, and what lies in it */
    MV_PAGE_STACKS,         /* a flame graph of what is allocated at the moment */
    MV_PAGE_SEGMENT_STACKS, /* ... of what is reserved: by segment, then by stack */
    MV_PAGE_POOLS           /* allocations over time, by pool */
} mv_page_view;

/* What a device shows first. */
typedef struct {
    uint32_t from, to; /* the events that are in view; to 0: all */
    bool has_moment;   /* else the moment is the peak */
    uint32_t moment;   /* the event that it is after, or MV_BEFORE */
} mv_html_opening;

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const char *title;       /* the file's name */
    mv_page_theme theme;     /* at first; PREFERRED, unless set: the browser's setting */
    mv_page_view view;       /* ACTIVE, unless set */
    bool all_frames;         /* stacks also show native and interpreter frames, at first */
    const mv_filter *filter; /* at first the page shows only its matches; NULL: everything */
    const char *filter_text; /* its words */
    uint32_t top; /* at first only this many, the largest, are in colour, all others grey; 0: all */
    mv_packed columns;
    uint32_t devices;              /* added so far */
    char verdict[MV_HTML_VERDICT]; /* headline of the first device with an alarm, else of the first
                                    */
    bool has_alarm;
} mv_html;

void mv_html_init(mv_html *page, mv_arena *arena, const mv_trace *trace, const char *title);

/* Adds all of one device, whose reports are not needed afterwards. Those on lives and leaks must be
 * there; the heading says nothing of others that are NULL. O(n log n). Fails when memory runs out.
 */
mv_code mv_html_add_device(mv_html *page, const mv_reports *reports, const mv_html_opening *opening,
                           mv_err *err);

/* Writes the page. A failed write is reported by mv_sink_commit. */
mv_code mv_html_write(mv_html *page, mv_sink *sink, mv_err *err);

#endif
