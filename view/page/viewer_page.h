/* A snapshot as a page for any browser: memviz.html (web/, docs/web.md) with the trace inside, as
 * memviz's own container, and the viewer's initial state.
 *
 *     <title>train.pickle · leak 24.0 MiB at train.py:74 · memviz</title>
 *     ...
 *     <p id="verdict">leak 24.0 MiB at train.py:74</p>
 *     <script type="text/plain" id="snapshot" data-name="train.pickle" data-state="main state;
 * cursor 77">...</script>
 *
 * Texts of the trace are inside the container, which is encoded as letters without a meaning in
 * HTML (letters.h); the name, the verdict and the state are escaped. */
#ifndef MV_VIEWER_PAGE_H
#define MV_VIEWER_PAGE_H

#include "parse/writers.h"
#include "view/state/session.h"
#include "viz/scene/scene.h"

typedef struct {
    mv_write_opts write;       /* write.name is the snapshot's name in the page */
    const char *title;         /* title of the page; NULL: the name */
    const mv_session *session; /* initial state: only the given members; its only file is the
                                  snapshot. NULL: the viewer's defaults */
    const char *verdict;       /* verdict of all reports, one line; NULL: none */
    bool is_alarm;             /* the verdict reports a problem: the title includes it */
    uint64_t most_events;      /* a longer trace loses its smallest blocks (analyze/thin/thin.h); 0:
                                  MV_PAGE_EVENTS, and fewer if the page would be larger than
                                  MV_PAGE_BYTES */
} mv_viewer_page_opts;

/* The default of --most-events. 50 million events, downsampled to 6 million, are 22 MB. */
#define MV_PAGE_EVENTS 6000000
#define MV_PAGE_BYTES  25000000

/* Parts of the trace that are missing from a page. */
typedef struct {
    uint64_t events;
    const char *words; /* a sentence about them; NULL: nothing is missing */
} mv_page_gap;

/* Writes the page. gap->words is in `scratch`. MV_IO when memviz.html is missing
 * (view/page/page_file.h). */
mv_code mv_viewer_page_write(mv_arena *scratch, const mv_trace *trace,
                             const mv_viewer_page_opts *opts, mv_sink *sink, mv_page_gap *gap,
                             mv_err *err);

/* Adds the verdicts on one device: a page shows the verdicts on the first device with an alarm, or
 * else on the first device. The text is in `arena`; `work` may be released afterwards. O(n log
 * n). */
mv_code mv_viewer_page_evaluate(mv_arena *arena, mv_arena *work, const mv_trace *trace,
                                const mv_lives *lives, mv_viewer_page_opts *page, mv_err *err);

/* Writes a page with a picture and nothing else: used when memviz.html is missing. */
mv_code mv_still_page_write(const mv_scene *picture, const char *title, mv_sink *sink, mv_err *err);

#endif
