/* The viewer's tables: their numbers equal the command line's reports. */
#include "analyze/peak/lines.h"
#include "parse/model/sums.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"
#include "view/timeline/plot.h"

typedef struct {
    mv_view *view;
    mv_index active;
    mv_listing_size ever[MV_LISTING_SIZE_ROWS];
    mv_listing_query ask;
    mv_listing table;
} bench;

static bench b;

static void open_bench_of(mv_view *view)
{
    b = (bench){.view = view};
    b.ask = (mv_listing_query){.document = mv_view_document(b.view),
                               .device = mv_view_device(b.view),
                               .is_evaluated = true,
                               .active = &b.active,
                               .ever = b.ever};
    mv_listing_count_sizes(&b.ask.device->lives, NULL, b.ever);
    mvt_ok(
        mv_index_make(mvt_memory(), &b.ask.device->lives, MV_INDEX_ACTIVE, &b.active, mvt_err()));
}

static void open_bench(const char *name)
{
    open_bench_of(mvt_view(name));
}

static void make(mv_listing_kind kind, uint32_t event)
{
    b.ask.kind = (uint8_t)kind;
    b.ask.event = event;
    mvt_ok(mv_listing_find(mvt_memory(), &b.ask, &b.table, mvt_err()));
    cr_assert_leq(b.table.column_count, MV_LISTING_COLUMNS);
}

static mv_cell cell(uint32_t row, uint32_t column)
{
    mv_cell cells[MV_LISTING_COLUMNS];
    mv_listing_place place;

    mv_listing_row(mvt_memory(), &b.ask, &b.table, row, cells, &place);
    return cells[column];
}

/* The snapshot's file, as the command line finds it. */
static const char *path_of(void)
{
    return b.ask.document->path;
}

/* The rows must be the report's sites, and one row for blocks without a stack. */
static void compare_stacks(uint32_t event)
{
    cJSON *json = mvt_json(0, "$MEMVIZ peak --json --limit 0 --device %u --at %u '%s'",
                           b.ask.device->device, event, path_of());
    const cJSON *sites = mvt_member(json, "sites"), *site;
    double unattributed = mvt_json_number(json, "unattributed");
    uint32_t row = 0;

    make(MV_LISTING_STACKS, event);
    cr_assert_eq(b.table.count, (uint32_t)cJSON_GetArraySize(sites) + (unattributed > 0));
    cJSON_ArrayForEach(site, sites) {
        double bytes = mvt_json_number(site, "bytes");
        bool is_there = false;
        for (uint32_t i = 0; i < b.table.count && !is_there; i++)
            is_there = (double)cell(i, 0).number == bytes &&
                       (double)cell(i, 2).number == mvt_json_number(site, "blocks") &&
                       strcmp(cell(i, 4).text, mvt_json_text(site, "category")) == 0;
        cr_assert(is_there, "%s: %.0f bytes of %s", path_of(), bytes,
                  mvt_json_text(site, "category"));
    }
    for (; row + 1 < b.table.count; row++)
        cr_assert_geq(cell(row, 0).number, cell(row + 1, 0).number, "largest first");
}

LongTest(listing, stacks_equal_the_sites_of_the_peak_report)
{
    static const char *const names[] = {"gpt_train", "leak_in_training", "annotated", "streams",
                                        "late_start"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        open_bench(names[i]);
        compare_stacks(b.ask.device->lives.events.count - 1);
        compare_stacks(b.ask.device->lives.events.count / 3);
        compare_stacks(b.ask.device->peak_event);
    }
}

