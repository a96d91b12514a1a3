/* Semaphores for a page, in which no thread can wait (see pthread.h). */
#include <semaphore.h>

int sem_init(sem_t *s, int is_shared, unsigned value)
{
    (void)s, (void)is_shared, (void)value;
    return 0;
}

int sem_destroy(sem_t *s)
{
    (void)s;
    return 0;
}

int sem_post(sem_t *s)
{
    (void)s;
    return 0;
}

/* Never called, because no thread can be started. */
int sem_wait(sem_t *s)
{
    (void)s;
    return -1;
}
