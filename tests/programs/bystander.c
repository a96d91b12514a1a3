/* Programs that may run next to a recorded program, for tests/record/test_bystanders.c:
 *
 *     jail PROGRAM ...     becomes the program, with a filter that kills it for any system call
 *                          that the loader does not make
 *     return COUNT         marks all the time, and forks in a signal handler until there were COUNT
 *                          children, which return from the handler, mark, and end; prints the
 *                          number of children that ended properly
 *     connect FILE         makes more connections to the launcher whose socket is in FILE than the
 *                          launcher accepts, and sends nothing; then makes FILE.held, and stays
 *                          until FILE is gone */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MARKS_AFTER = 100, HELD = 64, HANDLER_US = 1500 };

static const int known[] = {
    SYS_execve, SYS_brk,        SYS_mmap,       SYS_mprotect,        SYS_munmap,
    SYS_openat, SYS_read,       SYS_pread64,    SYS_close,           SYS_newfstatat,
    SYS_fstat,  SYS_prlimit64,  SYS_getrandom,  SYS_set_tid_address, SYS_set_robust_list,
    SYS_futex,  SYS_rseq,       SYS_exit_group, SYS_faccessat,
#ifdef __x86_64__
    SYS_access, SYS_arch_prctl,
#endif
};

enum { KNOWN = sizeof known / sizeof *known };

static int jail(char **argv)
{
    struct sock_filter code[2 * KNOWN + 2];
    struct sock_fprog filter = {.filter = code};
    unsigned at = 0;

    code[at++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < KNOWN; i++) {
        code[at++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)known[i], 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter.len = (unsigned short)at;
    /* Without libc's prctl or seccomp, which the recorder would notice. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 1;
#ifdef __x86_64__
    long result;
    register long mode __asm__("rdi") = SECCOMP_SET_MODE_FILTER;
    register long flags __asm__("rsi") = 0;
    register void *what __asm__("rdx") = &filter;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_seccomp), "r"(mode), "r"(flags), "r"(what)
                     : "rcx", "r11", "memory");
    if (result != 0)
        return 1;
#else
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
        return 1;
#endif
    execv(argv[0], argv);
    return 1;
}

static volatile sig_atomic_t is_child, forks, most_forks;
static pid_t children[4096];

static void fork_here(int number)
{
    (void)number;
    if (forks == most_forks)
        return;
    pid_t child = fork();
    if (child == 0)
        is_child = 1;
    else if (child > 0)
        children[forks++] = child;
}

static int return_from_forks(int count)
{
    const struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, HANDLER_US}, {0, HANDLER_US}}, never = {{0, 0}, {0, 0}};
    void (*mark)(const char *);
    void *found = dlsym(RTLD_DEFAULT, "memviz_mark");
    int ended = 0, status, left = MARKS_AFTER;

    memcpy(&mark, &found, sizeof mark);
    if (!found)
        return 1;
    most_forks = count < 4096 ? count : 4096;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL); /* children have no timer */
    while (!is_child && forks < most_forks)
        mark("a");
    if (is_child) {
        while (left-- > 0)
            mark("child");
        _exit(0);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < forks; i++)
        ended += waitpid(children[i], &status, 0) == children[i] && status == 0;
    printf("%d of %d children ended as they should\n", ended, (int)forks);
    return ended != forks;
}

/* Closes an older connection. */
static void connect_again(const struct sockaddr_un *to, size_t name, int *held)
{
    close(*held);
    *held = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    connect(*held, (const struct sockaddr *)to,
            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name));
}

static int connect_to(const char *file)
{
    const struct timespec pause = {0, 5000000};
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char held_file[256];
    FILE *text = fopen(file, "re");
    int held[HELD];

    if (!text || !fgets(to.sun_path + 1, sizeof to.sun_path - 1, text))
        return 1;
    fclose(text);
    memset(held, -1, sizeof held);
    snprintf(held_file, sizeof held_file, "%s.held", file);
    for (unsigned next = 0; access(file, F_OK) == 0; next++) {
        connect_again(&to, strcspn(to.sun_path + 1, "\n"), &held[next % HELD]);
        if (next == 2 * HELD)
            close(open(held_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        nanosleep(&pause, NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "jail") == 0)
        return jail(argv + 2);
    if (argc > 2 && strcmp(argv[1], "return") == 0)
        return return_from_forks((int)strtol(argv[2], NULL, 10));
    if (argc > 2 && strcmp(argv[1], "connect") == 0)
        return connect_to(argv[2]);
    return 2;
}
