/* A second thread that does jobs in order. */
#include <criterion/criterion.h>

#include "base/helper.h"

enum { ROUNDS = 1000, AT_ONCE = MV_HELPER_JOBS - 1 };

typedef struct {
    uint32_t *done; /* number of jobs done */
    uint32_t at;    /* `*done` when this job began */
} job;

static void count(void *user)
{
    job *j = user;

    j->at = (*j->done)++;
}

Test(helper, does_jobs_in_order)
{
    job jobs[MV_HELPER_JOBS];
    uint32_t done = 0, given = 0;
    mv_helper helper;

    cr_assert(mv_helper_start(&helper));
    cr_expect_not(mv_helper_wait(&helper));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        for (; given < i + AT_ONCE; given++) {
            jobs[given % MV_HELPER_JOBS] = (job){&done, 0};
            mv_helper_give(&helper, count, &jobs[given % MV_HELPER_JOBS]);
        }
        cr_assert(mv_helper_wait(&helper));
        cr_assert_eq(jobs[i % MV_HELPER_JOBS].at, i);
    }
    mv_helper_stop(&helper);
    cr_expect_eq(done, ROUNDS + AT_ONCE - 1); /* none is dropped */
}

Test(helper, may_stop_without_a_job)
{
    mv_helper helper;

    cr_assert(mv_helper_start(&helper));
    mv_helper_stop(&helper);
}
