#include "view/timeline/stack_shapes.h"

#include "analyze/filter/isolate.h"
#include "base/parallel_for.h"
#include "viz/core/column_spikes.h"

enum {
    ONE_BY_ONE =
        4000 /* if a picture is limited to at most this many of the largest rows, even small rows
                have separate shapes */
};

/* ---- positions --------------------------------------------------------------------------- */

float mv_stack_x(const mv_stack *s, uint32_t column)
{
    const mv_box *plot = &s->plot->plot;

    if (s->lives->events.count == 0)
        return plot->x + plot->w * (column ? 0.25f : 0.05f);
    return plot->x + (float)column;
}

float mv_stack_y(const mv_stack *s, uint64_t bytes)
{
    float y = mv_viewport_y(&s->plot->at, (double)bytes);

    return (float)(int)(y * 10 + 0.5f) / 10;
}

/* ---- choosing rows ----------------------------------------------------------------------- */

/* Returns the ranks of the rows that the filter keeps, allocated in s->scratch; `old` has the ranks
 * of all rows (NULL: each rank equals its row). */
static uint32_t *ranks_of(mv_stack *s, const mv_filter_bits *kept, const uint32_t *old)
{
    uint32_t *ranks = mv_push_array(&s->scratch, uint32_t, kept->matches);
    uint32_t count = 0;

    for (uint32_t i = 0; ranks && i < kept->rows; i++)
        if (mv_filter_has(kept, i))
            ranks[count++] = old ? old[i] : i;
    return ranks;
}

/* Selects the rows that pass the filter. */
static bool choose_part(mv_stack *s)
{
    const mv_timeline_rows *rows = s->plot->rows;
    mv_filter_bits kept = {.rows = s->plot->index->count, .words = rows->only};

    s->lives = s->plot->lives;
    if (!rows->only)
        return true;
    s->lives = &rows->part;
    kept.matches = s->lives->allocs.count;
    s->rank = ranks_of(s, &kept, NULL);
    return s->rank != NULL;
}

/* Marks the largest rows, so that the legend counts them. */
static bool mark_largest(mv_stack *s)
{
    uint64_t words = ((uint64_t)s->plot->index->count + 63) / 64;
    uint64_t *bits = mv_push_array(&s->plot->pane->arena, uint64_t, words);

    for (uint32_t i = 0; bits && i < s->lives->allocs.count; i++)
        bits[s->rank[i] >> 6] |= (uint64_t)1 << (s->rank[i] & 63);
    s->plot->view->sheet->largest = bits;
    return bits != NULL;
}

static bool choose_largest(mv_stack *s)
{
    mv_paper_sheet *sheet = s->plot->view->sheet;
    mv_lives *largest = mv_push_struct(&s->scratch, mv_lives);
    mv_window window = sheet->opts.window;
    mv_filter_bits kept;
    mv_err err;

    if (!sheet->opts.top || sheet->opts.top >= sheet->matches)
        return true;
    s->largest = sheet->opts.top;
    if (!largest ||
        mv_isolate_largest(&s->scratch, s->lives, window.first, window.end, s->largest, &kept,
                           &err) != MV_OK ||
        !(s->rank = ranks_of(s, &kept, s->rank)) ||
        mv_isolate_lives(&s->scratch, s->lives, &kept, largest, &err) != MV_OK)
        return false;
    s->lives = largest;
    return mark_largest(s);
}

/* ---- colours ----------------------------------------------------------------------------- */

uint32_t mv_stack_colour(const mv_stack *s, const mv_stack_site *site)
{
    return mv_group_colour(&s->colouring, s->plot->ui->theme, site->group);
}

/* Returns the index of a group in a table. A group is a row of one of the trace's tables, or only a
 * flag. */
static uint64_t place_of(uint64_t group, uint64_t rows)
{
    bool is_leak = group & MV_GROUP_LEAK;
    uint64_t row = (uint32_t)group;

    if (group & MV_GROUP_NO_STACK)
        row = rows;
    else if (group & MV_GROUP_NO_PYTHON)
        row = rows + 1;
    else if (group & MV_GROUP_UNKNOWN || row >= rows)
        row = rows + 2;
    return 2 * row + is_leak;
}

/* The groups of some of the rows. */
typedef struct {
    uint32_t *first;         /* [places] the first row of each group + 1; 0: none */
    uint32_t count, *places; /* [count] the groups in the order of their first rows */
} site_part;

