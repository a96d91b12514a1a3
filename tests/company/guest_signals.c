/* Signals: handlers that call CUDA, jump, fork, or run on separate stacks. */
#define _GNU_SOURCE
#include "guest.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAINT = 0xa5, TICK_US = 200, PAGE = 4096 };

static sigjmp_buf back;
static volatile sig_atomic_t hits, most_hits;

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction how = {.sa_handler = handler, .sa_flags = flags};

    if (sigaction(number, &how, NULL) != 0)
        guest_cannot("sigaction");
}

static unsigned handled_calls;

static void go_in_handler(int number)
{
    (void)number;
    guest_go(handled_calls);
}

/* The memory below this stack must not be touched. */
static char *paint(size_t size)
{
    size_t all = (size + PAGE - 1) / PAGE * PAGE, guard = 16 * PAGE;
    char *memory = mmap(NULL, all + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_size = size};

    if (memory == MAP_FAILED || mprotect(memory + guard, all, PROT_READ | PROT_WRITE) != 0)
        guest_cannot("mmap");
    stack.ss_sp = memory + guard + all - size;
    memset(stack.ss_sp, PAINT, size);
    if (sigaltstack(&stack, NULL) != 0)
        guest_cannot("sigaltstack");
    return stack.ss_sp;
}

static void use_signal_stack(const char *size, unsigned calls, int says)
{
    size_t bytes = (size_t)guest_number(size), untouched = 0;
    char *stack = paint(bytes);

    handled_calls = calls;
    handle(SIGUSR1, go_in_handler, SA_ONSTACK);
    raise(SIGUSR1);
    while (untouched < bytes && (unsigned char)stack[untouched] == PAINT)
        untouched++;
    if (says)
        fprintf(stderr, "stack %zu\n", bytes - untouched);
    puts("handled");
}

static void signal_stack(const char *size)
{
    use_signal_stack(size, 6, 0);
}

/* Prints on standard error how many bytes of stack were used by a handler that calls CUDA. With 0
 * calls, the handler does nothing. */
static void measured_stack(const char *calls)
{
    use_signal_stack("262144", (unsigned)guest_number(calls), 1);
}

static void every(int which, long us)
{
    struct itimerval timer = {{0, us}, {0, us}};

    if (setitimer(which, &timer, NULL) != 0)
        guest_cannot("setitimer");
}

static void go_and_count(int number)
{
    (void)number;
    guest_go(2);
    hits = hits + 1;
}

static void jump(int number)
{
    (void)number;
    hits = hits + 1;
    siglongjmp(back, 1);
}

static void fork_and_go(int number)
{
    (void)number;
    hits = hits + 1;
    if (hits >= most_hits)
        every(ITIMER_REAL, 0); /* children may take longer than one tick */
    pid_t child = fork();
    if (child == 0) {
        guest_go(2);
        _exit(0);
    }
    while (waitpid(child, NULL, 0) < 0)
        continue;
}

static void storm(int which, int number, void (*handler)(int), int most)
{
    hits = 0;
    most_hits = most;
    handle(number, handler, SA_RESTART);
    sigsetjmp(back, 1);
    every(which, TICK_US);
    while (hits < most) {
        guest_go_deep((unsigned)hits % 30, 3);
        guest_rest();
    }
    every(which, 0);
    handle(number, SIG_IGN, 0);
    puts("the storm is over");
    guest_go(5);
}

static void calls_in_handlers(const char *most)
{
    storm(ITIMER_REAL, SIGALRM, go_and_count, guest_number(most));
}

static void jumps_out_of_handlers(const char *most)
{
    storm(ITIMER_REAL, SIGALRM, jump, guest_number(most));
}

static void forks_in_handlers(const char *most)
{
    storm(ITIMER_REAL, SIGALRM, fork_and_go, guest_number(most));
}

static void count_only(int number)
{
    (void)number;
    hits = hits + 1;
}

/* A profiler that samples as fast as the kernel's clock allows. */
static void profiled(const char *most)
{
    storm(ITIMER_PROF, SIGPROF, count_only, guest_number(most));
}

static void jump_back(void)
{
    siglongjmp(back, 1);
}

/* Jumps out of the same call again and again, and then records normally. */
static void jumps_out_of_calls(const char *count)
{
    volatile int left = guest_number(count);

    if (sigsetjmp(back, 1))
        left = left - 1;
    if (left > 0)
        guest_call_back(jump_back);
    puts("jumped");
    guest_go(20);
}

static void go_and_jump(int number, siginfo_t *what, void *context)
{
    (void)number, (void)what, (void)context;
    guest_go(3);
    siglongjmp(back, 1);
}

/* Handlers for access errors, like those of garbage collectors and interpreters. */
static void bad_accesses(const char *count)
{
    struct sigaction how = {.sa_sigaction = go_and_jump, .sa_flags = SA_SIGINFO | SA_NODEFER};
    volatile int left = guest_number(count);

    sigaction(SIGSEGV, &how, NULL);
    sigsetjmp(back, 1);
    if (left > 0) {
        left = left - 1;
        *(volatile int *)8 = 1;
    }
    puts("survived");
}

const guest_word guest_signals[] = {{"signal_stack", .does = signal_stack},
                                    {"measured_stack", .does = measured_stack},
                                    {"calls_in_handlers", .does = calls_in_handlers},
                                    {"jumps_out_of_handlers", .does = jumps_out_of_handlers},
                                    {"forks_in_handlers", .does = forks_in_handlers},
                                    {"profiled", .does = profiled},
                                    {"jumps_out_of_calls", .does = jumps_out_of_calls},
                                    {"bad_accesses", .does = bad_accesses},
                                    {NULL}};