LongTest(listing, leaks_equal_those_of_the_leak_report)
{
    static const char *const names[] = {"leak_in_training", "leak_global_list", "oom", "gpt_train"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const cJSON *leak;
        uint32_t row = 0;
        open_bench(names[i]);
        cJSON *json = mvt_json(0, "$MEMVIZ leaks --json --limit 0 '%s'", path_of());
        make(MV_LISTING_LEAKS, MV_BEFORE);
        cr_assert_eq(b.table.count, (uint32_t)cJSON_GetArraySize(mvt_member(json, "leaks")));
        cJSON_ArrayForEach(leak, mvt_member(json, "leaks")) {
            cr_expect_eq((double)cell(row, 0).number, mvt_json_number(leak, "bytes"));
            cr_expect_eq((double)cell(row, 1).number, mvt_json_number(leak, "blocks"));
            cr_expect_eq((double)cell(row, 2).number, mvt_json_number(leak, "bytes_per_step"));
            cr_expect_eq((double)cell(row, 3).number, mvt_json_number(leak, "first_event"));
            cr_expect_eq((double)cell(row, 4).number, mvt_json_number(leak, "last_event"));
            cr_expect_str_eq(cell(row, 6).text, mvt_json_text(leak, "kind"));
            cr_expect_str_eq(cell(row, 7).text, mvt_json_text(leak, "culprit"));
            row++;
        }
    }
}

static void compare_fragments(uint32_t event)
{
    cJSON *json = mvt_json(0, "$MEMVIZ fragmentation --json --device %u --at %u '%s'",
                           b.ask.device->device, event, path_of());
    const cJSON *idle = mvt_member(json, "free");
    uint64_t bytes = 0, whole = 0, largest = 0;

    make(MV_LISTING_FRAGMENTS, event);
    for (uint32_t i = 0; i < b.table.count; i++) {
        bytes += cell(i, 0).number;
        whole += cell(i, 2).number;
        largest = cell(i, 0).number > largest ? cell(i, 0).number : largest;
    }
    cr_expect_eq((double)bytes, mvt_json_number(idle, "total"), "%s at %u", path_of(), event);
    cr_expect_eq((double)whole, mvt_json_number(idle, "whole"));
    cr_expect_eq((double)largest, mvt_json_number(idle, "largest"));
}

LongTest(listing, holes_add_up_to_the_fragmentation_report)
{
    static const char *const names[] = {"frag_pinned_by_small", "gpt_train_expandable", "streams",
                                        "mempool"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        open_bench(names[i]);
        compare_fragments(b.ask.device->lives.events.count - 1);
        compare_fragments(b.ask.device->lives.events.count / 2);
    }
}

Test(listing, bytes_of_the_sizes_add_up)
{
    uint64_t now = 0, now_blocks = 0, ever = 0, ever_blocks = 0, all = 0;

    open_bench("gpt_train");
    make(MV_LISTING_SIZES, b.ask.device->peak_event);
    for (uint32_t i = 0; i < b.table.count; i++) {
        now_blocks += cell(i, 2).number;
        now += cell(i, 3).number;
        ever_blocks += cell(i, 5).number;
        ever += cell(i, 6).number;
        cr_expect_geq(cell(i, 3).number, cell(i, 0).number * cell(i, 2).number);
        cr_expect_leq(cell(i, 6).number, cell(i, 1).number * cell(i, 5).number);
    }
    for (uint32_t i = 0; i < b.ask.device->lives.allocs.count; i++)
        all += b.ask.device->lives.allocs.block[i];
    cr_expect_eq(now, b.ask.device->peak);
    cr_expect_eq(ever, all);
    cr_expect_eq(ever_blocks, b.ask.device->lives.allocs.count);
    cr_expect_leq(now_blocks, ever_blocks);
}

Test(listing, markers_name_peak_and_failures)
{
    uint32_t ooms = 0, peaks = 0;

    open_bench("oom");
    make(MV_LISTING_MARKERS, 0);
    for (uint32_t i = 0; i < b.table.count; i++) {
        ooms += strcmp(cell(i, 2).text, "out of memory") == 0;
        if (strcmp(cell(i, 2).text, "peak") == 0) {
            peaks++;
            cr_expect_eq(cell(i, 4).number, b.ask.device->peak);
        }
    }
    cr_expect_eq(ooms, 1);
    cr_expect_eq(peaks, 1);
}

