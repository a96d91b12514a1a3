/* libFuzzer target: any bytes as a file, from which every kind of picture is drawn.
 *
 *     input       the bytes are the file: its reader is found by probing, as for any command
 *     variant     a hash of the bytes chooses command, format and options (PICTURES runs an input)
 *
 * The commands run as from a command line, in a folder in memory, on a file with a hostile name.
 * SVG files and pages must be strict markup (tests/fuzz/markup_check.h), in which no element,
 * attribute or script comes from the file. A PNG must be readable and have the scene's size. Every
 * coordinate must be finite, and a picture's size is limited (written_files.h). A failure must give
 * its reason in one line and leave no file. All memory must be returned. */
#include <stdlib.h>

#include "analyze/thin/thin.h"
#include "base/texts.h"
#include "cli/commands.h"
#include "parse/writers.h"
#include "tests/fixture/in_process.h"
#include "tests/fuzz/check_output.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/written_files.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PICTURES = 2, MOST_WORDS = 32 };
#define NAME  "<svg onload=x>&\"'\x1b]0;x\xff.pickle"
#define OTHER "other.bin"

static const struct {
    const char *words[4];
    bool of_moment, of_two;
} pictures[] = {
    {{"trace_plot"}, false, false},
    {{"trace_plot", "--view", "segments"}, false, false},
    {{"trace_plot", "--view", "pools"}, false, false},
    {{"trace_plot", "--view", "state"}, true, false},
    {{"segment_plot"}, false, false},
    {{"segment_plot", "--view", "state"}, true, false},
    {{"segment_plot", "--by", "line"}, false, false},
    {{"memory"}, true, false},
    {{"segments"}, true, false},
    {{"diff"}, true, true},
};
static const char *const formats[] = {"o.svg", "o.svg", "o.png", "o.html", "o.folded"};
static const char *const sizes[] = {"1x1",     "2x3",     "64x48",  "200x100",
                                    "800x360", "900x400", "1200x9", "9x900"};
static const char *const filters[] = {"size>1k",    "leak",       "cat:optimizer", "-stream:0",
                                      "/a.*[b/",    "/[a-z]+:1/", "pool:1,0",      "nostack",
                                      "life:never", "<&\"'>",     "site:a.py:1",   "life<10"};
static const char *const moments[] = {"end", "peak", "reserved-peak", "oom",
                                      "0",   "3",    "0.1s",          "@a"};
static const char *const levels[] = {"pytorch", "cuda", "host", "all", "rmm", "xla"};
static const char *const titles[] = {"</title><script>alert(1)</script>",
                                     "\x01\x1b[2J\xc2\x9b",
                                     "]]>-->&#0;&lt;",
                                     "\xff\xfe\xef\xbf\xbf",
                                     "\"'><svg/onload=x>",
                                     ""};
static const char *const tops[] = {"1", "3", "100000"};
static const char *const places[] = {"1", "0.001s", "5", "100"};

#define PICK(random, list) (list)[next(random) % (sizeof(list) / sizeof *(list))]

static uint32_t next(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 33);
}

typedef struct {
    int count;
    char *word[MOST_WORDS];
    char room[MOST_WORDS][64];
} command_line;

static void add(command_line *line, const char *word)
{
    snprintf(line->room[line->count], sizeof *line->room, "%s", word);
    line->word[line->count] = line->room[line->count];
    line->word[++line->count] = NULL;
}

static void add_option(command_line *line, const mv_command *command, mv_option_id id,
                       const char *value)
{
    char word[sizeof *line->room];

    if (!(command->options & (MV_OPTION_BIT(id))) || !*value)
        return;
    snprintf(word, sizeof word, "--%s", mv_option_table[id].name);
    add(line, word);
    add(line, value);
}

/* One picture in ten is drawn with a small memory limit, so that it usually runs out. */
static uint64_t memory_of(uint64_t *random)
{
    return next(random) % 10 ? 256u << 20 : (next(random) % 2048 + 1) << 12;
}

