/* Writes a snapshot as a page that any browser can show: memviz.html (web/, docs/web.md), with the
 * trace embedded in memviz's own container format, and the viewer's initial state.
 *
 *     <title>train.pickle · leak 24.0 MiB at train.py:74 · memviz</title>
 *     ...
 *     <p id="verdict">leak 24.0 MiB at train.py:74</p>
 *     <script type="text/plain" id="snapshot" data-name="train.pickle" data-state="main state;
 * cursor 77">...</script>
 *
 * The strings of the trace are inside the container, which is encoded as letters without HTML
 * markup (letters.h). The name, the verdict and the state are escaped. */
#pragma once

#include "analyze/thin/thin.h"
#include "parse/writers.h"
#include "view/state/session.h"
#include "viz/scene/scene.h"

/* Reads the kept events of a device, with all columns, into `arena`. */
typedef mv_code mv_read_kept_fn(void *user, mv_arena *arena, uint32_t device, const mv_bitmap *kept,
                                mv_events *out, mv_err *err);

typedef struct {
    mv_write_opts write;       /* how the trace is written; write.name is the snapshot's name in the
                                  page */
    const char *title;         /* title of the page; NULL: the snapshot's name */
    const mv_session *session; /* initial state; only the given members are written, and the
                                  snapshot must be its only file. NULL: the viewer's defaults */
    const char *verdict;       /* verdict of all reports in one line; NULL: none */
    bool is_alarm;             /* the verdict reports a problem, so the title includes the
                                * verdict */
    uint64_t most_events;      /* maximum number of events in the page. The smallest blocks of a
                                  longer trace are left out (analyze/thin/thin.h). 0:
                                  MV_PAGE_EVENTS, or fewer if the page would be larger than
                                  MV_PAGE_BYTES */
    mv_thinned *thinned;       /* the trace with fewer events, as far as mv_viewer_page_evaluate has
                                * made it; NULL: not at all */
    const mv_lives *joined;    /* lives of the only device with events, if the trace has few columns
                                * of them (analyze/lives/lives_join.h) and more than most_events
                                * events; else NULL */
    mv_read_kept_fn *read_kept; /* reads the events that are kept of `joined` */
    void *reader;               /* its first argument */
} mv_viewer_page_opts;

/* The default of --most-events. A trace of 50 million events that is downsampled to 6 million takes
 * 23 MB. Longer traces than MV_PAGE_QUICK_EVENTS are compressed in a seventh of the time, as long
 * as the page fits in MV_PAGE_BYTES. */
#define MV_PAGE_EVENTS       6000000
#define MV_PAGE_QUICK_EVENTS 250000
#define MV_PAGE_BYTES        25000000

/* The events of the trace that are missing from a page. */
typedef struct {
    uint64_t events;
    const char *words; /* a sentence that describes what is missing; NULL: nothing is missing */
} mv_page_gap;

/* Writes the page. gap->words is allocated in `scratch`. Returns MV_IO if memviz.html is missing
 * (view/page/page_file.h). */
mv_code mv_viewer_page_write(mv_arena *scratch, const mv_trace *trace,
                             const mv_viewer_page_opts *opts, mv_sink *sink, mv_page_gap *gap,
                             mv_err *err);

/* Adds the verdicts on one device, and leaves out the device's events that exceed
 * page->most_events. A page shows the verdicts on the first device with an alarm. If
 * no device has an alarm, it shows the verdicts on the first device. The text and the events are
 * allocated in `arena`; `work` may be released afterwards. O(n log n). */
mv_code mv_viewer_page_evaluate(mv_arena *arena, mv_arena *work, const mv_trace *trace,
                                const mv_lives *lives, mv_viewer_page_opts *page, mv_err *err);

/* Writes a page that contains only a picture. It is used when memviz.html is missing. */
mv_code mv_still_page_write(const mv_scene *picture, const char *title, mv_sink *sink, mv_err *err);
