/* The server: runs the program with one failing call after another, and checks each run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/failing.h"

enum { TEXT = 4096, MOST_FILES = 32, SHOWN = 8, LIMIT_SECONDS = 200, WITHOUT_CALLS = 3 };

static const struct {
    const char *name;
    int error;
} errors[] = {{"ENOMEM", ENOMEM},        {"EIO", EIO},       {"ENOSPC", ENOSPC},
              {"EPIPE", EPIPE},          {"EMFILE", EMFILE}, {"EACCES", EACCES},
              {"EAGAIN", EAGAIN},        {"EINTR", EINTR},   {"SHORT", FAULT_SHORT},
              {"SIGTERM", FAULT_SIGTERM}};

/* The files after a run, as sorted lines "name size hash", and the run's two outputs. */
typedef struct {
    int status;   /* 128 + signal; -1: the run did not end */
    int answered; /* status of the command that ran alongside */
    char files[TEXT];
    char said[TEXT]; /* what standard error says */
    char out[64];    /* "size hash" of standard output */
    long hits, calls;
    bool of_output;
} outcome;

static char folder[TEXT / 2];
static const char *old_file, *beside;
static bool is_loose, has_target, keeps_report;
static unsigned most_lines = 1; /* number of lines allowed for a run that fails */

static void give_up(const char *what)
{
    fprintf(stderr, "failing: %s: %s\n", what, strerror(errno));
    exit(125);
}

/* Returns "size hash" for a file's bytes. */
static void digest(int at, const char *name, char *text, size_t room)
{
    static uint8_t bytes[1 << 16];
    int fd = openat(at, name, O_RDONLY);
    uint64_t hash = UINT64_C(0xcbf29ce484222325), size = 0;
    ssize_t got;

    while (fd >= 0 && (got = read(fd, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < got; i++)
            hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
        size += (uint64_t)got;
    }
    close(fd);
    if (is_loose)
        snprintf(text, room, "%s", size ? "some" : "none");
    else
        snprintf(text, room, "%llu %016llx", (unsigned long long)size, (unsigned long long)hash);
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Lists the files in `run`, or removes them. */
static void walk_run(char *list)
{
    static char names[MOST_FILES][256];
    char path[TEXT];
    unsigned count = 0;
    struct dirent *entry;

    snprintf(path, sizeof path, "%s/run", folder);
    DIR *d = opendir(path);
    if (!d)
        give_up(path);
    while ((entry = readdir(d)) && count < MOST_FILES)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            snprintf(names[count++], sizeof names[0], "%s", entry->d_name);
    qsort(names, count, sizeof names[0], compare);
    for (unsigned i = 0; i < count; i++) {
        if (list) {
            char text[64];
            size_t length = strlen(list);
            digest(dirfd(d), names[i], text, sizeof text);
            snprintf(list + length, TEXT - length, "%s %s;", names[i], text);
        } else {
            unlinkat(dirfd(d), names[i], 0);
        }
    }
    closedir(d);
}

static void prepare_run(void)
{
    char path[TEXT];

    walk_run(NULL);
    lseek(STDIN_FILENO, 0, SEEK_SET);
    snprintf(path, sizeof path, "%s/out", folder);
    unlink(path); /* the command that runs alongside uses this file */
    if (!old_file)
        return;
    snprintf(path, sizeof path, "%s/run/%s", folder, old_file);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, "old\n", 4) != 4)
        give_up(path);
    close(fd);
}

static void redirect(const char *name, int to)
{
    char path[TEXT];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || dup2(fd, to) < 0)
        give_up(path);
    close(fd);
}

static pid_t start_beside(pid_t run)
{
    pid_t child = beside ? fork() : 0;
    char number[32];

    if (child != 0 || !beside)
        return child;
    snprintf(number, sizeof number, "%d", (int)run);
    setenv("RUN", number, 1);
    unsetenv("LD_PRELOAD");
    execl("/bin/sh", "sh", "-c", beside, (char *)NULL);
    _exit(127);
}

/* Returns the exit status, 128 + signal, or -1 if the process was still running at the time
 * limit. */
static int await(pid_t child)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    int status, ready = poll(&end, 1, LIMIT_SECONDS * 1000);

    close(end.fd);
    kill(-child, SIGKILL);
    if (waitpid(child, &status, 0) != child)
        give_up("waitpid");
    if (ready != 1)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Returns false in the child, which then runs main(). */
