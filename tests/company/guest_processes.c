/* Descriptors, processes, and ways in which a program ends. */
#define _GNU_SOURCE
#include "guest.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void close_all(void)
{
    close_range(3, ~0u, 0);
}

enum { FIRST_OWN = 50, END_OWN = 80 };

/* The program opens files at descriptor numbers that other software likes to use. */
static void take_numbers(void)
{
    for (int n = FIRST_OWN; n < END_OWN; n++) {
        char name[32];
        snprintf(name, sizeof name, "own.%d", n);
        int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (file != n && dup2(file, n) >= 0)
            close(file);
    }
}

static void check_numbers(void)
{
    int changed = 0;

    for (int n = FIRST_OWN; n < END_OWN; n++) {
        struct stat st;
        changed += fstat(n, &st) != 0 || st.st_size != 0;
    }
    printf("%d of the program's own files changed\n", changed);
}

/* The free numbers below the shim's. The results of open() must not change. */
static void next_number(void)
{
    int file = open("/dev/null", O_RDONLY);

    printf("next descriptor %d\n", file);
    close(file);
}

/* ---- children ---- */

static void wait_for(pid_t child)
{
    int status;

    if (waitpid(child, &status, 0) == child && status != 0)
        printf("a child ended with %x\n", status);
}

static void forks(const char *count)
{
    for (int i = guest_number(count); i > 0; i--) {
        pid_t child = fork();
        guest_go(3);
        if (child == 0)
            _exit(0);
        wait_for(child);
    }
}

static void fork_chain(const char *depth)
{
    for (int i = guest_number(depth); i > 0; i--) {
        pid_t child = fork();
        guest_go(2);
        if (child > 0) {
            wait_for(child);
            exit(0);
        }
    }
}

static __attribute__((noinline)) pid_t start_true(void)
{
    pid_t child = vfork();

    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    return child;
}

static void vforks(const char *count)
{
    for (int i = guest_number(count); i > 0; i--) {
        wait_for(start_true());
        guest_go(1);
    }
}

/* A child that libc does not know about. */
static void raw_clone(void)
{
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    guest_go(3);
    if (child == 0)
        syscall(SYS_exit_group, 0);
    wait_for(child);
}

/* Executes itself with the words after it, in which `+` separates words: "go+3+abort". */
static void become(const char *file, const char *words)
{
    char *copy = strdup(words), *all[32] = {(char *)"guest"}, *rest = NULL;
    int count = 1;

    for (char *at = strtok_r(copy, "+", &rest); at && count < 31; at = strtok_r(NULL, "+", &rest))
        all[count++] = at;
    execve(file, all, environ);
    guest_cannot("exec");
}

static void exec_self(const char *words)
{
    become("/proc/self/exe", words);
}

/* Does the same from memory, without a file. */
static void exec_copy(const char *words)
{
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = memfd_create("copy", 0);
    char path[64];
    struct stat st;
    off_t at = 0;

    if (from < 0 || to < 0 || fstat(from, &st) != 0)
        guest_cannot("copy");
    while (at < st.st_size && copy_file_range(from, &at, to, NULL, (size_t)st.st_size, 0) > 0)
        continue;
    for (char block[4096]; at < st.st_size;) {
        ssize_t got = pread(from, block, sizeof block, at);
        if (got <= 0 || write(to, block, (size_t)got) != got)
            guest_cannot("copy");
        at += got;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    become(path, words);
}

/* The parent attaches to the child like a debugger, and lets it run. */
static void traced(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        guest_go(20);
        _exit(0);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
        ptrace(PTRACE_CONT, child, NULL, WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status));
    printf("traced child: %x\n", status);
}

