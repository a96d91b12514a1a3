/* A click on a row must highlight exactly the row's blocks. For every row of every table and report
 * on every recording, on every level, the row's bytes and blocks must be those that its search
 * finds at its moment. */
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"

enum { MOST_ROWS = 16 }; /* only the first rows of a table are tested */

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
} held;

typedef struct {
    mv_view *view;
    const char *name;
    const mv_document *document;
    const mv_document_device *device;
    uint32_t rows, wrong;
} rows_bench;

static bool is_counted(const rows_bench *b, uint32_t row, uint32_t event, bool is_active)
{
    const mv_lives *lives = &b->device->lives;

    return is_active ? mv_alloc_is_active(lives, row, event)
                     : mv_alloc_is_allocated(lives, row, event);
}

/* Finds the blocks that a search highlights and that are alive at a moment. */
static held found_at(const rows_bench *b, const char *words, uint32_t event, bool is_active)
{
    held found = {0};
    mv_filter_bits bits;

    cr_assert(*words, "%s: nothing to search for", b->name);
    cr_assert(mv_search_allocs(mvt_memory(), &b->document->trace, b->device, true, words, &bits),
              "%s: %s", b->name, words);
    for (uint32_t i = 0; i < bits.rows; i++)
        if (mv_filter_has(&bits, i) && is_counted(b, i, event, is_active)) {
            found.bytes += b->device->lives.allocs.block[i];
            found.blocks++;
        }
    return found;
}

static void expect_held(rows_bench *b, const char *what, const char *words, held said, held found)
{
    b->rows++;
    cr_expect(found.bytes == said.bytes && found.blocks == said.blocks,
              "%s: %s: the row says %llu B in %u blocks, \"%.80s\" shows %llu B in %u", b->name,
              what, (unsigned long long)said.bytes, said.blocks, words,
              (unsigned long long)found.bytes, found.blocks);
}

/* The columns with bytes and blocks; `blocks` is MV_NO_ROW if the table has no such column. */
static void check_table(rows_bench *b, uint32_t kind, uint32_t bytes, uint32_t blocks)
{
    const mv_panel_facts *facts = mv_panels_facts(b->view->panels, b->device);
    uint32_t end = b->device->lives.events.count, event = b->device->peak_event;
    mv_listing_query ask = {.document = b->document,
                            .device = b->device,
                            .active = &facts->active,
                            .ever = facts->ever,
                            .kind = kind,
                            .is_evaluated = true,
                            .event = event,
                            .b = end};
    mv_listing table;

    mvt_ok(mv_listing_find(mvt_memory(), &ask, &table, mvt_err()));
    if (kind == MV_LISTING_LEAKS)
        event = (b->device->leaks.exit_event < end ? b->device->leaks.exit_event : end) - 1;
    if (kind == MV_LISTING_LINES || kind == MV_LISTING_CATEGORIES)
        event = end - 1;
    for (uint32_t i = 0; i < table.count && i < MOST_ROWS; i++) {
        mv_cell cells[MV_LISTING_COLUMNS];
        mv_listing_place place;
        char words[MV_SEARCH_TEXT];
        mv_listing_row(mvt_memory(), &ask, &table, i, cells, &place);
        mv_listing_words(&b->document->trace, &place, "", words);
        held found = found_at(b, words, event, false);
        held said = (held){cells[bytes].number,
                           blocks == MV_NO_ROW ? found.blocks : (uint32_t)cells[blocks].number};
        expect_held(b, mv_listing_name(kind), words, said, found);
    }
}

static void check_level(mv_view *view, const char *name)
{
    rows_bench b = {view, name, mv_view_document(view), mv_view_device(view), 0, 0};

    if (!b.device || !mv_view_is_evaluated(view))
        return;
    const mv_reports reports = mv_document_reports(b.document, b.device);
    mv_findings found;
    mvt_ok(mv_findings_find(mvt_memory(), &reports, &found, mvt_err()));
    const mv_finding_place *places =
        mv_finding_places_find(mvt_memory(), b.document, b.device, &found, NULL);
    for (uint32_t i = 0; i < found.count; i++) {
        const mv_finding *f = &found.rows[i];
        bool is_active =
            f->of == MV_BLOCKS_OF_PINS || f->of == MV_BLOCKS_WAITING || f->kind == MV_FINDING_OOM;
        if (f->of == MV_BLOCKS_NONE)
            cr_expect_str_empty(places[i].search, "%s: %s", b.name, f->title);
        else
            expect_held(&b, f->title, places[i].search, (held){f->held, f->blocks},
                        found_at(&b, places[i].search, f->event, is_active));
    }
    if (b.device->lives.events.count == 0)
        return;
    check_table(&b, MV_LISTING_STACKS, 0, 2);
    check_table(&b, MV_LISTING_SIZES, 3, 2);
    check_table(&b, MV_LISTING_LEAKS, 0, 1);
    check_table(&b, MV_LISTING_LINES, 0, MV_NO_ROW);
    check_table(&b, MV_LISTING_CATEGORIES, 0, MV_NO_ROW);
    cr_expect_gt(b.rows, 0, "%s", name);
}

static void check_levels(mv_view *view, const char *name)
{
    for (uint32_t i = 0; i < mv_view_levels(view)->count; i++) {
        const char *level = mv_view_levels(view)->name[i];
        mv_view_do(view, MV_DO_level, i);
        mvt_view_frame(view);
        check_level(view, mvt_format("%s on level %s", name, level));
    }
}

LongTest(rows, rows_highlight_exactly_the_blocks_they_count)
{
    static const char *const captures[] = {"train",     "cupy_leak",   "pinned_leak", "nccl_leak.0",
                                           "heap_cupy", "plain_graph", "two_devices", "loader"};

    mvt_each_view(check_levels);
    for (size_t i = 0; i < sizeof captures / sizeof *captures; i++)
        check_levels(mvt_view(captures[i]), captures[i]);
}

/* A row in the list of fragments leads to the allocator's state, where its hole must be marked and
 * visible. */
static void check_holes(mv_view *view, const char *name)
{
    mv_view_do(view, MV_DO_peak, 0);
    for (uint32_t i = 0; i < 6; i++) {
        mv_cell cells[MV_LISTING_COLUMNS];
        mv_listing_place row;
        mvt_view_do(view, MV_DO_table_kind, MV_LISTING_FRAGMENTS);
        const mv_listing_answer *a = view->panels->table_shown;
        if (!a || i >= a->table.count)
            return;
        mv_listing_row(mvt_memory(), &a->ask, &a->table, i, cells, &row);
        uint64_t bytes = cells[0].number;
        mvt_view_do(view, MV_DO_table_row, i);
        mvt_view_frame(view);
        cr_assert_eq(view->now->main, MV_MAIN_STATE, "%s", name);
        cr_assert_eq(view->now->hole, cells[3].number, "%s", name);
        cr_assert_eq(mv_state_hole_at(&view->panels->heap_shown->heap.map, view->now->hole), bytes,
                     "%s: row %u", name, i);
        cr_assert_not(view->panels->fits_hole, "%s", name);
        cr_expect_neq(view->now->pinned_segment, MV_NO_ROW);
    }
}

EachView(rows, rows_of_fragments_show_the_hole, check_holes);