static bool run_once(long n, outcome *result)
{
    *result = (outcome){0};
    prepare_run();
    *fault.counts = (fault_counts){0};
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0) {
        setpgid(0, 0);
        redirect("out", STDOUT_FILENO);
        redirect("err", STDERR_FILENO);
        if (chdir(folder) != 0 || chdir("run") != 0)
            give_up(folder);
        fault.n = n;
        return false;
    }
    pid_t helper = start_beside(child);
    result->status = await(child);
    if (helper > 0)
        result->answered = await(helper);
    result->calls = atomic_load(&fault.counts->calls);
    result->hits = atomic_load(&fault.counts->hits);
    result->of_output = atomic_load(&fault.counts->of_output) != 0;
    walk_run(result->files);
    char path[TEXT];
    snprintf(path, sizeof path, "%s/err", folder);
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? 0 : read(fd, result->said, TEXT - 1);
    result->said[got < 0 ? 0 : got] = 0;
    close(fd);
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    digest(at, "out", result->out, sizeof result->out);
    close(at);
    return true;
}

static unsigned lines(const char *text)
{
    unsigned count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Returns whether the fault must leave the result unchanged. */
static bool has_no_effect(void)
{
    return fault.error == FAULT_SHORT || (fault.error == EINTR && strcmp(fault.group, "read") == 0);
}

/* Returns NULL if the run meets the requirements, otherwise what is wrong. `before` is the folder's
 * initial contents. */
static const char *evaluate(const outcome *r, const outcome *good, const outcome *before)
{
    bool same_files = strcmp(r->files, good->files) == 0;
    bool same_out = strcmp(r->out, good->out) == 0;

    if (r->status < 0)
        return "does not end";
    /* a failure in the sanitizer's own allocation */
    if (strstr(r->said, "AddressSanitizer: CHECK failed"))
        return NULL;
    if ((fault.error == EPIPE && r->of_output && r->status == 128 + SIGPIPE) ||
        (fault.error == FAULT_SIGTERM && r->status == 128 + SIGTERM))
        return same_files || strcmp(r->files, before->files) == 0 ? NULL : "half a file";
    if (r->status >= 128 && r->status != good->status)
        return "ended by a signal";
    if (has_target)
        return r->status != good->status && !*r->said ? "another status without a line"
               : !same_files && !*r->said             ? "other files without a line"
                                                      : NULL;
    if (r->status == good->status && r->answered != good->answered && has_no_effect())
        return "another answer";
    if (r->status == good->status && same_files && same_out)
        return strcmp(r->said, good->said) == 0 || strncmp(r->said, "memviz: ", 8) == 0
                   ? NULL
                   : "other words";
    if (r->status == good->status)
        return same_files ? "another output, the same status" : "other files, the same status";
    if (has_no_effect())
        return "another status";
    if (r->status != 1)
        return "a status that says something else";
    if (!keeps_report && strcmp(r->files, before->files) != 0 && !(r->of_output && same_files))
        return "status 1, and files are changed";
    if (!keeps_report && strcmp(r->out, before->out) != 0 && !r->of_output)
        return "status 1 after a part of the output";
    unsigned more = lines(r->said) - lines(good->said);
    if (more < 1 || more > most_lines || !strstr(r->said, "memviz: "))
        return "status 1 without one line";
    return NULL;
}

static void show(long n, const outcome *r, const char *why)
{
    printf("  n=%ld: %s: status %d, output %s, files %s, said: %.300s%s", n, why, r->status, r->out,
           *r->files ? r->files : "none;", r->said,
           *r->said && r->said[strlen(r->said) - 1] == '\n' ? "" : "\n");
}

/* ---- the server ---------------------------------------------------------------------------- */

static bool read_plan(char *text)
{
    char *equals = strchr(text, '='), *plus = strchr(text, '+');

    fault.and_after = plus != NULL;
    if (plus)
        *plus = 0;
    if (!equals)
        return false;
    *equals = 0;
    fault.kind = strcmp(text, "memory") == 0   ? FAULT_MEMORY
                 : strcmp(text, "thread") == 0 ? FAULT_THREAD
                                               : FAULT_SYSTEM;
    fault.group = text;
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, equals + 1) == 0)
            fault.error = errors[i].error;
    return fault.error != 0;
}

/* Calls are counted from here on. */
static void arm(void)
{
    if (fault.kind == FAULT_SYSTEM && !fault_meet_calls())
        give_up("seccomp");
    fault.is_armed = true;
}

