/* Ranks of jobs with pipelines, made from the summaries of real recordings. A stage is a recording,
 * or a recording without the places that belong to its first or last stage. Odd ranks are inserted,
 * and exactly these must be found. */
#include "analyze/ranks/ranks.h"

#include "tests/fixture/fixture.h"

enum { MOST_RANKS = 1024, MOST_STAGES = 16, MOST_SITES = 4096 };

/* How a rank differs from the others in its stage. */
typedef enum { EXTRA, BATCH, LACK, LEAK, OOM, RESERVED, ORDER, FOREIGN, WAYS } way;

typedef struct {
    uint32_t stages;
    mv_rank_grid grid; /* the layout of rank numbers; left out: in blocks */
    bool is_shuffled;  /* the names do not show the layout */
    bool is_noisy;     /* every rank's sizes are slightly different */
    bool is_cut;       /* recordings end after different numbers of allocations */
    bool is_given;     /* the layout is given, as with --groups */
} job_plan;

typedef struct {
    job_plan plan;
    uint64_t seed;
    uint32_t count;
    mv_summary stage[MOST_STAGES];
    mv_summary rank[MOST_RANKS];
    const mv_summary *ranks[MOST_RANKS];
    bool is_odd[MOST_RANKS];
    mv_ranks found;
} job;

static job j = {.seed = 7};

static mv_summary summarize(const char *name)
{
    mv_trace trace = mvt_load(mvt_memory(), name);
    mv_summary summary;

    mvt_ok(mv_summary_make(mvt_memory(), &trace, 0, MV_ALL_EVENTS, MV_SUMMARY_POINTS, name,
                           &summary, mvt_err()));
    return summary;
}

static mv_summary_site *copy_sites(mv_summary *rank)
{
    mv_summary_site *copy = mv_push_array(mvt_memory(), mv_summary_site, rank->sites + 1);

    memcpy(copy, rank->site, rank->sites * sizeof *copy);
    rank->site = copy;
    return copy;
}

static void add_up(mv_summary *rank)
{
    rank->peak_allocated = 0;
    for (uint32_t i = 0; i < rank->sites; i++)
        rank->peak_allocated += rank->site[i].peak_bytes;
}

/* Makes one stage of a program, in which `blocks` sixteenths of the program's blocks are held at
 * the peak. */
static mv_summary part_of(const mv_summary *whole, uint32_t blocks)
{
    mv_summary part = *whole;
    mv_summary_site *site = copy_sites(&part);

    for (uint32_t i = 0; i < part.sites; i++)
        if (site[i].peak_blocks > 1) {
            site[i].peak_bytes = site[i].peak_bytes / 16 * blocks;
            site[i].peak_blocks = site[i].peak_blocks / 16 * blocks + 1;
        }
    add_up(&part);
    return part;
}

/* Removes the program's nth largest place. */
static void remove_site(mv_summary *rank, uint32_t nth)
{
    mv_summary_site *site = copy_sites(rank);
    uint32_t at = 0;

    for (uint32_t i = 0, larger; i < rank->sites; i++) {
        larger = 0;
        for (uint32_t k = 0; k < rank->sites; k++)
            larger += site[k].peak_bytes > site[i].peak_bytes;
        at = larger == nth && site[i].stack.row != MV_NO_STACK.row ? i : at;
    }
    memmove(&site[at], &site[at + 1], (rank->sites - at - 1) * sizeof *site);
    rank->sites--;
    add_up(rank);
}

static void change_sequence(mv_summary *rank)
{
    mv_summary_point *copy = mv_push_array(mvt_memory(), mv_summary_point, rank->points);

    for (uint32_t i = 0; i < rank->points; i++) {
        copy[i] = rank->point[i];
        copy[i].chain ^= i >= rank->points / 2;
        copy[i].shape ^= i >= rank->points / 2;
    }
    rank->point = copy;
    rank->end.chain ^= 1;
    rank->end.shape ^= 1;
}

