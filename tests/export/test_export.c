/* Exports are read back by other means: SQLite itself, a CSV reader, cJSON and a protobuf parser.
 * Their sums must equal the figures of `stats`. */
#include <sqlite3.h>

#include "export/export.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_csv.h"
#include "tests/fixture/fixture_json.h"

static const char *const snapshots[] = {"gpt_train.pickle", "two_devices.pickle", "oom.pickle",
                                        "annotated.pickle", "no_history.pickle",  "ring.pickle"};
enum { SNAPSHOTS = sizeof snapshots / sizeof *snapshots };

/* Returns `key`, summed over the devices in `stats`. */
static double stats_sum(const char *snapshot, const char *key)
{
    cJSON *report = mvt_json(0, "$MEMVIZ stats --json $SNAPS/%s", snapshot);

    return mvt_json_sum(mvt_member(report, "devices"), key);
}

/* ---- SQLite ------------------------------------------------------------------------------ */

static sqlite3_int64 ask(sqlite3 *db, const char *question)
{
    sqlite3_stmt *statement;

    cr_assert_eq(sqlite3_prepare_v2(db, question, -1, &statement, NULL), SQLITE_OK, "%s: %s",
                 question, sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(statement), SQLITE_ROW, "%s", question);
    sqlite3_int64 answer = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return answer;
}

/* Returns the number of rows of a table, or of a table with conditions. */
static sqlite3_int64 rows_of(sqlite3 *db, const char *table)
{
    return ask(db, mvt_format("SELECT count(*) FROM %s", table));
}

/* Exports a database; `words` are the file and options. */
static sqlite3 *database_by(const char *words)
{
    mvt_run run = mvt_here_or_sh("$MEMVIZ export -q --format sqlite %s -o -", words);
    sqlite3 *db;

    cr_assert_eq(run.status, 0, "%s", run.err);
    unsigned char *copy = sqlite3_malloc64(run.out_length);
    cr_assert_not_null(copy);
    memcpy(copy, run.out, run.out_length);
    cr_assert_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    cr_assert_eq(sqlite3_deserialize(db, "main", copy, (sqlite3_int64)run.out_length,
                                     (sqlite3_int64)run.out_length, SQLITE_DESERIALIZE_FREEONCLOSE),
                 SQLITE_OK);
    return db;
}

/* The database's memory is not counted by any arena. */
Test(export, a_database_uses_only_the_remaining_memory)
{
    mv_trace trace = mvt_load(mvt_memory(), "gpt_train");
    mv_export export = {.trace = &trace, .name = "gpt_train"};
    mv_budget budget = {.limit = 1 << 20, .used = (1 << 20) - (64 << 10)};
    mv_sink sink;

    export.kinds = mv_frame_kinds(mvt_memory(), &trace);
    cr_assert(export.kinds && mv_export_prepare(mvt_memory(), &export));
    for (int i = 0; i < 2; i++, budget.used = 0) {
        mvt_ok(mv_sink_open(&sink, mvt_temp_file((mv_span){0}), mvt_err()));
        cr_expect_eq(mv_sqlite_write(&budget, &export, &sink, mvt_err()), i ? MV_OK : MV_NOMEM);
        mv_sink_abort(&sink);
    }
}