/* The child continues to main() from here. */
static void become_program(int shared)
{
    char number[32];

    unsetenv("MEMVIZ_FAULT_FOLDER");
    setenv("TMPDIR", ".", 1);
    if (fault.kind != FAULT_SYSTEM) { /* counts only this program's calls */
        unsetenv("MEMVIZ_FAULT");
    } else {
        snprintf(number, sizeof number, "%d:%ld", shared, fault.n);
        setenv("MEMVIZ_FAULT_SHARED", number, 1);
    }
    arm();
}

static void serve(int shared)
{
    const char *range = getenv("MEMVIZ_FAULT_RUNS");
    long first = 1, last = 0, step = 1, runs = 0, failed = 0, same = 0, others = 0, without = 0;
    outcome good, again, before = {0}, r;
    char *rest;

    if (range) {
        first = strtol(range, &rest, 10);
        last = strtol(*rest ? rest + 1 : rest, &rest, 10);
        step = strtol(*rest ? rest + 1 : rest, &rest, 10);
    }
    prepare_run();
    walk_run(before.files);
    snprintf(before.out, sizeof before.out, "%s", is_loose ? "none" : "0 cbf29ce484222325");
    if (!run_once(0, &good) || !run_once(0, &again)) {
        become_program(shared);
        return;
    }
    if (strcmp(good.files, again.files) != 0 || strcmp(good.out, again.out) != 0 ||
        good.status != again.status)
        printf("unsteady without a fault: %s %s, %s %s; ", good.out, good.files, again.out,
               again.files);
    for (long n = first; (last == 0 || n <= last) && without < WITHOUT_CALLS; n += step) {
        if (!run_once(n, &r)) {
            become_program(shared);
            return;
        }
        without = r.hits ? 0 : without + 1;
        const char *why = evaluate(&r, &good, &before);
        runs++;
        failed += !why && r.status != good.status;
        same += !why && r.status == good.status;
        others += why != NULL;
        if (why && others <= SHOWN)
            show(n, &r, why);
    }
    printf("runs %ld failed %ld same %ld others %ld calls %ld status %d\n", runs, failed, same,
           others, good.calls, good.status);
    if (good.status != 0 || good.answered != 0)
        show(0, &good, "without a fault");
    fflush(stdout);
    _exit(others != 0);
}

static fault_counts *share(int fd)
{
    void *at = mmap(NULL, sizeof *fault.counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* A program that a run started; its system calls count as well. */
static void join_run(const char *shared)
{
    char *rest;
    int fd = (int)strtol(shared, &rest, 10);

    fault.counts = share(fd);
    fault.n = strtol(*rest ? rest + 1 : rest, NULL, 10);
    if (fault.counts)
        arm();
}

/* Without a folder: one run, in this process. */
static void run_here(void)
{
    static fault_counts counts;
    const char *n = getenv("MEMVIZ_FAULT_RUNS");

    fault.counts = &counts;
    fault.n = n ? strtol(n, NULL, 10) : 0;
    arm();
}

__attribute__((constructor)) static void start(void)
{
    static char plan[128];
    const char *text = getenv("MEMVIZ_FAULT"), *where = getenv("MEMVIZ_FAULT_FOLDER");
    const char *shared = getenv("MEMVIZ_FAULT_SHARED");
    char path[TEXT];

    snprintf(plan, sizeof plan, "%s", text ? text : "");
    if (!text || !read_plan(plan))
        return;
    if (shared)
        join_run(shared);
    if (shared)
        return;
    if (!where) {
        run_here();
        return;
    }
    snprintf(folder, sizeof folder, "%s", where);
    snprintf(path, sizeof path, "%s/run", folder);
    old_file = getenv("MEMVIZ_FAULT_OLD");
    beside = getenv("MEMVIZ_FAULT_BESIDE");
    has_target = getenv("MEMVIZ_FAULT_TARGET") != NULL;
    keeps_report = getenv("MEMVIZ_FAULT_KEEPS") != NULL;
    is_loose = has_target || getenv("MEMVIZ_FAULT_LOOSE") != NULL;
    if (getenv("MEMVIZ_FAULT_LINES"))
        most_lines = (unsigned)strtoul(getenv("MEMVIZ_FAULT_LINES"), NULL, 10);
    mkdir(path, 0777);
    int fd = (int)syscall(SYS_memfd_create, "faults", 0);
    if (fd < 0 || ftruncate(fd, sizeof *fault.counts) != 0)
        give_up("memfd");
    fd = dup2(fd, 900) == 900 ? 900 : fd;
    fault.counts = share(fd);
    serve(fd);
}
