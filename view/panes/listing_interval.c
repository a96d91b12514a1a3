/* Tables of changes in an interval, by line of code and by category. */
#include "base/grow.h"
#include "view/document/search_text.h"
#include "view/panes/listing_parts.h"
#include "viz/scene/axis.h"

/* A line or a category. Bytes are block bytes, as in `memviz lines`. */
typedef struct {
    uint64_t start, now;       /* bytes held before the interval, and bytes held at the current
                                  event, which is finally the last one of the interval */
    uint64_t allocated, freed; /* bytes allocated and freed in the interval */
    uint64_t kept;             /* part of `allocated` that is still held at the end */
    uint64_t highest;          /* most bytes held at any moment */
    uint32_t blocks;           /* number of blocks allocated in the interval */
    uint32_t largest;          /* row of the largest block in `allocs` */
} area_row;

typedef struct {
    mv_listing_maker *maker;
    const mv_index *index;
    const mv_alloc_lives *allocs; /* the rows of the index: allocations, or segments in the same
                                     form */
    uint32_t a, b;
    const uint16_t *categories; /* category of each allocation, if `of_category` is set */
    uint32_t *of_stack;         /* [stacks + 1] row of each stack, plus 1; the last element is for
                                   allocations without a stack */
    uint32_t *of_frame;         /* [frames + 2] row of each frame, plus 1; the last two elements are
                                   for stacks without frames, and for allocations without a stack */
    uint32_t *of_category;      /* [categories] row of each category, plus 1; NULL: rows are lines
                                   of code */
    uint32_t count, capacity;
    area_row *rows;
    area_row all; /* sums for the whole device */
} area;

/* ---- rows -------------------------------------------------------------------------------- */

static mv_frame_id line_of(const area *p, mv_stack_id stack)
{
    return mv_culprit_frame(p->maker->trace, p->maker->sites->kinds, stack);
}

/* Returns where the row number of an allocation is stored. */
static uint32_t *place_of(area *p, uint32_t alloc)
{
    const mv_trace *t = p->maker->trace;
    mv_stack_id stack = p->allocs->stack[alloc];
    uint32_t *row;
    mv_frame_id frame;

    if (p->of_category)
        return &p->of_category[p->categories[alloc]];
    row = &p->of_stack[stack.row < t->stacks.count ? stack.row : t->stacks.count];
    if (*row)
        return row;
    frame = line_of(p, stack);
    if (frame.row == MV_NO_ROW)
        frame.row = t->frames.count + (stack.row == MV_NO_ROW);
    *row = p->of_frame[frame.row];
    return *row ? row : &p->of_frame[frame.row];
}

/* Returns the row of an allocation, which is created if it is missing; NULL when out of memory. */
static area_row *row_of(area *p, uint32_t alloc)
{
    uint32_t *place = place_of(p, alloc), at = *place ? *place - 1 : p->count;
    area_row *row;

    if (at >= p->count && !mv_append(&p->maker->scratch, p->rows, p->count, p->capacity,
                                     (area_row){.largest = alloc}))
        return NULL;
    *place = at + 1;
    row = &p->rows[at];
    if (p->allocs->block[alloc] > p->allocs->block[row->largest])
        row->largest = alloc;
    return row;
}

static bool counts(const area *p, uint32_t row)
{
    return p->maker->ask->of_segments || mv_listing_counts(p->maker, row);
}

static void hold(area_row *row, uint64_t bytes)
{
    row->start += bytes;
    row->now += bytes;
    row->highest = row->now;
}

static bool begin(area *p)
{
    const mv_index *x = p->index;
    uint32_t before = p->a ? p->a - 1 : MV_BEFORE, born = mv_index_born(x, before);

    for (uint32_t i = mv_index_next(x, 0, born, before); i < born;
         i = mv_index_next(x, i + 1, born, before)) {
        area_row *row;
        if (!mv_index_is_alive(x, i, before) || !counts(p, i))
            continue;
        row = row_of(p, i);
        if (!row)
            return false;
        hold(row, x->bytes[i]);
        hold(&p->all, x->bytes[i]);
    }
    return true;
}

static void change(area_row *row, const mv_index_walk *at, uint64_t bytes, bool is_kept)
{
    if (at->is_end) {
        row->now -= bytes;
        row->freed += bytes;
        return;
    }
    row->now += bytes;
    row->allocated += bytes;
    row->blocks++;
    if (is_kept)
        row->kept += bytes;
    if (row->now > row->highest)
        row->highest = row->now;
}

static bool walk(area *p)
{
    mv_index_walk at = mv_index_walk_from(p->index, p->a, p->b);

    while (mv_index_walk_next(&at)) {
        bool is_kept = p->index->end[at.rank] >= p->b;
        area_row *row;
        if (!counts(p, at.rank))
            continue;
        row = row_of(p, at.rank);
        if (!row)
            return false;
        change(row, &at, p->index->bytes[at.rank], is_kept);
        change(&p->all, &at, p->index->bytes[at.rank], is_kept);
    }
    return true;
}

