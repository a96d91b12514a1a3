/* A program for tests of `memviz run`: performs its arguments, one after another.
 *
 *     mark TEXT     memviz_mark(TEXT), if the shim is loaded: an event without a GPU
 *     heap NAME     reports a block of heap NAME
 *     fork          a child marks "child" and ends; waits for it
 *     spawn         another image of this program marks "spawned" in its own process
 *     exec          executes this program again, with the arguments that follow
 *     leave         a child that marks "left" and is not waited for: it stays until there is a file
 *                   "enough" here, and unlinks that file as it ends; the file "left" says that it
 *                   has marked
 *     rank N        sets RANK
 *     await FILE    waits until there is such a file
 *     touch FILE    makes it
 *     signals       prints the signals that it was given blocked or ignored, as masks
 *     kill N        sends itself a signal
 *     exit N        _exit
 *
 * Waits end after ten minutes: a failed test leaves no process. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <signal.h>

static void mark(const char *text)
{
    void (*call)(const char *);
    void *found = dlsym(RTLD_DEFAULT, "memviz_mark");

    memcpy(&call, &found, sizeof call);
    if (found)
        call(text);
}

enum { LOOK_US = 10 * 1000, MOST_LOOKS = 600 * 1000000ll / LOOK_US };

static void await(const char *path)
{
    for (int i = 0; i < MOST_LOOKS && access(path, F_OK) != 0; i++)
        usleep(LOOK_US);
}

static void touch(const char *path)
{
    close(open(path, O_WRONLY | O_CREAT, 0600));
}

static void leave_child(void)
{
    if (fork() != 0) {
        await("left");
        return;
    }
    mark("left");
    touch("left");
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    for (int i = 0; i < MOST_LOOKS && unlink("enough") != 0; i++)
        usleep(LOOK_US);
    _exit(0);
}

/* The words without an argument; false for all others. */
static int do_word(const char *self, const char *word)
{
    int is_spawn = strcmp(word, "spawn") == 0;

    if (is_spawn || strcmp(word, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            if (is_spawn)
                execl(self, self, "mark", "spawned", (char *)NULL);
            else
                mark("child");
            _exit(is_spawn ? 99 : 0);
        }
        waitpid(child, NULL, 0);
    } else if (strcmp(word, "leave") == 0)
        leave_child();
    else if (strcmp(word, "signals") == 0) {
        sigset_t blocked;
        unsigned long masks[2] = {0};
        struct sigaction action;
        sigprocmask(SIG_SETMASK, NULL, &blocked);
        for (int i = 1; i < 32; i++) {
            masks[0] |= sigismember(&blocked, i) == 1 ? 1ul << i : 0;
            sigaction(i, NULL, &action);
            masks[1] |= action.sa_handler == SIG_IGN ? 1ul << i : 0;
        }
        printf("blocked %lx ignored %lx\n", masks[0], masks[1]);
        fflush(stdout);
    } else
        return 0;
    return 1;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : "";
        if (do_word(argv[0], word))
            continue;
        if (strcmp(word, "exec") == 0) {
            argv[i] = argv[0];
            execv(argv[0], argv + i);
            return 98;
        }
        i++;
        if (strcmp(word, "mark") == 0)
            mark(next);
        else if (strcmp(word, "heap") == 0) {
            unsigned (*heap)(const char *);
            void (*alloc)(unsigned, const void *, size_t);
            void *found = dlsym(RTLD_DEFAULT, "memviz_heap"),
                 *other = dlsym(RTLD_DEFAULT, "memviz_alloc");
            memcpy(&heap, &found, sizeof heap);
            memcpy(&alloc, &other, sizeof alloc);
            if (found && other)
                alloc(heap(next), next, 512);
        } else if (strcmp(word, "rank") == 0)
            setenv("RANK", next, 1);
        else if (strcmp(word, "await") == 0)
            await(next);
        else if (strcmp(word, "touch") == 0)
            touch(next);
        else if (strcmp(word, "kill") == 0)
            raise((int)strtol(next, NULL, 10));
        else if (strcmp(word, "exit") == 0)
            _exit((int)strtol(next, NULL, 10));
        else
            return 97;
    }
    return 0;
}
