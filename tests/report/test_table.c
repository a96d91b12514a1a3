/* Tables in reports: text, JSON and CSV from one list of fields. On real snapshots, every table in
 * every report must have the same rows, keys and values in JSON and in CSV. */
#include "cli/report/table.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_csv.h"
#include "tests/fixture/fixture_json.h"

/* ---- a table with every kind of value ----------------------------------------------------- */

typedef struct {
    uint64_t bytes;
    int64_t change;
    const char *name;
    bool has_peak, knows_peak;
} toy;

static const toy toys[] = {
    {3u << 20, -1024, "plain", true, true},
    {512, 1024, "a, \"b\"", true, false},
    {MV_NO_BYTES, 0, "=1+1", false, false},
};

static const char *const words[] = {"x", "y,z"};

#define PART_FIELDS(COLUMN, MEMBER, LIST) \
    MEMBER("part", mv_value_u64(i))       \
    MEMBER("even", mv_value_bool(i % 2 == 0))

static void list_parts(mv_rows *rows)
{
    const toy *t = mv_rows_one(rows);

    for (uint32_t i = 0; i < 2 && t->has_peak; i++)
        MV_ROWS_ADD(rows, PART_FIELDS);
}

static const mv_table part_table = {MV_TABLE(PART_FIELDS, list_parts)};

#define TOY_FIELDS(COLUMN, MEMBER, LIST)                                                      \
    COLUMN("name", "toy", 3, MV_UNIT_TEXT, 0, mv_value_text(t->name))                         \
    COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 9, mv_value_bytes(t->bytes))                   \
    COLUMN("change", "change", 2, MV_UNIT_CHANGE, 0, mv_value_i64(t->change))                 \
    COLUMN(NULL, "share", 2, MV_UNIT_COUNT, 0, mv_value_share(1, 3))                          \
    MEMBER("peak.at.event", t->has_peak ? mv_value_event(t->knows_peak ? 7 : UINT32_MAX)      \
                                        : mv_value_of(MV_VALUE_NULL_OBJECT))                  \
    MEMBER("peak.at.half", mv_value_real(0.5))                                                \
    MEMBER("peak.pair", mv_value_if(t->has_peak, mv_value_pair(1, 2)))                        \
    MEMBER("words", mv_value_texts(words, 2))                                                 \
    LIST("parts", &part_table, mv_value_if(t->has_peak, mv_value_rows(t)))                    \
    MEMBER("known.it", t->knows_peak ? mv_value_bool(true) : mv_value_of(MV_VALUE_NO_OBJECT)) \
    MEMBER("known.why", mv_value_text(NULL))

static void list_toys(mv_rows *rows)
{
    uint32_t count = mv_rows_take(rows, 3, *(const uint32_t *)mv_rows_all(rows));

    for (uint32_t i = 0; i < count; i++) {
        const toy *t = &toys[i];
        MV_ROWS_ADD(rows, TOY_FIELDS);
    }
    if (mv_rows_are_text(rows))
        mv_rows_add_some(rows, 1, &(mv_named_value){"name", mv_value_text("(rest)")});
}

static const mv_table toy_table = {MV_TABLE(TOY_FIELDS, list_toys)};

#define SIZE_FIELDS(COLUMN, MEMBER, LIST)       \
    MEMBER("name", mv_value_text(toys[i].name)) \
    MEMBER("length", mv_value_u64(strlen(toys[i].name)))

static void list_sizes(mv_rows *rows)
{
    for (uint32_t i = 0; i < 2; i++)
        MV_ROWS_ADD(rows, SIZE_FIELDS);
}

static const mv_table size_table = {MV_TABLE(SIZE_FIELDS, list_sizes), .shape = MV_SHAPE_MAP};

#define TOYS_FIELDS(COLUMN, MEMBER, LIST)         \
    LIST("toys", &toy_table, mv_value_rows(NULL)) \
    LIST("lengths", &size_table, mv_value_rows(NULL))

static const mv_table report = {MV_TABLE(TOYS_FIELDS, mv_rows_list_lists), .main = "toys"};

