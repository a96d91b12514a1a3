#include "base/thread.h"

#include <errno.h>
#include <signal.h>

bool mv_thread_start(pthread_t *thread, void *(*work)(void *user), void *user)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all, before;
    int why;

    sigfillset(&all);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    why = pthread_create(thread, NULL, work, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (why != 0)
        errno = why;
    return why == 0;
}
