/* Records one event of each kind, for the live file shown in docs/internals/snapshot-format.md. The
 * clock starts at 1 s and advances by 10 us a call; the recording threads are 1234 and 1235. */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "capture/record/recorder.h"
#include "tests/programs/fixed_stack.h"

int __wrap_clock_gettime(clockid_t which, struct timespec *now);

int __wrap_clock_gettime(clockid_t which, struct timespec *now)
{
    static long asked;

    *now = (struct timespec){which == CLOCK_MONOTONIC ? 1 : 1700000000, 10000 * asked++};
    return 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    static long threads;
    long a[4];
    va_list arguments;

    if (number == SYS_gettid)
        return 1234 + threads++;
    va_start(arguments, number);
    for (int i = 0; i < 4; i++) /* the recorder calls no others */
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    return __real_syscall(number, a[0], a[1], a[2], a[3]);
}

static void record_block(uint64_t addr, int64_t size, uint64_t allocated, uint64_t reserved)
{
    mv_rec_visit visit;

    if (!mv_rec_enter(&visit))
        return;
    mv_rec_block(&(mv_rec_block_event){.addr = addr,
                                       .size = size,
                                       .allocated = allocated,
                                       .reserved = reserved,
                                       .device_type = 1});
    mv_rec_leave(&visit);
}

static void record_call(void)
{
    static const uint64_t native[] = {(3 << 20) + 0x123, (4 << 20) + 0x456};
    mv_rec_visit visit;

    stand_stack_set(0, NULL, NULL);
    stand_stack_set_native(2, native);
    if (!mv_rec_enter(&visit))
        return;
    mv_rec_call(&(mv_rec_api){.api = "cudaMalloc",
                              .caller = (void *)(uintptr_t)native[0],
                              .addr = 0x7f0000200000,
                              .size = 2 << 20,
                              .handle = 7,
                              .device = 0,
                              .result = 2,
                              .action = MV_API_ALLOC});
    mv_rec_leave(&visit);
}

static void record_failure(void)
{
    mv_rec_visit visit;

    if (!mv_rec_enter(&visit))
        return;
    mv_rec_oom(&(mv_rec_block_event){
        .size = 4096, .allocated = 1000, .reserved = 2 << 20, .device_type = 1});
    mv_rec_leave(&visit);
}

static void record_heap(void)
{
    mv_rec_visit visit;

    if (!mv_rec_enter(&visit))
        return;
    mv_rec_heap(&(mv_rec_heap_call){
        .heap = "pool", .addr = 0x7f0000000600, .size = 1000, .action = MV_HEAP_RESIZE});
    mv_rec_leave(&visit);
}

static void record_mark(mv_live_event kind, const char *text, uint64_t number)
{
    mv_rec_visit visit;

    if (!mv_rec_enter(&visit))
        return;
    mv_rec_mark(kind, text, number);
    mv_rec_leave(&visit);
}

static void *record_everything(void *unused)
{
    static const uint32_t codes[] = {2, 1}, offsets[] = {4, 300};

    stand_stack_set(2, codes, offsets);
    record_block(0x7f0000000000, 1536, 1536, 2 << 20);
    record_block(0x7f0000000600, 1000, 2536, 2 << 20);
    record_block(0x7f0000000000, -1536, 1000, 2 << 20);
    record_failure();
    record_call();
    record_mark(MV_LIVE_EVENT_MARK, "step 1", 0);
    record_mark(MV_LIVE_EVENT_PUSH, "forward", 0);
    record_mark(MV_LIVE_EVENT_POP, NULL, 0);
    record_mark(MV_LIVE_EVENT_BEGIN, "step 1", 5);
    record_mark(MV_LIVE_EVENT_END, NULL, 5);
    return unused;
}

static void *record_one_mark(void *unused)
{
    record_mark(MV_LIVE_EVENT_MARK, "step 1", 0);
    record_heap();
    return unused;
}

static void run_in_thread(void *(*what)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, what, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
}

int main(void)
{
    run_in_thread(record_everything);
    run_in_thread(record_one_mark);
    return 0;
}
