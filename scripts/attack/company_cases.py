"""The cases of scripts/attack/company."""

import dataclasses
import shlex


@dataclasses.dataclass
class Case:
    group: str
    name: str
    command: list
    env: dict = dataclasses.field(default_factory=dict)
    needs: list = dataclasses.field(default_factory=list)  # programs, or files of the build
    modes: list = None  # None: two of them
    bare: int = 0  # this many recordings without the launcher: finalising thousands takes minutes
    why: str = ""  # the line printed if nothing is recorded, or the recording stops early
    stack: int = None  # most additional bytes of stack used with the shim
    complete: bool = True  # each call that returned must be in the recording
    cheap: bool = False  # also run by ctest
    timed: bool = True
    noisy: bool = False  # standard error differs between two runs of the program alone
    varies: list = dataclasses.field(default_factory=list)  # patterns of texts that differ in this way
    litter: list = dataclasses.field(default_factory=list)  # files that differ in this way
    before: list = dataclasses.field(default_factory=list)
    after: list = dataclasses.field(default_factory=list)
    root: bool = False
    leaves_live: bool = False
    output: str = "OUT/recorded.bin"


CASES = []


def case(group, name, command, **more):
    CASES.append(Case(group, name, shlex.split(command), **more))


def everywhere(cases):
    """All modes of stacks."""
    for c in cases:
        c.modes = c.modes or ["python", "native", "all", "none, --cpu"]


def guest(group, name, words, **more):
    case(group, name, "{b}/guest " + words, **{"cheap": True, **more})


def preloaded(name, library, **more):
    case(MALLOC, name, "{b}/guest go 20 threads 20 plug 20 forks 5",
         env={"LD_PRELOAD": library}, needs=[library], **more)


PLAIN, PROCESSES, SIGNALS, THREADS = "Plain", "Processes and ends", "Signals and jumps", "Threads"
LIMITS, FILTERS, MALLOC, LOADER = "Limits, roots, users", "Filters on system calls", "Allocators", "The loader"
TOOLS, LANGUAGES, OUTPUT = "Tools around it", "Other languages", "Destination of the recording"
LIB = "/usr/lib/x86_64-linux-gnu"
UNSEEN = "(nothing was recorded|recorded nothing): .*"

guest(PLAIN, "calls", "go 2000")
guest(PLAIN, "no calls at all", "say nothing", why=UNSEEN + "no CUDA call")
case(PLAIN, "environment cleared (env -i)", "env -i GUEST_PLUG={b}/plug.so {b}/guest go 5",
     why=UNSEEN + "no CUDA call", cheap=True)
case(PLAIN, "HOME unset", "env -u HOME {b}/guest go 5")
guest(PLAIN, "environment cleared by itself", "go 3 clear_environment go 3 forks 2 exec_self go+3")
case(PLAIN, "static", "{b}/guest_static go 5", needs=["{b}/guest_static"], why="linked statically", cheap=True)
case(PLAIN, "static PIE", "{b}/guest_static_pie go 5", needs=["{b}/guest_static_pie"], why="linked statically")
case(PLAIN, "linked with musl", "{b}/musl_plain", needs=["{b}/musl_plain"], why="linked with musl")
case(PLAIN, "exit status", "sh -c '{b}/guest go 3; exit 3'", cheap=True)

guest(PROCESSES, "fork, 20 times", "go 3 forks 20 go 3")
guest(PROCESSES, "a fork in a fork, 30 deep", "fork_chain 30")
guest(PROCESSES, "1,000 forks among 8 threads", "forks_among_threads 1000", cheap=False, timed=False, bare=1001,
      modes=["python"])
guest(PROCESSES, "40 forks among 8 threads", "forks_among_threads 40", timed=False)
for mode in ("cuda", "loader", "raw", "tensors", "asked"):
    case(PROCESSES, f"1,000 forks among threads in hooks: {mode}", f"{{hooked}}/forking {mode} 1000",
         env={"LD_LIBRARY_PATH": "{hooked}"}, needs=["{hooked}/forking"], timed=False, bare=1001,
         modes=["all"] if mode in ("cuda", "loader", "raw") else ["none, --cpu"])