/* Does what checkpoint software does: stops the program at any time, and continues it. */
static void frozen(const char *count)
{
    pid_t self = getpid(), other = fork();

    if (other == 0) {
        for (int i = guest_number(count); i > 0; i--) {
            kill(self, SIGSTOP);
            kill(self, SIGCONT);
            usleep(500);
        }
        _exit(0);
    }
    while (waitpid(other, NULL, WNOHANG) == 0) {
        guest_go(5);
        guest_rest();
    }
    puts("was frozen");
}

/* ---- ends ---- */

static void leave_at_once(const char *status)
{
    _exit(guest_number(status));
}

static void leave(const char *status)
{
    exit(guest_number(status));
}

static void kill_self(const char *number)
{
    kill(getpid(), guest_number(number));
}

static void last_calls(void)
{
    guest_go(3);
    puts("at exit");
}

static void go_at_exit(void)
{
    atexit(last_calls);
}

/* ---- libraries ---- */

/* Opens, uses and closes the library many times, then does so in separate namespaces. */
static void plug(const char *count)
{
    for (int i = guest_number(count); i > 0; i--) {
        void *plugin = dlopen(getenv("GUEST_PLUG"), RTLD_NOW);
        int (*use)(int) = plugin ? (int (*)(int))dlsym(plugin, "plug_go") : NULL;
        if (!use || use(4) != 4)
            puts(dlerror());
        if (plugin)
            dlclose(plugin);
    }
}

static void namespaces(const char *count)
{
    for (int i = guest_number(count); i > 0; i--) {
        void *plugin = dlmopen(LM_ID_NEWLM, getenv("GUEST_PLUG"), RTLD_NOW);
        int (*use)(int) = plugin ? (int (*)(int))dlsym(plugin, "plug_go") : NULL;
        printf("namespace %s\n", use && use(4) == 4 ? "used" : "refused");
        if (plugin)
            dlclose(plugin);
    }
}

/* Closes every descriptor that can be closed, several times. */
static void close_libraries(void)
{
    void *self = dlopen("libcudart.so.12", RTLD_NOW | RTLD_NOLOAD);

    for (int i = 0; i < 3 && self; i++)
        dlclose(self);
    guest_go(3);
}

/* Connects to the launcher's socket, if there is one, and writes to a private pipe, as a driver
 * does. */
static void strays(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *name = getenv("MEMVIZ_SAMPLER"), *texts[] = {"\1\0\0\0", "\1\0\0\0\1\0\0\0"};
    size_t length = name ? strlen(name) : 0;

    for (size_t i = 0; length && i < 2; i++) {
        int link = socket(AF_UNIX, SOCK_STREAM, 0);
        memcpy(to.sun_path + 1, name, length);
        if (connect(link, (struct sockaddr *)&to,
                    offsetof(struct sockaddr_un, sun_path) + 1 + length) == 0)
            send(link, texts[i], 4 + 4 * i, MSG_NOSIGNAL);
        close(link);
    }
}

static void clear_environment(void)
{
    clearenv();
}

const guest_word guest_processes[] = {{"close_all", .acts = close_all},
                                      {"take_numbers", .acts = take_numbers},
                                      {"check_numbers", .acts = check_numbers},
                                      {"next_number", .acts = next_number},
                                      {"forks", .does = forks},
                                      {"fork_chain", .does = fork_chain},
                                      {"vforks", .does = vforks},
                                      {"raw_clone", .acts = raw_clone},
                                      {"exec_self", .does = exec_self},
                                      {"exec_copy", .does = exec_copy},
                                      {"traced", .acts = traced},
                                      {"frozen", .does = frozen},
                                      {"leave_at_once", .does = leave_at_once},
                                      {"leave", .does = leave},
                                      {"abort", .acts = abort},
                                      {"kill_self", .does = kill_self},
                                      {"go_at_exit", .acts = go_at_exit},
                                      {"plug", .does = plug},
                                      {"namespaces", .does = namespaces},
                                      {"close_libraries", .acts = close_libraries},
                                      {"clear_environment", .acts = clear_environment},
                                      {"strays", .acts = strays},
                                      {NULL}};