/* Returns the report's output with these options, as text if `table` is NULL. */
static const char *printed(mv_option_set given, const char *table, uint32_t limit)
{
    static const mv_command command = {.name = "toy", .report = &report};
    static mv_cli cli;
    const char *path = mvt_temp_file((mv_span){0});
    char *file[] = {"f.pickle"};

    cli = (mv_cli){.command = &command,
                   .options = {.given = given, .table = table, .file = file, .files = 1}};
    cli.budget.limit = 1 << 24;
    mv_arena_init(&cli.scratch, &cli.budget);
    mvt_ok(mv_out_open(&cli.out, path, mvt_err()));
    if (mv_table_is_wanted(&cli))
        cr_assert_eq(mv_table_put(&cli, &limit), MV_EXIT_DONE);
    else
        mv_table_print(&cli, &toy_table, &limit, NULL, "\n");
    mvt_ok(mv_out_close(&cli.out, mvt_err()));
    mv_arena_release(&cli.scratch);
    return mvt_text(path);
}

Test(table, json_has_objects_nulls_lists_and_maps)
{
    static const char rest[] =
        "\"words\":[\"x\",\"y,z\"],\"parts\":[{\"part\":0,\"even\":true},{\"part\":1,\"even\":"
        "false}]";

    const char *expected = mvt_format(
        "{\"memviz\":\"" MV_PROGRAM_VERSION
        "\",\n\"command\":\"toy\",\n\"file\":\"f.pickle\",\n\"toys\":["
        "{\"name\":\"plain\",\"bytes\":3145728,\"change\":-1024,\"peak\":{\"at\":{\"event\":7,"
        "\"half\":0.5},\"pair\":[1,2]},%s,\"known\":{\"it\":true,\"why\":null}},"
        "{\"name\":\"a, \\\"b\\\"\",\"bytes\":512,\"change\":1024,\"peak\":{\"at\":{\"event\":"
        "null,\"half\":0.5},\"pair\":[1,2]},%s},"
        "{\"name\":\"=1+1\",\"bytes\":null,\"change\":0,\"peak\":null,\"words\":"
        "[\"x\",\"y,z\"]}],\n\"lengths\":{\"plain\":5,\"a, \\\"b\\\"\":6}\n}\n",
        rest, rest);
    cr_assert_str_eq(printed(MV_HAS(JSON), NULL, 3), expected);
}

Test(table, csv_is_one_table)
{
    cr_assert_str_eq(printed(MV_HAS(CSV), NULL, 3),
                     "name,bytes,change,peak.at.event,peak.at.half,peak.pair,words,known.it,"
                     "known.why\r\n"
                     "plain,3145728,-1024,7,0.5,\"1,2\",\"x;y,z\",true,\r\n"
                     "\"a, \"\"b\"\"\",512,1024,,0.5,\"1,2\",\"x;y,z\",,\r\n"
                     "\"'=1+1\",,0,,,,\"x;y,z\",,\r\n");
    cr_assert_str_eq(printed(MV_HAS(CSV), "lengths", 3),
                     "name,length\r\nplain,5\r\n\"a, \"\"b\"\"\",6\r\n");
    cr_assert_str_eq(printed(MV_HAS(CSV), "toys", 0),
                     "name,bytes,change,peak.at.event,peak.at.half,peak.pair,words,known.it,"
                     "known.why\r\n");
}

Test(table, rows_of_an_inner_table_name_their_owner)
{
    cr_assert_str_eq(printed(MV_HAS(CSV), "toys.parts", 2),
                     "name,part,even\r\nplain,0,true\r\nplain,1,false\r\n"
                     "\"a, \"\"b\"\"\",0,true\r\n\"a, \"\"b\"\"\",1,false\r\n");
}

Test(table, text_has_columns_by_place_and_counts_hidden_rows)
{
    cr_assert_str_eq(printed(0, NULL, 2), "\n"
                                          "      bytes     change  share  toy\n"
                                          "   3.00 MiB  -1.00 KiB   33 %  plain\n"
                                          "      512 B  +1.00 KiB   33 %  a, \"b\"\n"
                                          "                               (rest)\n"
                                          "  1 more; --limit 0 shows all\n");
}

Test(table, paths_of_json_are_found)
{
    char paths[MV_TABLE_PATHS];

    cr_assert_str_eq(mv_table_paths(&report, paths), "toys, toys.parts, lengths");
    cr_assert(mv_table_has(&report, "toys.parts"));
    cr_assert_not(mv_table_has(&report, "report"), "it has lists alone");
    cr_assert(mv_table_has(mv_command_find("peak")->report, "report"));
    cr_assert_not(mv_table_has(&report, "toys."));
    cr_assert_not(mv_table_has(&report, "parts"));
    cr_assert_not(mv_table_has(&report, ""));
}

/* ---- JSON and CSV of real reports -------------------------------------------------------- */

#define MOST_COLUMNS 128

typedef struct {
    const char *command, *path;
    bool is_map;
    char *field[MOST_COLUMNS]; /* names of columns */
    int columns;
    char *at; /* the rest of the CSV */
    int rows, cells;
} check;