static void disturb(uint32_t number, way how)
{
    mv_summary *rank = &j.rank[number];
    mv_summary_site *site = copy_sites(rank);
    uint64_t part = rank->peak_allocated / 8;

    j.is_odd[number] = true;
    if (how == EXTRA) {
        site[rank->sites] = (mv_summary_site){.key = UINT64_MAX - 1,
                                              .stack = site[0].stack,
                                              .peak_bytes = part,
                                              .peak_blocks = 1,
                                              .allocs = 1,
                                              .requested = part,
                                              .size = {part},
                                              .times = {1}};
        rank->sites++;
        change_sequence(rank);
    } else if (how == BATCH) {
        for (uint32_t i = 0; i < rank->sites; i++) {
            site[i].peak_bytes *= 2;
            for (int k = 0; k < MV_SUMMARY_SIZES; k++)
                site[i].size[k] *= 2;
        }
        change_sequence(rank);
    } else if (how == LEAK) {
        rank->verdict = MV_VERDICT_LEAK;
        rank->leaked_bytes = part;
    } else if (how == OOM) {
        rank->ooms = 1;
    } else if (how == RESERVED) {
        rank->peak_reserved += rank->peak_reserved / 8;
    } else if (how == ORDER) {
        change_sequence(rank);
    } else if (how == LACK) {
        remove_site(rank, 0);
        change_sequence(rank);
    } else {
        const char *name = rank->name;
        *rank = summarize("leak_cycle");
        rank->verdict = MV_VERDICT_CLEAN;
        rank->name = name;
    }
    add_up(rank);
}

static uint32_t stage_of(uint32_t number)
{
    return number / j.plan.grid.inner % j.plan.stages;
}

static void make_job(uint32_t count, job_plan plan)
{
    if (plan.grid.inner == 0)
        plan.grid = (mv_rank_grid){plan.stages, count / plan.stages};
    j.count = count;
    j.plan = plan;
    for (uint32_t i = 0; i < count; i++) {
        /* 389: a prime, so it has no divisor */
        uint32_t number = plan.is_shuffled ? i * 389 % count : i;
        mv_summary *rank = &j.rank[i];
        *rank = j.stage[stage_of(i)];
        rank->name = mvt_format("run.%u.pickle", number);
        j.ranks[i] = rank;
        j.is_odd[i] = false;
        if (plan.is_noisy) {
            mv_summary_site *site = copy_sites(rank);
            for (uint32_t k = 0; k < rank->sites; k++)
                site[k].peak_bytes += mvt_random(&j.seed, 1 + (uint32_t)(site[k].peak_bytes / 200));
            change_sequence(rank);
            rank->end.chain = rank->end.shape = j.seed;
            add_up(rank);
        }
        if (plan.is_cut && i % 3 == 1) { /* ends at an earlier point */
            rank->points = rank->points / 2 + i % 7;
            rank->allocs = (uint64_t)rank->points << rank->stride;
            rank->end = rank->point[rank->points - 1];
        }
    }
}

/* Exactly the inserted ranks must be outliers. */
static void expect_planted(const char *what)
{
    mv_rank_grid grid = j.plan.is_given ? j.plan.grid : (mv_rank_grid){0};
    bool is_found[MOST_RANKS] = {0};

    mvt_ok(mv_ranks_compare(mvt_memory(), j.ranks, j.count, grid, &j.found, mvt_err()));
    for (uint32_t i = 0; i < j.found.count; i++)
        is_found[j.found.outliers[i].rank] = true;
    for (uint32_t i = 0; i < j.count; i++)
        cr_expect_eq(is_found[i], j.is_odd[i], "%s: %s (stage %u, group %u of %u) %s: %s", what,
                     j.rank[i].name, stage_of(i), j.found.group[i], j.found.groups,
                     is_found[i] ? "is not odd" : "is odd", j.found.verdict);
}

