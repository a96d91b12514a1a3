/* Hostile files: their contents must never control the terminal, in any report, message or file
 * name. Every --json report must be JSON, and every output must end. */
#include <sqlite3.h>

#include "cli/report/sheet.h"
#include "export/export.h"
#include "parse/model/sums.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/in_process.h"
#include "tests/names/fixture_poison.h"

/* Title, clear screen, clipboard; controls of Latin-1; half a character; a separate line;
 * reversed text direction; line ends other than \n; invisible text; markup; the first characters
 * of formulas. */
#define HARM                                                  \
    "=\033]0;owned\a\033[2J\r\x7f\xc2\x9b"                    \
    "31m\xc2\x90\xed\xa0\x80\xff\xc3\nFORGED: a line\n"       \
    "\x1b]52;c;aGk=\a\xe2\x80\xaegpj\xe2\x81\xa6\xe2\x80\xa8" \
    "\xe2\x80\xa9\xc2\x85\xf3\xa0\x81\x81</script><!--]]>&'\",;"

static const char *const names[] = {"full",        "mempool",   "oom_fragmented",
                                    "two_devices", "annotated", "compiled"};

static const char *write_hostile(const char *name, bool all_strings)
{
    mv_span harm = {(const uint8_t *)HARM, strlen(HARM)};
    mv_arena *arena = mvt_memory();
    mv_trace trace = strcmp(name, "full") == 0 ? mvt_full_trace(arena) : mvt_load(arena, name);

    mvt_poison(arena, &trace, &harm, 1, all_strings);
    return mvt_temp_file(mvt_snapshot_of(arena, &trace));
}

/* ---- terminal controls ----------------------------------------------------------------------- */

/* By Unicode category: Cc, Zl, Zp, the explicit marks of direction, tags. */
static bool is_obeyed(uint32_t code)
{
    static const uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x2028, 0x2029},
                                         {0x202a, 0x202e}, {0x2066, 0x2069}, {0xe0000, 0xe007f}};

    for (unsigned i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

static void check_harmless_but(const char *what, const char *text, size_t length,
                               const char *allowed)
{
    mv_span all = {(const uint8_t *)text, length};

    for (uint64_t at = 0; at < length;) {
        const uint8_t *c = all.data + at;
        bool is_forged = at > 0 && c[-1] == '\n' && strncmp((const char *)c, "FORGED", 6) == 0;
        uint32_t code = mv_utf8_next(all, &at);
        if (code != MV_UTF8_BAD && !is_forged && ((*c && strchr(allowed, *c)) || !is_obeyed(code)))
            continue;
        cr_expect_fail("%s: %s %02x at byte %lu, after %.60s", what,
                       is_forged ? "a line of the file's own" : "a control or no UTF-8:", *c,
                       (unsigned long)at, text + (at > 60 ? at - 60 : 0));
        return;
    }
}

static void check_harmless(const char *what, const char *text, size_t length)
{
    check_harmless_but(what, text, length, "\n");
}

static const char *const reports[] = {
    "info",
    "stats",
    "trace",
    "trace --frames all",
    "leaks",
    "leaks --frames all",
    "peak --limit 0",
    "peak --frames all --at end",
    "lines --limit 0",
    "fragmentation --frames all",
    "oom --frames all",
    "whatif",
    "floor",
    "ranks",
    "ledger",
    "dump",
    "dump --calls",
    "memory -o -",
    "segments -o -",
};

static void check_text_reports(bool all_strings)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = write_hostile(names[i], all_strings);
        for (unsigned k = 0; k < sizeof reports / sizeof *reports; k++) {
            mvt_run r = mvt_here("$MEMVIZ %s %s", reports[k], path);
            const char *what = mvt_format("%s of %s", reports[k], names[i]);
            cr_assert_lt(r.status, 4, "%s: %d: %s", what, r.status, r.err);
            check_harmless(what, r.out, r.out_length);
            check_harmless(what, r.err, r.err_length);
        }
    }
}

