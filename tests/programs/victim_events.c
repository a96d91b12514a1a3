/* A program that records, and then ends in one of many ways:
 *
 *     victim_events MODE THREADS EVENTS SLOT
 *
 * Each of THREADS threads records EVENTS events (0: without end), in slots starting at SLOT. Then
 * MODE happens. The output must not depend on whether the program is recorded. */
#include "tests/programs/victim_events.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/record/recorder.h"
#include "tests/programs/fixed_stack.h"

static victim_acks *acks;
static const char *self;
static uint64_t event_count;

static void set_stack(uint32_t stack)
{
    uint32_t codes[64], offsets[64], depth = stack ? victim_depth(stack) : 0;

    for (uint32_t d = 0; d < depth; d++) {
        codes[d] = victim_code(stack, d);
        offsets[d] = victim_offset(stack, d);
    }
    stand_stack_set(depth, codes, offsets);
}

static void record(uint32_t slot, uint64_t i)
{
    mv_rec_visit visit;
    victim_event e = victim_event_of(slot, i);
    mv_rec_block_event event = {.addr = e.addr,
                                .size = e.is_free ? -(int64_t)e.size : (int64_t)e.size,
                                .allocated = MV_REC_NO_TOTAL,
                                .device_type = 1,
                                .device = (int8_t)(slot % 2)};

    set_stack(e.stack);
    errno = VICTIM_ERRNO;
    if (mv_rec_enter(&visit)) {
        mv_rec_block(&event);
        mv_rec_leave(&visit);
    }
    if (errno != VICTIM_ERRNO)
        printf("errno is %d at event %llu\n", errno, (unsigned long long)i);
    atomic_store(&acks->done[slot], i + 1);
}

static void *work(void *slot)
{
    for (uint64_t i = 0; !event_count || i < event_count; i++)
        record((uint32_t)(uintptr_t)slot, i);
    return NULL;
}

static void work_in_threads(uint32_t threads, uint32_t slot)
{
    pthread_t ids[VICTIM_SLOTS];

    for (uint32_t t = 0; t < threads; t++)
        if (pthread_create(&ids[t], NULL, work, (void *)(uintptr_t)(slot + t)) != 0)
            abort();
    for (uint32_t t = 0; t < threads; t++)
        pthread_join(ids[t], NULL);
}

static void run_self(const char *slot)
{
    char events[24];
    char *argv[] = {(char *)self, (char *)"exit", (char *)"2", events, (char *)slot, NULL};

    snprintf(events, sizeof events, "%llu", (unsigned long long)event_count);
    fflush(stdout);
    execv(self, argv);
    abort();
}

static void wait_for(pid_t child)
{
    int status = -1;

    waitpid(child, &status, 0);
    printf("child ended with %d\n", status);
}

/* The child records in separate slots, and so does the parent after the child. */
static void make_child(const char *mode, pid_t (*fork_now)(void))
{
    work((void *)(uintptr_t)19);
    fflush(stdout);
    pid_t child = fork_now();
    if (child == 0) {
        work((void *)(uintptr_t)20);
        if (strcmp(mode, "forks") == 0) {
            child = fork_now();
            if (child == 0)
                work((void *)(uintptr_t)22);
            else
                waitpid(child, NULL, 0);
        }
        work_in_threads(1, child == 0 ? 23 : 21);
        _exit(0);
    }
    wait_for(child);
    work((void *)(uintptr_t)30);
}

static pid_t clone_raw(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void fork_and_exec(pid_t (*fork_now)(void))
{
    fflush(stdout);
    pid_t child = fork_now();
    if (child == 0)
        run_self("20");
    wait_for(child);
    work((void *)(uintptr_t)30);
}

static void spawn(void)
{
    char events[24];
    char *argv[] = {(char *)self, (char *)"exit", (char *)"2", events, (char *)"20", NULL};
    pid_t child;

    snprintf(events, sizeof events, "%llu", (unsigned long long)event_count);
    fflush(stdout);
    if (posix_spawn(&child, self, NULL, NULL, argv, environ) != 0)
        abort();
    wait_for(child);
    work((void *)(uintptr_t)30);
}

/* Closes all descriptors, as daemons do, and opens files that then get these numbers. */
static void close_everything(void)
{
    char text[5] = "";
    int last = -1;

    for (int fd = 3; fd < 1100; fd++)
        close(fd);
    for (int fd = 3; fd < 1000; fd++)
        last = open("mine", O_RDWR | O_CREAT, 0600);
    if (last < 0 || pwrite(last, "mine", 4, 0) != 4)
        abort();
    work((void *)(uintptr_t)30);
    printf("mine is %zd bytes: %s\n", pread(last, text, 4, 0), text);
    printf("and ends at %lld\n", (long long)lseek(last, 0, SEEK_END));
    unlink("mine");
}

/* Takes the remaining address space, up to a limit. */
static void use_up_memory(void)
{
    for (size_t bytes = 64 << 20; bytes >= 4096; bytes /= 2)
        while (mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            continue;
    work((void *)(uintptr_t)30);
}

/* Starts one thread after another. The last threads record events in destructors as they end. */
static void *record_a_little(void *slot)
{
    for (uint64_t i = 0; i < 10; i++)
        record((uint32_t)(uintptr_t)slot, i);
    return NULL;
}

static void make_short_threads(void)
{
    for (uintptr_t slot = 20; slot < 40; slot++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, record_a_little, (void *)slot) != 0)
            abort();
        pthread_join(thread, NULL);
    }
}

