#include "record/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/duration.h"
#include "base/resource_path.h"
#include "base/text.h"
#include "record/forward.h"
#include "record/random_word.h"

#define SHIM "libmemviz_capture.so"

enum {
    MV_SAMPLER_NAME = 64, /* the shim does not read longer names */
    MOST_REQUESTS = 64,   /* maximum number of requests at a time; others wait for the next tick */
    MOST_IDLE = 16,       /* maximum number of connections of other users that have sent nothing
                           * yet */
    MOST_SCRIPTS = 6,     /* length of a chain of interpreters, including the last one; Linux
                           * allows five */
    MOST_PARENTS = 256,   /* maximum number of generations between the program and one of its
                           * descendants */
    MOST_FILES = 8, /* files that the launcher opens: the folder, the page, signals, the sockets,
                     * the name of one socket, and a pipe until the program has started */
    LONGEST_MS = 1000,
    REPORT_MS = 100 /* milliseconds between connecting and sending */
};

/* The launcher's signal settings before it changed them. They are restored in the program. */
typedef struct {
    sigset_t mask;
    struct sigaction child;
    struct sigaction full;
    struct sigaction pipe;
} kept_signals;

/* ---- the shim ---------------------------------------------------------------------------- */

static mv_code check_shim(const char *path, mv_err *err)
{
    if (strpbrk(path, " :"))
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "%s: LD_PRELOAD cannot name a path with a space or a colon; point "
                       "MEMVIZ_SHIM at a link to it",
                       path);
    return MV_OK;
}

mv_code mv_launch_shim(char *path, uint32_t size, mv_err *err)
{
    static const char *const places[] = {SHIM, "../capture/" SHIM,
                                         MV_INSTALLED_SHIM_FOLDER "/" SHIM};
    const char *given = getenv("MEMVIZ_SHIM");
    char candidate[PATH_MAX + 64], full[PATH_MAX];

    if (given && *given) {
        if (!realpath(given, full))
            return mv_fail(err, MV_IO, MV_NO_OFFSET, "MEMVIZ_SHIM: %s: %s", given, strerror(errno));
        snprintf(path, size, "%s", *given == '/' ? given : full);
        return check_shim(path, err);
    }
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        if (!mv_resource_path(candidate, sizeof candidate, places[i]) || !realpath(candidate, full))
            continue;
        snprintf(path, size, "%s", full);
        return check_shim(path, err);
    }
    return mv_fail(err, MV_IO, MV_NO_OFFSET,
                   SHIM " was not found next to memviz or in " MV_INSTALLED_SHIM_FOLDER
                        "; set MEMVIZ_SHIM");
}

/* Finds the program's file in the same way as execvp. */
static bool find_program(const char *program, char *path, size_t size)
{
    const char *search = getenv("PATH");

    if (strchr(program, '/'))
        return snprintf(path, size, "%s", program) < (int)size;
    for (const char *at = search ? search : "/bin:/usr/bin"; *at; at += *at == ':') {
        int length = (int)strcspn(at, ":");
        snprintf(path, size, "%.*s/%s", length, length ? at : ".", program);
        if (access(path, X_OK) == 0)
            return true;
        at += length;
    }
    return false;
}

/* Reads the path of the program's loader. False if the program has no loader. */
static bool find_loader(int file, const Elf64_Ehdr *head, char *path, size_t size)
{
    Elf64_Phdr part;

    for (unsigned i = 0; i < head->e_phnum; i++) {
        off_t at = (off_t)(head->e_phoff + (uint64_t)i * head->e_phentsize);
        ssize_t got;
        if (pread(file, &part, sizeof part, at) != sizeof part || part.p_type != PT_INTERP)
            continue;
        got = pread(file, path, part.p_filesz < size ? part.p_filesz : size - 1,
                    (off_t)part.p_offset);
        path[got < 0 ? 0 : got] = 0;
        return true;
    }
    return false;
}

static const char musl[] = "the program is linked with musl, and the recorder needs glibc";

static const char *obstacle_in(int file, const Elf64_Ehdr *head)
{
    char loader[PATH_MAX];

    if (head->e_ident[EI_CLASS] != ELFCLASS64)
        return "the program is not a 64-bit program";
    if (!find_loader(file, head, loader, sizeof loader))
        return "the program is linked statically, and nothing can be preloaded into it";
    if (strstr(loader, "ld-musl"))
        return musl;
    return NULL;
}