/* Returns the member at a dotted key, or NULL if it is missing. */
static const cJSON *member_at(const cJSON *row, const char *key)
{
    char name[64];

    while (row && *key) {
        size_t length = strcspn(key, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, key);
        row = cJSON_IsObject(row) ? cJSON_GetObjectItemCaseSensitive(row, name) : NULL;
        key += length + (key[length] == '.');
    }
    return row;
}

static void expect_cell(check *c, const char *key, const cJSON *value, const char *cell)
{
    const char *text = cJSON_IsString(value) ? value->valuestring : "";
    char *end;

    c->cells++;
    if (cJSON_IsNumber(value)) {
        cr_expect_eq(strtod(cell, &end), value->valuedouble, "%s %s %s: %s", c->command, c->path,
                     key, cell);
        cr_expect(*cell && !*end, "%s %s %s: '%s' is not a number", c->command, c->path, key, cell);
    } else if (cJSON_IsBool(value)) {
        cr_expect_str_eq(cell, cJSON_IsTrue(value) ? "true" : "false");
    } else if (cJSON_IsString(value)) {
        cr_expect_str_eq(cell + (*cell == '\'' && *text != '\''), text, "%s %s %s", c->command,
                         c->path, key);
    } else if (!value || cJSON_IsNull(value)) {
        cr_expect_str_empty(cell, "%s %s %s: %s", c->command, c->path, key, cell);
    } else { /* a stack, a pair, texts */
        const cJSON *first = cJSON_GetArrayItem(value, 0);
        const char *name = cJSON_GetStringValue(
            cJSON_IsObject(first) ? cJSON_GetObjectItem(first, "function") : first);
        cr_expect(!name || strstr(cell, name), "%s %s %s: %s", c->command, c->path, key, cell);
    }
}

/* Every scalar of a row must be in a column, but a list or map that is a separate table need not
 * be. */
static void expect_columns(check *c, const mv_table *tables, const cJSON *row, const char *path,
                           const char *key)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, row) {
        char own[128], inner[256];
        bool is_column = false;
        snprintf(own, sizeof own, "%s%s%s", key, *key ? "." : "", item->string);
        snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "." : "", own);
        if (mv_table_has(tables, inner))
            continue;
        if (cJSON_IsObject(item)) {
            expect_columns(c, tables, item, path, own);
            continue;
        }
        if (!*path && !*key &&
            (!strcmp(own, "memviz") || !strcmp(own, "command") || !strcmp(own, "file") ||
             !strcmp(own, "level")))
            continue;
        for (int i = 0; i < c->columns && !is_column; i++)
            is_column = strcmp(c->field[i], own) == 0 ||
                        (cJSON_IsNull(item) && strncmp(c->field[i], own, strlen(own)) == 0);
        cr_expect(is_column, "%s %s: no column %s", c->command, c->path, own);
    }
}

/* Tables in a map are separate rows that follow the map's name. */
static void expect_table_in_map(check *c, const cJSON *row)
{
    char *cell[MOST_COLUMNS];
    const cJSON *item;

    cJSON_ArrayForEach(item, row) {
        cr_assert_eq(mvt_csv_record(&c->at, cell, MOST_COLUMNS), c->columns);
        cr_expect_str_eq(cell[c->columns - 3], row->string);
        cr_expect_str_eq(cell[c->columns - 2], item->string);
        expect_cell(c, item->string, item, cell[c->columns - 1]);
        c->rows++;
    }
}

/* Other columns are taken from the enclosing rows. */
static void expect_row(check *c, const mv_table *tables, const cJSON *row)
{
    char *cell[MOST_COLUMNS];
    const char *path = strcmp(c->path, "report") == 0 ? "" : c->path;

    cr_assert(*c->at, "%s %s: fewer rows than in JSON", c->command, c->path);
    if (c->is_map && cJSON_IsObject(row)) {
        expect_table_in_map(c, row);
        return;
    }
    cr_assert_eq(mvt_csv_record(&c->at, cell, MOST_COLUMNS), c->columns);
    c->rows++;
    if (c->is_map) {
        cr_expect_str_eq(cell[c->columns - 2], row->string);
        expect_cell(c, row->string, row, cell[c->columns - 1]);
        return;
    }
    if (!cJSON_IsObject(row)) {
        expect_cell(c, c->path, row, cell[c->columns - 1]);
        return;
    }
    for (int i = 0; i < c->columns; i++) {
        const cJSON *value = member_at(row, c->field[i]);
        if (value || i >= 3) /* the first columns may belong to outer rows */
            expect_cell(c, c->field[i], value, cell[i]);
    }
    expect_columns(c, tables, row, path, "");
}