enum { SITE_PARTS = 16, SITE_PART_ROWS = 1 << 16 };

typedef struct {
    mv_stack *stack;
    uint64_t rows; /* number of groups that are rows of a table */
    uint32_t parts;
    site_part part[SITE_PARTS];
    uint32_t *site; /* [places] index in stack->sites + 1 */
} site_search;

static uint32_t row_of_part(const site_search *f, uint32_t part)
{
    return (uint32_t)((uint64_t)f->stack->lives->allocs.count * part / f->parts);
}

/* Sets site_of to the places of the groups, for now. */
static void find_places(void *user, uint32_t part)
{
    const site_search *f = user;
    mv_stack *s = f->stack;
    site_part p = f->part[part];
    uint32_t end = row_of_part(f, part + 1);

    for (uint32_t i = row_of_part(f, part); i < end; i++) {
        uint64_t group = mv_colour_group(&s->colouring, mv_stack_rank(s, i));
        uint32_t place = (uint32_t)place_of(group, f->rows);
        s->site_of[i] = place;
        if (p.first[place])
            continue;
        p.first[place] = i + 1;
        p.places[p.count++] = place;
    }
    ((site_search *)user)->part[part].count = p.count;
}

static void number_places(void *user, uint32_t part)
{
    const site_search *f = user;
    uint32_t end = row_of_part(f, part + 1);

    for (uint32_t i = row_of_part(f, part); i < end; i++)
        f->stack->site_of[i] = f->site[f->stack->site_of[i]] - 1;
}

/* Numbers the sites in the order of their first rows. */
static void add_sites(site_search *f, const site_part *part)
{
    mv_stack *s = f->stack;

    for (uint32_t i = 0; i < part->count; i++) {
        uint32_t *site = &f->site[part->places[i]], row = part->first[part->places[i]] - 1;
        if (*site)
            continue;
        s->sites[s->site_count] = (mv_stack_site){
            .group = mv_colour_group(&s->colouring, mv_stack_rank(s, row)), .row = row};
        *site = ++s->site_count;
    }
}

static bool find_sites(mv_stack *s)
{
    const mv_trace *t = s->plot->trace;
    uint32_t count = s->lives->allocs.count, stacks = t->stacks.count, frames = t->frames.count;
    uint64_t rows = (stacks > frames ? stacks : frames) + (uint64_t)MV_COLOUR_STEPS + 1;
    uint64_t places = 2 * (rows + 3);
    site_search f = {.stack = s, .rows = rows};

    f.parts = count / SITE_PART_ROWS < SITE_PARTS ? count / SITE_PART_ROWS + 1 : SITE_PARTS;
    f.parts = mv_parallel_for_threads(f.parts, 0);
    s->colouring = mv_plot_colouring(s->plot);
    s->site_of = mv_push_unset(&s->scratch, uint32_t, count);
    s->sites = mv_push_array(&s->scratch, mv_stack_site, places);
    f.site = mv_push_array(&s->scratch, uint32_t, places);
    if (!s->site_of || !s->sites || !f.site)
        return false;
    for (uint32_t i = 0; i < f.parts; i++) {
        f.part[i].first = mv_push_array(&s->scratch, uint32_t, places);
        f.part[i].places = mv_push_array(&s->scratch, uint32_t, places);
        if (!f.part[i].first || !f.part[i].places)
            return false;
    }
    mv_parallel_for(f.parts, 0, find_places, &f);
    for (uint32_t i = 0; i < f.parts; i++)
        add_sites(&f, &f.part[i]);
    mv_parallel_for(f.parts, 0, number_places, &f);
    return true;
}

void mv_stack_see(mv_stack *s, const mv_element *e)
{
    mv_plot *p = s->plot;
    mv_stack_site *site = &s->sites[e->site];

    p->view->sheet->drawn += e->members;
    for (uint32_t i = e->samples; i < e->samples + e->columns; i++)
        s->covered[s->layout.samples[i].column] += s->layout.samples[i].bytes;
    if (!s->seen)
        p->seen = s->seen = mv_push_array(p->ui->frame, uint32_t, s->site_count);
    if (s->seen && !site->is_seen)
        s->seen[p->seen_count++] = mv_stack_rank(s, site->row);
    site->is_seen = true;
}

/* ---- layout ------------------------------------------------------------------------------ */

