/* memviz attach: records a Python process that is already running. */
#include <inttypes.h>
#include <signal.h>

#include "base/duration.h"
#include "base/text.h"
#include "base/texts.h"
#include "cli/complain.h"
#include "cli/progress.h"
#include "cli/report/table.h"
#include "record/attach.h"

enum { DEFAULT_SECONDS = 60, ANSWER_SECONDS = 60, MOST_ENTRIES = 1000000 };

typedef struct {
    const char *path;
    uint64_t events;
} written;

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)   \
    MEMBER("written", mv_value_text(w->path)) \
    MEMBER("events", mv_value_u64(w->events))

MV_LIST_REPORT(list_report, written, w, REPORT_FIELDS)

const mv_table mv_report_attach = {MV_TABLE(REPORT_FIELDS, list_report)};

static volatile sig_atomic_t interrupted; /* number of interrupts so far */

static void note_interrupt(int number)
{
    (void)number;
    interrupted++;
}

typedef struct {
    mv_progress progress;
    int64_t start_us, limit_us;
    int allowed; /* number of interrupts that must not end the wait */
} waiting;

static void begin_wait(waiting *w, const char *what, int64_t limit_us, int allowed, bool is_quiet)
{
    mv_progress_start(&w->progress, what, is_quiet);
    *w = (waiting){w->progress, mv_now_us(), limit_us, allowed};
}

/* An mv_attach_wait_fn. */
static bool goes_on(void *user)
{
    waiting *w = user;
    int64_t passed = mv_now_us() - w->start_us;

    mv_progress_show(&w->progress, (uint64_t)passed, (uint64_t)w->limit_us);
    return passed < w->limit_us && interrupted <= w->allowed;
}

/* Waits until the time in --for has passed, the process ends, or the user interrupts the
 * recording. */
static void record(const mv_cli *cli, const mv_attach *attach, waiting *w)
{
    struct timespec pause = {.tv_nsec = 100 * 1000000};
    uint64_t us = cli->options.for_us ? cli->options.for_us : DEFAULT_SECONDS * UINT64_C(1000000);

    begin_wait(w, "memviz: recording (Ctrl-C ends it)", (int64_t)us, 0,
               mv_option_given(&cli->options, MV_HAS(QUIET)));
    while (goes_on(w) && mv_attach_is_alive(attach)) {
        int64_t left = w->limit_us - (mv_now_us() - w->start_us);
        if (left < 100000)
            pause.tv_nsec = left > 0 ? (long)left * 1000 : 0;
        nanosleep(&pause, NULL);
    }
    mv_progress_end(&w->progress);
}

static int attach_to(mv_cli *cli, pid_t pid, const char *path)
{
    bool is_quiet = mv_option_given(&cli->options, MV_HAS(QUIET));
    int64_t answer_us = ANSWER_SECONDS * INT64_C(1000000);
    mv_err err = {.offset = MV_NO_OFFSET};
    written w = {.path = path};
    waiting wait;
    mv_attach attach;

    begin_wait(&wait, "memviz: waiting for the process", answer_us, 1, is_quiet);
    mv_attach_start(&attach, pid, MOST_ENTRIES, goes_on, &wait, &err);
    mv_progress_end(&wait.progress);
    if (err.code == MV_OK) {
        if (!attach.is_ours && !is_quiet)
            mv_complain_of(NULL, "process %d was already recording: its recorder was left on",
                           (int)pid);
        record(cli, &attach, &wait);
        begin_wait(&wait, "memviz: waiting for the snapshot", answer_us, interrupted, is_quiet);
        mv_attach_finish(&attach, path, goes_on, &wait, &w.events, &err);
        mv_progress_end(&wait.progress);
        if (attach.is_ours && mv_attach_is_alive(&attach))
            mv_complain_of(NULL,
                           "the recorder in process %d could not be stopped: it keeps the last "
                           "%d events until the program ends",
                           (int)pid, MOST_ENTRIES);
    }
    mv_attach_close(&attach);
    if (err.code != MV_OK)
        return mv_complain(NULL, &err);
    if (mv_table_is_wanted(cli))
        return mv_table_put(cli, &w);
    if (!is_quiet) {
        char events[MV_COUNT_TEXT];
        mv_out_clean(&cli->out, mv_text_span(path));
        mv_out_format(&cli->out, ": %s event%s\n", mv_count_text(events, w.events),
                      mv_plural(w.events));
    }
    return MV_EXIT_DONE;
}

int mv_cmd_attach(mv_cli *cli)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction note = {.sa_handler = note_interrupt}, before[3];
    const char *word = cli->options.file[0], *path = cli->options.output;
    char beside[64];
    uint64_t pid;
    int status;

    if (!mv_number_read(word, &pid) || pid == 0 || pid > INT32_MAX)
        return mv_complain_usage("attach", "'%s' is not a process ID", word);
    if (!path) {
        snprintf(beside, sizeof beside, "memviz.%" PRIu64 ".pickle", pid);
        path = beside;
    }
    for (int i = 0; i < 3; i++)
        sigaction(numbers[i], &note, &before[i]);
    status = attach_to(cli, (pid_t)pid, path);
    for (int i = 0; i < 3; i++)
        sigaction(numbers[i], &before[i], NULL);
    return status;
}
