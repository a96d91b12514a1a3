#include "view/panes/finding_places.h"

#include "base/sort.h"
#include "view/document/search_text.h"
#include "view/frame/view.h"

static uint32_t group_of(const mv_sites *sites, mv_stack_id stack)
{
    return sites->group[mv_site_of(sites, stack)];
}

/* Returns the largest block in the finding's category that the finding's line allocates after the
 * finding's event. */
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

/* Finds the events to show for a finding, with some context around them. */
static void find_window(const mv_finding *f, uint32_t events, mv_finding_place *out)
{
    uint32_t first = f->first == MV_BEFORE ? 0 : f->first;
    uint32_t last = f->last == MV_BEFORE || f->last < first ? first : f->last;
    uint32_t around = (last - first) / 20 + 4;

    out->from = first > around ? first - around : 0;
    out->to = events - last > around ? last + around : events;
}

/* Whether a block waits for a stream after `event`. Such blocks belong to the finding, and blocks
 * that pin memory are already listed. */
static bool is_waiting(const mv_lives *lives, uint32_t row, uint32_t event)
{
    return mv_alloc_is_active(lives, row, event) && !mv_alloc_is_allocated(lives, row, event);
}

/* Returns the rows of the finding's blocks in ascending order; NULL when out of memory. */
static uint32_t *list_rows(mv_arena *scratch, const mv_document *document, const mv_lives *lives,
                           const mv_finding *f, uint32_t *count)
{
    uint32_t group = group_of(&document->sites, f->stack);
    uint32_t *rows = mv_push_array(scratch, uint32_t, (uint64_t)f->blocks + 1);

    *count = 0;
    for (uint32_t i = 0; rows && f->pins && i < f->pins->block_count; i++)
        if (f->pins->blocks[i].group == group && *count < f->blocks)
            rows[(*count)++] = f->pins->blocks[i].row;
    for (uint32_t i = 0; rows && f->of == MV_BLOCKS_WAITING && i < lives->allocs.count; i++)
        if (*count < f->blocks && is_waiting(lives, i, f->event))
            rows[(*count)++] = i;
    if (rows)
        mv_sort_rows(scratch, rows, *count, MV_RISING_VALUES(uint32_t));
    return rows;
}

/* Lists the finding's blocks one by one, and finds the largest of them that is allocated. Writes ""
 * if there are too many. */
static bool search_rows(mv_arena *arena, const mv_document *document, const mv_lives *lives,
                        const mv_finding *f, char out[MV_SEARCH_TEXT], uint32_t *largest)
{
    mv_arena scratch;
    uint32_t count;
    const uint32_t *rows;

    mv_arena_init(&scratch, arena->budget);
    rows = list_rows(&scratch, document, lives, f, &count);
    if (rows)
        mv_search_of_rows(rows, count, out, MV_SEARCH_TEXT);
    *largest = MV_NO_ROW;
    for (uint32_t i = 0; rows && i < count; i++)
        if (mv_alloc_is_allocated(lives, rows[i], f->event) &&
            (*largest == MV_NO_ROW || lives->allocs.block[rows[i]] > lives->allocs.block[*largest]))
            *largest = rows[i];
    mv_arena_release(&scratch);
    return rows != NULL;
}

