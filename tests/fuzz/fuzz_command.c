/* libFuzzer target: any bytes as a command line, with one word per line, up to an empty line. The
 * remaining bytes are the file "in", which is also standard input. The program runs in this
 * process, in a folder in memory that contains "in" and some small real files.
 *
 * Words are changed as words (LLVMFuzzerCustomMutator): commands, options, their values and files
 * are taken from the program's own tables.
 *
 * The status, messages and outputs are checked. A command that fails must leave every file
 * unchanged, and the state of the process must not change. `run` finds no program that it could
 * start. */
#include "cli/commands.h"
#include "tests/fixture/in_process.h"
#include "tests/fuzz/check_output.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/target.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_WORDS = 24, MOST_WORD = 200, MOST_LINES = 2048, MOST_IN = 8192 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));

/* An input's words, each ended by a NUL in `text`. */
typedef struct {
    char text[MOST_LINES];
    const char *word[MOST_WORDS];
    int count;
    mv_span in; /* the bytes after the words */
} command_line;

static void read_words(const uint8_t *data, size_t size, command_line *out)
{
    size_t at = 0, used = 0;

    out->count = 0;
    while (at < size && data[at] != '\n') {
        const uint8_t *stop = memchr(data + at, '\n', size - at);
        size_t length = stop ? (size_t)(stop - data) - at : size - at;
        if (out->count < MOST_WORDS && length < MOST_WORD && used + length < sizeof out->text) {
            memcpy(out->text + used, data + at, length);
            out->text[used + length] = 0;
            out->word[out->count++] = out->text + used;
            used += length + 1;
        }
        at += length + (stop != NULL);
    }
    at += at < size;
    out->in = (mv_span){data + at, size - at < MOST_IN ? size - at : MOST_IN};
}

/* ---- commands that are not run
 * ----------------------------------------------------------------- */

static bool begins(const char *word, const char *begin)
{
    return strncmp(word, begin, strlen(begin)) == 0;
}

/* Refuses command lines that could touch anything outside the folder, change the memory limit set
 * below, run a script that could wait, or open a port. */
static bool is_refused(const command_line *line)
{
    for (int i = 0; i < line->count; i++) {
        const char *word = line->word[i];
        if ((strchr(word, '/') && !begins(word, "--filter=/") && strcmp(word, "no/such") != 0) ||
            begins(word, "--ma") || begins(word, "--scr") || begins(word, "--me"))
            return true;
    }
    return line->count == 0;
}

static bool has(const command_line *line, const char *begin)
{
    for (int i = 0; i < line->count; i++)
        if (begins(line->word[i], begin))
            return true;
    return false;
}

static bool is_command(const command_line *line, const char *name)
{
    const mv_command *command = mv_command_find(line->word[0]);

    return command && strcmp(command->name, name) == 0;
}

/* If some of several files or devices cannot be read, the report covers the others. */
static bool keeps_report(const command_line *line)
{
    return is_command(line, "ranks") || is_command(line, "triage") || is_command(line, "ledger") ||
           !mv_command_find(line->word[0]);
}

/* `serve` runs until a signal arrives. Here the signal has already arrived and is pending. */
static mvt_ran run(const char *const *words, int count, mv_span in)
{
    static const struct timespec now;
    sigset_t ends, before, after;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    raise(SIGTERM);
    mvt_ran ran = mvt_program_words(NULL, words, count, in, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int signal = 1; signal < SIGRTMIN; signal++)
        if (sigismember(&before, signal) != sigismember(&after, signal))
            mvt_stop("signal %d is blocked, or not, as it was not before", signal);
    sigtimedwait(&ends, NULL, &now);
    pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
    return ran;
}

static void check_lines_of_json(mv_span text)
{
    const char *at = (const char *)text.data, *end = at + text.length, *stop;

    for (; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            mvt_stop("a line of JSON without an end");
        char *line = strndup(at, (size_t)(stop - at));
        cJSON_Delete(mvt_check_json("a line", (mv_span){(uint8_t *)line, strlen(line)}));
        free(line);
    }
}

static void check(const command_line *line, const mvt_ran *ran)
{
    const mv_command *command = mv_command_find(line->word[0]);
    bool is_run = command && command->starts_program;

    if (ran->status < 0 || ran->status > (is_run ? 255 : MV_EXIT_UNKNOWN))
        mvt_stop("status %d", ran->status);
    mvt_check_messages(is_run ? MV_EXIT_DONE : ran->status, ran->err);
    if (ran->out.length == 0)
        return;
    if (is_command(line, "mcp") && ran->out.data[0] == '{') /* not the command's help */
        check_lines_of_json(ran->out);
    else if (ran->out.data[0] == '{' && ran->status != MV_EXIT_FAILED)
        cJSON_Delete(mvt_check_json("standard output", ran->out));
    else if (!(command && command->writes_file) && !has(line, "--c") &&
             !is_command(line, "completion")) /* tabs separate words from their help */
        mvt_check_text("standard output", ran->out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *words[MOST_WORDS + 2];
    command_line line;
    int count = 0;

    read_words(data, size, &line);
    if (is_refused(&line))
        return 0;
    mvt_memory_copy("a.pickle", "snapshots/leak_cycle.pickle");
    mvt_memory_copy("b.bin", "captures/plain_oom.bin");
    mvt_memory_copy("c.pickle", "snapshots/oom.pickle");
    mvt_memory_copy("d.pickle", "tools/pair.pickle.gz");
    mvt_memory_copy("d.json", "tools/pair.json.gz"); /* of the run on d.pickle */
    mvt_memory_copy("n4", "fit/gpt_4.pickle.zst");
    mvt_memory_copy("n8", "fit/gpt_8.pickle.zst");
    static bool is_made;
    if (!is_made && mvt_program("summarize -q c.pickle -o d.summary", NULL).status != MV_EXIT_DONE)
        mvt_stop("no summary");
    if (!is_made)
        mvt_memory_file("d.summary", mvt_folder_read("d.summary"));
    is_made = true;
    mvt_memory_file("rules",
                    (mv_span){(const uint8_t *)"conv.* activation\nLinear parameter\n", 34});
    mvt_memory_file("in", line.in);
    words[count++] = line.word[0];
    words[count++] = "--max-memory=48M";
    words[count++] = "--max-disk=0";
    for (int i = 1; i < line.count; i++)
        words[count++] = line.word[i];
    if (is_command(&line, "view"))
        words[count++] = "--frames=2"; /* of --bench */
    mvt_ran ran = run(words, count, line.in);
    check(&line, &ran);
    if (mvt_memory_tidy() != 0 && (ran.status == MV_EXIT_FAILED || ran.status == MV_EXIT_USAGE) &&
        !keeps_report(&line))
        mvt_stop("it failed, and files are not as they were");
    return 0;
}

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*random >> 33) % below);
}

