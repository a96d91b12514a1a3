#include "record/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/beside.h"

#define SHIM "libmemviz_capture.so"

/* The launcher's signal settings before it changed them, to be restored in the program. */
typedef struct {
    sigset_t mask;
    struct sigaction child;
    struct sigaction full;
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
        if (!mv_beside(candidate, sizeof candidate, places[i]) || !realpath(candidate, full))
            continue;
        snprintf(path, size, "%s", full);
        return check_shim(path, err);
    }
    return mv_fail(err, MV_IO, MV_NO_OFFSET,
                   SHIM " is neither beside memviz nor in " MV_INSTALLED_SHIM_FOLDER
                        "; set MEMVIZ_SHIM");
}

/* The program's file, found as execvp does. */
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

static bool has_interpreter(int file, const Elf64_Ehdr *head)
{
    Elf64_Phdr part;

    for (unsigned i = 0; i < head->e_phnum; i++) {
        off_t at = (off_t)(head->e_phoff + (uint64_t)i * head->e_phentsize);
        if (pread(file, &part, sizeof part, at) == sizeof part && part.p_type == PT_INTERP)
            return true;
    }
    return false;
}

const char *mv_launch_obstacle(const char *program)
{
    const char *why = NULL;
    char path[PATH_MAX];
    Elf64_Ehdr head;
    struct stat st;
    int file;

    if (!find_program(program, path, sizeof path) || stat(path, &st) != 0)
        return NULL;
    if ((st.st_mode & S_ISUID && st.st_uid != getuid()) ||
        (st.st_mode & S_ISGID && st.st_gid != getgid()))
        return "the program is setuid or setgid, and nothing can be preloaded into it";
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (pread(file, &head, sizeof head, 0) == sizeof head &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0) {
        if (head.e_ident[EI_CLASS] != ELFCLASS64)
            why = "the program is not a 64-bit program";
        else if (!has_interpreter(file, &head))
            why = "the program is linked statically, and nothing can be preloaded into it";
    }
    close(file);
    return why;
}

/* ---- the program ------------------------------------------------------------------------- */

static bool is_listed(const char *list, const char *path)
{
    size_t length = strlen(path);

    for (const char *at = list; (at = strstr(at, path)); at += length)
        if ((at == list || strchr(" :", at[-1])) && (!at[length] || strchr(" :", at[length])))
            return true;
    return false;
}

/* The shim goes after libraries that are preloaded already: allocators and sanitizers must be
 * first. */
static void set_preload(const char *shim)
{
    const char *list = getenv("LD_PRELOAD");
    size_t size = (list ? strlen(list) : 0) + strlen(shim) + 2;
    char *longer;

    if (!list || !*list) {
        setenv("LD_PRELOAD", shim, 1);
        return;
    }
    longer = is_listed(list, shim) ? NULL : malloc(size);
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

/* Escapes '%', because the shim expands placeholders too, and a folder's name may look like one. */
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

/* Runs in the child; does not return. If exec fails, the reason is written to the pipe; a
 * successful exec closes it. */
static void become(const mv_launch *launch, const kept_signals *kept, int pipe)
{
    int why;

    set_preload(launch->shim);
    setenv("NVTX_INJECTION64_PATH", launch->shim, 0);
    set_out(launch->live);
    setenv("MEMVIZ_STACKS", launch->stacks, 1);
    set_flag("MEMVIZ_CPU", launch->cpu);
    set_flag("MEMVIZ_WAIT_FREE", launch->wait_free);
    sigaction(SIGCHLD, &kept->child, NULL);
    sigaction(SIGXFSZ, &kept->full, NULL);
    sigprocmask(SIG_SETMASK, &kept->mask, NULL);
    execvp(launch->argv[0], launch->argv);
    why = errno;
    if (write(pipe, &why, sizeof why) != sizeof why)
        _exit(MV_LAUNCH_CANNOT_RUN);
    _exit(why == ENOENT || why == ENOTDIR ? MV_LAUNCH_NOT_FOUND : MV_LAUNCH_CANNOT_RUN);
}

/* Waits until the program runs. Returns 0, or the errno when it could not be started. */
static int await_start(int pipe)
{
    ssize_t got;
    int why = 0;

    do
        got = read(pipe, &why, sizeof why);
    while (got < 0 && errno == EINTR);
    return got == sizeof why ? why : 0;
}

static void awaited_signals(sigset_t *set)
{
    static const int numbers[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

    sigemptyset(set);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(set, numbers[i]);
}

/* Signals from a terminal come from the kernel and have reached the program already. */
static void forward(pid_t child, const siginfo_t *info)
{
    int number = info->si_signo;

    if (number != SIGCHLD && number != SIGINT && number != SIGQUIT && info->si_code <= 0)
        kill(child, number);
}

static int wait_for(const mv_launch *launch, pid_t child)
{
    struct timespec pause = {launch->tick_ms / 1000, (long)(launch->tick_ms % 1000) * 1000000};
    sigset_t awaited;
    siginfo_t info;
    int state;

    awaited_signals(&awaited);
    if (launch->tick)
        launch->tick(launch->user);
    for (;;) {
        pid_t done = waitpid(child, &state, WNOHANG);
        if (done == child)
            return WIFSIGNALED(state) ? MV_LAUNCH_SIGNAL + WTERMSIG(state) : WEXITSTATUS(state);
        if (done < 0 && errno != EINTR)
            return MV_LAUNCH_CANNOT_RUN;
        if (sigtimedwait(&awaited, &info, &pause) > 0)
            forward(child, &info);
        else if (launch->tick)
            launch->tick(launch->user);
    }
}

static mv_code start(const mv_launch *launch, const kept_signals *kept, pid_t *child, int *status,
                     mv_err *err)
{
    int ends[2], why;

    *child = -1;
    *status = MV_LAUNCH_CANNOT_RUN;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot make a pipe: %s", strerror(errno));
    *child = fork();
    if (*child == 0)
        become(launch, kept, ends[1]);
    why = *child < 0 ? errno : 0;
    close(ends[1]);
    if (*child > 0 && (why = await_start(ends[0])) != 0) {
        waitpid(*child, NULL, 0);
        *status = why == ENOENT || why == ENOTDIR ? MV_LAUNCH_NOT_FOUND : MV_LAUNCH_CANNOT_RUN;
    }
    close(ends[0]);
    return why ? mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", launch->argv[0], strerror(why))
               : MV_OK;
}

/* A signal that came too late to be forwarded, such as the terminal's SIGINT that ended the
 * program, must not end the launcher now. */
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
    sigset_t awaited;
    pid_t child;
    mv_code code;

    /* Signals are blocked and taken one by one: this needs no handler and loses nothing between two
     * waits. SIGCHLD is reset because a parent may have set it to be ignored, and then the
     * program's status would be lost. SIGXFSZ is ignored so that a recording beyond the limit on
     * file sizes (ulimit -f) is a failed write. */
    awaited_signals(&awaited);
    sigprocmask(SIG_BLOCK, &awaited, &kept.mask);
    sigaction(SIGCHLD, &plain, &kept.child);
    sigaction(SIGXFSZ, &ignored, &kept.full);
    code = start(launch, &kept, &child, status, err);
    if (code == MV_OK)
        *status = wait_for(launch, child);
    drop_pending(&awaited);
    sigaction(SIGCHLD, &kept.child, NULL);
    sigprocmask(SIG_SETMASK, &kept.mask, NULL);
    return code;
}
