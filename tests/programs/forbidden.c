#include "forbidden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char victim[4200], other[4200];

void mvt_forbidden_in(const char *folder)
{
    snprintf(victim, sizeof victim, "%s/victim", folder);
    snprintf(other, sizeof other, "%s/other", folder);
}

int mvt_has_landlock(void)
{
    return syscall(444, NULL, 0, 1) > 0;
}

int mvt_has_filter(void)
{
    unsigned action = SECCOMP_RET_ERRNO;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* ---- processes --------------------------------------------------------------------------- */

static int become_another(void)
{
    char *argv[] = {(char *)"true", NULL};

    return execv("/bin/true", argv);
}

static int fork_one(void)
{
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    return child < 0 ? -1 : waitpid(child, NULL, 0);
}

/* Does what fork() does, but under another name. */
static int clone_one(void)
{
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (child == 0)
        _exit(0);
    return child < 0 ? -1 : waitpid((pid_t)child, NULL, 0);
}

static int clone3_one(void)
{
    struct {
        uint64_t flags, pidfd, child, parent, signal, rest[3];
    } args = {.signal = SIGCHLD};
    long child = syscall(435, &args, sizeof args);

    if (child == 0)
        _exit(0);
    if (child < 0 && errno == ENOSYS)
        errno = EPERM; /* with this errno, others use the older call */
    return child < 0 ? -1 : waitpid((pid_t)child, NULL, 0);
}

/* An expired limit of CPU time kills. */
static int limit_parent(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    return prlimit(getppid(), RLIMIT_CPU, &limit, NULL);
}

static int move_parent(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(0, &one);
    return sched_setaffinity(getppid(), sizeof one, &one);
}

static int schedule_parent(void)
{
    struct sched_param none = {0};

    return sched_setscheduler(getppid(), SCHED_OTHER, &none);
}

/* The kernel sends signals of any number to the owner of a descriptor. */
static int own_for_parent(void)
{
    int ends[2], made;

    if (pipe(ends) != 0)
        return 0;
    made = fcntl(ends[0], F_SETOWN, getppid());
    close(ends[0]);
    close(ends[1]);
    return made;
}

static int read_parent(void)
{
    char here;
    struct iovec to = {&here, 1}, from = {victim, 1};

    return (int)process_vm_readv(getppid(), &to, 1, &from, 1, 0);
}

static int open_socket(int family)
{
    int fd = socket(family, SOCK_STREAM, 0);

    return fd < 0 ? -1 : close(fd);
}

static int connect_any(void)
{
    struct sockaddr to = {.sa_family = AF_INET};

    return connect(0, &to, sizeof to);
}

/* ---- the kernel -------------------------------------------------------------------------- */

#ifdef __x86_64__
static int call_as_x32(void)
{
    return (int)syscall(0x40000000 | SYS_fork);
}
#endif

/* ---- files -------------------------------------------------------------------------------- */

static int open_as(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);

    return fd < 0 ? -1 : close(fd);
}

static int with_victim(int (*act)(int fd))
{
    int fd = open(victim, O_RDONLY | O_CLOEXEC), made = act(fd), kept = errno;

    close(fd);
    errno = kept;
    return made;
}

