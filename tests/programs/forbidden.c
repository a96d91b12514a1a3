#include "forbidden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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

static int signal_parent(void)
{
    return kill(getppid(), 0);
}

static int signal_all(void)
{
    return kill(-1, 0);
}

static int signal_thread_of_parent(void)
{
    return (int)syscall(SYS_tgkill, getppid(), getppid(), 0);
}

/* An expired limit of CPU time kills. */
static int limit_parent(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    return prlimit(getppid(), RLIMIT_CPU, &limit, NULL);
}

static int slow_parent(void)
{
    return setpriority(PRIO_PROCESS, (id_t)getppid(), 19);
}

static int slow_parents_files(void)
{
    return (int)syscall(SYS_ioprio_set, 1, getppid(), 3 << 13);
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

static int share_memory(void)
{
    return shmget(IPC_PRIVATE, 1, 0600);
}

static int share_semaphore(void)
{
    return semget(IPC_PRIVATE, 1, 0600);
}

static int share_messages(void)
{
    return msgget(IPC_PRIVATE, 0600);
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

static int be_traced(void)
{
    return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int read_parent(void)
{
    char here;
    struct iovec to = {&here, 1}, from = {victim, 1};

    return (int)process_vm_readv(getppid(), &to, 1, &from, 1, 0);
}

static int new_namespace(void)
{
    return (int)syscall(SYS_unshare, 0x10000000);
}

static int open_socket(int family)
{
    int fd = socket(family, SOCK_STREAM, 0);

    return fd < 0 ? -1 : close(fd);
}

static int talk_tcp(void)
{
    return open_socket(AF_INET);
}

static int talk_local(void)
{
    return open_socket(AF_UNIX);
}

static int connect_any(void)
{
    struct sockaddr to = {.sa_family = AF_INET};

    return connect(0, &to, sizeof to);
}

/* ---- the kernel -------------------------------------------------------------------------- */

static int mount_one(void)
{
    return mount("none", "/", "tmpfs", 0, NULL);
}

static int load_bpf(void)
{
    return (int)syscall(SYS_bpf, 0, NULL, 0);
}

static int use_keys(void)
{
    return (int)syscall(SYS_keyctl, 0, -3, 0);
}

static int use_uring(void)
{
    return (int)syscall(425, 1, NULL);
}

static int open_by_handle(void)
{
    return (int)syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0);
}

static int type_into_terminal(void)
{
    return ioctl(0, TIOCSTI, "x");
}

static int become_user(void)
{
    return (int)syscall(SYS_setresuid, getuid(), getuid(), getuid());
}

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

static int write_file(void)
{
    return open_as(victim, O_WRONLY);
}

static int empty_file(void)
{
    return open_as(victim, O_RDONLY | O_TRUNC);
}

static int cut_file(void)
{
    return truncate(victim, 0);
}

static int make_file(void)
{
    return open_as(other, O_WRONLY | O_CREAT);
}

static int make_folder(void)
{
    return mkdir(other, 0700);
}

static int make_link(void)
{
    return symlink("/", other);
}

static int make_pipe(void)
{
    return mkfifo(other, 0600);
}

static int name_again(void)
{
    return link(victim, other);
}

static int rename_file(void)
{
    return rename(victim, other);
}

static int remove_file(void)
{
    return unlink(victim);
}

static int show_to_all(void)
{
    return chmod(victim, 0777);
}

static int give_away(void)
{
    return chown(victim, getuid(), getgid());
}

static int hide_change(void)
{
    return utimensat(AT_FDCWD, victim, NULL, 0);
}

static int mark_file(void)
{
    return setxattr(victim, "user.x", "x", 1, 0);
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

static int set_flags(void)
{
    return with_victim(set_flags_of);
}

static int set_attributes(void)
{
    return (int)syscall(469, AT_FDCWD, victim, NULL, 0, 0);
}

static int lease_of(int fd)
{
    return fcntl(fd, F_SETLEASE, F_RDLCK);
}

static int lease_file(void)
{
    return with_victim(lease_of);
}

static int lock_of(int fd)
{
    return (int)syscall(SYS_flock, fd, 1);
}

static int lock_file(void)
{
    return with_victim(lock_of);
}

const mvt_forbidden mvt_forbidden_acts[] = {
    {"execve", become_another, 0},
    {"fork", fork_one, 0},
    {"clone", clone_one, 0},
    {"clone3", clone3_one, 0},
    {"kill parent", signal_parent, 0},
    {"kill all", signal_all, 0},
    {"tgkill", signal_thread_of_parent, 0},
    {"ptrace", be_traced, 0},
    {"process_vm_readv", read_parent, 0},
    {"unshare", new_namespace, 0},
    {"prlimit64 of parent", limit_parent, 0},
    {"setpriority of parent", slow_parent, 0},
    {"ioprio_set of parent", slow_parents_files, 0},
    {"sched_setaffinity of parent", move_parent, 0},
    {"sched_setscheduler of parent", schedule_parent, 0},
    {"shmget", share_memory, 0},
    {"semget", share_semaphore, 0},
    {"msgget", share_messages, 0},
    {"F_SETOWN", own_for_parent, 0},
    {"socket tcp", talk_tcp, 0},
    {"socket unix", talk_local, 0},
    {"connect", connect_any, 0},
    {"mount", mount_one, 0},
    {"bpf", load_bpf, 0},
    {"keyctl", use_keys, 0},
    {"io_uring", use_uring, 0},
    {"open_by_handle_at", open_by_handle, 0},
    {"TIOCSTI", type_into_terminal, 0},
    {"setresuid", become_user, 0},
#ifdef __x86_64__
    {"x32 call", call_as_x32, 0},
#endif
    {"chmod", show_to_all, 0},
    {"chown", give_away, 0},
    {"utimensat", hide_change, 0},
    {"setxattr", mark_file, 0},
    {"FS_IOC_SETFLAGS", set_flags, 0},
    {"file_setattr", set_attributes, 0},
    {"F_SETLEASE", lease_file, 0},
    {"flock", lock_file, 0},
    {"open to write", write_file, 1},
    {"open and cut", empty_file, 1},
    {"truncate", cut_file, 1},
    {"create", make_file, 1},
    {"mkdir", make_folder, 1},
    {"symlink", make_link, 1},
    {"mkfifo", make_pipe, 1},
    {"link", name_again, 1},
    {"rename", rename_file, 1},
    {"unlink", remove_file, 1},
    {0},
};