/* No odd rank, or one to four of each kind, in one stage or in several. */
static void check(uint32_t count, job_plan plan, const char *what)
{
    make_job(count, plan);
    expect_planted(what);
    for (way how = 0; how < WAYS; how++) {
        uint32_t odd = 1 + how % 4, length = count / plan.stages;
        /* A third of a stage does not count as odd, nor does a different order where no two orders
         * are equal. */
        if (length <= 3 * odd || (plan.is_noisy && how == ORDER))
            continue;
        make_job(count, plan);
        for (uint32_t i = 0; i < odd; i++) {
            uint32_t number = how % 2 ? 1 + i : mvt_random(&j.seed, count);
            if (!j.is_odd[number])
                disturb(number, how);
        }
        expect_planted(mvt_format("%s, %u odd in way %u", what, odd, how));
    }
}

/* The stages are different programs. */
static void different_stages(void)
{
    static const char *const names[] = {"gpt_train", "resnet_all", "mlp_train", "annotated"};

    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        j.stage[i] = summarize(names[i]);
}

/* Stages of one program. Starting at `same`, the stages in the middle hold the same bytes. The
 * first and the last stage have a place that the others do not have. */
static void similar_stages(uint32_t stages, uint32_t same, uint32_t last)
{
    mv_summary whole = summarize("gpt_train");

    for (uint32_t i = 0; i < stages; i++) {
        uint32_t blocks = i + 1 == stages ? last : 16 - (i < same ? i : same);
        j.stage[i] = part_of(&whole, blocks);
        if (i > 0)
            remove_site(&j.stage[i], 4);
        if (i + 1 < stages)
            remove_site(&j.stage[i], 2);
    }
}

Test(rank_groups, stages_of_different_programs_are_found)
{
    different_stages();
    check(64, (job_plan){.stages = 4}, "four stages");
    check(64, (job_plan){.stages = 4, .is_shuffled = true}, "without numbers");
    check(48, (job_plan){.stages = 3, .grid = {3, 1}}, "stages innermost");
    check(32, (job_plan){.stages = 2, .is_given = true}, "given");
}

Test(rank_groups, odd_ranks_of_one_stage_are_found)
{
    different_stages();
    check(8, (job_plan){.stages = 1}, "tensor parallel");
    check(32, (job_plan){.stages = 1, .is_noisy = true}, "of nearly the same sizes");
    check(64, (job_plan){.stages = 1, .is_cut = true}, "of different lengths");
}

/* If every rank is a separate stage, no rank has a peer, but a leak or a failed request is still
 * reported. */
Test(rank_groups, stages_of_one_rank_have_no_outlier)
{
    different_stages();
    check(4, (job_plan){.stages = 4}, "different programs");
    for (way how = LEAK; how <= OOM; how++) {
        make_job(4, (job_plan){.stages = 4});
        disturb(2, how);
        expect_planted("a leak or a failed request of one");
    }
    similar_stages(8, 7, 9);
    check(8, (job_plan){.stages = 8}, "fewer blocks from stage to stage");
    similar_stages(8, 1, 16);
    check(8, (job_plan){.stages = 8}, "equal stages in the middle");
}

/* The first and the last stage differ from the stages in the middle, which hold the same bytes. */
Test(rank_groups, the_first_and_the_last_stage_are_not_odd)
{
    similar_stages(8, 1, 16);
    check(64, (job_plan){.stages = 8}, "equal stages in the middle");
    check(64, (job_plan){.stages = 8, .grid = {8, 2}}, "in smaller blocks");
    similar_stages(4, 3, 9);
    check(64, (job_plan){.stages = 4, .is_noisy = true}, "of nearly the same sizes");
}

/* The second-to-last stage of a schedule with two batches in flight holds the same bytes in a
 * different order. */
Test(rank_groups, stages_with_another_order_are_not_odd)
{
    similar_stages(8, 1, 16);
    change_sequence(&j.stage[6]);
    check(64, (job_plan){.stages = 8}, "eight ranks each");
    check(16, (job_plan){.stages = 8}, "two ranks each");
    check(8, (job_plan){.stages = 8}, "one rank each");
}

