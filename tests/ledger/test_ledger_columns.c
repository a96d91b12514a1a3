/* The ledger in columns, on random calls and on captures. Each column shows the time at which calls
 * held the most memory, with the ledger's numbers at that time. */
#include "analyze/code/libraries.h"
#include "analyze/ledger/ledger_columns.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_calls.h"

static mv_ledger ledger_at(const mv_trace *trace, const mv_lives *lives, int64_t time_us)
{
    mv_ledger ledger;

    mvt_ok(mv_ledger_find(mvt_memory(), trace, lives,
                          mv_ledger_at_time(trace, lives->device, time_us), &ledger, mvt_err()));
    return ledger;
}

static uint64_t bytes_of(const mv_trace *trace, const mv_ledger *ledger, const char *library)
{
    char name[MV_LIBRARY_NAME];
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < ledger->count; i++)
        if (strcmp(mv_library_name(mv_string_text(trace, ledger->by[i].library), name), library) ==
            0)
            bytes += ledger->by[i].bytes;
    return bytes;
}

/* Returns the most bytes that calls held from one time until just before another, by querying at
 * each call. */
static uint64_t most_between(const mv_trace *trace, const mv_lives *lives, int64_t from, int64_t to)
{
    const mv_api_calls *c = &trace->api_calls;
    uint64_t most = ledger_at(trace, lives, from).by_sum;

    for (uint32_t i = 0; i < c->count; i++) {
        if (c->time_us[i] < from || c->time_us[i] >= to)
            continue;
        uint64_t held = ledger_at(trace, lives, c->time_us[i]).by_sum;
        most = held > most ? held : most;
    }
    return most;
}

static uint32_t samples_between(const mv_trace *trace, uint32_t device, int64_t from, int64_t to)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < trace->samples.count; i++)
        count += trace->samples.device[i] == (int32_t)device && trace->samples.time_us[i] >= from &&
                 trace->samples.time_us[i] < to;
    return count;
}

static void expect_columns(const mv_trace *trace, uint32_t device, const int64_t *edges,
                           uint32_t count)
{
    mv_lives lives = mvt_lives(mvt_memory(), trace, device);
    mv_ledger_columns found;

    mvt_ok(mv_ledger_columns_find(mvt_memory(), trace, device, edges, count, &found, mvt_err()));
    cr_assert_eq(found.count, count);
    for (uint32_t c = 0; c < count; c++) {
        const mv_ledger_column *column = &found.columns[c];
        mv_ledger ledger = ledger_at(trace, &lives, column->time_us);
        cr_assert_geq(column->time_us, edges[c]);
        cr_assert(column->time_us < edges[c + 1] || column->time_us == edges[c]);
        cr_assert_eq(column->held, most_between(trace, &lives, edges[c], edges[c + 1]), "column %u",
                     c);
        cr_assert_eq(column->held, ledger.by_sum);
        cr_assert_eq(column->used, ledger.used);
        cr_assert_eq(column->context_estimate, ledger.context_estimate);
        cr_assert_eq(column->unexplained, ledger.unexplained);
        cr_assert_eq(column->is_measured,
                     ledger.used != MV_NO_BYTES && ledger.held_at_sample == ledger.by_sum);
        cr_assert_eq(column->samples, samples_between(trace, lives.device, edges[c], edges[c + 1]));
        for (uint32_t k = 0; k < found.series.library_count; k++)
            if (strcmp(found.series.libraries[k].name, "others") != 0)
                cr_assert_eq(mv_ledger_columns_by(&found, c)[k],
                             bytes_of(trace, &ledger, found.series.libraries[k].name));
    }
}

Test(ledger_columns, a_column_has_the_ledger_of_its_highest_moment)
{
    for (uint64_t seed = 1; seed < 6; seed++) {
        mvt_calls *c = mvt_calls_new();
        uint64_t random = seed;
        int64_t edges[41];

        for (int i = 0; i < 120; i++) {
            uint64_t key = 1 + mvt_random(&random, 30);
            const char *path = mvt_format("/lib/lib%u.so", (unsigned)(key % 4));
            mvt_call(c, mvt_random(&random, 3) ? MV_API_ALLOC : MV_API_FREE, .addr = key << 30,
                     .size = 1 + mvt_random(&random, 90 << 20), .library = path);
            if (mvt_random(&random, 5) == 0)
                mvt_sample(c, .used = mvt_random(&random, 2000) << 20);
        }
        edges[0] = seed % 2 ? -50 : 90;
        for (int i = 1; i < 41; i++)
            edges[i] = edges[i - 1] + (int64_t)mvt_random(&random, 90) - 5;
        for (int i = 1; i < 41; i++)
            edges[i] = edges[i] > edges[i - 1] ? edges[i] : edges[i - 1];
        expect_columns(mvt_calls_done(c), 0, edges, 40);
    }
}

Test(ledger_columns, columns_of_captures_have_the_ledger_of_their_highest_moment)
{
    static const char *const names[] = {"train", "sleep", "cupy_leak"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        mv_trace trace = mvt_load(mvt_memory(), names[i]);
        int64_t edges[21], first = trace.api_calls.time_us[0];
        int64_t last = trace.api_calls.time_us[trace.api_calls.count - 1];

        for (int k = 0; k < 21; k++)
            edges[k] = first + (last - first) * k / 20;
        expect_columns(&trace, 0, edges, 20);
    }
}

Test(ledger_columns, without_calls_there_are_no_columns)
{
    static const int64_t edges[] = {0, 10, 20};
    mv_ledger_columns found;

    mvt_ok(mv_ledger_columns_find(mvt_memory(), mvt_calls_done(mvt_calls_new()), 0, edges, 2,
                                  &found, mvt_err()));
    cr_assert_eq(found.series.library_count, 0);
    cr_assert_eq(found.columns[1].used, MV_NO_BYTES);
}