/* Visits the rows at `path`, starting at `item`. */
static void expect_rows(check *c, const mv_table *tables, const cJSON *item, const char *path)
{
    const cJSON *row;
    size_t length = strcspn(path, ".");
    char name[64];

    if (cJSON_IsArray(item) && *path) {
        cJSON_ArrayForEach(row, item)
            expect_rows(c, tables, row, path);
    } else if (*path) {
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        item = cJSON_GetObjectItemCaseSensitive(item, name);
        expect_rows(c, tables, item, path + length + (path[length] == '.'));
    } else if (item && !cJSON_IsNull(item)) {
        c->is_map = cJSON_IsObject(item);
        cJSON_ArrayForEach(row, item)
            expect_row(c, tables, row);
    }
}

static int compare_table(const mv_command *command, const cJSON *json, const char *arguments,
                         const char *path)
{
    mvt_run run = mvt_here("$MEMVIZ %s -q --csv --table %s %s", command->name, path, arguments);
    check c = {.command = command->name, .path = path, .at = run.out};

    cr_assert(run.out_length > 0, "%s %s: %s", command->name, path, run.err);
    c.columns = mvt_csv_record(&c.at, c.field, MOST_COLUMNS);
    if (strcmp(path, "report") != 0)
        expect_rows(&c, command->report, json, path);
    else
        expect_row(&c, command->report, json);
    cr_expect_eq(*c.at, 0, "%s %s: more rows than in JSON: %s", command->name, path, c.at);
    mvt_end_now(run.out); /* hundreds of them */
    return c.cells;
}

static int compare_report(const mv_command *command, int status, const char *arguments)
{
    mvt_run run = mvt_here("$MEMVIZ %s -q --json %s", command->name, arguments);
    const cJSON *json = mvt_json_of(run.out);
    char paths[MV_TABLE_PATHS], *rest;
    int cells = 0;

    cr_assert_eq(run.status, status, "%s %s: %s", command->name, arguments, run.err);
    mv_table_paths(command->report, paths);
    for (char *path = strtok_r(paths, ", ", &rest); path; path = strtok_r(NULL, ", ", &rest))
        cells += compare_table(command, json, arguments, path);
    return cells;
}

LongTest(table, csv_of_every_report_equals_its_json, .timeout = 300)
{
    static const char *const snapshots[] = {"gpt_train", "two_devices", "oom_fragmented",
                                            "leak_in_training"};
    static const char *const captures[] = {"cupy", "two_devices", "plain_oom", "loader"};

    for (const mv_command *c = mv_commands; c->name; c++) {
        int cells = 0;
        if (!(c->options & MV_HAS(CSV)) || c->writes_file || c->takes_words) /* ctl: needs a run */
            continue;
        if (c->takes_sizes)
            cells = compare_report(c, 0,
                                   MV_TESTDATA "/fit/gpt_4.pickle.zst=4 " MV_TESTDATA
                                               "/fit/gpt_8.pickle.zst=8 --at 12,16,20,24");
        for (unsigned i = 0; i < 4 && !c->takes_sizes; i++) {
            const char *arguments =
                mvt_format("$SNAPS/%s.pickle%s%s%s", snapshots[i],
                           c->least_files > 1 ? " $SNAPS/annotated.pickle" : "",
                           !(c->options & MV_HAS(TARGET)) ? ""
                           : c->options & MV_HAS(BY)      ? " --by annotation --target 1MiB"
                                                          : " --target 100MiB",
                           strcmp(c->name, "trace") == 0 ? " --limit 50" : "");
            if (strcmp(c->name, "ledger") == 0) /* snapshots have none */
                arguments = mvt_format(MV_TESTDATA "/captures/%s.bin", captures[i]);
            cells += compare_report(c, 0, arguments);
        }
        cr_expect_gt(cells, 40, "%s compares %d cells", c->name, cells);
    }
}

Test(table, wrong_usage_of_csv_is_reported)
{
    static const mvt_expected_run all[] = {
        {"peak --csv --json x", 2, NULL, "--csv and --json cannot be combined"},
        {"peak --table sites x", 2, NULL, "--table needs --csv"},
        {"peak --csv --table nope x", 2, NULL, "no table 'nope'; expected one of: report, sites, "},
        {"export --csv x", 2, NULL, "option --csv does not apply here"},
    };

    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}
