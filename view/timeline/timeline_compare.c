/* The total of another device or rank over this one.
 *
 * If both clocks overlap, equal times are at equal places. Else the markers decide: the 3rd
 * outermost annotation here is at the 3rd there. Else both begin together, in time or in events. */
#include <math.h>

#include "base/search.h"
#include "view/timeline/plot.h"

enum { MOST_MARKS = 100000 };

typedef enum { BY_TIME, BY_MARKER, BY_BEGIN, BY_EVENT } alignment;

typedef struct {
    alignment by;
    const mv_events *here, *there;
    double shift;             /* BY_TIME, BY_BEGIN: microseconds from here to there */
    const uint32_t *marks[2]; /* BY_MARKER: events, here and there */
    uint32_t count;           /* of both */
} aligned;

static bool has_times(const mv_events *e)
{
    return e->count > 0 && e->time_us[0] != MV_NO_TIME && e->time_us[e->count - 1] != MV_NO_TIME;
}

static bool do_overlap(const mv_events *a, const mv_events *b)
{
    return a->time_us[0] < b->time_us[b->count - 1] && b->time_us[0] < a->time_us[a->count - 1];
}

static const uint32_t *outer_marks(mv_plot *p, const mv_document_device *d, uint32_t *count)
{
    const mv_trace_marks *l = &d->trace_marks;
    uint32_t most = l->mark_count < MOST_MARKS ? l->mark_count : MOST_MARKS;
    uint32_t *events = mv_push_array(p->ui->frame, uint32_t, (uint64_t)most + 1);

    *count = 0;
    for (uint32_t i = 0; events && i < most; i++)
        if (l->marks[i].depth == 0 && !l->marks[i].is_moment)
            events[(*count)++] = l->marks[i].from;
    return events;
}

static aligned align(mv_plot *p, const mv_document_device *other)
{
    aligned a = {.by = BY_EVENT, .here = &p->device->lives.events, .there = &other->lives.events};
    uint32_t here, there;

    if (has_times(a.here) && has_times(a.there)) {
        a.by = BY_BEGIN;
        a.shift = (double)a.there->time_us[0] - (double)a.here->time_us[0];
        if (do_overlap(a.here, a.there)) {
            a.by = BY_TIME;
            a.shift = 0;
            return a;
        }
    }
    a.marks[0] = outer_marks(p, p->device, &here);
    a.marks[1] = outer_marks(p, other, &there);
    a.count = here < there ? here : there;
    if (a.count >= 2 && a.marks[0] && a.marks[1])
        a.by = BY_MARKER;
    return a;
}

/* The last event that is not after a time. */
static double event_at(const mv_events *e, double time)
{
    mv_bisect b = mv_bisect_over(0, e->count);

    while (mv_bisect_next(&b))
        mv_bisect_tell(&b, (double)e->time_us[b.middle] <= time);
    return (double)b.low - 1;
}

/* Between the k-th marker and the next one, both traces advance evenly. */
static double by_marker(const aligned *a, double event)
{
    mv_bisect b = mv_bisect_over(1, a->count);
    double from, length, share;
    uint64_t k;

    while (mv_bisect_next(&b))
        mv_bisect_tell(&b, a->marks[0][b.middle] <= event);
    k = b.low - 1;
    if (event < a->marks[0][0] || k + 1 >= a->count)
        return a->marks[1][k] + (event - a->marks[0][k]);
    from = a->marks[0][k];
    length = fmax(1, a->marks[0][k + 1] - from);
    share = (event - from) / length;
    return a->marks[1][k] + share * ((double)a->marks[1][k + 1] - a->marks[1][k]);
}

/* The other's event at a place of this one; negative: it has not begun, or has ended. */
static double other_event(const aligned *a, double event)
{
    uint32_t whole = event < a->here->count ? (uint32_t)event : a->here->count - 1;
    double there;

    if (a->by == BY_MARKER)
        there = by_marker(a, event);
    else if (a->by == BY_EVENT)
        there = event;
    else
        there = event_at(a->there, (double)a->here->time_us[whole] + a->shift);
    return there < a->there->count ? there : -1;
}

static mv_pyramid_reader *levels_of(mv_timeline_pane *pane, const mv_document_device *other)
{
    if (pane->other != other)
        mv_pyramid_reader_init(&pane->other_levels, &other->pyramid);
    pane->other = other;
    return &pane->other_levels;
}

void mv_plot_other(mv_plot *p)
{
    const mv_document_device *other = mv_view_other(p->view);
    mv_scene *scene = &p->ui->scene;
    double before = -1;
    mv_pyramid_reader *levels;
    aligned a;

    if (!other || other == p->device || p->device->lives.events.count == 0 ||
        other->lives.events.count == 0)
        return;
    levels = levels_of(p->pane, other);
    a = align(p, other);
    for (uint32_t c = 0; c < (uint32_t)p->plot.w; c++) {
        float x = p->plot.x + (float)c;
        double event = other_event(&a, mv_viewport_event(&p->at, x + 1));
        uint32_t first = (uint32_t)fmax(0, before < 0 ? event : before), end;
        if (event < 0) {
            before = -1;
            continue;
        }
        end = (uint32_t)event > first ? (uint32_t)event : first + 1;
        before = event;
        event = (double)mv_pyramid_range(levels, first, end).most.allocated;
        mv_scene_point(scene, x, mv_viewport_y(&p->at, event));
        mv_scene_point(scene, x + 1, mv_viewport_y(&p->at, event));
    }
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                   .stroke = p->ui->theme->alarm,
                                   .width = 1.6f * p->ui->scale});
}