/* Acts like a program that makes a thread for each task: 5,000 threads, each of which continues
 * where the previous one in its slot ended. */
static void *record_three(void *slot)
{
    uint64_t done = atomic_load(&acks->done[(uintptr_t)slot]);

    for (uint64_t i = done; i < done + VICTIM_FEW; i++)
        record((uint32_t)(uintptr_t)slot, i);
    return NULL;
}

static void make_many_threads(void)
{
    pthread_t ids[8];

    for (int wave = 0; wave < VICTIM_WAVES; wave++) {
        for (uintptr_t t = 0; t < 8; t++)
            if (pthread_create(&ids[t], NULL, record_three, (void *)(20 + t)) != 0)
                abort();
        for (int t = 0; t < 8; t++)
            pthread_join(ids[t], NULL);
    }
}

static void record_at_end(void)
{
    work((void *)(uintptr_t)40);
}

static void call_cuda(void)
{
    mv_rec_visit visit;

    stand_stack_set(0, NULL, NULL);
    if (!mv_rec_enter(&visit))
        return;
    mv_rec_call(
        &(mv_rec_api){.api = "cudaMalloc", .addr = 0x1000, .size = 512, .action = MV_API_ALLOC});
    mv_rec_leave(&visit);
}

/* Makes six calls, with the program's clock advancing between them. */
static void keep_time(void)
{
    const void *program = (void *)((uintptr_t)3 << 20), *nccl = (void *)((uintptr_t)16 << 20);

    call_cuda();
    mv_rec_launch();
    mv_rec_wait(program, MV_WAITS_FOR_STREAM);
    call_cuda();
    for (int i = 0; i < 3; i++) { /* memory that is not pinned is on the device */
        mv_rec_wait(program, MV_UPLOADS);
        mv_rec_wait(program, MV_WAITS_FOR_STREAM);
    }
    call_cuda();
    for (int i = 0; i < 3; i++)
        mv_rec_wait(nccl, MV_WAITS);
    mv_rec_wait(program, MV_NO_WAIT);
    call_cuda();
    mv_rec_wait(program, MV_READS_BACK);
    mv_rec_wait(program, MV_WAITS);
    call_cuda();
    mv_rec_wait(program, MV_UPLOADS);
    mv_rec_launch();
    mv_rec_wait(program, MV_WAITS_FOR_STREAM);
    call_cuda();
}

static void end_as(const char *mode)
{
    if (strcmp(mode, "clock") == 0)
        keep_time();
    if (strcmp(mode, "abort") == 0)
        abort();
    if (strcmp(mode, "_exit") == 0)
        _exit(3);
    if (strcmp(mode, "exec") == 0)
        run_self("20");
    if (strcmp(mode, "fork") == 0 || strcmp(mode, "forks") == 0)
        make_child(mode, fork);
    if (strcmp(mode, "clone") == 0)
        make_child(mode, clone_raw);
    if (strcmp(mode, "fork_exec") == 0)
        fork_and_exec(fork);
    if (strcmp(mode, "vfork") == 0)
        fork_and_exec(vfork);
    if (strcmp(mode, "spawn") == 0)
        spawn();
    if (strcmp(mode, "close") == 0)
        close_everything();
    if (strcmp(mode, "no_memory") == 0)
        use_up_memory();
    if (strcmp(mode, "short") == 0)
        make_short_threads();
    if (strcmp(mode, "many") == 0)
        make_many_threads();
    if (strcmp(mode, "atexit") == 0)
        atexit(record_at_end);
}

static void map_acks(void)
{
    const char *path = getenv("VICTIM_ACKS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

    acks = mmap(NULL, sizeof *acks, PROT_READ | PROT_WRITE,
                fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (acks == MAP_FAILED)
        abort();
    if (fd >= 0)
        close(fd);
}

/* Leaves no descriptor number for another file. */
static void use_up_numbers(void)
{
    while (dup(STDIN_FILENO) >= 0)
        continue;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    self = argv[0];
    map_acks();
    if (strcmp(argv[1], "no_numbers") == 0)
        use_up_numbers();
    event_count = strtoull(argv[3], NULL, 10);
    printf("%s of %s threads, %s events each\n", argv[1], argv[2], argv[3]);
    fflush(stdout);
    if (strcmp(argv[1], "warm") == 0)
        record(VICTIM_SLOTS - 1, 0); /* the file exists when threads begin */
    work_in_threads((uint32_t)strtoul(argv[2], NULL, 10), (uint32_t)strtoul(argv[4], NULL, 10));
    end_as(argv[1]);
    printf("done\n");
    return 0;
}
