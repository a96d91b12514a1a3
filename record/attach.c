#include "record/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/numbers.h"
#include "parse/source/sink.h"

/* The script that the process runs; `what` is start or finish. The script uses torch only if the
 * program has loaded it and uses CUDA, because importing torch or creating a context would change
 * the program. The answer is first written under a temporary name, so that it is complete as soon
 * as it appears under its own name. */
static const char script[] =
    "exec('''\n"
    "import os, sys\n"
    "def answer(text):\n"
    "    with open(folder + '/answer.part', 'w') as file:\n"
    "        file.write(text)\n"
    "    os.rename(folder + '/answer.part', folder + '/answer')\n"
    "def start():\n"
    "    torch = sys.modules.get('torch')\n"
    "    if torch is None or not hasattr(torch, 'cuda'):\n"
    "        return 'PyTorch is not loaded in it'\n"
    "    if not torch.cuda.is_initialized():\n"
    "        return 'PyTorch has not used a GPU in it yet'\n"
    "    if not hasattr(torch._C, '_cuda_isHistoryEnabled'):\n"
    "        return 'PyTorch ' + torch.__version__ + ' is too old; attaching needs 2.1'\n"
    "    if torch._C._cuda_isHistoryEnabled():\n"
    "        return 'on'\n"
    "    record = torch.cuda.memory._record_memory_history\n"
    "    options = {'enabled': 'all', 'context': 'all', 'stacks': 'python', 'max_entries': "
    "entries}\n"
    "    try:\n"
    "        record(global_record_annotations=True, **options)\n"
    "    except TypeError:\n"
    "        record(**options)\n"
    "    return 'ok'\n"
    "def finish():\n"
    "    memory = sys.modules['torch'].cuda.memory\n"
    "    try:\n"
    "        snapshot = memory._snapshot()\n"
    "    finally:\n"
    "        if is_ours:\n"
    "            memory._record_memory_history(enabled=None)\n"
    "    with open(folder + '/snapshot.pickle', 'wb') as file:\n"
    "        __import__('pickle').dump(snapshot, file)\n"
    "    return 'ok %%d' %% sum(map(len, snapshot['device_traces']))\n"
    "if os.path.isdir(folder):\n"
    "    try:\n"
    "        text = start() if what == 'start' else finish()\n"
    "    except BaseException as why:\n"
    "        text = type(why).__name__ + ': ' + ' '.join(str(why).split())\n"
    "    try:\n"
    "        answer(text)\n"
    "    except OSError:\n" /* memviz has stopped waiting */
    "        if what == 'start' and text == 'ok':\n"
    "            sys.modules['torch'].cuda.memory._record_memory_history(enabled=None)\n"
    "''', {'folder': '%s', 'what': '%s', 'entries': %u, 'is_ours': %s})\n";

/* Creates the folder in the process's /tmp, even if the process is in another container. */
static mv_code make_folder(mv_attach *attach, mv_err *err)
{
    pid_t pid = attach->python.pid;
    char of_process[64];
    struct stat owner;

    snprintf(of_process, sizeof of_process, "/proc/%d/root/tmp", (int)pid);
    attach->tmp = open(of_process, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(of_process, sizeof of_process, "/proc/%d", (int)pid);
    snprintf(attach->folder, sizeof attach->folder, "/proc/self/fd/%d/memviz-attach-XXXXXX",
             attach->tmp);
    if (attach->tmp < 0 || !mkdtemp(attach->folder)) {
        int error = errno;
        *attach->folder = '\0';
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "no folder can be created in /tmp of process %d: %s", (int)pid,
                       strerror(error));
    }
    snprintf(attach->inside, sizeof attach->inside, "/tmp%s", strrchr(attach->folder, '/'));
    /* If memviz runs as root, the process itself must be able to write to the folder. */
    if (stat(of_process, &owner) == 0 && owner.st_uid != geteuid() &&
        chown(attach->folder, owner.st_uid, owner.st_gid) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s cannot be given to the user of process %d",
                       attach->folder, (int)pid);
    return MV_OK;
}

static void path_in(char *path, size_t size, const char *folder, const char *name)
{
    snprintf(path, size, "%s/%s", folder, name);
}

static mv_code write_script(const mv_attach *attach, const char *what, uint32_t entries,
                            bool is_ours, mv_err *err)
{
    char path[160];
    FILE *file;
    bool ok;

    path_in(path, sizeof path, attach->folder, "script");
    unlink(path);
    file = fopen(path, "wxe");
    ok = file &&
         fprintf(file, script, attach->inside, what, entries, is_ours ? "True" : "False") > 0;
    ok = file && fchmod(fileno(file), 0644) == 0 && ok;
    if (file && fclose(file) != 0)
        ok = false;
    if (!ok)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s cannot be written: %s", path, strerror(errno));
    return MV_OK;
}

