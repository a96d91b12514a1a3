/* libFuzzer target: any bytes as a file of any format, with every report, export and conversion.
 * The commands run in this process as a user types them; a hash of the bytes chooses the commands
 * and their form (text, JSON, a table as CSV).
 *
 * Checked: the outputs themselves (check_output.h), the model's promises, the sums, and that a
 * written file can be read back unchanged. */
#include "cli/report/table.h"
#include "tests/fixture/in_process.h"
#include "tests/fuzz/check_output.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Inputs with more rows than this take too long. For inputs with many rows, fewer reports are
 * made. */
enum { MOST_ROWS = 6000, ROWS_OF_ALL = 8000, MOST_REPORTS = 8, STRIDE = 7 };

/* "in" is the input, "second" a small real recording, and "paired" a recording of the run whose
 * profiler trace is "ops". */
static const char *const reports[] = {
    "triage in",
    "triage in second",
    "info in",
    "stats in",
    "stats --level cuda in",
    "stats --level host in",
    "trace --frames all in",
    "trace --from 2 --to 40 --limit 5 in",
    "trace --level all --device 0 in",
    "leaks in",
    "leaks --capacity 80GiB --frames all in",
    "leaks --level all --limit 1 in",
    "leaks --level cuda --from 1 in",
    "peak in",
    "peak --at end --frames all in",
    "peak --at reserved-peak --by annotation in",
    "peak --at 3 --by metadata in",
    "peak --at oom --by layer in",
    "peak --by forward --to 30 in",
    "peak --by compile in",
    "peak --by fx in",
    "peak --level cuda --by library in",
    "peak --level all in",
    "peak --target 1MiB in",
    "lines in",
    "lines --source auto --by layer in",
    "lines --level cuda --by library in",
    "lines --from 0.001s in",
    "fragmentation in",
    "fragmentation --at end --frames all in",
    "fragmentation --at 5 in",
    "ledger in",
    "ledger --at end in",
    "ledger --at 2 in",
    "oom in",
    "oom --frames all --limit 1 in",
    "whatif in",
    "whatif --conf expandable_segments:True --capacity 1GiB in",
    "whatif --conf garbage_collection_threshold:0.5,max_split_size_mb:32 --capacity 64MiB in",
    "whatif --conf roundup_power2_divisions:4 --conf pinned_use_cuda_host_register:True in",
    "memory in",
    "memory --at peak --by line --depth 3 in",
    "memory --at 7 --frames all in",
    "memory --level all --by library in",
    "ranks in",
    "ranks in second in",
    "ranks --frames all second in",
    "diff in in",
    "diff in second",
    "diff second in",
    "diff --at end --frames all in second",
    "diff --level all --from 1 in in",
    "dump --chunks in",
    "floor in",
    "floor --device 0 in",
    "memory --by module in",
    "whatif --drop /a/ --scale /b/=0.5 --half /c/ in",
    "whatif --recompute /o/ --free-early /a/ --prealloc 1MiB --one-stream in",
    "whatif --cpu /e/ --zero 2 --ranks 8 --empty-cache-each 2 in",
    "peak --at low in",
    "peak --with ops in",
    "peak --with in paired",
    "lines --with ops in",
    "trace --with ops in",
    "leaks --with ops in",
};
enum { REPORTS = sizeof reports / sizeof *reports };

/* Reads the output, on standard output or in the file "out.*". */
static const struct {
    const char *words;
    enum { FOLDED, SHEET, JSON, PERFETTO, DATABASE, SAME, SAME_PLAIN, SUMMARY } is;
} writings[] = {
    {"memory --at peak in -o -", FOLDED},
    {"memory --frames all --level cuda in -o -", FOLDED},
    {"segments in -o -", FOLDED},
    {"segments --at reserved-peak --frames all in -o -", FOLDED},
    {"export --format folded in -o -", FOLDED},
    {"export --format speedscope in -o -", JSON},
    {"export --format speedscope --frames all --at peak in -o -", JSON},
    {"export --format perfetto in -o -", PERFETTO},
    {"export --format perfetto --level all in -o -", PERFETTO},
    {"export --format sqlite in -o -", DATABASE},
    {"export --format csv in -o -", SHEET},
    {"export --format csv --table events in -o -", SHEET},
    {"export --format csv --table stacks in -o -", SHEET},
    {"export --format csv --table annotations in -o -", SHEET},
    {"export --format csv --table facts in -o -", SHEET},
    {"export --format csv --table api_calls in -o -", SHEET},
    {"convert -q in out.bin", SAME},
    {"convert -q in out.msgpack", SAME_PLAIN},
    {"summarize in -o out.summary", SUMMARY},
};
enum { WRITINGS = sizeof writings / sizeof *writings };

static mvt_ran run(mv_kept_files *kept, const char *format, const char *words)
{
    char line[512];

    snprintf(line, sizeof line, format, words);
    mvt_ran ran = mvt_program(line, kept);
    if (ran.status < MV_EXIT_DONE || ran.status > MV_EXIT_FAILED)
        mvt_stop("status %d: %s", ran.status, (const char *)ran.err.data);
    mvt_check_messages(ran.status, ran.err);
    return ran;
}

static const mv_command *command_of(const char *words)
{
    char name[32];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(words, " "), words);
    return mv_command_find(name);
}

