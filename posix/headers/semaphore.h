/* POSIX semaphores within a process: macOS declares the functions, but they fail. */
#ifndef MV_POSIX_SEMAPHORE_H
#define MV_POSIX_SEMAPHORE_H

#include <pthread.h>

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    unsigned value;
} mv_semaphore;

#define sem_t       mv_semaphore
#define sem_init    mv_semaphore_init
#define sem_destroy mv_semaphore_destroy
#define sem_post    mv_semaphore_post
#define sem_wait    mv_semaphore_wait

static inline int mv_semaphore_init(mv_semaphore *s, int is_shared, unsigned value)
{
    (void)is_shared;
    s->value = value;
    if (pthread_mutex_init(&s->lock, NULL) != 0)
        return -1;
    return pthread_cond_init(&s->more, NULL) == 0 ? 0 : -1;
}

static inline int mv_semaphore_destroy(mv_semaphore *s)
{
    pthread_cond_destroy(&s->more);
    return pthread_mutex_destroy(&s->lock);
}

static inline int mv_semaphore_post(mv_semaphore *s)
{
    pthread_mutex_lock(&s->lock);
    s->value++;
    pthread_cond_signal(&s->more);
    return pthread_mutex_unlock(&s->lock);
}

static inline int mv_semaphore_wait(mv_semaphore *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->value == 0)
        pthread_cond_wait(&s->more, &s->lock);
    s->value--;
    return pthread_mutex_unlock(&s->lock);
}

#endif
