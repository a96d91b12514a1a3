#include "view/frame/file_badge.h"

#include "view/document/ledger_moment.h"

enum {
    MOST_IN_TIP = 6,
    MOST_COOPERATIVE = 100000 /* maximum number of events; a larger file would block a page's only
                                 thread for too long */
};

bool mv_verdicts_open(mv_view *view)
{
    view->verdict_slot =
        mv_slot_open(view->jobs, mv_file_verdicts_find, NULL, sizeof(const mv_document *));
    return view->verdict_slot != NULL;
}

/* Whether only the reports of the whole file know all problems: on other levels, or of objects of the
 * driver, which the headline of a device does not count. */
static bool needs_verdicts(const mv_document *document)
{
    return mv_file_has_several_levels(document) || mv_document_has_ledger(document);
}

static bool takes_too_long(const mv_view *view)
{
    return view->opts.is_cooperative && mv_view_device(view)->events > MOST_COOPERATIVE;
}

void mv_verdicts_update(mv_view *view)
{
    const mv_document *document = mv_view_document(view);
    bool is_current = false;

    view->verdicts = NULL;
    if (!mv_view_is_evaluated(view) || !needs_verdicts(document) || takes_too_long(view))
        return;
    if (document->origin) /* all levels share one result */
        document = document->origin;
    view->verdicts = mv_slot_query(view->verdict_slot, &document, &is_current);
    if (!is_current)
        view->verdicts = NULL;
}

const char *mv_view_level_name(const mv_view *view)
{
    const mv_trace *trace = &mv_view_document(view)->trace;

    return trace->origin.level ? trace->origin.level
                               : mv_level_name_of(trace, mv_level_default(trace));
}

static mv_file_badge of_verdicts(mv_view *view)
{
    const mv_file_verdicts *v = view->verdicts;
    const char *tip = "";
    uint32_t told = 0;

    for (uint32_t i = 0; i < v->count && told < MOST_IN_TIP; i++)
        if (v->rows[i].kind <= MV_FINDING_WAITING ||
            (!v->problems && v->rows[i].report == MV_REPORT_LEAKS))
            tip = mv_scene_format(&view->ui.scene, "%s%s%s", tip, told++ ? " \xc2\xb7 " : "",
                                  v->rows[i].text);
    return (mv_file_badge){v->badge, v->problems > 0, tip};
}

static bool is_evaluated(const mv_document_device *d)
{
    return atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DEVICE_REPORTED;
}

/* Returns the badge for the problems of all devices evaluated so far. */
static mv_file_badge of_devices(mv_view *view, const mv_document *document)
{
    const mv_document_device *shown = mv_view_device(view);
    const mv_headline_row *worst = NULL;
    const char *tip = "";
    uint32_t problems = 0, told = 0;

    for (uint32_t i = 0; i < document->device_count; i++) {
        const mv_document_device *d = &document->devices[i];
        const mv_headline_row *row = d->headline.rows;
        mv_reports reports;
        if (!is_evaluated(d) || !d->headline.alarms)
            continue;
        reports = mv_document_reports(document, d);
        problems += mv_headline_problems(&reports);
        if (!worst || mv_finding_by_alarm(row->kind, row->bytes, worst->kind, worst->bytes) < 0)
            worst = row;
        if (told < MOST_IN_TIP)
            tip = mv_scene_format(&view->ui.scene, "%s%sdevice %u: %s", tip,
                                  told++ ? " \xc2\xb7 " : "", d->device, d->headline.line);
    }
    if (!worst)
        return (mv_file_badge){shown->badge, false, shown->headline.line};
    return (mv_file_badge){
        mv_scene_format(&view->ui.scene, "%u: %s", problems, mv_headline_problem(worst->kind)),
        true, tip};
}

mv_file_badge mv_file_badge_of(mv_view *view)
{
    const mv_document *document = mv_view_document(view);
    const mv_document_device *d = mv_view_device(view);

    if (!mv_view_is_evaluated(view))
        return (mv_file_badge){0};
    if (view->verdicts)
        return of_verdicts(view);
    if (needs_verdicts(document) && takes_too_long(view))
        return (mv_file_badge){mv_scene_format(&view->ui.scene, "%s on this level", d->badge),
                               d->headline.alarms > 0, d->headline.line};
    if (needs_verdicts(document))
        return (mv_file_badge){0};
    if (document->device_count > 1)
        return of_devices(view, document);
    return (mv_file_badge){d->badge, d->headline.alarms > 0, d->headline.line};
}