static void put_csv(const char *words, uint64_t hash)
{
    char line[512], paths[MV_TABLE_PATHS], *rest = paths, *path = NULL, *chosen = NULL;
    uint32_t count = 0;

    mv_table_paths(command_of(words)->report, paths);
    while ((path = strtok_r(rest, " ,", &rest)))
        chosen = hash % ++count == 0 ? path : chosen;
    snprintf(line, sizeof line, "%s --csv --table %s", words, chosen);
    mvt_ran ran = run(NULL, "%s", line);
    if (ran.status == MV_EXIT_DONE)
        mvt_check_csv(words, ran.out);
}

static void report(mv_kept_files *kept, const char *words, uint64_t hash)
{
    bool has_tables = command_of(words)->report;
    mvt_ran ran;

    switch (has_tables ? hash % 3 : 0) {
    case 0:
        ran = run(kept, "%s", words);
        mvt_check_text(words, ran.out);
        break;
    case 1:
        ran = run(kept, "%s --json", words);
        if (ran.status == MV_EXIT_DONE)
            cJSON_Delete(mvt_check_json(words, ran.out));
        break;
    default:
        put_csv(words, hash / 3);
    }
}

/* Returns the text of a dump, allocated with malloc. */
static char *dump(mv_kept_files *kept, const char *words)
{
    mvt_ran ran = run(kept, "%s", words);

    if (ran.status != MV_EXIT_DONE)
        mvt_stop("what was written cannot be read: %s", (const char *)ran.err.data);
    char *text = strdup((const char *)ran.out.data);
    if (!text)
        abort();
    return text;
}

/* The two files must have the same contents. */
static void compare(mv_kept_files *kept, const char *dump_in, const char *dump_out)
{
    char *in = dump(kept, dump_in), *out = dump(NULL, dump_out);

    if (strcmp(in, out) != 0)
        mvt_stop("what was written is read back as something else");
    free(in);
    free(out);
}

/* PyTorch's dict has no place for calls, samples and facts. */
static bool fits_plain(const mv_trace *trace)
{
    return trace->facts.count + trace->api_calls.count + trace->heap_calls.count +
               trace->samples.count ==
           0;
}

static void check_summary(void)
{
    mv_span first = mvt_folder_read("out.summary"), second;
    mvt_ran ran = run(NULL, "%s", "ranks --json out.summary");

    if (ran.status != MV_EXIT_DONE)
        mvt_stop("the summary cannot be read: %s", (const char *)ran.err.data);
    cJSON_Delete(mvt_check_json("ranks of the summary", ran.out));
    if (run(NULL, "%s", "summarize out.summary -o again.summary").status != MV_EXIT_DONE)
        mvt_stop("the summary cannot be summarized: %s", (const char *)ran.err.data);
    second = mvt_folder_read("again.summary");
    if (first.length != second.length || memcmp(first.data, second.data, first.length) != 0)
        mvt_stop("the summary of a summary is another one");
    free((void *)(uintptr_t)first.data);
    free((void *)(uintptr_t)second.data);
}

static void run_some(mv_kept_files *kept, const mv_trace *trace, uint64_t hash)
{
    uint64_t rows = mvt_rows(trace), count = ROWS_OF_ALL / (rows + 1);

    if (rows > MOST_ROWS)
        return;
    count = count < MOST_REPORTS ? count : MOST_REPORTS;
    for (uint64_t i = 0; i < count; i++)
        report(kept, reports[(hash + i * STRIDE) % REPORTS], (hash >> 16) + i);
    for (uint64_t i = 0; i < (count + 1) / 2; i++) {
        unsigned which = (unsigned)(((hash >> 32) + i * STRIDE) % WRITINGS);
        const char *words = writings[which].words;
        mvt_memory_tidy();
        mvt_ran ran = run(kept, "%s", words);
        if (ran.status != MV_EXIT_DONE) {
            if (mvt_memory_tidy() != 0)
                mvt_stop("a file was left");
            continue;
        }
        switch (writings[which].is) {
        case FOLDED:
            mvt_check_folded(ran.out);
            break;
        case SHEET:
            mvt_check_csv(words, ran.out);
            break;
        case JSON:
            cJSON_Delete(mvt_check_json(words, ran.out));
            break;
        case PERFETTO:
            mvt_check_protobuf(words, ran.out);
            break;
        case DATABASE:
            mvt_check_sqlite(ran.out);
            break;
        case SAME:
            compare(kept, "dump --calls in", "dump --calls out.bin");
            break;
        case SAME_PLAIN:
            if (fits_plain(trace))
                compare(kept, "dump in", "dump out.msgpack");
            break;
        case SUMMARY:
            check_summary();
            break;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mv_kept_files kept = {0};
    uint64_t hash = XXH3_64bits(data, size);

    mvt_memory_copy("second", "snapshots/oom.pickle");
    mvt_memory_copy("paired", "tools/pair.pickle.gz");
    mvt_memory_copy("ops", "tools/pair.json.gz");
    mvt_memory_file("in", (mv_span){data, size});
    if (run(&kept, "%s", "dump in").status == MV_EXIT_DONE) {
        mv_trace trace = kept.file[0].trace;
        const char *why = mvt_unsound(&trace);
        if (why)
            mvt_stop("unsound trace: %s", why);
        run_some(&kept, &trace, hash);
    }
    mv_kept_files_release(&kept);
    mvt_memory_tidy();
    return 0;
}