LongTest(export, sums_of_the_database_equal_the_report)
{
    for (int i = 0; i < SNAPSHOTS; i++) {
        const char *name = snapshots[i];
        sqlite3 *db = database_by(mvt_format("$SNAPS/%s", name));

        cr_assert_eq(rows_of(db, "pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
        cr_assert_eq(ask(db, "SELECT sum(size) FROM blocks WHERE state = 'active_allocated'"),
                     stats_sum(name, "current.allocated"), "%s", name);
        cr_assert_eq(ask(db, "SELECT sum(size) FROM segments WHERE died IS NULL"),
                     stats_sum(name, "current.reserved"), "%s", name);
        cr_assert_eq(ask(db, "SELECT sum(block) FROM live_at_end"),
                     stats_sum(name, "current.allocated"), "%s", name);
        if (rows_of(db, "events") > 0 && strcmp(name, "ring.pickle") != 0)
            cr_assert_eq(ask(db, "SELECT sum(most) FROM (SELECT max(allocated) AS most FROM events "
                                 "GROUP BY device)"),
                         stats_sum(name, "peak.allocated"), "%s", name);
        cr_assert_eq(rows_of(db, "allocations LEFT JOIN (SELECT DISTINCT stack FROM stacks) s "
                                 "USING (stack) WHERE stack IS NOT NULL AND s.stack IS NULL AND "
                                 "stack <> 0"),
                     0, "%s: a stack without frames", name);
        sqlite3_close(db);
    }
}

/* On some systems, addresses are in the canonical upper half, above 2^63. */
Test(export, large_numbers_are_exact)
{
    mvt_trace *t = mvt_new();
    const uint64_t base = 0xffff900000000000;

    mvt_segment_alloc(t, .addr = base, .bytes = 2 << 20, .stack = "f:a.py:1");
    mvt_alloc(t, .addr = base, .bytes = 512, .stack = "f:a.py:1");
    mvt_alloc(t, .addr = base + 512, .bytes = 512, .stack = "g:a.py:2");
    mvt_final_heap(t);
    mvt_done(t);
    sqlite3 *db = database_by(mvt_temp_file(mvt_pickle_bytes(t, false)));
    cr_expect_eq(rows_of(db, "allocations WHERE typeof(addr) = 'text' AND addr IN "
                             "('18446620928407240704', '18446620928407241216')"),
                 2);
    cr_expect_eq(rows_of(db, "allocations JOIN events USING (addr) WHERE events.action = 'alloc'"),
                 2);
    cr_expect_eq(rows_of(db, "blocks JOIN segments ON segment_addr = segments.addr WHERE "
                             "typeof(segment_addr) = 'text'"),
                 3);
    cr_expect_eq(rows_of(db, "events WHERE typeof(size) = 'integer' AND typeof(event) = 'integer' "
                             "AND typeof(stack) = 'integer'"),
                 3);
    sqlite3_close(db);
}

Test(export, one_device_is_in_all_tables)
{
    static const char *const tables[] = {"allocations", "events", "segments", "blocks"};
    const char *file = "$SNAPS/two_devices.pickle";
    sqlite3 *all = database_by(file), *one = database_by(mvt_format("--device 1 %s", file));

    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) {
        const char *other = mvt_format("%s WHERE device <> 1", tables[i]);
        const char *own = mvt_format("%s WHERE device = 1", tables[i]);
        mvt_run csv = mvt_sh("$MEMVIZ export -q --device 1 --table %s %s -o x.csv >/dev/null && "
                             "cut -d, -f1 <x.csv | sort -u",
                             tables[i], file);
        cr_expect_gt(rows_of(all, other), 0, "%s", tables[i]);
        cr_expect_gt(rows_of(all, own), 0, "%s", tables[i]);
        cr_expect_eq(rows_of(one, other), 0, "%s", tables[i]);
        cr_expect_eq(rows_of(one, own), rows_of(all, own), "%s", tables[i]);
        cr_expect_str_eq(csv.out, "1\ndevice\n", "%s", tables[i]);
    }
    sqlite3_close(all);
    sqlite3_close(one);
}

/* Rows with a device, in captures: rows for other devices are omitted, while rows for an unknown
 * device stay. */
Test(export, one_device_of_a_capture_is_exported)
{
    static const char *const tables[] = {"api_calls", "heap_calls", "samples", "annotations"};
    mv_trace trace = mvt_full_trace(mvt_memory());
    const char *file = mvt_temp_file(mvt_snapshot_of(mvt_memory(), &trace));
    uint64_t left_out = 0;
    sqlite3 *all = database_by(file), *one = database_by(mvt_format("--device 0 %s", file));

    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) {
        sqlite3_int64 rows = rows_of(all, tables[i]);
        sqlite3_int64 kept =
            rows_of(all, mvt_format("%s WHERE device = 0 OR device IS NULL", tables[i]));
        cr_expect_gt(rows, 0, "%s", tables[i]);
        cr_expect_eq(rows_of(one, tables[i]), kept, "%s", tables[i]);
        left_out += (uint64_t)(rows - kept);
    }
    cr_expect_gt(left_out, 0);
    sqlite3_close(all);
    sqlite3_close(one);
}

/* The kinds come from analyze/code/culprit.h, and C++ recordings contain all of them. */
Test(export, frames_name_the_owner_of_their_code)
{
    sqlite3 *db = database_by("$SNAPS/resnet_all.pickle");

    cr_assert_gt(rows_of(db, "frames WHERE kind = 'noise' AND function LIKE "
                             "'_PyEval_EvalFrameDefault%'"),
                 0);
    cr_assert_gt(rows_of(db, "frames WHERE kind = 'native' AND function LIKE 'at::%'"), 0);
    cr_assert_eq(ask(db, "SELECT count(DISTINCT kind) FROM frames WHERE kind NOT IN ('user', "
                         "'package', 'framework', 'telling', 'native', 'noise')"),
                 0);
    sqlite3_close(db);
}

