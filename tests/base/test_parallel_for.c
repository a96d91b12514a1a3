/* Loops inside pieces of other loops. */
#include <criterion/criterion.h>

#include "base/parallel_for.h"

enum { PIECES = 8, THREADS = 4 };

typedef struct {
    uint32_t inner[PIECES]; /* number of threads that a loop inside the piece uses */
    uint32_t done[PIECES];  /* number of inner pieces done */
} record;

static void count_one(void *user, uint32_t i)
{
    (void)i;
    __atomic_add_fetch((uint32_t *)user, 1, __ATOMIC_RELAXED);
}

static void run_piece(void *user, uint32_t i)
{
    record *r = user;

    r->inner[i] = mv_parallel_for_threads(PIECES, THREADS);
    mv_parallel_for(PIECES, THREADS, count_one, &r->done[i]);
}

static void check(const record *r, uint32_t threads)
{
    for (uint32_t i = 0; i < PIECES; i++) {
        cr_expect_eq(r->inner[i], threads);
        cr_expect_eq(r->done[i], PIECES);
    }
    cr_expect_eq(mv_parallel_for_threads(PIECES, THREADS), THREADS);
}

Test(parallel_for, loops_inside_a_piece_use_several_threads)
{
    record r = {0};

    mv_parallel_for(PIECES, THREADS, run_piece, &r);
    check(&r, THREADS);
}

Test(parallel_for, loops_inside_a_whole_piece_use_its_thread)
{
    record r = {0};

    mv_parallel_for_whole(PIECES, THREADS, run_piece, &r);
    check(&r, 1);
}

Test(parallel_for, a_single_thread_leaves_the_others_to_its_pieces)
{
    record r = {0};

    mv_parallel_for_whole(PIECES, 1, run_piece, &r);
    check(&r, THREADS);
}