LongTest(rank_groups, odd_ranks_among_a_thousand_are_found)
{
    different_stages();
    check(1024, (job_plan){.stages = 1}, "data parallel");
    check(1024, (job_plan){.stages = 1, .is_noisy = true}, "of nearly the same sizes");
    check(1024, (job_plan){.stages = 4}, "four stages");
    check(1024, (job_plan){.stages = 4, .is_shuffled = true}, "without numbers");
    similar_stages(8, 1, 16);
    check(1024, (job_plan){.stages = 8}, "equal stages in the middle");
    check(1024, (job_plan){.stages = 8, .grid = {8, 16}}, "in smaller blocks");
    similar_stages(16, 3, 11);
    check(1024, (job_plan){.stages = 16}, "fewer layers in the last stage");
    check(1024, (job_plan){.stages = 16, .is_given = true}, "given");
    similar_stages(4, 3, 9);
    check(1024, (job_plan){.stages = 4, .is_noisy = true}, "of nearly the same sizes");
    check(1024, (job_plan){.stages = 4, .is_cut = true}, "of different lengths");
}

/* Twice the bytes of the second stage are nearly the bytes of the first, but only the second stage
 * lacks a rank. */
Test(rank_groups, an_odd_rank_belongs_to_the_stage_that_is_short)
{
    mv_summary whole = summarize("gpt_train");

    j.stage[0] = part_of(&whole, 16);
    j.stage[1] = part_of(&whole, 8);
    make_job(32, (job_plan){.stages = 2, .is_shuffled = true});
    disturb(20, BATCH);
    expect_planted("twice the second stage");
    cr_expect_eq(j.found.group[20], j.found.group[21]);
    cr_expect_neq(j.found.group[20], j.found.group[0]);
}

/* Each stage has two ranks. One odd rank means that one stage has two different ranks. */
Test(rank_groups, two_ranks_are_a_stage)
{
    different_stages();
    make_job(8, (job_plan){.stages = 4});
    disturb(5, EXTRA);
    expect_planted("one of two");
}

static void expect_grid(const char *text, uint32_t count, uint32_t stages, uint32_t inner)
{
    mv_rank_grid grid = {0};
    char why[64] = "";

    cr_expect_eq(mv_rank_grid_parse(text, count, &grid, why, sizeof why), stages > 0, "%s", text);
    cr_expect(grid.stages == stages && grid.inner == inner, "%s: %u, %u", text, grid.stages,
              grid.inner);
    cr_expect_eq(*why != 0, stages == 0, "%s", text);
}

Test(rank_groups, sizes_are_parsed)
{
    expect_grid("tp=8,pp=4", 1024, 4, 256);
    expect_grid("pp=4", 8, 4, 2);
    expect_grid("tp=8", 64, 1, 64);
    expect_grid("tp=2,pp=4,dp=3", 24, 4, 2);
    expect_grid("pp=4,dp=2", 8, 4, 1);
    expect_grid("tp=8,pp=4", 100, 0, 0);
    expect_grid("pp=3", 8, 0, 0);
    expect_grid("tp=99999999999,pp=2", 8, 0, 0);
    expect_grid("tp", 8, 0, 0);
    expect_grid("tp=", 8, 0, 0);
    expect_grid("tp=0", 8, 0, 0);
    expect_grid("tp=2,", 8, 0, 0);
    expect_grid("=2", 8, 0, 0);
    expect_grid("tp=65536,dp=65536,pp=2", 8, 0, 0);
}

Test(rank_groups, numbers_in_names_are_numbers)
{
    const mv_rank_place places[] = {{"r10", 0}, {"r9", 1}, {"r9", 0}, {"r09a2", 0}, {"q100", 0}};
    uint32_t *order = mv_rank_order(mvt_memory(), places, 5);
    const uint32_t expected[] = {4, 2, 1, 3, 0};

    for (int i = 0; i < 5; i++)
        cr_expect_eq(order[i], expected[i], "%d: %s", i, places[order[i]].path);
}