Test(listing, events_equal_those_of_the_trace_report)
{
    const cJSON *event;
    uint32_t row = 0;

    open_bench("leak_in_training");
    cJSON *json = mvt_json(0, "$MEMVIZ trace --json --limit 200 '%s'", path_of());
    make(MV_LISTING_EVENTS, 5);
    cr_assert_eq(b.table.count, b.ask.device->lives.events.count);
    cJSON_ArrayForEach(event, mvt_member(json, "events")) {
        cr_expect_eq((double)cell(row, 0).number, mvt_json_number(event, "event"));
        cr_expect_str_eq(cell(row, 2).text, mvt_json_text(event, "action"));
        cr_expect_eq((double)cell(row, 3).number, mvt_json_number(event, "size"));
        row++;
    }
    cr_expect_gt(row, 100);
}

/* ---- intervals --------------------------------------------------------------------------- */

enum { HELD, KEPT, ALLOCATED, FREED, NET, BLOCKS, HIGHEST, NAME, NUMBERS = HIGHEST };

/* The rows must add up to the last row, except for maxima, which lines reach at different times. */
static void expect_sums(const char *name)
{
    for (uint32_t c = 0; c < NUMBERS; c++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < b.table.count; i++)
            sum += cell(i, c).number;
        cr_assert_eq(sum, b.table.total[c].number, "%s: column %u", name, c);
    }
}

/* The last row must equal the line above the picture and `memviz peak --from --to`. In the segments
 * view, it has the reserved bytes, and the peak from `memviz peak --at reserved-peak`. */
static void expect_total(mv_window window, const char *name)
{
    const mv_document_device *d = b.ask.device;
    bool of_segments = b.ask.of_segments;
    mv_interval_query ask = {of_segments ? &d->segment_index : &d->index, &d->pyramid, window.first,
                             window.end, of_segments};
    const mv_interval_sums *sums = mv_interval_find(mvt_memory(), NULL, &ask);
    const mv_cell *total = b.table.total;
    mv_levels last = mv_moment_levels(&d->lives, window.end - 1);
    mv_moment_query peak;
    mv_moment found;
    char why[MV_WHY];

    cr_assert(mv_moment_read(&b.ask.document->trace, d->device,
                             of_segments ? "reserved-peak" : "peak", window, &peak, why,
                             sizeof why));
    mvt_ok(mv_moment_find(mvt_memory(), &d->lives, peak, &found, mvt_err()));
    cr_assert_eq(total[ALLOCATED].number, sums->allocated, "%s", name);
    cr_assert_eq(total[FREED].number, sums->freed, "%s", name);
    cr_assert_eq(total[KEPT].number, sums->held, "%s", name);
    cr_assert_eq(total[BLOCKS].number, sums->allocs, "%s", name);
    cr_assert_eq(total[HIGHEST].number, sums->most, "%s", name);
    cr_assert_eq(total[HIGHEST].number, of_segments ? found.bytes.reserved : found.bytes.allocated,
                 "%s", name);
    cr_assert_eq(total[HELD].number, of_segments ? last.reserved : last.allocated, "%s", name);
    cr_assert_eq(total[NET].number, sums->allocated - sums->freed, "%s", name);
}

static const mv_line *line_named(const mv_lines *lines, const mv_document *d, const char *name)
{
    char label[256];

    for (uint32_t i = 0; i < lines->count; i++)
        if (strcmp(mv_culprit_label(&d->trace, d->sites.kinds, lines->lines[i].stack, label,
                                    sizeof label),
                   name) == 0)
            return &lines->lines[i];
    return NULL;
}

/* Each row must equal `memviz lines --from --to` for its line. Lines with the same name are added
 * up, because files in different folders may have the same name. */
static void expect_lines(mv_window window, const char *name)
{
    const mv_document *d = b.ask.document;
    mv_lines lines;
    uint32_t shared = 0;

    mvt_ok(mv_lines_find(mvt_memory(), &d->trace, &b.ask.device->lives, d->sites.kinds, window,
                         &lines, mvt_err()));
    cr_assert_eq(lines.count, b.table.count, "%s", name);
    for (uint32_t i = 0; i < b.table.count; i++) {
        const char *label = cell(i, NAME).text;
        const mv_line *line = line_named(&lines, d, label);
        cr_assert_not_null(line, "%s: %s", name, label);
        bool is_same =
            cell(i, HELD).number == line->live && cell(i, ALLOCATED).number == line->total &&
            cell(i, FREED).number == line->freed && cell(i, BLOCKS).number == line->allocations &&
            cell(i, HIGHEST).number == line->peak;
        shared += !is_same;
    }
    cr_assert_leq(shared, lines.count / 10, "%s: %u of %u rows differ", name, shared, lines.count);
}

