/* memviz's own container: what is written is read again, column by column; what is damaged is
 * read as far as it holds, and said to be damaged. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>

#include "parse/wire_tables.h"
#include "tests/fixture.h"

static mv_budget budget;
static mv_arena arena;

static void begin(void)
{
    budget = (mv_budget){.limit = (uint64_t)1 << 30};
    mv_arena_init(&arena, &budget);
}

static void end(void)
{
    mv_arena_release(&arena);
}

TestSuite(snapshot, .init = begin, .fini = end);

/* ---- comparing traces -------------------------------------------------------------------- */

static bool same_table(const mv_trace *a, const mv_trace *b, const mv_table *table, uint32_t device)
{
    uint64_t rows = mv_table_rows(a, table, device);

    if (rows != mv_table_rows(b, table, device))
        return false;
    for (uint32_t i = 0; i < table->column_count && rows > 0; i++) {
        const mv_table_column *column = &table->columns[i];
        if (memcmp(mv_table_values(a, table, device, column),
                   mv_table_values(b, table, device, column), rows * column->size) != 0)
            return false;
    }
    return true;
}

/* The first table that differs, NULL when there is none. */
static const char *difference(const mv_trace *a, const mv_trace *b)
{
    if (a->calls != b->calls || a->device_count != b->device_count)
        return "totals";
    for (const mv_table *table = mv_tables; table->kind; table++) {
        uint32_t times = table->kind == MV_WIRE_EVENTS ? a->device_count : 1;
        for (uint32_t device = 0; device < times; device++)
            if (!same_table(a, b, table, device))
                return mv_wire_kind_name(table->kind);
    }
    for (unsigned i = 0; i < MV_NOTE_COUNT; i++)
        if (a->notes[i].count != b->notes[i].count ||
            strcmp(a->notes[i].first, b->notes[i].first) != 0)
            return mv_note_name((mv_note_code)i);
    return NULL;
}

static void read_back(mv_span bytes, mv_trace *out)
{
    mv_err err = {0};

    cr_assert_eq(mv_trace_read_bytes(&arena, bytes, out, &err), MV_OK, "%s at byte %llu: %s",
                 mv_code_name(err.code), (unsigned long long)err.offset, err.detail);
    cr_assert_eq(out->origin.format, MV_FORMAT_BIN);
}

static void check_round_trip(const mv_trace *trace, const char *name)
{
    mv_trace again;
    const char *differs;

    read_back(mvt_snapshot_of(&arena, trace), &again);
    differs = difference(trace, &again);
    cr_assert_null(differs, "%s: %s", name, differs);
}

/* ---- round trips ------------------------------------------------------------------------- */

Test(snapshot, every_real_snapshot_comes_back_column_by_column)
{
    DIR *folder = opendir(MV_TESTDATA "/snapshots");
    unsigned read = 0;

    cr_assert_not_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *ending = strstr(entry->d_name, ".pickle");
        char name[256];
        mv_trace trace;
        if (!ending)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(ending - entry->d_name), entry->d_name);
        mvt_load(&arena, name, &trace);
        check_round_trip(&trace, name);
        mv_arena_release(&arena);
        read++;
    }
    closedir(folder);
    cr_assert_gt(read, 30);
}