LongTest(export, tables_are_csv)
{
    for (const mv_export_table *t = mv_export_tables; t->name; t++) {
        char *field[MV_MOST_CELLS], *at;
        int columns, rows = 0;
        mvt_run run = mvt_sh("$MEMVIZ export -q --table %s $SNAPS/annotated.pickle -o x.csv && "
                             "cat x.csv",
                             t->name);
        mv_export_columns listed;

        cr_assert_eq(run.status, 0, "%s", run.err);
        mv_export_columns_of(t, &listed);
        at = strchr(run.out, '\n') + 1; /* prints the name of the written file */
        columns = mvt_csv_record(&at, field, MV_MOST_CELLS);
        cr_assert_eq(columns, (int)listed.count, "%s", t->name);
        for (int i = 0; i < columns; i++)
            cr_assert_str_eq(field[i], listed.column[i].name);
        for (; *at; rows++)
            cr_assert_eq(mvt_csv_record(&at, field, MV_MOST_CELLS), columns, "%s", t->name);
        cr_assert(rows > 0 || strstr("api_calls facts heap_calls samples tensors", t->name),
                  "%s is empty", t->name);
    }
}

LongTest(export, speedscope_profiles_add_up)
{
    for (int i = 0; i < SNAPSHOTS; i++) {
        mvt_run run =
            mvt_here_or_sh("$MEMVIZ export -q --format speedscope $SNAPS/%s -o -", snapshots[i]);
        cJSON *file = mvt_json_of(run.out);
        const cJSON *profiles = cJSON_GetObjectItem(file, "profiles"), *p, *sample, *frame;
        int frames = cJSON_GetArraySize(mvt_member(file, "shared.frames"));
        double live = 0;

        cr_assert_eq(run.status, 0, "%s", run.err);
        cr_assert_not_null(profiles, "%s", snapshots[i]);
        cJSON_ArrayForEach(p, profiles) {
            const cJSON *weights = cJSON_GetObjectItem(p, "weights"), *weight;
            double sum = 0;
            cJSON_ArrayForEach(weight, weights)
                sum += weight->valuedouble;
            cr_assert_eq(sum, mvt_json_number(p, "endValue"));
            cr_assert_eq(cJSON_GetArraySize(weights), cJSON_GetArraySize(mvt_member(p, "samples")));
            cJSON_ArrayForEach(sample, cJSON_GetObjectItem(p, "samples")) {
                cr_assert_gt(cJSON_GetArraySize(sample), 0);
                cJSON_ArrayForEach(frame, sample)
                    cr_assert(frame->valueint >= 0 && frame->valueint < frames);
            }
            live += strstr(mvt_json_text(p, "name"), "all allocations") ? 0 : sum;
        }
        cr_assert_eq(live, stats_sum(snapshots[i], "current.allocated"), "%s", snapshots[i]);
    }
}

/* ---- Perfetto ---------------------------------------------------------------------------- */

typedef struct {
    const uint8_t *at, *end;
} message;

static uint64_t take_varint(message *m)
{
    uint64_t value = 0;

    for (int shift = 0;; shift += 7) {
        cr_assert(m->at < m->end && shift < 64);
        value |= (uint64_t)(*m->at & 127) << shift;
        if (!(*m->at++ & 128))
            return value;
    }
}

/* Reads the next field and returns its number, or 0 at the end. Stores the field's value or its
 * contents. */
static uint32_t take_field(message *m, uint64_t *value, message *inner)
{
    if (m->at == m->end)
        return 0;
    uint64_t key = take_varint(m);
    cr_assert((key & 7) == 0 || (key & 7) == 2);
    *value = take_varint(m);
    if ((key & 7) == 2) {
        cr_assert_leq(*value, (uint64_t)(m->end - m->at));
        *inner = (message){m->at, m->at + *value};
        m->at += *value;
    }
    return (uint32_t)(key >> 3);
}

typedef struct {
    double highest[2], last[2]; /* allocated bytes of up to two devices */
    int begins, ends, ooms;
    uint64_t time;
} found;

static void read_event(message m, found *f)
{
    uint64_t value, type = 0, track = 0, level = 0;
    message inner;
    uint32_t field;

    while ((field = take_field(&m, &value, &inner))) {
        if (field == 9)
            type = value;
        else if (field == 11)
            track = value;
        else if (field == 30)
            level = value;
    }
    f->begins += type == 1;
    f->ends += type == 2;
    f->ooms += type == 3 && track % 7 == 0;
    /* each device has seven tracks; the second one is `allocated` */
    if (type == 4 && track % 7 == 2) {
        cr_assert_lt(track / 7, 2);
        f->last[track / 7] = (double)level;
        if ((double)level > f->highest[track / 7])
            f->highest[track / 7] = (double)level;
    }
}

static void read_packets(message file, found *f)
{
    message packet, inner;
    uint64_t value;

    while (file.at < file.end) {
        cr_assert_eq(take_field(&file, &value, &packet), 1);
        for (uint32_t field; (field = take_field(&packet, &value, &inner));) {
            if (field == 8)
                f->time = value;
            if (field == 11)
                read_event(inner, f);
        }
    }
}

