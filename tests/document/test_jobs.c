/* Work in the background of the user interface: the newest question is answered, and none is
 * answered wrongly. */
#include <stdatomic.h>
#include <time.h>

#include "tests/fixture/fixture_test.h"
#include "view/document/jobs.h"
#include "viz/core/background.h"

typedef struct {
    atomic_int runs;
    atomic_int wakes;
    atomic_bool may_go; /* slow jobs wait for it */
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

static void wait_until_idle(const mv_jobs *jobs)
{
    while (!mv_jobs_are_idle(jobs))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static const int *ask(mv_slot *slot, int number, bool *is_current)
{
    return mv_slot_ask(slot, &number, is_current);
}

Test(jobs, without_threads_answers_are_there_at_once)
{
    context c = {.may_go = true};
    mv_arena *arena = mvt_arena_of(64u << 20);
    mv_jobs *jobs;
    mv_slot *slot;
    bool is_current;

    jobs = mv_jobs_open(arena, arena->budget, 0, wake, &c);
    slot = mv_slot_open(jobs, twice, &c, sizeof(int));
    cr_assert_eq(*ask(slot, 21, &is_current), 42);
    cr_assert(is_current);
    cr_assert_eq(*ask(slot, 21, &is_current), 42);
    cr_assert_eq(c.runs, 1, "an answer is kept");
    cr_assert_null(ask(slot, -1, &is_current));
    cr_assert(is_current, "no answer is an answer");
    cr_assert(mv_jobs_are_idle(jobs));
    mv_jobs_close(jobs);
    mv_arena_release(arena);
    cr_assert_eq(arena->budget->used, 0);
}

Test(jobs, in_turns_answers_wait_for_their_turn)
{
    context c = {.may_go = true};
    mv_arena *arena = mvt_arena_of(64u << 20);
    mv_jobs *jobs;
    mv_slot *slot;
    bool is_current;

    jobs = mv_jobs_open(arena, arena->budget, MV_IN_TURNS, wake, &c);
    slot = mv_slot_open(jobs, twice, &c, sizeof(int));
    cr_assert_not(mv_jobs_turn(jobs), "nothing was asked");
    cr_assert_null(ask(slot, 20, &is_current));
    cr_assert_null(ask(slot, 21, &is_current));
    cr_assert_not(is_current);
    cr_assert_eq(c.runs, 0);
    cr_assert_not(mv_jobs_are_idle(jobs));
    cr_assert(mv_jobs_turn(jobs));
    cr_assert_not(mv_jobs_turn(jobs), "only the newest ask waited");
    cr_assert(mv_jobs_are_idle(jobs));
    cr_assert_eq(*ask(slot, 21, &is_current), 42);
    cr_assert(is_current);
    cr_assert_eq(*ask(slot, 22, &is_current), 42, "the older answer until the new one is there");
    cr_assert_not(is_current);
    mv_jobs_close(jobs);
    mv_arena_release(arena);
    cr_assert_eq(arena->budget->used, 0);
}

Test(jobs, only_the_newest_ask_waits)
{
    context c = {.may_go = false};
    mv_arena *arena = mvt_arena_of(64u << 20);
    mv_jobs *jobs;
    mv_slot *slot;
    bool is_current;

    jobs = mv_jobs_open(arena, arena->budget, 2, wake, &c);
    slot = mv_slot_open(jobs, twice, &c, sizeof(int));
    for (int i = 1; i <= 50; i++)
        cr_assert_null(ask(slot, i, &is_current));
    cr_assert_not(mv_jobs_are_idle(jobs));
    atomic_store(&c.may_go, true);
    wait_until_idle(jobs);
    cr_assert_leq(c.runs, 2, "the first, perhaps, and the last");
    cr_assert_eq(*ask(slot, 50, &is_current), 100);
    cr_assert(is_current);
    cr_assert_gt(c.wakes, 0);
    mv_jobs_close(jobs);
    mv_arena_release(arena);
    cr_assert_eq(arena->budget->used, 0);
}

Test(jobs, an_older_answer_is_shown_until_the_new_one_is_there)
{
    context c = {.may_go = true};
    mv_arena *arena = mvt_arena_of(64u << 20);
    mv_jobs *jobs;
    mv_slot *slot;
    bool is_current;
    const int *old;

    jobs = mv_jobs_open(arena, arena->budget, 1, wake, &c);
    slot = mv_slot_open(jobs, twice, &c, sizeof(int));
    ask(slot, 1, &is_current);
    wait_until_idle(jobs);
    atomic_store(&c.may_go, false);
    old = ask(slot, 2, &is_current);
    cr_assert_not(is_current);
    cr_assert_eq(*old, 2);
    atomic_store(&c.may_go, true);
    wait_until_idle(jobs);
    cr_assert_eq(*old, 2, "it stays until the next ask");
    cr_assert_eq(*ask(slot, 2, &is_current), 4);
    cr_assert(is_current);
    mv_jobs_close(jobs);
    mv_arena_release(arena);
    cr_assert_eq(arena->budget->used, 0);
}

/* Many slots, few workers: none starves, and every current answer is right. */
Test(jobs, many_slots_are_all_answered_by_few_workers)
{
    enum { SLOTS = 12, ROUNDS = 300 };
    context c = {.may_go = true};
    mv_slot *slots[SLOTS];
    mv_arena *arena = mvt_arena_of(64u << 20);
    mv_jobs *jobs;
    bool is_current;

    jobs = mv_jobs_open(arena, arena->budget, 3, wake, &c);
    for (int i = 0; i < SLOTS; i++)
        slots[i] = mv_slot_open(jobs, twice, &c, sizeof(int));
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SLOTS; i++) {
            const int *answer = ask(slots[i], round / 50 * SLOTS + i, &is_current);
            if (is_current)
                cr_assert_eq(*answer, 2 * (round / 50 * SLOTS + i));
        }
    wait_until_idle(jobs);
    for (int i = 0; i < SLOTS; i++)
        cr_assert_eq(*ask(slots[i], (ROUNDS - 1) / 50 * SLOTS + i, &is_current),
                     2 * ((ROUNDS - 1) / 50 * SLOTS + i));
    mv_jobs_close(jobs);
    mv_arena_release(arena);
    cr_assert_eq(arena->budget->used, 0);
}

Test(jobs, closing_waits_for_the_workers)
{
    context c = {.may_go = true};
    mv_arena *arena = mvt_arena_of(64u << 20);
    mv_jobs *jobs;
    bool is_current;

    jobs = mv_jobs_open(arena, arena->budget, 2, NULL, NULL);
    ask(mv_slot_open(jobs, twice, &c, sizeof(int)), 5, &is_current);
    ask(mv_slot_open(jobs, twice, &c, sizeof(int)), 6, &is_current);
    mv_jobs_close(jobs);
    mv_jobs_close(NULL);
    mv_arena_release(arena);
    cr_assert_eq(arena->budget->used, 0);
}
