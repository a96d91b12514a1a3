/* Tables of memory by line of code, by leak, and by size. */

#include "analyze/code/labels.h"
#include "analyze/leaks/leak_words.h"
#include "base/numbers.h"
#include "base/size.h"
#include "base/sort.h"
#include "view/document/search_text.h"
#include "view/panes/listing_parts.h"

/* ---- stacks ------------------------------------------------------------------------------ */

/* A living block, and the line and category that determine its row in the table. */
typedef struct {
    uint32_t group;    /* group in mv_sites; MV_NO_ROW: the block has no stack */
    uint32_t category; /* category of the block; 0 if the reports are not ready */
    uint32_t alloc;
} holding;

static holding *find_holdings(mv_listing_maker *m, uint32_t *count)
{
    const mv_document_device *d = m->ask->device;
    holding *found;
    uint32_t kept = 0;
    mv_alive alive;
    mv_err err;

    if (mv_index_alive(&m->scratch, &d->index, m->ask->event, &alive, &err) != MV_OK)
        return NULL;
    found = mv_push_array(&m->scratch, holding, alive.count);
    for (uint32_t i = 0; found && i < alive.count; i++) {
        uint32_t row = alive.row[i];
        mv_stack_id stack = m->lives->allocs.stack[row];
        bool has_stack = stack.row != MV_NO_ROW;
        if (!mv_listing_counts(m, row))
            continue;
        found[kept++] = (holding){
            has_stack ? m->sites->group[mv_site_of(m->sites, stack)] : MV_NO_ROW,
            has_stack && m->ask->is_evaluated ? d->attribution.categories.of_alloc[row] : 0, row};
    }
    *count = kept;
    if (found)
        mv_sort_rows(&m->scratch, found, kept, MV_RISING(holding, group),
                     MV_RISING(holding, category));
    return found;
}

/* Adds the row for holdings [from, to), which all have the same line and category. */
static void add_stack_row(mv_listing_maker *m, const holding *found, uint32_t from, uint32_t to,
                          uint64_t all, const mv_frame_id *frames, mv_labelled *label)
{
    const mv_alloc_lives *a = &m->lives->allocs;
    uint64_t bytes = 0;
    uint32_t largest = found[from].alloc;
    char category[MV_SEARCH_LINE];
    mv_cell *cells = mv_listing_next(m);
    mv_listing_place *place = &m->out->places[m->out->count];

    for (uint32_t i = from; i < to; i++) {
        bytes += a->block[found[i].alloc];
        if (a->block[found[i].alloc] > a->block[largest])
            largest = found[i].alloc;
    }
    cells[0].number = bytes;
    cells[1].number = mv_listing_share(bytes, all);
    cells[2].number = to - from;
    cells[3].number = a->block[largest];
    cells[4].text = !m->ask->is_evaluated || found[from].group == MV_NO_ROW
                        ? ""
                        : m->ask->device->attribution.categories.name[found[from].category];
    *label = (mv_labelled){.trace = m->trace,
                           .kinds = m->sites->kinds,
                           .stack = a->stack[largest],
                           .key = found[from].category,
                           .bytes = bytes};
    place->alloc = largest;
    place->has_line = true;
    place->stack = a->stack[largest];
    if (found[from].group != MV_NO_ROW)
        place->line = frames[found[from].group];
    if (*cells[4].text)
        place->search =
            mv_make_text(&m->words, "%s", mv_search_of_category(cells[4].text, category));
    m->out->count++;
}

