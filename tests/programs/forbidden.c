#include "forbidden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
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

/* As fork() does it: not by the call of that name. */
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
        errno = EPERM; /* what it says, so that others take the older call */
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

/* ---- others' machines -------------------------------------------------------------------- */

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