LongTest(hostile, no_string_controls_the_terminal)
{
    check_text_reports(true);
}

LongTest(hostile, no_value_controls_the_terminal)
{
    check_text_reports(false);
}

Test(hostile, differences_do_not_control_the_terminal)
{
    const char *a = write_hostile("annotated", true);
    const char *b = write_hostile("two_devices", true);
    const mvt_run runs[] = {mvt_here("$MEMVIZ diff %s %s", a, b),
                            mvt_here("$MEMVIZ diff --frames all --limit 0 %s %s", b, a),
                            mvt_here("$MEMVIZ ranks %s %s", a, b)};

    for (unsigned i = 0; i < 3; i++) {
        check_harmless("diff", runs[i].out, runs[i].out_length);
        check_harmless("diff", runs[i].err, runs[i].err_length);
    }
}

/* Every --json report can be parsed, and contains nothing that a terminal would interpret. */
LongTest(hostile, reports_are_json)
{
    static const char *const commands[] = {"info",  "stats",  "trace", "leaks",
                                           "peak",  "lines",  "oom",   "fragmentation",
                                           "ranks", "whatif", "floor"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = write_hostile(names[i], i % 2);
        for (unsigned k = 0; k < sizeof commands / sizeof *commands; k++) {
            mvt_run r = mvt_here("$MEMVIZ %s --json %s", commands[k], path);
            cJSON *object = mvt_json_of(r.out);
            cr_expect(object, "%s of %s", commands[k], names[i]);
            check_harmless(commands[k], r.out, r.out_length);
        }
    }
}

/* ---- files for other tools ---------------------------------------------------------------- */

Test(hostile, every_output_escapes_its_strings)
{
    static const struct {
        const char *words, *name;
        bool is_markup;
    } all[] = {{"memory -q -o", "out.folded", false},
               {"segments -q -o", "out.folded", false},
               {"memory -q -o", "out.svg", true},
               {"segments -q -o", "out.svg", true},
               {"trace_plot -q -o", "out.svg", true},
               {"segment_plot -q -o", "out.svg", true},
               {"lines --csv -o", "out.csv", false},
               {"leaks --csv -o", "out.csv", false},
               {"export -q --format speedscope -o", "out.json", false}};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i += 2) {
        const char *path = write_hostile(names[i], false);
        for (unsigned k = 0; k < sizeof all / sizeof *all; k++) {
            /* In markup a line end counts as a space. */
            const char *words = all[k].words;
            mvt_run r = mvt_here("$MEMVIZ %s %s %s", words, all[k].name, path);
            size_t length;
            char *text = mvt_take(all[k].name, &length);
            cr_assert_eq(r.status, 0, "%s: %s", words, r.err);
            cr_assert(text, "%s: no file", words);
            check_harmless(words, r.out, r.out_length);
            if (all[k].is_markup)
                cr_expect_null(strstr(text, "<!--]]>"), "%s: %s", words, text);
            for (size_t j = 0; all[k].is_markup && j < length; j++)
                if (text[j] == '\n')
                    text[j] = ' ';
            check_harmless_but(words, text, length, "\r\n");
        }
    }
}

/* A row must be one line, no cell may look like a formula to a spreadsheet, and hidden characters
 * must be escaped. */
Test(hostile, every_table_escapes_its_strings)
{
    const char *path = write_hostile("full", false);

    for (const mv_export_table *t = mv_export_tables; t->name; t++) {
        mvt_run r = mvt_here("$MEMVIZ export -q --table %s %s -o out.csv", t->name, path);
        size_t length;
        char *text = mvt_take("out.csv", &length);
        cr_assert(r.status == 0 && text, "%s: %s", t->name, r.err);
        check_harmless(t->name, r.out, r.out_length);
        check_harmless_but(t->name, text, length, "\r\n");
        cr_expect_null(strstr(text, ",="), "%s: %s", t->name, text);
        cr_expect_null(strstr(text, "\"="), "%s: %s", t->name, text);
    }
}

