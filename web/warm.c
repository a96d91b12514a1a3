#include "web/warm.h"

#include "view/document/document.h"
#include "viz/core/drawn_rows.h"
#include "web/exports.h"

enum {
    REPORTS_EVERY = 4
}; /* the reports are made in one of this many runs, because they take
                             * several times as long as all other work */

/* Runs all code that a document runs for a device, and prepares the timeline's rows. */
static bool prepare(mv_budget *budget, const mv_trace *trace, bool has_reports)
{
    static mv_document d;
    const mv_lives none = {.events = mv_trace_events(trace, 0)};
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_drawn drawn;
    bool is_shown;

    d = (mv_document){.path = "", .name = ""};
    is_shown = mv_document_borrow(&d, trace, &none, budget, &err) == MV_OK;
    if (is_shown) {
        d.devices->has_lives = false;
        while (mv_document_show(&d, 0, budget))
            continue;
        is_shown = atomic_load_explicit(&d.devices->stage, memory_order_relaxed) == MV_DEVICE_SHOWN;
    }
    is_shown =
        is_shown && mv_drawn_all(&d.devices->arena, &d.devices->index, &drawn, &err) == MV_OK;
    while (is_shown && has_reports && mv_document_run_reports(&d, 0))
        continue;
    mv_document_release(&d);
    return is_shown;
}

/* Reads the sample once, which takes about a millisecond. Returns false if the sample cannot be
 * read. */
bool EXPORT(mv_web_warm)(void)
{
    static uint32_t runs;
    mv_budget budget = {.limit = 64 << 20};
    mv_arena arena;
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_trace trace;
    bool is_done;

    mv_arena_init(&arena, &budget);
    is_done = mv_trace_read_bytes(&arena, (mv_span){mv_warm_sample, mv_warm_sample_length}, &trace,
                                  &err) == MV_OK &&
              prepare(&budget, &trace, runs++ % REPORTS_EVERY == 0);
    mv_arena_release(&arena);
    return is_done;
}