bool mv_listing_fill_stacks(mv_listing_maker *maker)
{
    static const mv_listing_column columns[] = {
        {"bytes", MV_CELL_BYTES, 84},    {"share", MV_CELL_SHARE, 62},
        {"blocks", MV_CELL_COUNT, 70},   {"largest", MV_CELL_BYTES, 84},
        {"category", MV_CELL_TEXT, 110}, {"line of code", MV_CELL_TEXT, 0}};
    uint32_t count, rows = 0, from = 0;
    holding *found = find_holdings(maker, &count);
    uint64_t all = 0;
    const mv_frame_id *frames = mv_frames_of_groups(&maker->scratch, maker->trace, maker->sites);
    mv_labelled *labelled;
    const char **labels;
    char size[MV_SIZE_TEXT], blocks[MV_COUNT_TEXT];

    if (!found || !frames)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        all += maker->lives->allocs.block[found[i].alloc];
        rows += i == 0 || found[i].group != found[i - 1].group ||
                found[i].category != found[i - 1].category;
    }
    labelled = mv_push_array(&maker->scratch, mv_labelled, rows);
    if (!labelled || !mv_listing_reserve(maker, columns, 6, rows))
        return false;
    for (uint32_t i = 1; i <= count; i++)
        if (i == count || found[i].group != found[from].group ||
            found[i].category != found[from].category) {
            add_stack_row(maker, found, from, i, all, frames, &labelled[maker->out->count]);
            from = i;
        }
    labels = mv_labels_find(maker->words.arena, labelled, rows, false);
    if (!labels)
        return false;
    for (uint32_t i = 0; i < rows; i++)
        maker->out->cells[(uint64_t)i * 6 + 5].text = labels[i];
    maker->out->note =
        mv_make_text(&maker->words, "%s in %s block%s at the cursor", mv_size_text(size, all),
                     mv_count_text(blocks, count), mv_plural(count));
    return true;
}

/* ---- leaks ------------------------------------------------------------------------------- */

static void add_leak_row(mv_listing_maker *m, const mv_leak *leak)
{
    uint32_t events = m->lives->events.count;
    mv_cell *cells = mv_listing_next(m);
    mv_listing_place *place = &m->out->places[m->out->count++];
    char label[256];

    cells[0].number = leak->bytes;
    cells[1].number = leak->blocks;
    cells[2].number = leak->bytes_per_step;
    cells[3].number = leak->first_event;
    cells[4].number = leak->last_event;
    cells[5].number = (uint64_t)(leak->confidence * 1e6);
    cells[6].text = mv_leak_kind_name(leak->kind);
    cells[7].text = mv_make_text(
        &m->words, "%s", mv_leak_label(m->trace, m->sites->kinds, leak, label, sizeof label));
    place->has_event = place->has_window = true;
    place->event = events - 1;
    place->from = leak->first_event > 8 ? leak->first_event - 8 : 0;
    place->to = events;
    if (leak->first_event < events)
        place->alloc = m->lives->alloc_of[leak->first_event];
    place->search =
        mv_make_text(&m->words, "leak:%u", (uint32_t)(leak - m->ask->device->leaks.leaks) + 1);
}

bool mv_listing_fill_leaks(mv_listing_maker *maker)
{
    static const mv_listing_column columns[] = {
        {"bytes", MV_CELL_BYTES, 84},  {"blocks", MV_CELL_COUNT, 64},
        {"a step", MV_CELL_BYTES, 84}, {"first", MV_CELL_EVENT, 84},
        {"last", MV_CELL_EVENT, 84},   {"confidence", MV_CELL_SHARE, 84},
        {"kind", MV_CELL_TEXT, 120},   {"line of code", MV_CELL_TEXT, 0}};
    const mv_leaks *found = &maker->ask->device->leaks;
    char leaked[MV_SIZE_TEXT], live[MV_SIZE_TEXT], line[512];

    if (!mv_listing_reserve(maker, columns, 8, maker->ask->is_evaluated ? found->count : 0))
        return false;
    if (!maker->ask->is_evaluated) {
        maker->out->note = "still looking for leaks";
        return true;
    }
    for (uint32_t i = 0; i < found->count; i++)
        add_leak_row(maker, &found->leaks[i]);
    if (found->verdict == MV_VERDICT_LEAK)
        maker->out->note = mv_make_text(&maker->words, "%s of %s alive at the end are leaked",
                                        mv_size_text(leaked, found->leaked_bytes),
                                        mv_size_text(live, found->live_bytes));
    else
        maker->out->note = mv_make_text(
            &maker->words, "%s",
            mv_verdict_line(maker->trace, maker->sites->kinds, found, line, sizeof line));
    return true;
}

/* ---- sizes ------------------------------------------------------------------------------- */

