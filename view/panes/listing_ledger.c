/* The ledger table shows what holds all device memory at the cursor, as in `memviz ledger`. The
 * last row is the sum of all other rows. */
#include <ctype.h>

#include "analyze/code/libraries.h"
#include "base/size.h"
#include "view/document/ledger_moment.h"
#include "view/panes/listing_parts.h"

enum { COLUMNS = 6 };

/* Returns a filter for the calls of a row: a frame in the library, with this function. */
static const char *search_of(mv_listing_maker *m, const mv_ledger_answer *a,
                             const mv_ledger_row *row)
{
    const char *path = mv_string_text(a->trace, row->library), *name = strrchr(path, '/');
    char text[400] = "/";

    name = name ? name + 1 : path;
    for (; *name; name++)
        mv_text_append(text, sizeof text, isalnum((unsigned char)*name) ? "%c" : "[%c]", *name);
    mv_text_append(text, sizeof text, ":.*%s$/", mv_string_text(a->trace, row->api));
    return mv_make_text(&m->words, "%s", text);
}

static void add_row(mv_listing_maker *m, const mv_ledger_answer *a, const mv_ledger_row *row,
                    uint64_t all)
{
    mv_cell *cells = mv_listing_next(m);
    mv_listing_place *place = &m->out->places[m->out->count++];
    char name[MV_LIBRARY_NAME];

    cells[0].number = row->bytes;
    cells[1].number = mv_listing_share(row->bytes, all);
    cells[2].number = row->count;
    cells[3].text = mv_make_text(&m->words, "%s",
                                 mv_library_name(mv_string_text(a->trace, row->library), name));
    cells[4].text = mv_string_text(a->trace, row->api);
    cells[5].text = mv_listing_label(m, row->stack);
    place->level = mv_level_name(MV_LEVEL_CUDA);
    place->search = search_of(m, a, row);
}

static void put_rest(mv_cell *cells, const char *what, int64_t bytes, uint64_t all, uint64_t count)
{
    cells[0].number = (uint64_t)bytes;
    cells[1].number = bytes > 0 ? mv_listing_share((uint64_t)bytes, all) : 0;
    cells[2].number = count;
    cells[3].text = what;
    cells[4].text = cells[5].text = "";
}

static void add_rest(mv_listing_maker *m, const char *what, int64_t bytes, uint64_t all)
{
    put_rest(mv_listing_next(m), what, bytes, all, MV_NO_BYTES);
    m->out->count++;
}

static const char *note_of(mv_listing_maker *m, const mv_ledger *ledger)
{
    char host[MV_SIZE_TEXT], distance[MV_LEDGER_DISTANCE];
    const char *pinned = ledger->host.count ? mv_make_text(&m->words, "; pinned host memory: %s",
                                                           mv_size_text(host, ledger->host.bytes))
                                            : "";

    if (ledger->used == MV_NO_BYTES)
        return mv_make_text(&m->words, "at the cursor; the device's use is unknown%s", pinned);
    return mv_make_text(&m->words, "at the cursor; use sampled %s%s%s%s",
                        mv_ledger_distance(ledger, distance), pinned, *ledger->residue ? "; " : "",
                        ledger->residue);
}

bool mv_listing_fill_ledger(mv_listing_maker *m)
{
    static const mv_listing_column columns[COLUMNS] = {
        {"bytes", MV_CELL_SIGNED, 84}, {"share", MV_CELL_SHARE, 62},
        {"count", MV_CELL_COUNT, 70},  {"who", MV_CELL_TEXT, 0},
        {"call", MV_CELL_TEXT, 180},   {"most of it for", MV_CELL_TEXT, 0}};
    mv_ledger_question q = mv_ledger_question_at(m->ask->document, m->ask->device, m->ask->event);
    const mv_ledger_answer *a = mv_ledger_moment_find(&m->scratch, NULL, &q);
    bool is_known;
    uint64_t all;
    mv_cell *total = mv_push_array(m->words.arena, mv_cell, COLUMNS);

    if (!a || !total || !mv_listing_reserve(m, columns, COLUMNS, a->ledger.count + 2))
        return false;
    is_known = a->ledger.used != MV_NO_BYTES;
    all = is_known ? a->ledger.used : a->ledger.by_sum;
    for (uint32_t i = 0; i < a->ledger.count; i++)
        add_row(m, a, &a->ledger.by[i], all);
    if (is_known) {
        add_rest(m, "context and code (estimate)", a->ledger.context_estimate, all);
        add_rest(m, "unexplained", a->ledger.unexplained, all);
    }
    put_rest(total, is_known ? "in use, as sampled by NVML" : "all calls", (int64_t)all, all,
             MV_NO_BYTES);
    m->out->total = total;
    m->out->note = note_of(m, &a->ledger);
    return true;
}
