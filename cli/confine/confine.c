#include "cli/confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parse/source/sink.h"

/* ---- places: Landlock -------------------------------------------------------------------- */

/* Copied from <linux/landlock.h>, which is missing or incomplete on older systems. */
enum {
    CREATE_RULESET = 444, /* the same number on every architecture, like all calls numbered 424 or
                           * higher */
    ADD_RULE = 445,
    RESTRICT_SELF = 446,
    ASK_VERSION = 1,
    RULE_PATH_BENEATH = 1
};

#define FS_EXECUTE     (UINT64_C(1) << 0)
#define FS_WRITE_FILE  (UINT64_C(1) << 1)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_REG    (UINT64_C(1) << 8)
#define FS_TO_MAKE_SYM \
    (((UINT64_C(1) << 13) - 1) & ~UINT64_C(0xd)) /* all writing rights in version 1 */
#define FS_REFER     (UINT64_C(1) << 13)         /* version 2 */
#define FS_TRUNCATE  (UINT64_C(1) << 14)         /* version 3 */
#define FS_IOCTL_DEV (UINT64_C(1) << 15)         /* version 5 */
#define NET_TCP      UINT64_C(3)                 /* version 4: bind, connect */
#define SCOPES       UINT64_C(3)                 /* version 6: abstract sockets, signals */

#define FOLDER_RIGHTS (FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_REFER | FS_TRUNCATE)
#define FILE_RIGHTS   (FS_WRITE_FILE | FS_TRUNCATE)

struct ruleset {
    uint64_t fs, net, scoped;
};

struct path_rule {
    uint64_t rights;
    int32_t parent;
} __attribute__((packed));

static void allow(mv_confinement *c, const char *path, uint64_t rights)
{
    int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0)
        return; /* programs that write to these get the same error as without memviz */
    if (c->count == MV_CONFINE_PLACES) {
        c->writes_anywhere = true;
        close(fd);
        return;
    }
    c->place[c->count].fd = fd;
    c->place[c->count++].rights = rights;
}

/* Allows the rights in the directory that contains the path's last component. */
static void allow_in_parent(mv_confinement *c, const char *path, uint64_t rights)
{
    const char *slash = strrchr(path, '/');
    char folder[4096];
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;

    if (length + 2 > sizeof folder)
        return; /* longer than any path that can be opened */
    memcpy(folder, path, length);
    memcpy(folder + length, ".", 2);
    allow(c, folder, rights);
}

void mv_confine_allow_output(mv_confinement *c, const char *path)
{
    if (!path || strcmp(path, "-") == 0)
        return;
    if (mv_sink_is_in_place(path))
        allow(c, path, FILE_RIGHTS);
    else
        allow_in_parent(c, path, FOLDER_RIGHTS);
}

/* Returns the kernel's Landlock version; 0: no Landlock. */
static long version_of_landlock(void)
{
    return syscall(CREATE_RULESET, NULL, (size_t)0, ASK_VERSION);
}

static void restrict_places(const mv_confinement *c)
{
    long version = version_of_landlock();
    struct ruleset all = {.fs = FS_EXECUTE | FS_TO_MAKE_SYM};
    size_t size = sizeof all.fs;
    int rules;

    if (version < 1)
        return;
    all.fs |= (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0) |
              (version >= 5 ? FS_IOCTL_DEV : 0);
    if (c->writes_anywhere)
        all.fs = FS_EXECUTE;
    if (version >= 4) {
        all.net = NET_TCP;
        size += sizeof all.net;
    }
    if (version >= 6) {
        all.scoped = SCOPES;
        size += sizeof all.scoped;
    }
    rules = (int)syscall(CREATE_RULESET, &all, size, 0);
    if (rules < 0)
        return;
    for (uint32_t i = 0; i < c->count; i++) {
        struct path_rule rule = {c->place[i].rights & all.fs, c->place[i].fd};
        if (rule.rights)
            syscall(ADD_RULE, rules, RULE_PATH_BENEATH, &rule, 0);
    }
    syscall(RESTRICT_SELF, rules, 0);
    close(rules);
}

/* ---- calls: seccomp ---------------------------------------------------------------------- */

