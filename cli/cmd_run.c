/* memviz run: runs a program under the shim and writes what was recorded to files. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/size.h"
#include "cli/complain.h"
#include "cli/finalise.h"
#include "record/launch.h"

enum { SAMPLE_MS = 100, PATIENCE_MS = 1000 };

typedef struct {
    mv_cli *cli;
    mv_run_names names;
    mv_nvml nvml;
    bool is_sampling;
} recording;

/* NVML is loaded only after the program has started: loading takes a while and must not delay it.
 */
static void sample(void *user)
{
    recording *r = user;

    if (!r->is_sampling)
        mv_nvml_open(&r->cli->arena, &r->nvml);
    r->is_sampling = true;
    mv_nvml_sample(&r->nvml);
}

/* ---- what was recorded ------------------------------------------------------------------- */

static uint32_t count_running(const mv_run_file *files, uint32_t count)
{
    uint32_t running = 0;

    for (uint32_t i = 0; i < count; i++)
        running += files[i].is_running;
    return running;
}

/* Worker processes may end a little later than the program that started them. */
static mv_code list_files(recording *r, mv_run_file **files, uint32_t *count, mv_err *err)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000000};

    for (int waited = 0;; waited += 50) {
        mv_code code = mv_run_names_list(&r->cli->arena, &r->names, files, count, err);
        if (code != MV_OK || waited >= PATIENCE_MS || count_running(*files, *count) == 0)
            return code;
        nanosleep(&pause, NULL);
    }
}

/* 48,210 */
static const char *grouped(char text[32], uint64_t value)
{
    char digits[20];
    uint32_t count = mv_digits(digits, value), at = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
    return text;
}

static void put_closing_line(const mv_run_file *file, const mv_finalised *done)
{
    char events[32], bytes[MV_SIZE_TEXT], lost[32];

    mv_complain_of(NULL, "%s event%s, %s, %s lost: %s", grouped(events, done->events),
                   done->events == 1 ? "" : "s", mv_size_text(bytes, done->bytes),
                   grouped(lost, done->lost), file->result);
    if (*done->stopped)
        mv_complain_of(NULL, "the recording stopped before the program ended: %s: %s",
                       done->stopped, file->result);
}

static void finalise_all(recording *r, const mv_run_file *files, uint32_t count)
{
    bool quiet = mv_option_given(&r->cli->options, MV_HAS(QUIET));
    mv_finalised done;
    mv_err err;

    for (uint32_t i = 0; i < count; i++) {
        if (files[i].refused) {
            mv_complain_of(NULL, "ignored, because %s: %s", files[i].refused, files[i].path);
        } else if (files[i].is_empty && !files[i].is_running) {
            mv_complain_of(NULL,
                           "nothing was recorded of process %u: its file is empty (no space, or "
                           "emptied by someone)",
                           files[i].pid);
            mv_run_names_remove(&r->names, &files[i]);
        } else if (files[i].is_running) {
            mv_complain_of(NULL, "process %u is still running and recording: %s", files[i].pid,
                           files[i].path);
        } else if (mv_finalise(r->cli, &r->names, &files[i], &r->nvml, &done, &err) != MV_OK) {
            mv_complain(files[i].result, &err);
            mv_complain_of(NULL, "the recording was left as it is: %s", files[i].path);
        } else if (!quiet) {
            put_closing_line(&files[i], &done);
        }
    }
}

/* The shim in a program that cannot make its file has no way to report it, so the reason is guessed
 * here. */
static void explain_nothing(const recording *r)
{
    const char *program = r->cli->options.file[0];
    const char *why = mv_launch_obstacle(program);
    bool cpu = mv_option_given(&r->cli->options, MV_HAS(CPU));
    int folder = (int)(strrchr(r->names.live, '/') - r->names.live);

    if (mv_option_given(&r->cli->options, MV_HAS(QUIET)))
        return;
    if (why)
        mv_complain_of(NULL, "nothing was recorded: %s", why);
    else
        mv_complain_of(
            NULL,
            "nothing was recorded: no CUDA call and no allocation of PyTorch%s was seen"
            "%s, or the program could not make, or did not keep, a file in %.*s (another "
            "user, a chroot, no free descriptor)",
            cpu ? "" : " on a GPU", cpu ? "" : " (tensors on the CPU are recorded with --cpu)",
            folder ? folder : 1, r->names.live);
}

/* Failures here are only messages: the exit status is always that of the program. */
static void collect(recording *r)
{
    mv_run_file *files;
    uint32_t count;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (list_files(r, &files, &count, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return;
    }
    if (count == 0)
        explain_nothing(r);
    if (mv_run_names_assign(&r->cli->arena, &r->names, files, count))
        finalise_all(r, files, count);
    else
        mv_complain_of(NULL, "the recordings were left as they are: %s.*.live", r->names.live);
}

int mv_cmd_run(mv_cli *cli)
{
    recording r = {.cli = cli};
    mv_err err = {.offset = MV_NO_OFFSET};
    char shim[PATH_MAX];
    int status;
    mv_launch launch = {.argv = cli->options.file,
                        .shim = shim,
                        .live = r.names.live,
                        .stacks = cli->options.stacks ? cli->options.stacks : "python",
                        .cpu = mv_option_given(&cli->options, MV_HAS(CPU)),
                        .wait_free = mv_option_given(&cli->options, MV_HAS(WAIT_FREE)),
                        .tick = sample,
                        .user = &r,
                        .tick_ms = SAMPLE_MS};

    if (mv_launch_shim(shim, sizeof shim, &err) != MV_OK ||
        mv_run_names_make(cli->options.output, &r.names, &err) != MV_OK)
        return mv_complain(NULL, &err);
    if (mv_launch_run(&launch, &status, &err) == MV_OK)
        collect(&r);
    else
        mv_complain(NULL, &err);
    mv_nvml_close(&r.nvml);
    mv_run_names_close(&r.names);
    return status;
}