/* Replaces the path of a script with the path of its interpreter. False if the file is not a
 * script. */
static bool find_interpreter(int file, char path[PATH_MAX])
{
    char line[PATH_MAX];
    ssize_t got = pread(file, line, sizeof line - 1, 0);
    char *name = line + 2;

    line[got < 0 ? 0 : got] = 0;
    if (strncmp(line, "#!", 2) != 0)
        return false;
    name += strspn(name, " \t");
    name[strcspn(name, " \t\n")] = 0;
    snprintf(path, PATH_MAX, "%s", name);
    return true;
}

/* Returns why the shim cannot be loaded into the program at `path`. If the file is a script, sets
 * *is_script and replaces `path` with the path of the interpreter. */
static const char *obstacle_at(char path[PATH_MAX], bool *is_script)
{
    const char *why = NULL;
    Elf64_Ehdr head;
    struct stat st;
    int file;

    *is_script = false;
    if (stat(path, &st) != 0)
        return NULL;
    file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *is_script = file >= 0 && S_ISREG(st.st_mode) && find_interpreter(file, path);
    if (!*is_script && ((st.st_mode & S_ISUID && st.st_uid != getuid()) ||
                        (st.st_mode & S_ISGID && st.st_gid != getgid())))
        why = "the program is setuid or setgid, and nothing can be preloaded into it";
    else if (!*is_script && file >= 0 && pread(file, &head, sizeof head, 0) == sizeof head &&
             memcmp(head.e_ident, ELFMAG, SELFMAG) == 0)
        why = obstacle_in(file, &head);
    if (file >= 0)
        close(file);
    return why;
}

const char *mv_launch_obstacle(const char *program)
{
    const char *why = NULL;
    bool is_script = true;
    char path[PATH_MAX];

    if (!find_program(program, path, sizeof path))
        return NULL;
    for (int i = 0; is_script && i < MOST_SCRIPTS; i++)
        why = obstacle_at(path, &is_script);
    return why;
}

/* ---- the program ------------------------------------------------------------------------- */

/* Adds the shim to LD_PRELOAD. It is added after libraries that are already listed, because
 * allocators and sanitizers must be first. */
static void set_preload(const char *shim)
{
    const char *list = getenv("LD_PRELOAD");
    size_t size = (list ? strlen(list) : 0) + strlen(shim) + 2;
    char *longer;

    if (!list || !*list) {
        setenv("LD_PRELOAD", shim, 1);
        return;
    }
    longer = mv_text_has_word(list, shim, " :") ? NULL : malloc(size);
    if (!longer)
        return;
    snprintf(longer, size, "%s:%s", list, shim);
    setenv("LD_PRELOAD", longer, 1);
    free(longer);
}

static void set_flag(const char *name, bool on)
{
    if (on)
        setenv(name, "1", 1);
    else
        unsetenv(name);
}

/* Sets the prefix of live files. '%' is escaped, because the shim also expands placeholders and a
 * folder's name may contain them. */
static void set_out(const char *live)
{
    char escaped[2 * PATH_MAX];
    size_t at = 0;

    for (; *live && at + 2 < sizeof escaped; live++) {
        if (*live == '%')
            escaped[at++] = '%';
        escaped[at++] = *live;
    }
    escaped[at] = 0;
    setenv("MEMVIZ_OUT", escaped, 1);
}

/* Sets a variable of the environment, or removes it, because a launcher inside another launcher
 * must not inherit it. */
static void set_text(const char *name, const char *text)
{
    if (*text)
        setenv(name, text, 1);
    else
        unsetenv(name);
}

static void set_window(uint64_t bytes)
{
    char text[24] = "";

    if (bytes)
        snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
    set_text("MEMVIZ_WINDOW", text);
}

/* Sets the number of seccomp filters that a process has before it installs its own. In a container,
 * each process has one. */
static void set_filters(void)
{
    static const char key[] = "Seccomp_filters:";
    FILE *file = fopen("/proc/self/status", "re");
    char line[256], count[16] = "";

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, sizeof key - 1) == 0)
            snprintf(count, sizeof count, "%lu", strtoul(line + sizeof key - 1, NULL, 10));
    if (file)
        fclose(file);
    set_text("MEMVIZ_FILTERS", count);
}

