/* Preloaded into memviz or a recorded program, this library makes each reading of the time of day
 * differ from the last one by years, alternately later and earlier. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { YEARS = 5 * 365 * 86400 };

static time_t jump(void)
{
    static atomic_uint looks;
    unsigned look = atomic_fetch_add(&looks, 1);

    return look % 2 ? -(time_t)YEARS : (time_t)YEARS * (time_t)(look % 3);
}

int clock_gettime(clockid_t which, struct timespec *now)
{
    long result = syscall(SYS_clock_gettime, which, now);

    if (result == 0 && which == CLOCK_REALTIME)
        now->tv_sec += jump();
    return (int)result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec at;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &at);
    *now = (struct timeval){at.tv_sec, at.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    if (out)
        *out = at.tv_sec;
    return at.tv_sec;
}
