#include "view/panes/finding_places.h"

#include <string.h>

#include "base/text.h"
#include "view/document/search_text.h"
#include "view/frame/view.h"

static uint32_t group_of(const mv_sites *sites, mv_stack_id stack)
{
    return sites->group[mv_site_of(sites, stack)];
}

/* The largest block allocated by the finding's line after the finding's event, in its category. */
static uint32_t largest_of(const mv_sites *sites, const mv_document_device *d, const mv_finding *f)
{
    const mv_index *index = &d->index;
    const mv_alloc_lives *a = &d->lives.allocs;
    const uint16_t *categories = d->attribution.categories.of_alloc;
    uint32_t limit = mv_index_born(index, f->event), best = MV_NO_ROW;
    uint32_t group = group_of(sites, f->stack);

    for (uint32_t r = mv_index_next(index, 0, limit, f->event); r < limit;
         r = mv_index_next(index, r + 1, limit, f->event)) {
        if (group_of(sites, a->stack[r]) != group ||
            (f->category != MV_NO_ROW && categories[r] != f->category) ||
            !mv_index_is_alive(index, r, f->event))
            continue;
        if (best == MV_NO_ROW || a->block[r] > a->block[best])
            best = r;
    }
    return best;
}

/* The events of a finding, with some context around them. */
static void find_window(const mv_finding *f, uint32_t events, mv_finding_place *out)
{
    uint32_t first = f->first == MV_BEFORE ? 0 : f->first;
    uint32_t last = f->last == MV_BEFORE || f->last < first ? first : f->last;
    uint32_t around = (last - first) / 20 + 4;

    out->from = first > around ? first - around : 0;
    out->to = events - last > around ? last + around : events;
}

/* False when out of memory. */
static bool find_search(mv_arena *arena, const mv_trace *trace, const mv_finding *f,
                        mv_finding_place *out)
{
    bool is_leak = f->kind == MV_FINDING_LEAK;
    char text[MV_SEARCH_TEXT - 16];

    mv_search_of_frame(trace, f->frame, text, sizeof text);
    out->search =
        mv_arena_printf(arena, "%s%s%s", text, is_leak && *text ? " " : "", is_leak ? "leak" : "");
    return out->search != NULL;
}

mv_finding_place *mv_finding_places_find(mv_arena *arena, const mv_document *document,
                                         const mv_document_device *d, const mv_findings *findings)
{
    mv_finding_place *places = mv_push_array(arena, mv_finding_place, findings->count);
    uint32_t events = d->lives.events.count;

    for (uint32_t i = 0; places && i < findings->count; i++) {
        const mv_finding *f = &findings->rows[i];
        places[i] = (mv_finding_place){.alloc = MV_NO_ROW, .search = ""};
        if (!f->has_place)
            continue;
        find_window(f, events, &places[i]);
        if (f->kind == MV_FINDING_LEAK)
            places[i].alloc = f->first < events ? d->lives.alloc_of[f->first] : MV_NO_ROW;
        else if (*f->culprit)
            places[i].alloc = largest_of(&document->sites, d, f);
        if (!find_search(arena, &document->trace, f, &places[i]))
            return NULL;
    }
    return places;
}