static bool lay_out(mv_stack *s)
{
    const mv_plot *p = s->plot;
    const mv_envelope *e = &p->pane->envelope;
    const mv_window window = p->view->sheet->opts.window;
    uint64_t pixel = (uint64_t)p->at.dy;
    uint32_t *instant = mv_push_array(&s->scratch, uint32_t, e->count);
    mv_err err;

    if (!instant || e->count == 0)
        return false;
    for (uint32_t c = 0; c < e->count; c++)
        instant[c] = p->of_segments ? e->columns[c].reserved_event : e->columns[c].allocated_event;
    mv_layout_opts opts = {.from = window.first,
                           .to = window.end,
                           .columns = s->lives->events.count ? e->count : 1,
                           .instant = instant,
                           .least =
                               s->largest && s->largest <= ONE_BY_ONE ? 1 : pixel - pixel / 4 + 1,
                           .visible = pixel / 3 + 1,
                           .site_of = s->site_of};
    return mv_layout_find(&s->scratch, s->lives, &opts, &s->layout, &err) == MV_OK;
}

/* Raises the columns to the height of all matching rows. The rows that are not drawn separately are
 * alive too, and are part of the grey area below all shapes. */
static void raise_columns(mv_stack *s)
{
    const mv_plot *p = s->plot;

    for (uint32_t c = 0; s->largest && c < s->layout.column_count; c++) {
        const mv_levels *most = &p->pane->envelope.columns[c].most;
        s->layout.allocated[c] = p->of_segments ? most->reserved : most->allocated;
    }
}

/* ---- visible areas ----------------------------------------------------------------------- */

/* Whether in some column the levels are higher than the lower levels by almost a pixel or more. */
static bool is_seen_above(const mv_stack *s, const uint64_t *levels, const uint64_t *below)
{
    for (uint32_t c = 0; c < s->layout.column_count; c++)
        if ((double)levels[c] - (below ? (double)below[c] : 0) > 0.75 * s->plot->at.dy)
            return true;
    return false;
}

/* Finds the allocations between two columns, which the tiles of the window mark. */
static bool find_spikes(mv_plot *p)
{
    const uint64_t *drawn = p->view->sheet->largest ? p->view->sheet->largest : p->rows->only;
    const mv_envelope *e = &p->pane->envelope;

    p->spike_of = mv_push_array(p->ui->frame, uint32_t, (uint64_t)p->plot.w);
    for (uint32_t c = 0; p->spike_of && c < (uint32_t)p->plot.w; c++) {
        mv_window of = mv_viewport_column(&p->at, c);
        uint32_t first = of.first == MV_BEFORE ? 0 : of.first;
        p->spike_of[c] = of.end < first + 2 || c >= e->count
                             ? MV_NO_ROW
                             : mv_spike_find(p->index, drawn, first, of.end,
                                             e->columns[c].allocated_event, (uint64_t)p->at.dy + 1);
    }
    return p->spike_of != NULL;
}

/* ---- painting ---------------------------------------------------------------------------- */

static bool paint(mv_stack *s)
{
    const mv_theme *theme = s->plot->ui->theme;
    bool is_full = s->plot->of_segments && !s->plot->view->sheet->opts.by_line;
    mv_shape rest = {.kind = MV_SHAPE_POLYGON, .fill = theme->rest, .is_crisp = true};
    mv_shape hatch = {.kind = MV_SHAPE_POLYGON, .is_hatched = true, .stroke = theme->hatch};

    if (!choose_part(s) || !choose_largest(s) || !find_sites(s) || !lay_out(s))
        return false;
    raise_columns(s);
    s->covered = mv_push_array(&s->scratch, uint64_t, s->layout.column_count);
    if (!s->covered || (!s->plot->of_segments && !find_spikes(s->plot)))
        return false;
    mv_stack_area(s, s->layout.allocated, rest);
    if (!(is_full ? mv_stack_paint_fullness : mv_stack_paint_outlines)(s))
        return false;
    s->plot->has_rest = is_seen_above(s, s->layout.allocated, s->covered);
    s->plot->has_hatch =
        s->lives->events.count > 0 && !is_full && is_seen_above(s, s->layout.preexisting, NULL);
    if (s->plot->has_hatch)
        mv_stack_area(s, s->layout.preexisting, hatch);
    return true;
}

void mv_plot_stack_shapes(mv_plot *p)
{
    mv_stack s = {.plot = p};

    mv_arena_init(&s.scratch, p->view->budget);
    if (!paint(&s))
        p->ui->ran_out_of_memory = true;
    mv_arena_release(&s.scratch);
}
