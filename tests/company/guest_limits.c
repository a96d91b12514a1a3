/* Things that a process gives up: its root, its user, its limits, its system calls. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void limit(int which, const char *most)
{
    struct rlimit now, to = {(rlim_t)guest_number(most), (rlim_t)guest_number(most)};

    if (getrlimit((unsigned)which, &now) != 0 || setrlimit((unsigned)which, &to) != 0)
        guest_cannot("setrlimit");
}

static void limit_files(const char *most)
{
    limit(RLIMIT_NOFILE, most);
}

static void limit_file_size(const char *most)
{
    limit(RLIMIT_FSIZE, most);
}

static void limit_memory(const char *most)
{
    limit(RLIMIT_AS, most);
}

static void one_processor(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void change_root(const char *folder)
{
    mkdir(folder, 0700);
    if (chroot(folder) != 0 || chdir("/") != 0)
        guest_cannot("chroot");
}

static void drop_user(void)
{
    if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 ||
        setresuid(65534, 65534, 65534) != 0)
        guest_cannot("setuid");
}

static void no_new_privileges(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        guest_cannot("no_new_privs");
}

static void change_mask(const char *octal)
{
    umask((mode_t)strtol(octal, NULL, 8));
}

static void hide(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

enum { MOST_CALLS = 32 };

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static void install(struct sock_filter *rules, size_t count, int by_prctl)
{
    struct sock_fprog program = {(unsigned short)count, rules};

    no_new_privileges();
    if (by_prctl
            ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
            : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
        guest_cannot("seccomp");
}

/* Installs a filter that does `what` for one system call and allows all others. */
static void filter_one(const char *number, uint32_t what)
{
    struct sock_filter rules[] = {
        LOAD_NUMBER, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)guest_number(number), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, what), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

    install(rules, sizeof rules / sizeof *rules, 1);
}

static void kill_on(const char *number)
{
    filter_one(number, SECCOMP_RET_KILL_PROCESS);
}

static void deny(const char *number)
{
    filter_one(number, SECCOMP_RET_ERRNO | EPERM);
}

/* Allows these system calls; any other kills the process. */
static void allow_only(const int *calls, size_t count, int by_prctl)
{
    struct sock_filter rules[2 * MOST_CALLS + 2] = {LOAD_NUMBER};
    size_t at = 1;

    for (size_t i = 0; i < count; i++) {
        rules[at++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
        rules[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    rules[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    install(rules, at, by_prctl);
}

/* A worker that only computes, and may make only the calls that the strictest sandboxes still
 * allow. */
static void worker_filter(const char *way)
{
    static const int calls[] = {SYS_read,  SYS_write,      SYS_exit,         SYS_exit_group,
                                SYS_futex, SYS_newfstatat, SYS_rt_sigreturn, SYS_restart_syscall};

    fflush(stdout);
    allow_only(calls, sizeof calls / sizeof *calls, strcmp(way, "prctl") == 0);
}

/* A filter like those that browsers use for their renderers: memory and threads, but no files, no
 * sockets, and no access to other processes' memory. */
static void renderer_filter(void)
{
    static const int calls[] = {SYS_read,
                                SYS_write,
                                SYS_exit,
                                SYS_exit_group,
                                SYS_futex,
                                SYS_newfstatat,
                                SYS_rt_sigreturn,
                                SYS_mmap,
                                SYS_munmap,
                                SYS_mprotect,
                                SYS_brk,
                                SYS_madvise,
                                SYS_clone,
                                SYS_clone3,
                                SYS_set_robust_list,
                                SYS_rseq,
                                SYS_rt_sigprocmask,
                                SYS_rt_sigaction,
                                SYS_sched_yield,
                                SYS_getrandom,
                                SYS_clock_nanosleep};

    allow_only(calls, sizeof calls / sizeof *calls, 0);
}

static void strict(void)
{
    fflush(stdout);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}

static void exit_strictly(void)
{
    syscall(SYS_exit, 0);
}

static void no_randomness(const char *words)
{
    if (personality(0xffffffff) & ADDR_NO_RANDOMIZE)
        return;
    personality(ADDR_NO_RANDOMIZE);
    for (size_t i = 0; guest_processes[i].name; i++)
        if (strcmp(guest_processes[i].name, "exec_self") == 0)
            guest_processes[i].does(words);
}

/* Someone empties or removes the recording during the run. GUEST_OUT is the folder of the
 * recording. */
static void damage(const char *command)
{
    char line[512];

    snprintf(line, sizeof line, "cd \"$GUEST_OUT\" && for f in *.%d.live; do %s; done",
             (int)getpid(), command);
    if (system(line) != 0)
        puts("no recording to damage");
}

static void remove_recording(void)
{
    if (getenv("GUEST_OUT"))
        damage("rm -f $f");
}

const guest_word guest_limits[] = {{"limit_files", .does = limit_files},
                                   {"limit_file_size", .does = limit_file_size},
                                   {"limit_memory", .does = limit_memory},
                                   {"one_processor", .acts = one_processor},
                                   {"chroot", .does = change_root},
                                   {"drop_user", .acts = drop_user},
                                   {"no_new_privileges", .acts = no_new_privileges},
                                   {"umask", .does = change_mask},
                                   {"hide", .acts = hide},
                                   {"kill_on", .does = kill_on},
                                   {"deny", .does = deny},
                                   {"worker_filter", .does = worker_filter},
                                   {"renderer_filter", .acts = renderer_filter},
                                   {"strict", .acts = strict},
                                   {"exit_strictly", .acts = exit_strictly},
                                   {"no_randomness", .does = no_randomness},
                                   {"remove_recording", .acts = remove_recording},
                                   {NULL}};