static int set_flags_of(int fd)
{
    int flags = FS_NODUMP_FL;

    return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int lease_of(int fd)
{
    return fcntl(fd, F_SETLEASE, F_RDLCK);
}

static int lock_of(int fd)
{
    return (int)syscall(SYS_flock, fd, 1);
}

/* The acts that are a single call: X(function, name, is_about_path, call). */
#define CALLS(X)                                                                                 \
    X(signal_parent, "kill parent", 0, kill(getppid(), 0))                                       \
    X(signal_all, "kill all", 0, kill(-1, 0))                                                    \
    X(signal_thread_of_parent, "tgkill", 0, syscall(SYS_tgkill, getppid(), getppid(), 0))        \
    X(be_traced, "ptrace", 0, ptrace(PTRACE_TRACEME, 0, NULL, NULL))                             \
    X(new_namespace, "unshare", 0, syscall(SYS_unshare, 0x10000000))                             \
    X(slow_parent, "setpriority of parent", 0, setpriority(PRIO_PROCESS, (id_t)getppid(), 19))   \
    X(slow_parents_files, "ioprio_set of parent", 0,                                             \
      syscall(SYS_ioprio_set, 1, getppid(), 3 << 13))                                            \
    X(share_memory, "shmget", 0, shmget(IPC_PRIVATE, 1, 0600))                                   \
    X(share_semaphore, "semget", 0, semget(IPC_PRIVATE, 1, 0600))                                \
    X(share_messages, "msgget", 0, msgget(IPC_PRIVATE, 0600))                                    \
    X(talk_tcp, "socket tcp", 0, open_socket(AF_INET))                                           \
    X(talk_local, "socket unix", 0, open_socket(AF_UNIX))                                        \
    X(mount_one, "mount", 0, mount("none", "/", "tmpfs", 0, NULL))                               \
    X(load_bpf, "bpf", 0, syscall(SYS_bpf, 0, NULL, 0))                                          \
    X(use_keys, "keyctl", 0, syscall(SYS_keyctl, 0, -3, 0))                                      \
    X(use_uring, "io_uring", 0, syscall(425, 1, NULL))                                           \
    X(open_by_handle, "open_by_handle_at", 0, syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0)) \
    X(type_into_terminal, "TIOCSTI", 0, ioctl(0, TIOCSTI, "x"))                                  \
    X(become_user, "setresuid", 0, syscall(SYS_setresuid, getuid(), getuid(), getuid()))         \
    X(show_to_all, "chmod", 0, chmod(victim, 0777))                                              \
    X(give_away, "chown", 0, chown(victim, getuid(), getgid()))                                  \
    X(hide_change, "utimensat", 0, utimensat(AT_FDCWD, victim, NULL, 0))                         \
    X(mark_file, "setxattr", 0, setxattr(victim, "user.x", "x", 1, 0))                           \
    X(set_flags, "FS_IOC_SETFLAGS", 0, with_victim(set_flags_of))                                \
    X(set_attributes, "file_setattr", 0, syscall(469, AT_FDCWD, victim, NULL, 0, 0))             \
    X(lease_file, "F_SETLEASE", 0, with_victim(lease_of))                                        \
    X(lock_file, "flock", 0, with_victim(lock_of))                                               \
    X(write_file, "open to write", 1, open_as(victim, O_WRONLY))                                 \
    X(empty_file, "open and cut", 1, open_as(victim, O_RDONLY | O_TRUNC))                        \
    X(cut_file, "truncate", 1, truncate(victim, 0))                                              \
    X(make_file, "create", 1, open_as(other, O_WRONLY | O_CREAT))                                \
    X(make_folder, "mkdir", 1, mkdir(other, 0700))                                               \
    X(make_link, "symlink", 1, symlink("/", other))                                              \
    X(make_pipe, "mkfifo", 1, mkfifo(other, 0600))                                               \
    X(name_again, "link", 1, link(victim, other))                                                \
    X(rename_file, "rename", 1, rename(victim, other))                                           \
    X(remove_file, "unlink", 1, unlink(victim))

#define FUNCTION(function, name, is_about_path, call) \
    static int function(void)                         \
    {                                                 \
        return (int)(call);                           \
    }
CALLS(FUNCTION)

#define ROW(function, name, is_about_path, call) {name, function, is_about_path},
const mvt_forbidden mvt_forbidden_acts[] = {
    {"execve", become_another, 0},
    {"fork", fork_one, 0},
    {"clone", clone_one, 0},
    {"clone3", clone3_one, 0},
    {"process_vm_readv", read_parent, 0},
    {"prlimit64 of parent", limit_parent, 0},
    {"sched_setaffinity of parent", move_parent, 0},
    {"sched_setscheduler of parent", schedule_parent, 0},
    {"F_SETOWN", own_for_parent, 0},
    {"connect", connect_any, 0},
#ifdef __x86_64__
    {"x32 call", call_as_x32, 0},
#endif
    CALLS(ROW){0},
};
