/* When preloaded, makes CLOCK_MONOTONIC run $MEMVIZ_TEST_FAST times as fast, counting from the
 * machine's start. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static long times;
    long error = syscall(SYS_clock_gettime, clock, now);

    if (error || clock != CLOCK_MONOTONIC)
        return (int)error;
    if (!times)
        times = getenv("MEMVIZ_TEST_FAST") ? strtol(getenv("MEMVIZ_TEST_FAST"), NULL, 10) : 1;
    unsigned long long ns =
        ((unsigned long long)now->tv_sec * 1000000000 + (unsigned long long)now->tv_nsec) *
        (unsigned long long)times;
    *now =
        (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    return 0;
}