static void expect_categories(const char *name)
{
    const mv_document_device *d = b.ask.device;
    const mv_categories *c = &d->attribution.categories;

    for (uint32_t i = 0; i < b.table.count; i++) {
        uint64_t held = 0;
        for (uint32_t r = 0; r < d->index.count; r++)
            if (strcmp(c->name[c->of_alloc[r]], cell(i, NAME).text) == 0 && b.ask.b > 0 &&
                mv_index_is_alive(&d->index, r, b.ask.b - 1))
                held += d->index.bytes[r];
        cr_assert_eq(cell(i, HELD).number, held, "%s: %s", name, cell(i, NAME).text);
    }
}

static void check_intervals(mv_view *view, const char *name)
{
    uint32_t events = mv_view_device(view)->lives.events.count;
    mv_window windows[] = {{0, events},
                           {0, events / 3},
                           {events / 3, 2 * events / 3},
                           {events / 2, events / 2 + (events > 1)},
                           {events - events / 5, events}};

    b.ask = (mv_listing_query){
        .document = mv_view_document(view), .device = mv_view_device(view), .is_evaluated = true};
    for (uint32_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        if (windows[i].first >= windows[i].end)
            continue;
        b.ask.a = windows[i].first;
        b.ask.b = windows[i].end;
        make(MV_LISTING_LINES, 0);
        expect_sums(name);
        expect_total(windows[i], name);
        expect_lines(windows[i], name);
        make(MV_LISTING_CATEGORIES, 0);
        expect_sums(name);
        expect_total(windows[i], name);
        expect_categories(name);
        b.ask.of_segments = true;
        make(MV_LISTING_LINES, 0);
        expect_sums(name);
        expect_total(windows[i], name);
        b.ask.of_segments = false;
    }
}

EachView(listing, intervals_add_up_and_equal_the_reports_on_every_snapshot, check_intervals);

Test(listing, an_interval_is_copied_with_its_last_row_and_signed_numbers)
{
    open_bench("gpt_train");
    b.ask.a = 2231;
    b.ask.b = 4098;
    make(MV_LISTING_LINES, 0);
    const char *text = mv_listing_tsv(mvt_memory(), &b.ask, &b.table, UINT32_MAX);
    cr_assert(strstr(text, "held at end\tnew at end\tallocated\tfreed\tnet\tnew blocks\thighest\t"
                           "line of code\n") == text);
    const char *last = strstr(text, "all lines\n");
    cr_assert(last && last[strlen("all lines\n")] == 0);
    cr_expect(strstr(text, "\t-"), "more freed than allocated bytes are negative");
}

Test(listing, every_column_sorts_both_ways)
{
    open_bench("annotated");
    b.ask.b = b.ask.device->lives.events.count;
    for (uint32_t kind = 0; kind < MV_LISTING_COUNT; kind++) {
        if (kind == MV_LISTING_EVENTS)
            continue;
        for (uint32_t column = 0; column < 2 * MV_LISTING_COLUMNS; column++) {
            b.ask.sort = column / 2;
            b.ask.is_ascending = column % 2;
            make((mv_listing_kind)kind, b.ask.device->peak_event);
            for (uint32_t i = 0; i + 1 < b.table.count && b.ask.sort < b.table.column_count; i++) {
                mv_cell x = cell(i, b.ask.sort), y = cell(i + 1, b.ask.sort);
                uint8_t is = b.table.columns[b.ask.sort].kind;
                int64_t left = (int64_t)x.number, right = (int64_t)y.number;
                int order = is == MV_CELL_TEXT     ? strcmp(x.text, y.text)
                            : is == MV_CELL_CHANGE ? (left > right) - (left < right)
                                                   : (x.number > y.number) - (x.number < y.number);
                cr_assert(b.ask.is_ascending ? order <= 0 : order >= 0, "table %u, column %u", kind,
                          b.ask.sort);
            }
        }
    }
}

