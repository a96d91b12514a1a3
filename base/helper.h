/* A second thread that does jobs in order, while its owner does something else. */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

enum { MV_HELPER_JOBS = 4 };

typedef struct {
    pthread_t thread;
    sem_t given, done;
    struct {
        void (*job)(void *user); /* NULL: the thread ends */
        void *user;
    } jobs[MV_HELPER_JOBS];
    uint32_t count; /* number of jobs given, including the last */
    uint32_t ended; /* number of jobs waited for */
} mv_helper;

/* Returns false if no thread can be started. The helper must stay where it is until it stops. */
bool mv_helper_start(mv_helper *helper);

/* Calls job(user) on the helper's thread, after the jobs that were given before. At most
 * MV_HELPER_JOBS - 1 jobs may not have been waited for. */
void mv_helper_give(mv_helper *helper, void (*job)(void *user), void *user);

/* Returns when the oldest job that was not waited for has ended; false if there is none. */
bool mv_helper_wait(mv_helper *helper);

/* Waits for all jobs, and ends the thread. */
void mv_helper_stop(mv_helper *helper);