guest(PROCESSES, "vfork and exec, 100 times", "vforks 100")
guest(PROCESSES, "raw clone", "go 3 raw_clone go 3")
guest(PROCESSES, "exec of itself, twice", "go 3 count exec_self go+4+count+exec_self+go+5")
guest(PROCESSES, "exec of itself from memory", "go 3 count exec_copy go+4")
guest(PROCESSES, "all descriptors closed", "go 3 close_all go 20000 forks 3 next_number")
guest(PROCESSES, "its descriptor's number reused", "go 3 close_all take_numbers go 20000 check_numbers")
guest(PROCESSES, "a driver's bytes in the socket", "go 3 strays go 3")
guest(PROCESSES, "own files at those numbers before", "take_numbers go 20000 check_numbers next_number")
guest(PROCESSES, "_exit", "go 5 count leave_at_once 7")
guest(PROCESSES, "exit, and calls in its handlers", "go 5 go_at_exit leave 3", complete=False)
guest(PROCESSES, "abort", "go 5 count abort")
guest(PROCESSES, "SIGKILL", "go 5 count kill_self 9")
guest(PROCESSES, "SIGSEGV", "go 5 count kill_self 11")
guest(PROCESSES, "SIGTERM", "go 5 count kill_self 15")
guest(PROCESSES, "stopped and continued, 100 times", "frozen 100", timed=False)
guest(PROCESSES, "traced by its parent", "go 3 traced go 3")
case(PROCESSES, "a storm of shells", "sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; (exit 3); done; {b}/guest go 3'",
     cheap=True)

guest(SIGNALS, "signal stack of 2 KiB: the kernel needs more", "signal_stack 2048", timed=False, why=UNSEEN)
guest(SIGNALS, "signal stack of 4 KiB, later call", "go 1 signal_stack 4096", timed=False, complete=False)
guest(SIGNALS, "signal stack of 8 KiB, first call", "signal_stack 8192", timed=False)
guest(SIGNALS, "signal stack of 16 KiB, first call", "signal_stack 16384", timed=False)
guest(SIGNALS, "stack of a handler, first call", "measured_stack 6", timed=False, noisy=True, stack=512)
guest(SIGNALS, "stack of a handler, later call", "go 4 measured_stack 6", timed=False, noisy=True, stack=1792)
guest(SIGNALS, "calls in handlers", "calls_in_handlers 300", timed=False, complete=False)
guest(SIGNALS, "siglongjmp out of handlers", "jumps_out_of_handlers 300", timed=False, complete=False)
guest(SIGNALS, "a fork in every handler", "forks_in_handlers 20", timed=False, complete=False)
guest(SIGNALS, "SIGPROF as often as can be", "profiled 100", timed=False)
guest(SIGNALS, "siglongjmp out of calls", "jumps_out_of_calls 200", timed=False)
guest(SIGNALS, "handlers of bad accesses", "bad_accesses 50", timed=False)
case(SIGNALS, "C++ exceptions through calls", "{b}/throws", needs=["{b}/throws"])

guest(THREADS, "500 threads", "threads 500")
guest(THREADS, "stack of 16 KiB", "small_thread 16384")
guest(THREADS, "canceled at points", "cancel_deferred 20", timed=False)
guest(THREADS, "canceled at any instruction", "cancel_at_once 60", timed=False, complete=False)
guest(THREADS, "canceled inside a call", "cancel_inside 20", timed=False)
guest(THREADS, "coroutine's stack of 8 KiB", "coroutine 8192", timed=False)
guest(THREADS, "coroutine's stack of 16 KiB", "coroutine 16384", timed=False)
guest(THREADS, "one processor", "one_processor threads 50")

guest(LIMITS, "3 descriptors at most, before", "limit_files 3 go 5")
case(LIMITS, "3 descriptors at most, standard input closed", "sh -c '{b}/guest limit_files 3 go 5 next_number <&-'", cheap=True)
case(LIMITS, "3 descriptors at most and standard output closed, after",
     "sh -c '{b}/guest go 5 close_all limit_files 3 go 20000 >&-; echo $?'", cheap=True, complete=False)