/* Finds a search for exactly the finding's blocks. Returns false when out of memory. */
static bool find_search(mv_arena *arena, const mv_document *document, const mv_document_device *d,
                        const mv_frame_id *frames, const mv_finding *f, mv_finding_place *out)
{
    const mv_categories *c = &d->attribution.categories;
    char text[MV_SEARCH_TEXT] = "", line[MV_SEARCH_LINE], category[MV_SEARCH_LINE] = "";

    if (f->of == MV_BLOCKS_NONE)
        return true;
    if (f->of == MV_BLOCKS_OF_LEAK)
        snprintf(text, sizeof text, "leak:%u", f->leak + 1);
    else if ((f->of == MV_BLOCKS_OF_PINS || f->of == MV_BLOCKS_WAITING) &&
             !search_rows(arena, document, &d->lives, f, text, &out->alloc))
        return false;
    if (f->category != MV_NO_ROW && f->category < c->count)
        mv_search_of_category(c->name[f->category], category);
    if (f->of == MV_BLOCKS_OF_CATEGORY)
        snprintf(text, sizeof text, "%s", category + 1);
    else if (!*text && f->of != MV_BLOCKS_WAITING)
        snprintf(text, sizeof text, "%s%s",
                 mv_search_of_line(&document->trace, frames[group_of(&document->sites, f->stack)],
                                   f->stack, line),
                 category);
    out->search = mv_arena_text(arena, text, strlen(text));
    return out->search != NULL;
}

/* ---- other settings ---------------------------------------------------------------------- */

/* Returns the items that change the recorded settings into the advised ones. This is one item, or
 * if the advice is to use the defaults, all items that remove a recorded setting. Returns NULL when
 * out of memory. */
static const char *ticks_of_setting(mv_arena *arena, const char *recorded, const char *setting)
{
    const char *defaults = "", *before = "";

    for (uint32_t i = 0; i < MV_SETTING_CHOICES; i++) {
        const mv_setting_choice *c = &mv_setting_choices[i];
        const char *conf = mv_alloc_conf_change(arena, recorded, c->key, c->value);
        if (!conf)
            return NULL;
        if (strcmp(conf, setting) == 0)
            return mv_arena_printf(arena, "%s:%s", c->key, c->value ? c->value : "");
        if (c->value || !strstr(recorded, c->key) || strcmp(before, c->key) == 0)
            continue;
        before = c->key;
        defaults = mv_arena_printf(arena, "%s%s%s:", defaults, *defaults ? "\n" : "", c->key);
        if (!defaults)
            return NULL;
    }
    return *setting ? "" : defaults;
}

/* Returns the items of the first advice. */
static const char *find_ticks(mv_arena *arena, const mv_document *document,
                              const mv_frame_id *frames, const mv_whatif *whatif)
{
    const mv_whatif_advice *a = &whatif->advice[0];
    char line[MV_SEARCH_LINE];

    if (whatif->advice_count == 0)
        return "";
    if (a->stack.row == MV_NO_STACK.row)
        return ticks_of_setting(arena, whatif->trials.recorded_conf, a->setting);
    return mv_arena_printf(arena, MV_WHATIF_APART "%s",
                           mv_search_of_line(&document->trace,
                                             frames[group_of(&document->sites, a->stack)], a->stack,
                                             line));
}

mv_finding_place *mv_finding_places_find(mv_arena *arena, const mv_document *document,
                                         const mv_document_device *d, const mv_findings *findings,
                                         const mv_whatif *whatif)
{
    mv_finding_place *places = mv_push_array(arena, mv_finding_place, findings->count);
    uint32_t events = d->lives.events.count;
    const mv_frame_id *frames = mv_frames_of_groups(arena, &document->trace, &document->sites);

    if (!frames)
        return NULL;
    for (uint32_t i = 0; places && i < findings->count; i++) {
        const mv_finding *f = &findings->rows[i];
        places[i] = (mv_finding_place){.alloc = MV_NO_ROW, .search = "", .ticks = ""};
        if (whatif && f->kind == MV_FINDING_WHATIF &&
            !(places[i].ticks = find_ticks(arena, document, frames, whatif)))
            return NULL;
        if (!f->has_place)
            continue;
        find_window(f, events, &places[i]);
        if (f->kind == MV_FINDING_LEAK)
            places[i].alloc = f->first < events ? d->lives.alloc_of[f->first] : MV_NO_ROW;
        else if (*f->culprit)
            places[i].alloc = largest_of(&document->sites, d, f);
        if (!find_search(arena, document, d, frames, f, &places[i]))
            return NULL;
    }
    return places;
}