static bool make_places(area *p, bool by_category)
{
    const mv_trace *t = p->maker->trace;
    const mv_categories *c = &p->maker->ask->device->attribution.categories;
    mv_arena *scratch = &p->maker->scratch;

    if (by_category) {
        p->categories = c->of_alloc;
        p->of_category = mv_push_array(scratch, uint32_t, c->count);
        return p->of_category != NULL;
    }
    p->of_stack = mv_push_array(scratch, uint32_t, (uint64_t)t->stacks.count + 1);
    p->of_frame = mv_push_array(scratch, uint32_t, (uint64_t)t->frames.count + 2);
    return p->of_stack && p->of_frame;
}

/* ---- the table --------------------------------------------------------------------------- */

static void fill_numbers(mv_cell *cells, const area_row *row)
{
    cells[0].number = row->now;
    cells[1].number = row->kept;
    cells[2].number = row->allocated;
    cells[3].number = row->freed;
    cells[4].number = row->now - row->start;
    cells[5].number = row->blocks;
    cells[6].number = row->highest;
}

static void add_row(area *p, const area_row *row)
{
    mv_listing_maker *m = p->maker;
    mv_stack_id stack = p->allocs->stack[row->largest];
    mv_cell *cells = mv_listing_next(m);
    mv_listing_place *place = &m->out->places[m->out->count++];
    char category[MV_SEARCH_LINE];

    fill_numbers(cells, row);
    place->alloc = m->ask->of_segments ? MV_NO_ROW : row->largest;
    if (p->of_category) {
        const char *name = m->ask->device->attribution.categories.name[p->categories[row->largest]];
        cells[7].text = name;
        place->search = mv_make_text(&m->words, "%s", mv_search_of_category(name, category) + 1);
        return;
    }
    cells[7].text = mv_listing_label(m, stack);
    place->has_line = true;
    place->line = line_of(p, stack);
    place->stack = stack;
}

static bool fill_total(area *p)
{
    mv_cell *total = mv_push_array(p->maker->words.arena, mv_cell, p->maker->out->column_count);

    if (!total)
        return false;
    fill_numbers(total, &p->all);
    total[7].text = p->of_category ? "all categories" : "all lines";
    p->maker->out->total = total;
    return true;
}

static void say_note(area *p)
{
    char from[MV_TICK_TEXT], to[MV_TICK_TEXT];

    p->maker->out->note = mv_make_text(&p->maker->words, "events %s to %s",
                                       mv_axis_exact(p->a, from), mv_axis_exact(p->b, to));
}

static bool fill_area(area *p, const mv_listing_column *columns)
{
    if (!begin(p) || !walk(p) || !mv_listing_reserve(p->maker, columns, 8, p->count))
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        add_row(p, &p->rows[i]);
    say_note(p);
    return fill_total(p);
}

#define AREA_COLUMNS(allocated, freed, blocks, name)                           \
    {                                                                          \
        {"held at end", MV_CELL_BYTES, 94}, {"new at end", MV_CELL_BYTES, 84}, \
            {allocated, MV_CELL_BYTES, 84}, {freed, MV_CELL_BYTES, 84},        \
            {"net", MV_CELL_CHANGE, 84}, {blocks, MV_CELL_COUNT, 100},         \
            {"highest", MV_CELL_BYTES, 84},                                    \
        {                                                                      \
            name, MV_CELL_TEXT, 0                                              \
        }                                                                      \
    }

static area open_area(mv_listing_maker *maker)
{
    const mv_document_device *d = maker->ask->device;
    bool of_segments = maker->ask->of_segments;

    return (area){.maker = maker,
                  .index = of_segments ? &d->segment_index : &d->index,
                  .allocs = of_segments ? &d->segment_lives.allocs : &d->lives.allocs,
                  .a = maker->ask->a,
                  .b = maker->ask->b};
}

bool mv_listing_fill_lines(mv_listing_maker *maker)
{
    static const mv_listing_column columns[] =
        AREA_COLUMNS("allocated", "freed", "new blocks", "line of code");
    static const mv_listing_column segment_columns[] =
        AREA_COLUMNS("reserved", "released", "new segments", "line of code");
    area p = open_area(maker);

    return make_places(&p, false) &&
           fill_area(&p, maker->ask->of_segments ? segment_columns : columns);
}

bool mv_listing_fill_categories(mv_listing_maker *maker)
{
    static const mv_listing_column columns[] =
        AREA_COLUMNS("allocated", "freed", "new blocks", "category");
    area p = open_area(maker);

    if (maker->ask->of_segments || !maker->ask->is_evaluated) {
        maker->out->note = maker->ask->of_segments ? "segments have no category"
                                                   : "categories are still being found";
        return mv_listing_reserve(maker, columns, 8, 0);
    }
    return make_places(&p, true) && fill_area(&p, columns);
}
