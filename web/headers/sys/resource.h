/* Limits of a process where there are none. */
#ifndef MV_WEB_RESOURCE_H
#define MV_WEB_RESOURCE_H

#include <errno.h>

#define RLIMIT_FSIZE  1
#define RLIM_INFINITY (~0ull)

typedef unsigned long long rlim_t;

struct rlimit {
    rlim_t rlim_cur, rlim_max;
};

static inline int getrlimit(int which, struct rlimit *out)
{
    (void)which, (void)out;
    errno = ENOSYS;
    return -1;
}

static inline int setrlimit(int which, const struct rlimit *limit)
{
    (void)which, (void)limit;
    errno = ENOSYS;
    return -1;
}

#endif