bool mv_attach_is_alive(const mv_attach *attach)
{
    char path[64], state = 'Z';
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)attach->python.pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'R'; /* names with brackets */
    fclose(file);
    return state != 'Z' && state != 'X';
}

/* Reads the script's answer into `text`; false if there is no answer yet. The folder belongs to the
 * process, so no link is followed. */
static bool read_answer(const mv_attach *attach, char *text, size_t size)
{
    char path[160];
    ssize_t length;
    int fd;

    path_in(path, sizeof path, attach->folder, "answer");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    length = read(fd, text, size - 1);
    close(fd);
    unlink(path);
    text[length > 0 ? length : 0] = '\0';
    return true;
}

static mv_code wait_for_answer(const mv_attach *attach, char *text, size_t size,
                               mv_attach_wait_fn *wait, void *user, mv_err *err)
{
    struct timespec pause = {.tv_nsec = 20 * 1000000};

    while (!read_answer(attach, text, size)) {
        if (!wait(user))
            return mv_fail(err, MV_IO, MV_NO_OFFSET,
                           "process %d did not answer: its main thread is not running Python",
                           (int)attach->python.pid);
        if (!mv_attach_is_alive(attach))
            return mv_fail(err, MV_IO, MV_NO_OFFSET, "no answer");
        nanosleep(&pause, NULL);
    }
    return MV_OK;
}

static mv_code ask(mv_attach *attach, const char *what, uint32_t entries, bool is_ours, char *text,
                   size_t size, mv_attach_wait_fn *wait, void *user, mv_err *err)
{
    char path[160];

    path_in(path, sizeof path, attach->inside, "script");
    if (write_script(attach, what, entries, is_ours, err) == MV_OK &&
        mv_running_python_query(&attach->python, path, err) == MV_OK &&
        wait_for_answer(attach, text, size, wait, user, err) == MV_OK)
        mv_running_python_tidy(&attach->python);
    else if (!mv_attach_is_alive(attach))
        mv_fail(err, MV_IO, MV_NO_OFFSET, "process %d ended before it answered",
                (int)attach->python.pid);
    return err->code;
}

mv_code mv_attach_start(mv_attach *attach, pid_t pid, uint32_t entries, mv_attach_wait_fn *wait,
                        void *user, mv_err *err)
{
    char text[160];

    *attach = (mv_attach){.tmp = -1};
    if (mv_running_python_find(pid, &attach->python, err) != MV_OK ||
        make_folder(attach, err) != MV_OK ||
        ask(attach, "start", entries, false, text, sizeof text, wait, user, err) != MV_OK)
        return err->code;
    attach->is_ours = strcmp(text, "ok") == 0;
    if (!attach->is_ours && strcmp(text, "on") != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "process %d cannot be recorded: %s", (int)pid,
                       text);
    return MV_OK;
}

/* Copies the snapshot to `path` through a sink, so that the file is either complete or does not
 * exist. */
static mv_code copy(const char *from, const char *path, mv_err *err)
{
    static unsigned char part[1 << 18];
    struct stat info;
    mv_sink sink;
    ssize_t length = 0;
    int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        if (fd >= 0)
            close(fd);
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "the process wrote no snapshot: %s", from);
    }
    if (mv_sink_open(&sink, path, err) == MV_OK) {
        while ((length = read(fd, part, sizeof part)) > 0)
            mv_sink_write(&sink, part, (uint64_t)length);
        if (length < 0)
            mv_fail(err, MV_IO, MV_NO_OFFSET, "%s cannot be read: %s", from, strerror(errno));
        else
            mv_sink_commit(&sink, err);
        mv_sink_abort(&sink);
    }
    close(fd);
    return err->code;
}

mv_code mv_attach_finish(mv_attach *attach, const char *path, mv_attach_wait_fn *wait, void *user,
                         uint64_t *events, mv_err *err)
{
    char text[160], from[160];

    if (ask(attach, "finish", 0, attach->is_ours, text, sizeof text, wait, user, err) != MV_OK)
        return err->code;
    attach->is_ours = false;
    if (strncmp(text, "ok ", 3) != 0 || !mv_number_read(text + 3, events))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "process %d wrote no snapshot: %s",
                       (int)attach->python.pid, text);
    path_in(from, sizeof from, attach->folder, "snapshot.pickle");
    return copy(from, path, err);
}

void mv_attach_close(mv_attach *attach)
{
    static const char *const names[] = {"script", "answer", "answer.part", "snapshot.pickle"};
    char path[160];

    for (unsigned i = 0; *attach->folder && i < sizeof names / sizeof *names; i++) {
        path_in(path, sizeof path, attach->folder, names[i]);
        unlink(path);
    }
    if (*attach->folder)
        rmdir(attach->folder);
    if (attach->tmp >= 0)
        close(attach->tmp);
    *attach->folder = '\0';
    attach->tmp = -1;
}