/* Returns the exit status that a shell would use after a failed exec. */
static int status_of(int why)
{
    return why == ENOENT || why == ENOTDIR ? MV_LAUNCH_NOT_FOUND : MV_LAUNCH_CANNOT_RUN;
}

/* Replaces the child process with the program; does not return. If exec fails, the reason is
 * written to the pipe. A successful exec closes the pipe. */
static void become(const mv_launch *launch, const kept_signals *kept, const char *sampler, int pipe)
{
    int why;

    if (mv_launch_obstacle(launch->argv[0]) != musl) /* the loader of musl would refuse to start
                                                      * the program */
        set_preload(launch->shim);
    setenv("NVTX_INJECTION64_PATH", launch->shim, 0);
    set_out(launch->live);
    set_text("MEMVIZ_SAMPLER", sampler);
    setenv("MEMVIZ_STACKS", launch->stacks, 1);
    set_text("MEMVIZ_STATUS", launch->status->where);
    set_window(launch->window);
    set_filters();
    set_flag("MEMVIZ_CPU", launch->cpu);
    set_flag("MEMVIZ_WAIT_FREE", launch->wait_free);
    set_flag("MEMVIZ_NVTX_ALL", launch->nvtx_all);
    sigaction(SIGCHLD, &kept->child, NULL);
    sigaction(SIGXFSZ, &kept->full, NULL);
    sigaction(SIGPIPE, &kept->pipe, NULL);
    sigprocmask(SIG_SETMASK, &kept->mask, NULL);
    execvp(launch->argv[0], launch->argv);
    why = errno;
    if (write(pipe, &why, sizeof why) != sizeof why)
        _exit(MV_LAUNCH_CANNOT_RUN);
    _exit(status_of(why));
}

/* Waits until the program has started. Returns 0, or the errno of the failed start. */
static int await_start(int pipe)
{
    ssize_t got;
    int why = 0;

    do
        got = read(pipe, &why, sizeof why);
    while (got < 0 && errno == EINTR);
    return got == sizeof why ? why : 0;
}

/* A connection from another user that has sent nothing yet. */
typedef struct {
    int link;
    pid_t pid;
    int64_t since_ms;
} idle_client;

/* The socket to which the shim sends requests for samples. */
typedef struct {
    int socket; /* -1: none */
    char name[MV_SAMPLER_NAME];
    idle_client idle[MOST_IDLE];
    uint32_t idle_count;
} request_socket;

/* Opens the socket, to which any process of this machine can connect. */
static void listen_for(request_socket *requests)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t length;

    *requests =
        (request_socket){.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    snprintf(requests->name, sizeof requests->name, "memviz-%d-%016llx", (int)getpid(),
             (unsigned long long)mv_random_word());
    length = strlen(requests->name);
    memcpy(at.sun_path + 1, requests->name, length);
    if (requests->socket >= 0 &&
        (bind(requests->socket, (struct sockaddr *)&at,
              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) != 0 ||
         listen(requests->socket, SOMAXCONN) != 0)) {
        close(requests->socket);
        requests->socket = -1;
    }
    if (requests->socket < 0)
        requests->name[0] = 0;
}

/* Returns the parent of a process; 0 if it was not found. */
static pid_t parent_of(pid_t pid)
{
    char path[32], text[512], *name_end;
    ssize_t got;
    int fd, parent = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[got < 0 ? 0 : got] = 0;
    if (fd >= 0)
        close(fd);
    name_end = strrchr(text, ')'); /* the text is "PID (NAME) STATE PARENT ..." */
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Returns true if a process is the program or one of its descendants. */
static bool is_of_program(pid_t pid)
{
    for (int i = 0; pid > 1 && i < MOST_PARENTS; i++) {
        pid = parent_of(pid);
        if (pid == getpid())
            return true;
    }
    return false;
}

/* Reads another user's report about a recording. Returns whether a report had arrived. */
static bool read_report(const mv_launch *launch, int link, pid_t pid)
{
    mv_status_message said;

    if (recv(link, &said, sizeof said, MSG_DONTWAIT) != sizeof said || said.mark != MV_STATUS_MARK)
        return false;
    if (launch->status->page && said.error)
        mv_status_fail(launch->status->page, (uint32_t)pid, said.error);
    return true;
}

/* Closes other users' connections that had enough time to send something or, at the end, all of
 * their connections. */
static void poll_idle_clients(const mv_launch *launch, request_socket *requests, bool is_end)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < requests->idle_count; i++) {
        const idle_client *who = &requests->idle[i];
        if (read_report(launch, who->link, who->pid) || is_end ||
            mv_now_ms() - who->since_ms > REPORT_MS)
            close(who->link);
        else
            requests->idle[kept++] = *who;
    }
    requests->idle_count = kept;
}