guest(LIMITS, "8 descriptors at most, after", "go 5 limit_files 8 go 20000")
guest(LIMITS, "60 descriptors at most: the next number", "limit_files 60 go 5 next_number")
guest(LIMITS, "8 descriptors at most: the next number", "limit_files 8 go 5 next_number")
guest(LIMITS, "no file may grow, before", "limit_file_size 0 go 5", why="File too large")
guest(LIMITS, "files of 100 KB at most", "limit_file_size 100000 go 40000", why="stopped.*File too large",
      complete=False)
guest(LIMITS, "64 MiB of address space", "limit_memory 67108864 go 40000", complete=False)
case(LIMITS, "ulimit -v", "sh -c 'ulimit -v 200000; {b}/guest go 5000 threads 10'")
guest(LIMITS, "no_new_privs", "no_new_privileges go 5 forks 2")
guest(LIMITS, "umask 0", "umask 0 go 5")
guest(LIMITS, "umask 777", "umask 777 go 5")
guest(LIMITS, "not dumpable", "hide go 5 forks 2")
guest(LIMITS, "addresses not random", "no_randomness go+5")
guest(LIMITS, "chroot without /proc, before", "chroot jail go 5", why=UNSEEN + "No such file", root=True)
guest(LIMITS, "chroot without /proc, after", "go 5 chroot jail go 40000", root=True)
guest(LIMITS, "chroot and all closed", "go 5 chroot jail close_all go 40000", root=True, complete=False)
guest(LIMITS, "another user, before", "drop_user go 5", why=UNSEEN + "Permission denied", root=True)
guest(LIMITS, "another user, after", "go 5 drop_user go 40000", root=True)
case(LIMITS, "started by another user", "setpriv --reuid=65534 --clear-groups {b}/guest go 5", root=True,
     needs=["setpriv"], why=UNSEEN + "Permission denied")
case(LIMITS, "su", "su -s /bin/sh daemon -c '{b}/guest go 5'", root=True, needs=["su"], why=UNSEEN)
case(LIMITS, "setuid", "setpriv --reuid=65534 --clear-groups {b}/guest_setuid go 5", root=True,
     needs=["setpriv"], before=["cp {b}/guest {b}/guest_setuid && chmod u+s {b}/guest_setuid"], why=UNSEEN)
case(LIMITS, "process namespace", "unshare -fp --mount-proc {b}/guest go 5", root=True, needs=["unshare"])
case(LIMITS, "user namespace", "unshare -Ur {b}/guest go 5", needs=["unshare"])
case(LIMITS, "time namespace, 10,000 s later", "unshare -T --monotonic 10000 {b}/guest go 5", root=True, needs=["unshare"])
case(LIMITS, "network namespace", "unshare -n {b}/guest go 5 forks 3", root=True, needs=["unshare"])
BWRAP = "bwrap --ro-bind / / --dev /dev --unshare-all "
case(LIMITS, "all namespaces, the folder within", BWRAP + "--proc /proc --bind /tmp /tmp {b}/guest go 5", needs=["bwrap"])
case(LIMITS, "read-only root", BWRAP + "--proc /proc {b}/guest go 5", needs=["bwrap"],
     why=UNSEEN, modes=["all"])
case(LIMITS, "no /tmp", BWRAP + "--proc /proc --bind {b} {b} {b}/guest go 5", needs=["bwrap"], why=UNSEEN, modes=["all"])
case(LIMITS, "cgroup with 64 MiB", "systemd-run --scope -q -p MemoryMax=64M {b}/guest go 5", needs=["/run/systemd/system"])

CALLS = {"openat": 257, "fallocate": 285, "mmap": 9, "gettid": 186, "process_vm_readv": 310, "madvise": 28,
         "fcntl": 72, "newfstatat": 262, "prlimit64": 302, "prctl": 157, "socket": 41, "readlink": 89, "munmap": 11,
         "rt_sigprocmask": 14}
CHEAP = ("openat", "fallocate")
for name, number in CALLS.items():
    guest(FILTERS, f"{name} kills", f"go 3 kill_on {number} go 20000", timed=False, modes=["all"], cheap=name in CHEAP)
    guest(FILTERS, f"{name} kills, no calls before", f"kill_on {number} go 20000", timed=False, modes=["all"],
          cheap=name in CHEAP)
for name in ("fallocate", "openat", "process_vm_readv", "fcntl", "newfstatat"):
    guest(FILTERS, f"{name} fails", f"go 3 deny {CALLS[name]} go 20000", timed=False, modes=["all"], cheap=name in CHEAP)