Test(listing, copies_have_a_line_for_each_row_and_exact_numbers)
{
    open_bench("gpt_train");
    make(MV_LISTING_STACKS, b.ask.device->peak_event);
    const char *text = mv_listing_tsv(mvt_memory(), &b.ask, &b.table, UINT32_MAX);
    cr_assert_not_null(text);
    cr_expect_eq(mvt_count_lines(text), b.table.count + 1);
    cr_expect(strstr(text, "bytes\tshare\tblocks\tlargest\tcategory\tline of code\n") == text);
    cr_expect_eq(strtoull(strchr(text, '\n') + 1, NULL, 10), cell(0, 0).number);
    text = mv_listing_tsv(mvt_memory(), &b.ask, &b.table, 1);
    cr_expect_eq(strchr(strchr(text, '\n') + 1, '\n')[1], 0, "one row");
}

Test(listing, almost_empty_traces_have_tables)
{
    mvt_trace *t = mvt_new();

    mvt_oom(t, .addr = UINT64_MAX, .bytes = UINT64_MAX);
    mvt_free(t, .addr = 512, .bytes = MV_SUM_LIMIT / 4);
    open_bench_of(mvt_view_of(t));
    for (uint32_t kind = 0; kind < MV_LISTING_COUNT; kind++)
        for (uint32_t event = MV_BEFORE; event != 3; event++) {
            make((mv_listing_kind)kind, event);
            cr_assert_not_null(mv_listing_tsv(mvt_memory(), &b.ask, &b.table, UINT32_MAX));
        }
}

/* ---- isolated hits ----------------------------------------------------------------------- */

static mv_cell sum_of(mv_view *view, uint32_t kind, uint32_t column)
{
    mv_cell sum = {0};

    mvt_view_do(view, MV_DO_table_kind, kind);
    const mv_listing_answer *a = view->panels->table_shown;
    cr_assert_not_null(a);
    for (uint32_t i = 0; i < a->table.count; i++)
        sum.number += a->table.cells[(uint64_t)i * a->table.column_count + column].number;
    return sum;
}

/* With Isolate, tables used to count blocks that were not drawn. */
static void check_isolated(mv_view *view, const char *name)
{
    const mv_index *index = &mv_view_device(view)->index;
    uint64_t now = 0, end = 0, ever = 0;

    mv_search_set(view, "size>100K");
    mvt_view_frame(view);
    if (!view->matches || !view->matches->matches)
        return;
    mv_view_do(view, MV_DO_isolate, 0);
    mv_view_do(view, MV_DO_show_tables, 0);
    for (uint32_t i = 0; i < index->count; i++) {
        if (!mv_filter_has(view->matches, i))
            continue;
        ever += index->bytes[i];
        if (mv_index_is_alive(index, i, view->now->cursor))
            now += index->bytes[i];
        end += index->end[i] >= mv_view_device(view)->lives.events.count ? index->bytes[i] : 0;
    }
    cr_expect_eq(sum_of(view, MV_LISTING_STACKS, 0).number, now, "%s: stacks", name);
    cr_expect_eq(sum_of(view, MV_LISTING_SIZES, 3).number, now, "%s: sizes", name);
    cr_expect_eq(sum_of(view, MV_LISTING_SIZES, 6).number, ever, "%s: sizes ever", name);
    cr_expect_eq(sum_of(view, MV_LISTING_LINES, 0).number, end, "%s: lines", name);
    cr_expect_eq(sum_of(view, MV_LISTING_CATEGORIES, 0).number, end, "%s: categories", name);
    cr_expect(strstr(view->panels->table_shown->question.only, "size"), "%s", name);
}

EachView(listing, isolated_hits_are_counted_alone, check_isolated);