static uint32_t power_of(uint64_t bytes)
{
    return bytes ? 64 - (uint32_t)__builtin_clzll(bytes) : 0;
}

static void add_size(const mv_alloc_lives *a, mv_listing_size *row, uint32_t alloc)
{
    if (row->blocks++ == 0 || a->block[alloc] > a->block[row->largest])
        row->largest = alloc;
    row->bytes += a->block[alloc];
}

void mv_listing_count_sizes(const mv_lives *lives, const mv_filter_bits *only,
                            mv_listing_size out[MV_LISTING_SIZE_ROWS])
{
    const mv_alloc_lives *a = &lives->allocs;

    for (uint32_t i = 0; i < MV_LISTING_SIZE_ROWS; i++)
        out[i] = (mv_listing_size){.largest = MV_NO_ROW};
    for (uint32_t i = 0; i < a->count; i++)
        if (!only || mv_filter_has(only, i))
            add_size(a, &out[power_of(a->block[i])], i);
}

static void count_living(const mv_listing_maker *m, mv_listing_size now[MV_LISTING_SIZE_ROWS])
{
    const mv_index *index = &m->ask->device->index;
    uint32_t event = m->ask->event, born = mv_index_born(index, event);

    for (uint32_t i = mv_index_next(index, 0, born, event); i < born;
         i = mv_index_next(index, i + 1, born, event))
        if (mv_index_is_alive(index, i, event) && mv_listing_counts(m, i))
            add_size(&m->lives->allocs, &now[power_of(m->lives->allocs.block[i])], i);
}

static void add_size_row(mv_listing_maker *m, uint32_t power, const mv_listing_size *now,
                         uint64_t all)
{
    const mv_listing_size *ever = &m->ask->ever[power];
    uint32_t largest = now->blocks ? now->largest : ever->largest;
    mv_cell *cells = mv_listing_next(m);
    mv_listing_place *place = &m->out->places[m->out->count++];

    cells[0].number = power ? (uint64_t)1 << (power - 1) : 0;
    cells[1].number = power < 64 ? (uint64_t)1 << power : MV_NO_BYTES;
    cells[2].number = now->blocks;
    cells[3].number = now->bytes;
    cells[4].number = mv_listing_share(now->bytes, all);
    cells[5].number = ever->blocks;
    cells[6].number = ever->bytes;
    cells[7].text = mv_listing_label(m, m->lives->allocs.stack[largest]);
    place->alloc = largest;
    place->search =
        mv_make_text(&m->words, "size>=%llu size<%llu", (unsigned long long)cells[0].number,
                     (unsigned long long)cells[1].number);
}

bool mv_listing_fill_sizes(mv_listing_maker *maker)
{
    static const mv_listing_column columns[] = {
        {"from", MV_CELL_BYTES, 84},        {"below", MV_CELL_BYTES, 84},
        {"blocks now", MV_CELL_COUNT, 90},  {"bytes now", MV_CELL_BYTES, 90},
        {"share", MV_CELL_SHARE, 62},       {"blocks ever", MV_CELL_COUNT, 100},
        {"bytes ever", MV_CELL_BYTES, 100}, {"largest by", MV_CELL_TEXT, 0}};
    mv_listing_size *now = mv_push_array(&maker->scratch, mv_listing_size, MV_LISTING_SIZE_ROWS);
    uint64_t all = 0, blocks = 0;
    char size[MV_SIZE_TEXT], count[MV_COUNT_TEXT];

    if (!now || !mv_listing_reserve(maker, columns, 8, MV_LISTING_SIZE_ROWS))
        return false;
    count_living(maker, now);
    for (uint32_t i = 0; i < MV_LISTING_SIZE_ROWS; i++) {
        all += now[i].bytes;
        blocks += now[i].blocks;
    }
    for (uint32_t i = MV_LISTING_SIZE_ROWS; i-- > 0;)
        if (maker->ask->ever[i].blocks)
            add_size_row(maker, i, &now[i], all);
    maker->out->note = mv_make_text(&maker->words,
                                    "%s in %s blocks at the cursor; a block is as large "
                                    "as the allocator made it",
                                    mv_size_text(size, all), mv_count_text(count, blocks));
    return true;
}