guest(FILTERS, "only what a worker needs, by prctl", "worker_filter prctl go 20000", timed=False)
guest(FILTERS, "only what a worker needs, by seccomp", "go 3 worker_filter syscall go 20000", timed=False)
guest(FILTERS, "rights that a browser gives a page", "go 3 renderer_filter threads 10 go 20000", timed=False)
guest(FILTERS, "a filter, then more than the reserve", "go 3 worker_filter syscall go 1000000", timed=False,
      why="stopped.*filter", complete=False, cheap=False, modes=["all"])
guest(FILTERS, "a filter, then children", "go 3 kill_on 257 forks 3", timed=False, complete=False, why="recorded nothing.*filter")
guest(FILTERS, "strict", "go 3 strict go 20000 count exit_strictly", timed=False, complete=False, why="stopped.*not permitted")
case(FILTERS, "a filter of the program's parent", "{b}/guest kill_on 285 exec_self go+5", timed=False, cheap=True,
     why="recorded nothing.*filter", modes=["all"])
SERVICE = "systemd-run -q --wait --pipe -p SystemCallFilter=@system-service "
case(FILTERS, "a service started through systemd", SERVICE + "{b}/guest go 5", needs=["/run/systemd/system"],
     why=UNSEEN)
case(FILTERS, "as a service (SystemCallFilter)",
     "sh -c '" + SERVICE + "$(env | sed -n \"s/^\\(LD_PRELOAD\\|MEMVIZ_[A-Z_]*\\)=.*/-E \\1/p\") {b}/guest go 5'",
     needs=["/run/systemd/system"], why="recorded nothing.*filter")

preloaded("jemalloc", LIB + "/libjemalloc.so.2")
preloaded("tcmalloc", LIB + "/libtcmalloc_minimal.so.4")
preloaded("tcmalloc, debug", LIB + "/libtcmalloc_minimal_debug.so.4", noisy=True)
preloaded("mimalloc", LIB + "/libmimalloc.so.2.0")
preloaded("a malloc of its own", "{b}/own_malloc.so")
for name, settings in (("MALLOC_PERTURB_", {"MALLOC_PERTURB_": "165"}), ("MALLOC_CHECK_", {"MALLOC_CHECK_": "3"}),
                       ("GLIBC_TUNABLES", {"GLIBC_TUNABLES": "glibc.malloc.check=3:glibc.malloc.tcache_count=0"})):
    case(MALLOC, name, "{b}/guest go 20 threads 20 plug 20", env=settings)

case(LOADER, "LD_AUDIT", "{b}/guest go 20 threads 20 plug 20", env={"LD_AUDIT": "{b}/audit.so"}, needs=["{b}/audit.so"])
case(LOADER, "LD_BIND_NOW", "{b}/guest go 20 plug 20", env={"LD_BIND_NOW": "1"})
case(LOADER, "another hook before the shim", "{b}/guest go 20 plug 20", env={"LD_PRELOAD": "{b}/other_hook.so"},
     needs=["{b}/other_hook.so"], cheap=True)
case(LOADER, "a preload that does not exist", "{b}/guest go 20", env={"LD_PRELOAD": "/no/such.so"}, noisy=True)
guest(LOADER, "dlclose of everything", "plug 200 close_libraries go 3")
guest(LOADER, "8 namespaces of the loader", "go 3 namespaces 8 go 3", cheap=True)

ASAN = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
case(TOOLS, "AddressSanitizer", "{b}/guest_asan go 50 threads 10", env=ASAN, needs=["{b}/guest_asan"], noisy=True)
case(TOOLS, "ThreadSanitizer", "{b}/guest_tsan go 50 threads 10", needs=["{b}/guest_tsan"], noisy=True)
case(TOOLS, "UBSan", "{b}/guest_ubsan go 50 threads 10", needs=["{b}/guest_ubsan"])
case(TOOLS, "gprof", "{b}/guest_gprof go 50 threads 10", needs=["{b}/guest_gprof"], litter=["gmon.out"])
case(TOOLS, "Valgrind", "valgrind -q --error-exitcode=77 {b}/guest go 50 threads 5", needs=["valgrind"])
case(TOOLS, "Helgrind", "valgrind --tool=helgrind -q {b}/guest go 50", needs=["valgrind"], noisy=True, modes=["all"])
case(TOOLS, "gdb", "gdb -q -nx -batch -ex 'set print thread-events off' -ex run -ex bt --args {b}/guest go 50 threads 5", needs=["gdb"], noisy=True,
     varies=[r"\[New Thread.*", r"\[Thread 0x.*", r"\[Inferior.*"])