/* Returns one of the words in a list separated by spaces. */
static int word_of(const char *words, uint64_t *random, const char **out)
{
    uint32_t count = 1, which;

    for (const char *at = words; *at; at++)
        count += *at == ' ';
    for (which = draw(random, count); which; which--)
        words = strchr(words, ' ') + 1;
    *out = words;
    return (int)strcspn(words, " ");
}

static const char files[] =
    "in a.pickle b.bin c.pickle d.pickle d.json d.summary rules - . no.pickle no/such";
static const char outputs[] =
    "out.svg out.png out.html out.folded out.bin out.msgpack out.json out.csv out.sqlite "
    "out.pftrace out.summary out - a.pickle .";
static const char values[] =
    "0 1 2 7 -1 18446744073709551615 99999999999999999999 1.5 1.5s 0.001s 1e9 1KiB 64M "
    "80GiB 0x10 @ @ProfilerStep#3 @a#0 peak end oom oom#2 reserved-peak all user pytorch "
    "cuda host line fx layer library sites devices report 200x100 1x1 16384x16384 0x0 dark "
    "leak any,known peak>1MiB delta>1 reserved>0,unknown known expandable_segments:True "
    "max_split_size_mb:32,garbage_collection_threshold:0.5 roundup_power2_divisions:[256:1,>:4] "
    "backend:cudaMallocAsync perfetto speedscope folded csv sqlite events stacks auto always "
    "nan inf \xff\xfe \x1b[2J \xc2\x9b";
static const char filters[] =
    "--filter=leak --filter=size>1M --filter=/a.*b/ --filter=-/(/ --filter=life<10 "
    "--filter=stream:0 --filter=pool:1,0 --filter=addr:0x7f00 --filter=stack:1 "
    "--filter=nostack --filter=cat:optimizer --filter=site:train.py:62 --filter=";

/* Returns a random word, which may suit the line's command. */
static void put_word(FILE *out, const command_line *line, uint64_t *random)
{
    const mv_command *command = line->count ? mv_command_find(line->word[0]) : NULL;
    mv_option_set options = command ? command->options | MV_COMMON_OPTIONS : ~(mv_option_set)0;
    const char *word;
    uint32_t which = draw(random, 8);

    if (which < 4) {
        uint32_t id = draw(random, MV_OPTION_COUNT);
        for (uint32_t i = 0; draw(random, 20) && i < MV_OPTION_COUNT && !(options >> id & 1); i++)
            id = (id + 1) % MV_OPTION_COUNT;
        const mv_option *o = &mv_option_table[id];
        static const char equals_or_line[] = "=\n";
        const char *value;
        int length;
        fprintf(out, "--%.*s", draw(random, 20) ? 99 : 3, o->name);
        if (o->argument && draw(random, 30)) {
            fputc(equals_or_line[draw(random, 2)], out);
            length = word_of(o->letter == 'o'                   ? outputs
                             : o->words && draw(random, 4)      ? o->words
                             : strcmp(o->argument, "FILE") == 0 ? files
                                                                : values,
                             random, &value);
            fprintf(out, "%.*s", length, value);
        }
        fputc('\n', out);
    } else {
        int length = word_of(which < 6 ? files : which == 6 ? values : filters, random, &word);
        fprintf(out, "%.*s\n", length, word);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    uint64_t random = seed;
    command_line line;
    char *text = NULL;
    size_t length = 0;

    if (draw(&random, 4) == 0)
        return LLVMFuzzerMutate(data, size, most);
    read_words(data, size, &line);
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return size;
    /* Writes the words with one of them inserted, removed or replaced. */
    uint32_t at = draw(&random, (uint32_t)line.count + 1), how = draw(&random, 4);
    for (uint32_t i = 0; i <= (uint32_t)line.count; i++) {
        if (i == at && how < 3) {
            if (i == 0) {
                uint32_t count = 0;
                while (mv_commands[count].name)
                    count++;
                fprintf(out, "%s\n", mv_commands[draw(&random, count)].name);
            } else
                put_word(out, &line, &random);
        }
        if (i < (uint32_t)line.count && !(i == at && (how > 1 || i == 0)))
            fprintf(out, "%s\n", line.word[i]);
    }
    fputc('\n', out);
    fwrite(line.in.data, 1, line.in.length, out);
    if (fclose(out) == 0 && length <= most) {
        memcpy(data, text, length);
        size = length;
    }
    free(text);
    return size;
}