/* Calls that reports never make, except for the calls whose arguments are checked below. */
static const uint16_t refused[] = {
    /* starting programs, and affecting other processes */
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_setns,
    SYS_unshare,
    424 /* pidfd_send_signal */,
    434 /* pidfd_open */,
    438 /* pidfd_getfd */,
    440 /* process_madvise */,
    448 /* process_mrelease */,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_sched_setparam,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
    SYS_sched_setaffinity,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
    /* connections to other machines */
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    /* ways around these restrictions */
    425 /* io_uring_setup */,
    426,
    427,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_open_by_handle_at,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    /* administration of the machine */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */,
    431 /* fsconfig */,
    432 /* fsmount */,
    433 /* fspick */,
    442 /* mount_setattr */,
    467 /* open_tree_attr */,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    443 /* quotactl_fd */,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_syslog,
    SYS_vhangup,
    /* changing owners, modes, attributes and times of files by name, which Landlock does not
     * cover */
    SYS_fchmodat,
    452 /* fchmodat2 */,
    SYS_fanotify_init,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_utimensat,
    463 /* setxattrat */,
    466 /* removexattrat */,
    469 /* file_setattr */,
    SYS_flock,
    /* identity */
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capset,
    SYS_personality,
#ifdef __x86_64__
    SYS_fork,
    SYS_vfork,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_kexec_file_load,
#endif
};

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define OTHER_CALLS  0x40000000u /* x32 has the same calls under different numbers */
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define OTHER_CALLS  0x80000000u
#endif

enum { CLONE3 = 435, FLAG_OF_THREADS = 0x00010000 };

/* The only permitted forms of powerful calls. F_SETOWN, F_SETSIG and F_SETLEASE are not permitted,
 * because they make the kernel send signals to any of the user's processes. */
static const uint32_t ioctls[] = {TCGETS, 0x802c542a /* TCGETS2 */, TIOCGWINSZ};
static const uint32_t fcntls[] = {
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,     F_SETFD,     F_GETFL,      F_SETFL,     F_GETLK,
    F_SETLK, F_SETLKW,        F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_ADD_SEALS, F_GET_SEALS};

#define REFUSED_COUNT (sizeof refused / sizeof *refused)

typedef struct {
    struct sock_filter row[2 * REFUSED_COUNT + 80];
    uint16_t count;
} filter;

static void add(filter *f, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
    f->row[f->count++] = (struct sock_filter){code, if_true, if_false, value};
}

/* Starts instructions that apply only to this call, and must end with a RETURN. */
static void load(filter *f, size_t offset)
{
    add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void end(filter *f, uint32_t answer)
{
    add(f, BPF_RET | BPF_K, answer, 0, 0);
}

#define ANSWER(error) (SECCOMP_RET_ERRNO | (error))
/* The offset of an argument's lower half. */
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8u * (n))

static void refuse(filter *f, uint32_t call, int error)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    end(f, ANSWER((uint32_t)error));
}

/* Allows a call only if an argument has one of these values. */
static void allow_only(filter *f, uint32_t call, unsigned argument, const uint32_t *value,
                       uint8_t count)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, call, 0, count + 3);
    load(f, ARGUMENT(argument));
    for (uint8_t i = 0; i < count; i++)
        add(f, BPF_JMP | BPF_JEQ | BPF_K, value[i], count - i, 0);
    end(f, ANSWER(EPERM));
    end(f, SECCOMP_RET_ALLOW);
}

static void make_filter(filter *f)
{
    const uint32_t self = (uint32_t)getpid(), caller = 0;

    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    end(f, ANSWER(EPERM));
    load(f, offsetof(struct seccomp_data, nr));
    add(f, BPF_JMP | BPF_JGE | BPF_K, OTHER_CALLS, 0, 1);
    end(f, ANSWER(EPERM));
    for (size_t i = 0; i < REFUSED_COUNT; i++)
        refuse(f, refused[i], EPERM);
    /* clone3 passes its flags in memory, which a filter cannot read. Refusing it makes libraries
     * create threads with the older call. */
    refuse(f, CLONE3, ENOSYS);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    load(f, ARGUMENT(0));
    add(f, BPF_JMP | BPF_JSET | BPF_K, FLAG_OF_THREADS, 1, 0);
    end(f, ANSWER(EPERM));
    end(f, SECCOMP_RET_ALLOW);
    allow_only(f, SYS_kill, 0, &self, 1);
    allow_only(f, SYS_tgkill, 0, &self, 1);
    allow_only(f, SYS_prlimit64, 0, &caller, 1);
    allow_only(f, SYS_ioctl, 1, ioctls, sizeof ioctls / sizeof *ioctls);
    allow_only(f, SYS_fcntl, 1, fcntls, sizeof fcntls / sizeof *fcntls);
    end(f, SECCOMP_RET_ALLOW);
}

static void restrict_calls(void)
{
    filter f = {.count = 0};
    struct sock_fprog program = {.filter = f.row};

    make_filter(&f);
    program.len = f.count;
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* ------------------------------------------------------------------------------------------ */

void mv_confine(mv_confinement *c)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        restrict_places(c);
        restrict_calls();
    }
    for (uint32_t i = 0; i < c->count; i++)
        close(c->place[i].fd);
    c->count = 0;
}
