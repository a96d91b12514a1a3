#include "record/forward.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/numbers.h"

enum {
    ALL_AT_ONCE_MS = 20, /* sending a signal to all processes of a job one by one takes less time
                          * than this */
    MOST_OPEN = 1024,    /* number of descriptors to close if the kernel cannot close all of them
                          * at once */
    FIRST_WORD = 48 - 3  /* index of the first word in /proc/PID/stat after the name, which is the
                          * second word */
};

void mv_forward_signals(sigset_t *out)
{
    static const int left_alone[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP,
                                     SIGSYS,  SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};

    sigfillset(out);
    for (unsigned i = 0; i < sizeof left_alone / sizeof *left_alone; i++)
        sigdelset(out, left_alone[i]);
}

/* ---- the witness ------------------------------------------------------------------------- */

/* Reads the beginning of a file in /proc. Uses only calls that are safe after a fork. */
static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

    text[got < 0 ? 0 : got] = 0;
    if (fd >= 0)
        close(fd);
    return got > 0;
}

/* Clears the command line, so that commands such as `pkill -f 'memviz run'`, which are meant for
 * the launcher, do not match the witness. */
static void forget_command_line(void)
{
    char text[1024];
    const char *at = read_text("/proc/self/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    uint64_t first, end;

    at = at ? at + 1 : NULL;
    for (int i = 0; at && i < FIRST_WORD; i++)
        at = strchr(at + 1, ' ');
    if (at && *++at && mv_number_take(&at, 10, &first) && *at++ == ' ' &&
        mv_number_take(&at, 10, &end) && first && first < end)
        memset((void *)(uintptr_t)first, 0, (size_t)(end - first));
}

/* Closes everything that others may wait for, such as a pipe or a mounted folder. */
static void let_go_of_all(void)
{
    if (chdir("/") != 0)
        _exit(1);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 0, ~0U, 0) == 0)
        return;
#endif
    for (int fd = 0; fd < MOST_OPEN; fd++)
        close(fd);
}

/* Runs as the witness. Does not return. */
static void be_witness(pid_t launcher)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != launcher)
        _exit(0);
    prctl(PR_SET_NAME, "signal-witness", 0, 0, 0); /* so that the launcher's name does not match
                                                    * the witness either */
    forget_command_line();
    let_go_of_all();
    for (;;)
        pause();
}

static pid_t start_witness(void)
{
    pid_t launcher = getpid(), witness = fork();

    if (witness == 0)
        be_witness(launcher);
    return witness;
}

static void end_witness(pid_t witness)
{
    if (witness > 0 && kill(witness, SIGKILL) == 0)
        waitpid(witness, NULL, 0);
}

static uint64_t bit_of(int number)
{
    return (uint64_t)1 << (number - 1);
}

/* Returns the signals that are pending for the witness, with a bit for each signal. */
static uint64_t pending_at(pid_t witness)
{
    char path[40], text[4096];
    const char *at;

    if (witness <= 0)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)witness);
    at = read_text(path, text, sizeof text) ? strstr(text, "\nShdPnd:\t") : NULL;
    return at ? strtoull(at + strlen("\nShdPnd:\t"), NULL, 16) : 0;
}

/* Starts a new witness. Signals that are pending cannot be removed, so a second witness replaces
 * this one. The second witness starts before the first one ends, so that no signal is missed. */
static void replace_witness(mv_forward *f, int number)
{
    pid_t next = start_witness();

    f->known |= pending_at(f->witness) & ~bit_of(number);
    end_witness(f->witness);
    f->witness = next;
}

void mv_forward_begin(mv_forward *f)
{
    *f = (mv_forward){.program = -1, .witness = start_witness()};
}

void mv_forward_end(mv_forward *f)
{
    end_witness(f->witness);
    f->witness = -1;
}

/* ---- one signal -------------------------------------------------------------------------- */

static void send_on(const mv_forward *f, const struct signalfd_siginfo *info)
{
    union sigval value = {.sival_ptr = (void *)(uintptr_t)info->ssi_ptr};

    if (info->ssi_code == SI_QUEUE)
        sigqueue(f->program, (int)info->ssi_signo, value);
    else
        kill(f->program, (int)info->ssi_signo);
}

/* Returns true if the signal was sent to the whole process group. */
static bool is_for_all(mv_forward *f, int number)
{
    bool is_known = f->known & bit_of(number), is_pending = pending_at(f->witness) & bit_of(number);

    f->known &= ~bit_of(number);
    if (is_pending)
        replace_witness(f, number);
    return is_known || is_pending;
}

void mv_forward_signal(mv_forward *f, const struct signalfd_siginfo *info, bool is_own)
{
    const struct timespec pause = {.tv_nsec = ALL_AT_ONCE_MS * 1000000L};
    int number = (int)info->ssi_signo;

    if (is_for_all(f, number) || info->ssi_code > 0 || is_own)
        return;
    nanosleep(&pause, NULL);
    if (!is_for_all(f, number))
        send_on(f, info);
}