case(TOOLS, "gdb, at a breakpoint within a call", "gdb -q -nx -batch -ex 'set breakpoint pending on' -ex 'break guest_rest' "
     "-ex run -ex continue --args {b}/guest go 5 profiled 1", needs=["gdb"], noisy=True, complete=False, modes=["all"],
     varies=[r"\[Inferior.*", r"Breakpoint.*", r"process \d+"], timed=False)
case(TOOLS, "perf record", "perf record -q -o perf.data {b}/guest go 5000", needs=["perf"], litter=["perf.data"], noisy=True)
case(TOOLS, "perf stat", "perf stat -o stat.txt {b}/guest go 5000", needs=["perf"], litter=["stat.txt"])
case(TOOLS, "strace", "strace -f -o trace.txt {b}/guest go 50 forks 3", needs=["strace"], litter=["trace.txt"])
case(TOOLS, "timeout", "timeout 20 {b}/guest go 50", cheap=True)
case(TOOLS, "timeout that kills", "timeout -s KILL 1 {b}/guest go 5 count exec_self profiled+1000000", timed=False,
     complete=False, modes=["all"])

case(LANGUAGES, "Go with C", "{b}/calls_go", needs=["{b}/calls_go"], cheap=False)
case(LANGUAGES, "Go without C", "{b}/plain_go", needs=["{b}/plain_go"], why="linked statically")
case(LANGUAGES, "Java", "java -cp {b} Calls", env={"GUEST_PLUG": "{b}/plug_java.so"}, needs=["java", "{b}/plug_java.so"])
case(LANGUAGES, "Node", "node -e \"require('{b}/plug.node'); console.log('calls 20')\"", needs=["node", "{b}/plug.node"])
case(LANGUAGES, "Ruby", "ruby {s}/calls.rb", needs=["ruby"])
case(LANGUAGES, "Python", "/usr/bin/python3 {s}/calls.py", needs=["/usr/bin/python3"])
case(LANGUAGES, "Rust", "{b}/calls_rs", needs=["{b}/calls_rs"])
case(LANGUAGES, "Perl, without calls", "perl -e 'print 1 + 1'", needs=["perl"], why=UNSEEN + "no CUDA call")

guest(OUTPUT, "removed while it is made", "go 5 remove_recording go 20000", why=UNSEEN + ".*removed",
      modes=["all"])
case(OUTPUT, "a full file system", "{b}/guest go 3000000", root=True, output="OUT/small/r.bin", timed=False,
     before=["mkdir OUT/small && mount -t tmpfs -o size=4m small OUT/small"], after=["umount OUT/small"],
     why="cannot write|No space left", complete=False, modes=["none, --cpu"], leaves_live=True)
case(OUTPUT, "a file system without room for anything", "{b}/guest go 30", root=True, output="OUT/small/r.bin",
     before=["mkdir OUT/small && mount -t tmpfs -o size=4k small OUT/small && head -c 4096 /dev/zero > OUT/small/f"],
     after=["umount OUT/small"], timed=False, why="No space left", modes=["none, --cpu"])
case(OUTPUT, "a file system that cannot reserve space (ext2, like NFS)", "{b}/guest go 20000 forks 3", root=True,
     output="OUT/small/r.bin", modes=["all"], timed=False, needs=["mke2fs"],
     before=["mkdir OUT/small && truncate -s 64M OUT/disk && mke2fs -q -t ext2 OUT/disk && mount -o loop OUT/disk OUT/small"],
     after=["umount OUT/small"])
case(OUTPUT, "a name with a newline", "{b}/guest go 50", output="OUT/a\nb.bin", noisy=True, modes=["all"], timed=False,
     complete=False)

everywhere(c for c in CASES if c.group in (PLAIN, LANGUAGES))