/* Runs the command as main does. Returns its exit status, and its messages in *said. */
static int run(command_line *line, uint64_t memory, char **said)
{
    const mv_command *command = mv_command_find(line->word[0]);
    mv_cli *cli = calloc(1, sizeof *cli);
    mv_err err = {0};
    char why[400];
    size_t length;
    FILE *kept = stderr;
    int status = MV_EXIT_USAGE;

    stderr = open_memstream(said, &length);
    if (!cli || !stderr)
        mvt_finding("no memory", "");
    cli->command = command;
    cli->budget.limit = memory;
    mv_arena_init(&cli->arena, &cli->budget);
    mv_arena_init(&cli->scratch, &cli->budget);
    if (!mv_options_read(command->options | MV_COMMON_OPTIONS, line->count, line->word,
                         &cli->options, why, sizeof why))
        fprintf(stderr, "memviz: %s\n", why);
    else if (mv_out_open(&cli->out, command->writes_file ? "report" : cli->options.output, &err) ==
             MV_OK) {
        status = command->run(cli);
        if (mv_exit_has_report(status))
            status = mv_out_close(&cli->out, &err) == MV_OK ? status : MV_EXIT_FAILED;
        else
            mv_out_abort(&cli->out);
    }
    mv_arena_release(&cli->arena);
    mv_arena_release(&cli->scratch);
    fclose(stderr);
    stderr = kept;
    if (cli->budget.used != 0)
        mvt_finding("memory that was not released", line->word[0]);
    free(cli);
    return status;
}

/* Writes the same trace with only half of its events, for pictures that show a difference. */
static bool put_other(mv_span bytes)
{
    mv_budget budget = {.limit = 64 << 20};
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_thinned half;
    mv_arena arena;
    mv_trace trace;
    mv_sink sink = {0};
    uint64_t events = 0;
    bool is_put = false;

    mv_arena_init(&arena, &budget);
    if (mv_trace_read_bytes(&arena, bytes, &trace, &err) == MV_OK) {
        for (uint32_t i = 0; i < trace.device_count; i++)
            events += trace.devices[i].events.count;
        is_put =
            mv_trace_downsample(&arena, &trace, events / 2, &half, &err) == MV_OK &&
            mv_sink_open(&sink, OTHER, &err) == MV_OK &&
            mv_snapshot_write(&arena, &half.trace, &(mv_write_opts){0}, &sink, &err) == MV_OK &&
            mv_sink_commit(&sink, &err) == MV_OK;
        mv_sink_abort(&sink);
    }
    mv_arena_release(&arena);
    return is_put;
}

static void draw(mv_span bytes, uint64_t *random)
{
    uint32_t which = next(random) % (sizeof pictures / sizeof *pictures);
    const char *output = PICK(random, formats);
    command_line line = {0};
    char *said;

    if (pictures[which].of_two && !put_other(bytes))
        which = 0;
    const mv_command *command = mv_command_find(pictures[which].words[0]);
    for (int i = 0; i < 4 && pictures[which].words[i]; i++)
        add(&line, pictures[which].words[i]);
    if (strcmp(output, "o.html") == 0 && !(command->options & MV_HAS(MOST_EVENTS)))
        output = "o.svg"; /* diff writes no pages */
    add(&line, "-o");
    add(&line, output);
    /* Options for the picture; most inputs have only a few. */
    uint32_t bits = next(random) & next(random);
    if (next(random) % 4 == 0)
        add(&line, "-q");
    if (next(random) % 16)
        add_option(&line, command, MV_OPTION_SIZE, PICK(random, sizes));
    if (bits & 1)
        add_option(&line, command, MV_OPTION_FILTER, PICK(random, filters));
    if (bits & 2)
        add_option(&line, command, MV_OPTION_TOP, PICK(random, tops));
    if (bits & 4)
        add_option(&line, command, MV_OPTION_TITLE, PICK(random, titles));
    if (bits & 8)
        add_option(&line, command, MV_OPTION_THEME, "dark");
    if (bits & 16)
        add_option(&line, command, MV_OPTION_FRAMES, "all");
    if (bits & 32)
        add_option(&line, command, MV_OPTION_LEVEL, PICK(random, levels));
    if (bits & 64)
        add_option(&line, command, MV_OPTION_DEVICE, "0");
    if ((bits & 128) && pictures[which].of_moment)
        add_option(&line, command, MV_OPTION_AT, PICK(random, moments));
    if ((bits & 128) && !pictures[which].of_moment)
        add_option(&line, command, next(random) % 2 ? MV_OPTION_FROM : MV_OPTION_TO,
                   PICK(random, places));
    if (bits & 256)
        add_option(&line, command, MV_OPTION_MOST_EVENTS, "4");
    if (pictures[which].of_two)
        add(&line, OTHER);
    add(&line, NAME);
    int status = run(&line, memory_of(random), &said);
    mvt_check_messages(status, mv_text_span(said));
    free(said);
    mvt_check_written(output, status == MV_EXIT_DONE);
    mv_span report = mvt_folder_take("report");
    free((void *)(uintptr_t)report.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t random = XXH3_64bits(data, size);

    mvt_folder_enter();
    mvt_put_page();
    mvt_folder_put(NAME, (mv_span){data, size});
    for (int i = 0; i < PICTURES; i++)
        draw((mv_span){data, size}, &random);
    mvt_folder_leave();
    return 0;
}