static found perfetto_by(const char *words, mvt_run *run)
{
    found f = {0};

    *run = mvt_here_or_sh("$MEMVIZ export -q --format perfetto %s -o -", words);
    cr_assert_eq(run->status, 0, "%s", run->err);
    read_packets((message){(const uint8_t *)run->out, (const uint8_t *)run->out + run->out_length},
                 &f);
    return f;
}

LongTest(export, perfetto_has_the_levels)
{
    for (int i = 0; i < SNAPSHOTS; i++) {
        const char *name = snapshots[i];
        mvt_run run;
        found f = perfetto_by(mvt_format("$SNAPS/%s", name), &run);

        cr_assert_eq(f.begins, f.ends, "%s", name);
        cr_assert(f.begins > 0 || strcmp(name, "annotated.pickle") != 0, "%s", name);
        cr_assert_eq(f.ooms > 0, strcmp(name, "oom.pickle") == 0, "%s", name);
        if (strcmp(name, "no_history.pickle") != 0)
            cr_assert_eq(f.last[0] + f.last[1], stats_sum(name, "current.allocated"), "%s", name);
        if (strcmp(name, "no_history.pickle") != 0 && strcmp(name, "ring.pickle") != 0)
            cr_assert_eq(f.highest[0] + f.highest[1], stats_sum(name, "peak.allocated"), "%s",
                         name);
    }
}

/* A 10 us slice that PyTorch recorded for a device that is not in use. */
static mvt_trace *annotated_elsewhere(int32_t device)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .device = 1, .addr = 1 << 20, .bytes = 2 << 20, .stack = "f:a.py:1");
    mvt_annotate(t, "forward", true, 0);
    mvt_alloc(t, .device = 1, .addr = 1 << 20, .bytes = 512, .stack = "f:a.py:1");
    mvt_annotate(t, "forward", false, 0);
    const mv_trace *trace = mvt_done(t);
    for (uint32_t i = 0; i < trace->annotations.count; i++)
        trace->annotations.device[i] = device;
    return t;
}

/* Device 0 is listed but idle, and device 3 is not listed. The annotations of both are shown. */
Test(export, annotations_of_idle_devices_are_shown)
{
    static const int32_t devices[] = {0, 3};
    static const char *const options[] = {"", "--device 0", "--device 1"};

    for (unsigned d = 0; d < sizeof devices / sizeof *devices; d++) {
        const char *file = mvt_temp_file(mvt_pickle_bytes(annotated_elsewhere(devices[d]), false));
        for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
            mvt_run run;
            found f = perfetto_by(mvt_format("%s %s", options[i], file), &run);
            cr_expect_eq(f.begins, 1, "device %d %s", devices[d], options[i]);
            cr_expect_eq(f.ends, 1, "device %d %s", devices[d], options[i]);
            cr_expect_null(memmem(run.out, run.out_length, "no times", 8), "%s", options[i]);
        }
    }
}

Test(export, annotations_belong_to_their_device)
{
    const char *file = mvt_temp_file(mvt_pickle_bytes(annotated_elsewhere(1), false));
    mvt_run run;

    cr_expect_eq(perfetto_by(file, &run).begins, 1);
    cr_expect_eq(perfetto_by(mvt_format("--device 1 %s", file), &run).begins, 1);
    cr_expect_eq(perfetto_by(mvt_format("--device 0 %s", file), &run).begins, 0);
}

LongTest(export, format_comes_from_the_option_or_the_name)
{
    static const struct {
        const char *words;
        int status;
    } cases[] = {
        {"-o x.pftrace", 0},
        {"-o x.json --at peak", 0},
        {"-o x.folded --at 100", 0},
        {"-o x.csv --table frames", 0},
        {"-o x.db", 0},
        {"-o x.svg --format folded", 0},
        {"-o x.svg", 2},
        {"", 2},
        {"-o x.db --table events", 2},
        {"-o x.csv --at peak", 2},
        {"-o - --format csv --json", 2},
        {"-o x.csv --table things", 2},
        {"-o /nowhere/x.csv", 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mvt_run run = mvt_here_or_sh("$MEMVIZ export $SNAPS/gpt_train.pickle %s", cases[i].words);
        cr_assert_eq(run.status, cases[i].status, "%s: %s", cases[i].words, run.err);
    }
}

Test(export, report_names_the_file)
{
    cJSON *report = mvt_json(0, "$MEMVIZ export --json $SNAPS/gpt_train.pickle -o x.csv");

    cr_assert_str_eq(mvt_json_text(report, "written"), "x.csv");
    cr_assert_gt(mvt_json_number(report, "bytes"), 1000);
}
