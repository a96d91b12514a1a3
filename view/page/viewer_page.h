/* A snapshot as a page for any browser: memviz.html (web/, docs/web.md) with the trace inside, as
 * memviz's own container, and what the viewer opens on.
 *
 *     <title>train.pickle · leak 24.0 MiB at train.py:74 · memviz</title>
 *     ...
 *     <p id="verdict">leak 24.0 MiB at train.py:74</p>
 *     <script type="text/plain" id="snapshot" data-name="train.pickle" data-state="main state;
 * cursor 77">...</script>
 *
 * Texts of the trace are inside the container, which is written as letters without a meaning in
 * HTML (letters.h); the name, the verdict and the state are escaped. */
#ifndef MV_VIEWER_PAGE_H
#define MV_VIEWER_PAGE_H

#include "analyze/lives/lives.h"
#include "parse/writers.h"
#include "view/state/session.h"
#include "viz/scene/scene.h"

typedef struct {
    mv_write_opts write;       /* write.name is what the page calls the snapshot */
    const char *title;         /* of the page; NULL: the name */
    const mv_session *session; /* what it opens on: the members that are given; its only file is the
                                  snapshot. NULL: as a viewer begins */
    const char *verdict;       /* of all reports, one line; NULL: none */
    bool is_alarm;             /* it says that something is wrong: the title has it as well */
    uint64_t most_events;      /* blocks that hold least are left out of a longer trace
                                  (analyze/thin/thin.h); 0: MV_PAGE_EVENTS, and fewer if the page would
                                  be larger than MV_PAGE_BYTES */
} mv_viewer_page_opts;

/* What a page has without --most-events. 50 million events, thinned to 6 million, are 22 MB. */
#define MV_PAGE_EVENTS 6000000
#define MV_PAGE_BYTES  25000000

/* What of the trace is not in a page. */
typedef struct {
    uint64_t events;
    const char *words; /* a sentence about them; NULL: none is left out */
} mv_page_gap;

/* Writes the page. gap->words is in `scratch`. MV_IO when memviz.html is not there
 * (view/page/page_file.h). */
mv_code mv_viewer_page_write(mv_arena *scratch, const mv_trace *trace,
                             const mv_viewer_page_opts *opts, mv_sink *sink, mv_page_gap *gap,
                             mv_err *err);

/* Adds the verdicts on one device: a page has those of the first device with an alarm, else of the
 * first. The text is in `arena`; `work` may be released afterwards. O(n log n). */
mv_code mv_viewer_page_judge(mv_arena *arena, mv_arena *work, const mv_trace *trace,
                             const mv_lives *lives, mv_viewer_page_opts *page, mv_err *err);

/* Writes a page that shows a picture and nothing else: for where memviz.html is not there. */
mv_code mv_still_page_write(const mv_scene *picture, const char *title, mv_sink *sink, mv_err *err);

#endif