/* Two rows of one category used to have the same label, although their stacks differ elsewhere. */
static void check_labels(mv_view *view, const char *name)
{
    mvt_view_do(view, MV_DO_show_tables, 0);
    const mv_listing *t = &view->panels->table_shown->table;
    cr_assert_eq(t->kind, MV_LISTING_STACKS);
    for (uint32_t i = 0; i < t->count; i++)
        for (uint32_t k = 0; k < i; k++)
            cr_expect(strcmp(t->cells[i * 6 + 4].text, t->cells[k * 6 + 4].text) != 0 ||
                          strcmp(t->cells[i * 6 + 5].text, t->cells[k * 6 + 5].text) != 0,
                      "%s: %s", name, t->cells[i * 6 + 5].text);
}

EachView(listing, rows_of_stacks_are_distinguished, check_labels);

static bool row_says(uint32_t row, const char *words)
{
    mv_cell cells[MV_LISTING_COLUMNS];
    mv_listing_place place;
    char text[MV_CELL_SIZE];

    mv_listing_row(mvt_memory(), &b.ask, &b.table, row, cells, &place);
    for (uint32_t c = 0; c < b.table.column_count; c++)
        if (strcasestr(mv_cell_text((mv_cell_kind)b.table.columns[c].kind, cells[c], text), words))
            return true;
    return false;
}

/* Every table must keep exactly the rows that contain the text. */
LongTest(listing, rows_are_filtered_by_their_text)
{
    static const char *const words[] = {"TRAIN.PY", "free", "4.00 MiB", "zebra", "1"};

    for (uint32_t kind = 0; kind < MV_LISTING_LEDGER; kind++)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            uint32_t expected = 0;
            open_bench("leak_in_training");
            b.ask.b = b.ask.device->lives.events.count;
            make((mv_listing_kind)kind, b.ask.device->peak_event);
            for (uint32_t i = 0; i < b.table.count; i++)
                expected += row_says(i, words[w]);
            b.ask.rows = words[w];
            make((mv_listing_kind)kind, b.ask.device->peak_event);
            cr_expect_eq(b.table.count, expected, "%s, %s", mv_listing_name(kind), words[w]);
            for (uint32_t i = 0; i < b.table.count; i++)
                cr_assert(row_says(i, words[w]), "%s, %s", mv_listing_name(kind), words[w]);
            mvt_end_now(b.view);
        }
}

ViewTest(listing, rows_are_filtered_while_the_user_types, mvt_view("gpt_train"))
{
    mvt_view_do(view, MV_DO_table_kind, MV_LISTING_STACKS);
    uint32_t all = view->panels->table_shown->table.count;
    mvt_view_click_zone(view, MV_DO_filter_rows, 0);
    cr_assert(mv_view_wants_text(view));
    mvt_view_type(view, "backward");
    cr_expect_lt(view->panels->table_shown->table.count, all);
    cr_expect_eq(view->panels->table_shown->table.all, all);
    mv_view_do(view, MV_DO_cancel, 0);
    cr_assert_not(mv_view_wants_text(view));
    mvt_view_do(view, MV_DO_back, 0);
    cr_expect_eq(view->panels->table_shown->table.count, all);
}

/* A click elsewhere has the same effect. */
ViewTest(listing, the_table_of_events_opens_at_the_cursor, mvt_view("gpt_train"))
{
    const mv_panels *p = view->panels;

    mvt_view_do(view, MV_DO_table_kind, MV_LISTING_STACKS);
    mv_view_do(view, MV_DO_table_row, 0);
    mv_view_move_cursor(view, 2150);
    mv_view_do(view, MV_DO_table_row, 0);
    mvt_view_do(view, MV_DO_table_kind, MV_LISTING_EVENTS);
    cr_expect(p->table_first[MV_LISTING_EVENTS] <= view->now->cursor &&
                  view->now->cursor < p->table_first[MV_LISTING_EVENTS] + 40,
              "event %u, from row %u", view->now->cursor, p->table_first[MV_LISTING_EVENTS]);
}
