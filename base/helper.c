#include "base/helper.h"

#include <stddef.h>

#include "base/thread.h"

static void wait_for(sem_t *s)
{
    while (sem_wait(s) != 0) /* interrupted by a signal */
        ;
}

static void *work(void *user)
{
    mv_helper *h = user;

    for (uint32_t i = 0;; i++) {
        wait_for(&h->given);
        if (!h->jobs[i % MV_HELPER_JOBS].job)
            return NULL;
        h->jobs[i % MV_HELPER_JOBS].job(h->jobs[i % MV_HELPER_JOBS].user);
        sem_post(&h->done);
    }
}

bool mv_helper_start(mv_helper *helper)
{
    *helper = (mv_helper){.count = 0};
    if (sem_init(&helper->given, 0, 0) != 0)
        return false;
    if (sem_init(&helper->done, 0, 0) == 0) {
        if (mv_thread_start(&helper->thread, work, helper))
            return true;
        sem_destroy(&helper->done);
    }
    sem_destroy(&helper->given);
    return false;
}

void mv_helper_give(mv_helper *helper, void (*job)(void *user), void *user)
{
    helper->jobs[helper->count % MV_HELPER_JOBS].job = job;
    helper->jobs[helper->count % MV_HELPER_JOBS].user = user;
    helper->count++;
    sem_post(&helper->given);
}

bool mv_helper_wait(mv_helper *helper)
{
    if (helper->ended == helper->count)
        return false;
    wait_for(&helper->done);
    helper->ended++;
    return true;
}

void mv_helper_stop(mv_helper *helper)
{
    while (mv_helper_wait(helper))
        ;
    mv_helper_give(helper, NULL, NULL);
    pthread_join(helper->thread, NULL);
    sem_destroy(&helper->given);
    sem_destroy(&helper->done);
}