/* Returns true if a connection waits for a sample. Other connections report why a process is not
 * recorded. A report may come from any user under whom the program runs, because only our own
 * processes can open the page. Other users receive no samples and are not waited for, because
 * anyone on this machine could connect. */
static bool wants_sample(const mv_launch *launch, request_socket *requests, int link)
{
    struct ucred who;
    socklen_t size = sizeof who;
    bool is_known = getsockopt(link, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;

    if (is_known && who.uid == getuid() && !read_report(launch, link, who.pid))
        return true;
    if (is_known && who.uid != getuid() && is_of_program(who.pid) &&
        !read_report(launch, link, who.pid) && requests->idle_count < MOST_IDLE)
        requests->idle[requests->idle_count++] = (idle_client){link, who.pid, mv_now_ms()};
    else
        close(link);
    return false;
}

/* Accepts all connections, and returns those that wait for a sample now. */
static uint32_t accept_all(const mv_launch *launch, request_socket *requests,
                           int links[MOST_REQUESTS])
{
    uint32_t count = 0;

    poll_idle_clients(launch, requests, false);
    for (uint32_t i = 0; requests->socket >= 0 && i < MOST_REQUESTS; i++) {
        int link = accept4(requests->socket, NULL, NULL, SOCK_CLOEXEC);
        if (link < 0)
            return count;
        if (wants_sample(launch, requests, link))
            links[count++] = link;
    }
    return count;
}

/* Closes the connections, after serving clients that connected in the meantime, because one of them
 * may report an error. */
static void close_clients(const mv_launch *launch, const int links[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ucred who = {0};
        socklen_t size = sizeof who;
        getsockopt(links[i], SOL_SOCKET, SO_PEERCRED, &who, &size);
        read_report(launch, links[i], who.pid);
        close(links[i]);
    }
}

/* Runs one tick for all requests, or because a tick is due. *due is set to the time of the next
 * tick. */
static void tick(const mv_launch *launch, request_socket *requests, int64_t *due)
{
    int links[MOST_REQUESTS];
    uint32_t count = accept_all(launch, requests, links);

    if (count || mv_now_ms() >= *due)
        *due = launch->tick ? mv_now_ms() + launch->tick(launch->user) : INT64_MAX;
    close_clients(launch, links, count);
}

/* Reads the reports that the program's processes have sent so far. Called when the program has
 * ended. */
static void read_last_reports(const mv_launch *launch, request_socket *requests)
{
    int links[MOST_REQUESTS];

    close_clients(launch, links, accept_all(launch, requests, links));
    poll_idle_clients(launch, requests, true);
}

/* Waits until a signal or a request arrives, or the next tick is due. */
static void wait_a_while(const mv_launch *launch, const request_socket *requests, int signals,
                         int64_t due)
{
    struct pollfd what[2 + MV_CONTROL_FDS] = {{.fd = signals, .events = POLLIN},
                                              {requests->socket, POLLIN, 0}};
    int64_t left = due - mv_now_ms(), most = requests->idle_count ? REPORT_MS : LONGEST_MS;
    uint32_t count = 2 + mv_control_fds(launch->control, what + 2, &most);

    poll(what, count, left < 0 ? 0 : left < most ? (int)left : (int)most);
}

static bool is_taken(const mv_launch *launch, int signal)
{
    return launch->signal && launch->signal(launch->user, signal);
}

/* Serves requests until the program ends, and returns its status. */
static int wait_for(const mv_launch *launch, mv_forward *forward, request_socket *requests,
                    int signals)
{
    struct signalfd_siginfo info;
    int64_t due = 0;
    int state;

    for (;;) {
        pid_t done;
        tick(launch, requests, &due);
        done = waitpid(forward->program, &state, WNOHANG);
        if (done == forward->program) {
            read_last_reports(launch, requests);
            return WIFSIGNALED(state) ? MV_LAUNCH_SIGNAL + WTERMSIG(state) : WEXITSTATUS(state);
        }
        if (done < 0 && errno != EINTR)
            return MV_LAUNCH_CANNOT_RUN;
        wait_a_while(launch, requests, signals, due);
        mv_control_serve(launch->control);
        while (read(signals, &info, sizeof info) == sizeof info)
            if (info.ssi_signo != SIGCHLD && !is_taken(launch, (int)info.ssi_signo))
                mv_forward_signal(forward, &info, is_of_program((pid_t)info.ssi_pid));
    }
}

static mv_code start(const mv_launch *launch, const kept_signals *kept, const char *sampler,
                     pid_t *child, int *status, mv_err *err)
{
    int ends[2], why;

    *child = -1;
    *status = MV_LAUNCH_CANNOT_RUN;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot make a pipe: %s", strerror(errno));
    *child = fork();
    if (*child == 0)
        become(launch, kept, sampler, ends[1]);
    why = *child < 0 ? errno : 0;
    close(ends[1]);
    if (*child > 0 && (why = await_start(ends[0])) != 0) {
        waitpid(*child, NULL, 0);
        *status = status_of(why);
    }
    close(ends[0]);
    return why ? mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", launch->argv[0], strerror(why))
               : MV_OK;
}

bool mv_launch_has_room(void)
{
    int files[MOST_FILES], count = 0;

    while (count < MOST_FILES && (files[count] = open("/", O_PATH | O_CLOEXEC)) >= 0)
        count++;
    for (int i = 0; i < count; i++)
        close(files[i]);
    return count == MOST_FILES;
}

int mv_launch_plainly(char *const *argv, mv_err *err)
{
    int why;

    execvp(argv[0], argv);
    why = errno;
    mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", argv[0], strerror(why));
    return status_of(why);
}

/* Removes signals that arrive too late to be forwarded, such as the SIGINT from the terminal that
 * ended the program. At this point they must not end the launcher. */
static void drop_pending(const sigset_t *awaited)
{
    struct timespec none = {0};

    while (sigtimedwait(awaited, NULL, &none) > 0)
        ;
}

mv_code mv_launch_run(const mv_launch *launch, int *status, mv_err *err)
{
    struct sigaction plain = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
    kept_signals kept;
    request_socket requests;
    sigset_t awaited;
    mv_forward forward;
    mv_code code;
    int signals;

    /* Signals are blocked and taken one by one, which needs no handler and loses no signal between
     * two waits. SIGCHLD is reset, because a parent may have ignored it, in which case the
     * program's status would be lost. SIGXFSZ is ignored, so that a recording beyond the limit on
     * file sizes (ulimit -f) is only a failed write. SIGPIPE is ignored, so that the other
     * recordings are finished and the program's status is kept even if the message about the first
     * recording has no reader. */
    mv_forward_signals(&awaited);
    sigprocmask(SIG_BLOCK, &awaited, &kept.mask);
    sigaction(SIGCHLD, &plain, &kept.child);
    sigaction(SIGXFSZ, &ignored, &kept.full);
    sigaction(SIGPIPE, &ignored, &kept.pipe);
    signals = signalfd(-1, &awaited, SFD_NONBLOCK | SFD_CLOEXEC);
    listen_for(&requests);
    mv_forward_begin(&forward);
    if (signals < 0)
        code = mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot wait for signals: %s", strerror(errno));
    else
        code = start(launch, &kept, requests.name, &forward.program, status, err);
    if (code == MV_OK)
        *status = wait_for(launch, &forward, &requests, signals);
    mv_forward_end(&forward);
    close(signals);
    if (requests.socket >= 0)
        close(requests.socket);
    drop_pending(&awaited);
    sigaction(SIGCHLD, &kept.child, NULL);
    sigprocmask(SIG_SETMASK, &kept.mask, NULL);
    return code;
}
