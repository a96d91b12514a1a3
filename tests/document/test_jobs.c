/* Background work for the user interface: the newest query must be answered, and no query must be
 * answered wrongly. */
#include <stdatomic.h>
#include <time.h>

#include "tests/fixture/fixture_test.h"
#include "view/document/jobs.h"
#include "viz/core/background.h"

typedef struct {
    atomic_int runs;
    atomic_int wakes;
    atomic_bool may_go; /* slow jobs wait until this is set */
    mv_arena *arena;
    mv_jobs *jobs;
    mv_slot *slot;
    bool is_current; /* whether the last answer belongs to its query */
} context;

static void *twice(mv_arena *arena, void *user, const void *ask)
{
    context *c = user;
    int *answer = mv_push_struct(arena, int);

    while (!atomic_load(&c->may_go))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    atomic_fetch_add(&c->runs, 1);
    if (*(const int *)ask < 0)
        return NULL;
    *answer = 2 * *(const int *)ask;
    return answer;
}

static void wake(void *user)
{
    context *c = user;

    atomic_fetch_add(&c->wakes, 1);
}

static mv_slot *open_slot(context *c)
{
    return mv_slot_open(c->jobs, twice, c, sizeof(int));
}

static void end(void *of)
{
    context *c = of;

    mv_jobs_close(c->jobs);
    mv_arena_release(c->arena);
    cr_assert_eq(c->arena->budget->used, 0);
}

/* The jobs run until the test ends, or until mvt_end_now. */
static context *begin(uint32_t threads, bool may_go)
{
    context *c = mv_push_struct(mvt_memory(), context);

    *c = (context){.may_go = may_go, .arena = mvt_arena_of(64u << 20)};
    c->jobs = mv_jobs_open(c->arena, c->arena->budget, threads, wake, c);
    c->slot = open_slot(c);
    mvt_at_end(end, c);
    return c;
}

static void wait_until_idle(context *c)
{
    while (!mv_jobs_are_idle(c->jobs))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static const int *ask_slot(context *c, mv_slot *slot, int number)
{
    return mv_slot_query(slot, &number, &c->is_current);
}

static const int *ask(context *c, int number)
{
    return ask_slot(c, c->slot, number);
}

Test(jobs, without_threads_answers_come_at_once)
{
    context *c = begin(0, true);

    cr_assert_eq(*ask(c, 21), 42);
    cr_assert(c->is_current);
    cr_assert_eq(*ask(c, 21), 42);
    cr_assert_eq(c->runs, 1, "an answer is kept");
    cr_assert_null(ask(c, -1));
    cr_assert(c->is_current, "no answer is an answer");
    cr_assert(mv_jobs_are_idle(c->jobs));
}

Test(jobs, without_workers_answers_wait_for_their_task_run)
{
    context *c = begin(MV_COOPERATIVE, true);

    cr_assert_not(mv_jobs_run_one_task(c->jobs), "nothing was asked");
    cr_assert_null(ask(c, 20));
    cr_assert_null(ask(c, 21));
    cr_assert_not(c->is_current);
    cr_assert_eq(c->runs, 0);
    cr_assert_not(mv_jobs_are_idle(c->jobs));
    cr_assert(mv_jobs_run_one_task(c->jobs));
    cr_assert_not(mv_jobs_run_one_task(c->jobs), "only the newest ask waited");
    cr_assert(mv_jobs_are_idle(c->jobs));
    cr_assert_eq(*ask(c, 21), 42);
    cr_assert(c->is_current);
    cr_assert_eq(*ask(c, 22), 42, "the older answer until the new one is there");
    cr_assert_not(c->is_current);
}

/* A worker may finish before the frame that made the request has ended. Nothing is waiting then,
 * although that frame does not show the answer. */
Test(jobs, a_query_without_its_answer_is_counted_even_if_the_answer_comes_soon)
{
    context *c = begin(MV_COOPERATIVE, true);

    ask(c, 20);
    mv_jobs_run_one_task(c->jobs);
    cr_assert(mv_jobs_are_idle(c->jobs));
    cr_assert_eq(mv_jobs_missed(c->jobs), 1);
    ask(c, 20);
    cr_assert_eq(mv_jobs_missed(c->jobs), 1);
    ask(c, 21);
    cr_assert_eq(mv_jobs_missed(c->jobs), 2);
}

Test(jobs, only_the_newest_query_waits)
{
    context *c = begin(2, false);

    for (int i = 1; i <= 50; i++)
        cr_assert_null(ask(c, i));
    cr_assert_not(mv_jobs_are_idle(c->jobs));
    atomic_store(&c->may_go, true);
    wait_until_idle(c);
    cr_assert_leq(c->runs, 2, "the first, perhaps, and the last");
    cr_assert_eq(*ask(c, 50), 100);
    cr_assert(c->is_current);
    mvt_end_now(c); /* a worker wakes the window after it has stored its answer */
    cr_assert_gt(c->wakes, 0);
}

Test(jobs, an_older_answer_is_shown_until_the_new_one_arrives)
{
    context *c = begin(1, true);

    ask(c, 1);
    wait_until_idle(c);
    atomic_store(&c->may_go, false);
    const int *old = ask(c, 2);
    cr_assert_not(c->is_current);
    cr_assert_eq(*old, 2);
    atomic_store(&c->may_go, true);
    wait_until_idle(c);
    cr_assert_eq(*old, 2, "it stays until the next ask");
    cr_assert_eq(*ask(c, 2), 4);
    cr_assert(c->is_current);
}

/* Many slots and few workers: no slot starves, and every current answer is right. */
Test(jobs, many_slots_are_all_answered_by_few_workers)
{
    enum { SLOTS = 12, ROUNDS = 300 };
    context *c = begin(3, true);
    mv_slot *slots[SLOTS];

    for (int i = 0; i < SLOTS; i++)
        slots[i] = open_slot(c);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SLOTS; i++) {
            const int *answer = ask_slot(c, slots[i], round / 50 * SLOTS + i);
            if (c->is_current)
                cr_assert_eq(*answer, 2 * (round / 50 * SLOTS + i));
        }
    wait_until_idle(c);
    for (int i = 0; i < SLOTS; i++)
        cr_assert_eq(*ask_slot(c, slots[i], (ROUNDS - 1) / 50 * SLOTS + i),
                     2 * ((ROUNDS - 1) / 50 * SLOTS + i));
}

Test(jobs, closing_waits_for_the_workers)
{
    context *c = begin(2, true);

    ask_slot(c, open_slot(c), 5);
    ask_slot(c, open_slot(c), 6);
    mvt_end_now(c);
    mv_jobs_close(NULL);
}