static bool has(mv_span text, const char *part)
{
    return memmem(text.data, text.length, part, strlen(part)) != NULL;
}

/* A database contains the texts unchanged, but only as texts. */
Test(hostile, texts_of_a_database_are_utf8)
{
    const char *path = write_hostile("full", false);
    mvt_run r = mvt_here("$MEMVIZ export -q %s -o out.sqlite", path);
    sqlite3_stmt *statement = NULL;
    sqlite3 *db;
    unsigned rows = 0;

    cr_assert_eq(r.status, 0, "%s", r.err);
    const char *file = mvt_format("%s/out.sqlite", mvt_folder_path());
    cr_assert_eq(sqlite3_open(file, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, "SELECT function FROM frames", -1, &statement, NULL),
                 SQLITE_OK);
    for (; sqlite3_step(statement) == SQLITE_ROW; rows++) {
        mv_span text = {sqlite3_column_text(statement, 0),
                        (uint64_t)sqlite3_column_bytes(statement, 0)};
        for (uint64_t at = 0; at < text.length;)
            cr_assert_neq(mv_utf8_next(text, &at), MV_UTF8_BAD);
        cr_expect(has(text, "=\033]0;owned\a\033[2J\r\x7f\xc2\x9b"));
        cr_expect(has(text, "\\xed\\xa0\\x80\\xff\\xc3\n"));
    }
    cr_expect_gt(rows, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

Test(hostile, file_names_do_not_control_the_terminal)
{
    static const char name[] = "\033]0;t\a\n\xc2\x9bx\xff\xed\xa0\x80";
    static const char *const commands[] = {"info \"$f\"",
                                           "stats \"$f\"",
                                           "ranks \"$f\" \"$f\"",
                                           "diff \"$f\" \"$f\"",
                                           "peak --at noon \"$f\"",
                                           "trace --from @x \"$f\"",
                                           "trace --device 7 \"$f\"",
                                           "convert \"$f\" \"$f.bin\"",
                                           "summarize \"$f\" -o \"$f.s\"",
                                           "export \"$f\" -o \"$f.csv\"",
                                           "export \"$f\" -o \"$f.json\"",
                                           "trace_plot \"$f\" -o \"$f.svg\"",
                                           "memory \"$f\" -o \"$f.folded\"",
                                           "convert \"$f\" /nowhere/\"$f\"",
                                           "info nowhere/\"$f\"",
                                           "\"$f\"",
                                           "trace \"--$f\"",
                                           "peak --rules \"$f\" \"$f\"",
                                           "view --headless --shot \"$f.png\" \"$f\"",
                                           "view --headless --script \"$f\" \"$f\""};

    const mv_span bytes = mvt_file(mvt_memory(), mvt_snapshot("mempool"));

    setenv("f", name, 1);
    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        for (unsigned k = 0; k < 2; k++) {
            mvt_folder_empty();
            mvt_folder_put(name, bytes);
            mvt_run r = mvt_here("$MEMVIZ %s%s", commands[i], k ? " --json" : "");
            check_harmless(commands[i], r.out, r.out_length);
            check_harmless(commands[i], r.err, r.err_length);
            cr_expect_leq(r.status, 3, "%s: %d", commands[i], r.status);
        }
}

LongTest(hostile, the_viewer_ends_when_memory_is_out)
{
    static const char *const files[] = {"gpt_train", "resnet_all"};
    unsigned refused = 0, drawn = 0;

    for (unsigned i = 0; i < 2; i++)
        for (unsigned mib = 12; mib < 64; mib += mib < 32 ? 2 : 8) {
            mvt_run r =
                mvt_sh("ulimit -t 60; f=$(ls $SNAPS/%s.pickle*); "
                       "$MEMVIZ view --headless --max-memory %uM --max-disk 0 --shot o.png $f; "
                       "s=$?; "
                       "[ -e o.png ] && echo drawn; exit $s",
                       files[i], mib);
            bool is_drawn = strstr(r.out, "drawn") != NULL;
            cr_expect(r.status == !is_drawn, "%u MiB: %d: %s", mib, r.status, r.err);
            cr_expect(is_drawn ||
                          (mvt_count_lines(r.err) == 1 && strstr(r.err, "memory limit reached")),
                      "%u MiB: %s", mib, r.err);
            refused += !is_drawn;
            drawn += is_drawn;
        }
    cr_expect_gt(refused, 3);
    cr_expect_gt(drawn, 0);
}

Test(hostile, an_output_beyond_its_limit_fails_with_one_line)
{
    static const mvt_expected_run all[] = {
        {"convert $SNAPS/gpt_train.pickle x.bin", 1, NULL, ""},
        {"trace $SNAPS/gpt_train.pickle -o x", 1, NULL, ""},
        {"trace_plot $SNAPS/gpt_train.pickle -o x.html", 1, NULL, ""},
        {"export $SNAPS/gpt_train.pickle -o x.csv", 1, NULL, ""},
        {"export $SNAPS/gpt_train.pickle -o x.sqlite", 1, NULL, ""},
        {"trace --json $SNAPS/gpt_train.pickle >x", 1, NULL, ""}};

    MVT_EXPECT_RUNS("ulimit -f 16; $MEMVIZ %s", all);
}

/* The recorded program must still receive the signal's disposition from the shell. */
Test(hostile, programs_keep_the_signal_of_full_files)
{
    mvt_run r = mvt_sh("$MEMVIZ run -q -o r.bin -- sh -c 'grep SigIgn /proc/$$/status' && "
                       "grep SigIgn /proc/$$/status");
    char *second = strchr(r.out, '\n');

    cr_assert(second, "%s %s", r.out, r.err);
    *second++ = 0;
    cr_expect_eq(strncmp(r.out, second, strlen(r.out)), 0, "%s, not %s", r.out, second);
}

Test(hostile, no_cell_of_a_table_is_a_formula)
{
    static const struct {
        const char *function, *cell;
    } all[] = {{"=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""},
               {"+1", "\"'+1\""},
               {"-1", "\"'-1\""},
               {"@SUM(1)", "\"'@SUM(1)\""},
               {"\tx", "\"'\\x09x\""},
               {"\rx", "\"'\\x0dx\""},
               {"\xef\xbc\x9d"
                "1+1",
                "\"'\xef\xbc\x9d"
                "1+1\""},
               {"'=x", "\"''=x\""},
               {"''+x", "\"'''+x\""},
               {"'x", "'x"},
               {"a=b", "a=b"},
               {"<lambda>", "<lambda>"},
               {"a,\"b\"", "\"a,\"\"b\"\"\""}};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        const char *cell = mvt_format("\r\n0,%s,a.py,7,", all[i].cell);
        mvt_trace *t = mvt_new();

        mvt_alloc(t, .addr = 512, .bytes = 512, .stack = mvt_format("%s:a.py:7", all[i].function));
        mvt_done(t);
        mvt_run r = mvt_here("$MEMVIZ export -q %s --format csv --table frames -o -",
                             mvt_temp_file(mvt_snapshot_bytes(t)));
        cr_expect(strstr(r.out, cell), "%s: %s", all[i].function, r.out);
    }
}

Test(hostile, texts_are_made_harmless)
{
    static const struct {
        const char *text, *shown;
    } all[] = {{"", ""},
               {"plain \xc3\xa9 \xf0\x9f\x98\x80", "plain \xc3\xa9 \xf0\x9f\x98\x80"},
               {"a\nb\tc\x7f", "a?b?c?"},
               {"\xc2\x9b", "?"},
               {"\xc2\xa0", "\xc2\xa0"},
               {"a\xe2\x80\xae\xe2\x81\xa9z", "a??z"},
               {"\xe2\x80\xa7\xe2\x80\xaf\xe2\x80\xa8", "\xe2\x80\xa7\xe2\x80\xaf?"},
               {"\xf3\xa0\x81\x81\xf3\xa0\x84\x80", "?\xf3\xa0\x84\x80"},
               {"\xed\xa0\x80z", "???z"},
               {"\xff\xc3", "??"}};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        char *text = mvt_format("%s", all[i].text);
        mv_utf8_sanitize(text);
        cr_expect_str_eq(text, all[i].shown);
    }
}

/* ---- sums --------------------------------------------------------------------------------- */

static void expect_stats(mvt_trace *t, int status, const char *why)
{
    mvt_done(t);
    mvt_run r = mvt_here("$MEMVIZ stats %s", mvt_temp_file(mvt_pickle_bytes(t, false)));
    cr_expect_eq(r.status, status, "%s: %d: %s", why, r.status, r.err);
    cr_expect(strstr(r.err, why), "%s", r.err);
    cr_expect_eq(r.out_length == 0, status == 1);
}

#define QUARTER (MV_SUM_LIMIT / 4)

Test(hostile, sizes_that_cannot_be_added_up_are_refused)
{
    static const struct {
        mv_action action;
        uint32_t count;
        uint64_t bytes;
        const char *why;
    } all[] = {{MV_ACTION_SEGMENT_ALLOC, 40, (uint64_t)1 << 62, "the reserved segments add up"},
               {MV_ACTION_SEGMENT_FREE, 4, QUARTER, "the released segments add up"},
               {MV_ACTION_ALLOC, 4, QUARTER, "the allocations add up"},
               /* Blocks from before the first event; the sum of their sizes wraps. */
               {MV_ACTION_FREE_REQUESTED, 3, (uint64_t)3 << 62, "the freed sizes add up"}};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_trace *t = mvt_new();
        for (uint64_t k = 1; k <= all[i].count; k++)
            mvt_event(t, all[i].action, (mvt_event_args){.addr = k << 40, .bytes = all[i].bytes});
        expect_stats(t, 1, all[i].why);
    }
    mvt_trace *heap = mvt_new(), *nearly = mvt_new();
    for (uint64_t k = 1; k <= 4; k++) {
        mvt_segment(heap, .addr = k << 60, .bytes = QUARTER);
        mvt_block(heap, .bytes = QUARTER / 2, .state = MV_BLOCK_ALLOCATED);
        mvt_block(heap, .bytes = QUARTER / 2, .state = MV_BLOCK_ALLOCATED);
        mvt_alloc(nearly, .addr = k << 40, .bytes = QUARTER - (k == 4));
    }
    expect_stats(heap, 1, "the segments of the final heap add up to 1 EiB or more");
    expect_stats(nearly, 0, "");
}

/* A table that lost a cell must not be printed without that cell. */
Test(hostile, tables_are_whole_or_a_failure)
{
    static const mv_column columns[] = {{"a", MV_UNIT_TEXT, 0}, {"b", MV_UNIT_COUNT, 0}};
    static mv_out out;
    unsigned failed = 0, printed = 0;

    for (uint64_t limit = 0; limit < 8 << 20; limit += 64 << 10) {
        mv_arena *arena = mvt_arena_of(limit);
        mv_sheet sheet;

        mvt_ok(mv_out_open(&out, "/dev/null", mvt_err()));
        mv_sheet_init(&sheet, arena, columns, 2);
        for (uint32_t row = 0; row < 1000; row++) {
            mv_sheet_text(&sheet, "text");
            mv_sheet_count(&sheet, row);
        }
        mv_sheet_print(&sheet, &out, 0);
        cr_expect_eq(arena->budget->lacked, out.used == 0, "%lu", (unsigned long)limit);
        failed += arena->budget->lacked;
        printed += !arena->budget->lacked;
        mv_out_abort(&out);
        mv_arena_release(arena);
    }
    cr_expect(failed > 0 && printed > 0, "%u %u", failed, printed);
}
