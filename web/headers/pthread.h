/* POSIX threads for a page, which has only one thread. No thread can be started (system/thread.c),
 * and locks do nothing. Code that fails to start threads works without them. wasi-libc defines the
 * types. */
#ifndef MV_WEB_PTHREAD_H
#define MV_WEB_PTHREAD_H

#define __NEED_pthread_t
#define __NEED_pthread_attr_t
#define __NEED_pthread_mutex_t
#define __NEED_pthread_mutexattr_t
#define __NEED_pthread_cond_t
#define __NEED_pthread_condattr_t
#include <bits/alltypes.h>
#include <errno.h>
#include <stddef.h>

/* Never called, because no thread can be started. */
static inline int pthread_join(pthread_t thread, void **out)
{
    (void)thread, (void)out;
    return EINVAL;
}

static inline int pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attr)
{
    (void)lock, (void)attr;
    return 0;
}

static inline int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
    (void)cond, (void)attr;
    return 0;
}

/* Never called, because only threads that memviz starts wait. */
static inline int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
    (void)cond, (void)lock;
    return EINVAL;
}

#define MV_DOES_NOTHING(function, type)    \
    static inline int function(type *with) \
    {                                      \
        (void)with;                        \
        return 0;                          \
    }
MV_DOES_NOTHING(pthread_mutex_destroy, pthread_mutex_t)
MV_DOES_NOTHING(pthread_mutex_lock, pthread_mutex_t)
MV_DOES_NOTHING(pthread_mutex_unlock, pthread_mutex_t)
MV_DOES_NOTHING(pthread_cond_destroy, pthread_cond_t)
MV_DOES_NOTHING(pthread_cond_signal, pthread_cond_t)
MV_DOES_NOTHING(pthread_cond_broadcast, pthread_cond_t)
#undef MV_DOES_NOTHING

#endif
