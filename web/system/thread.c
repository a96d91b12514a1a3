/* A page has one thread. */
#include "base/thread.h"

#include <errno.h>

bool mv_thread_start(pthread_t *thread, void *(*work)(void *user), void *user)
{
    (void)thread, (void)work, (void)user;
    errno = EAGAIN;
    return false;
}
