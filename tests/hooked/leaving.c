/* A program that calls CUDA's driver and has a handler that jumps away: leaving CALLS [fork]. At
 * the end another thread reads the loader's list of files, which takes the loader's lock. With
 * `fork`, all of this happens in the child of a process with two threads. */
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Uses the driver, because the runtime would look the driver up in each call. */
int cuMemAlloc_v2(uint64_t *out, size_t bytes);
int cuMemFree_v2(uint64_t memory);

/* Defined in watched_list.c, if that is preloaded. */
__attribute__((weak)) void watched_begin(void);
__attribute__((weak)) void watched_end(void);

static sigjmp_buf back;
static volatile unsigned jumps;

static void jump(int number)
{
    (void)number;
    jumps = jumps + 1;
    siglongjmp(back, 1);
}

static void call(void)
{
    uint64_t memory = 0;

    if (cuMemAlloc_v2(&memory, 1024) != 0 || cuMemFree_v2(memory) != 0)
        printf("a call went wrong\n");
}

static void call_from_elsewhere(void)
{
    call();
    call();
}

static int see(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    *(unsigned *)data += 1;
    return 0;
}

static void *list(void *unused)
{
    unsigned files = 0;

    dl_iterate_phdr(see, &files);
    printf("the list has %s\n", files > 3 ? "files" : "too few files");
    return unused;
}

static void *sleep_on(void *unused)
{
    pause();
    return unused;
}

static void run(unsigned calls)
{
    volatile unsigned left = calls;
    pthread_t thread;

    if (sigsetjmp(back, 1) == 0) {
        if (watched_begin)
            watched_begin();
        call_from_elsewhere(); /* a place in the code that has not called yet */
    }
    while (left > 0) {
        left = left - 1;
        call();
    }
    signal(SIGUSR1, SIG_IGN);
    if (watched_end)
        watched_end();
    pthread_create(&thread, NULL, list, NULL);
    pthread_join(thread, NULL);
    printf("%s\n", jumps > 0 ? "jumped" : "never jumped");
    fflush(stdout);
}

int main(int count, char **words)
{
    unsigned calls = count > 1 ? (unsigned)strtoul(words[1], NULL, 10) : 0;
    pthread_t thread;

    sigsetjmp(back, 1);
    signal(SIGUSR1, jump);
    call();
    if (count < 3) {
        run(calls);
        return 0;
    }
    pthread_create(&thread, NULL, sleep_on, NULL);
    pid_t child = fork();
    if (child == 0) {
        run(calls);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
