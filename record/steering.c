#include "record/steering.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/text.h"
#include "record/recording.h"

enum { LOW_PRIORITY = 10 };

static bool say(char *answer, const char *format, const char *what)
{
    snprintf(answer, MV_CONTROL_ANSWER, format, what);
    return true;
}

static const char *state_of(const mv_steering *s)
{
    return s->is_stopped ? "stopped" : s->is_paused ? "paused" : "recording";
}

static bool answer_status(const mv_recording *r, char *answer)
{
    mv_run_counts counts = mv_run_status_counts(&r->status);
    const mv_ring_bounds *bounds = &r->rings.bounds;

    snprintf(answer, MV_CONTROL_ANSWER,
             "state %s\nmarks %u\nloaded %u\nopened %u\nfailed %u\nmax_size %llu\n"
             "max_age_us %llu\nkept_files %u\nlive %s\n",
             state_of(&r->steering), r->steering.marks.count, counts.loaded, counts.opened,
             counts.failed, (unsigned long long)bounds->max_size,
             (unsigned long long)bounds->max_age_us, r->triggers.kept, r->names.live);
    return true;
}

static bool add_mark(mv_recording *r, const char *text, char *answer)
{
    if (mv_run_marks_add(r->arena, &r->steering.marks, text))
        return say(answer, "%s", "ok\n");
    return say(answer, "error there are %s marks already\n", "4,096");
}

static bool set_pause(mv_recording *r, bool is_paused, char *answer)
{
    mv_steering *s = &r->steering;

    if (s->is_stopped)
        return say(answer, "error the recording was %s\n", "stopped");
    if (s->is_paused == is_paused)
        return say(answer, "error the recording is %s\n",
                   is_paused ? "paused already" : "not paused");
    add_mark(r, is_paused ? MV_MARK_PAUSE : MV_MARK_RESUME, answer);
    s->is_paused = is_paused == (strcmp(answer, "ok\n") == 0);
    return true;
}

static bool stop(mv_recording *r, char *answer)
{
    r->steering.is_stopped = true;
    atomic_store(&r->status.page->is_stopped, 1);
    return say(answer, "%s", "ok\n");
}

/* ---- snapshots --------------------------------------------------------------------------- */

static void send_line(int link, const char *format, const char *path, const char *what)
{
    char line[2 * PATH_MAX];
    int length = snprintf(line, sizeof line, format, path, what);

    if (length > 0)
        send(link, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1,
             MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool is_wanted(const mv_run_file *file, uint64_t pid)
{
    return !file->refused && !file->is_empty && (pid == 0 || file->pid == pid);
}

static int open_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];

    snprintf(folder, sizeof folder, "%.*s", slash && slash > path ? (int)(slash - path) : 1,
             slash ? path : ".");
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Lists the files to copy, with the names that -o PATH would give them. Returns their number. */
static uint32_t list_wanted(mv_recording *r, uint64_t pid, const char *path, mv_run_file **files,
                            mv_err *err)
{
    mv_run_names names = r->names;
    uint32_t count, wanted = 0;

    snprintf(names.output, sizeof names.output, "%s", path);
    names.launch_rank = MV_NO_RANK_KNOWN;
    if (mv_run_names_list(r->arena, &r->names, files, &count, err) != MV_OK)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (is_wanted(&(*files)[i], pid))
            (*files)[wanted++] = (*files)[i];
    if (!wanted)
        mv_fail(err, MV_ABSENT, MV_NO_OFFSET, "there is no recording yet");
    else if (!mv_run_names_assign(r->arena, &names, *files, wanted))
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    return err->code == MV_OK ? wanted : 0;
}

static void write_snapshots(mv_recording *r, uint64_t pid, const char *path, int link)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    char text[MV_ERR_TEXT];
    mv_run_file *files;
    uint32_t count = list_wanted(r, pid, path, &files, &err);
    int folder = open_folder_of(path);

    if (err.code != MV_OK)
        send_line(link, "error %s%s\n", "", mv_err_text(&err, text));
    else if (folder < 0)
        send_line(link, "error %s: %s\n", path, strerror(errno));
    for (uint32_t i = 0; folder >= 0 && i < count; i++) {
        mv_finalised result;
        if (mv_recording_copy(r, &files[i], folder, &result, &err) == MV_OK)
            send_line(link, "written %s%s\n", files[i].result, "");
        else
            send_line(link, "error %s: %s\n", files[i].result, mv_err_text(&err, text));
    }
}

/* The default path of a snapshot: "train.bin" becomes "train.snapshot.2.bin". */
static void default_path(const mv_recording *r, char path[PATH_MAX])
{
    const char *output = r->names.output;
    size_t length = strlen(output);
    bool has_ending = mv_text_has_ending(output, ".bin");

    snprintf(path, PATH_MAX, "%.*s.snapshot.%u.bin", (int)(length - (has_ending ? 4 : 0)), output,
             r->steering.snapshots);
}

/* Writes the snapshot. Runs in a separate process, and does not return. */
static void write_and_exit(mv_recording *r, uint64_t pid, const char *path, int link)
{
    char beside[PATH_MAX];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, LOW_PRIORITY);
    default_path(r, beside);
    write_snapshots(r, pid, *path ? path : beside, link);
    _exit(0);
}

static pid_t *free_writer(mv_steering *s)
{
    for (uint32_t i = 0; i < MV_MOST_SNAPSHOTS; i++)
        if (s->writers[i] == 0 || waitpid(s->writers[i], NULL, WNOHANG) != 0)
            return &s->writers[i];
    return NULL;
}

static bool snapshot(mv_recording *r, const char *arguments, int link, char *answer)
{
    pid_t *writer = free_writer(&r->steering);
    uint64_t pid;

    if (!mv_number_take(&arguments, 10, &pid) || *arguments != ' ')
        return say(answer, "error %s\n", "expected snapshot PID PATH");
    if (!writer)
        return say(answer, "error %s snapshots are being written: wait for one\n", "4");
    r->steering.snapshots++;
    *writer = fork();
    if (*writer == 0)
        write_and_exit(r, pid, arguments + 1, link);
    if (*writer > 0)
        return false;
    *writer = 0;
    return say(answer, "error cannot start a process for the snapshot: %s\n", strerror(errno));
}

void mv_steering_finish(mv_steering *steering)
{
    for (uint32_t i = 0; i < MV_MOST_SNAPSHOTS; i++)
        if (steering->writers[i] > 0)
            waitpid(steering->writers[i], NULL, 0);
}

bool mv_steering_answer(void *recording, const char *line, int link, char *answer)
{
    mv_recording *r = recording;

    if (strcmp(line, "status") == 0)
        return answer_status(r, answer);
    if (strncmp(line, "mark ", 5) == 0)
        return add_mark(r, line + 5, answer);
    if (strcmp(line, "pause") == 0 || strcmp(line, "resume") == 0)
        return set_pause(r, *line == 'p', answer);
    if (strcmp(line, "stop") == 0)
        return stop(r, answer);
    if (strncmp(line, "snapshot ", 9) == 0)
        return snapshot(r, line + 9, link, answer);
    return say(answer, "error %s\n", "unknown request");
}
