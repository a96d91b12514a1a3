/* Logs of blocks with missing events (parse/tools/block_balance.h). Whatever is missing, the blocks
 * must add up to the allocator's own total at each event. */
#include "analyze/totals/totals.h"
#include "parse/tools/block_log.h"
#include "tests/fixture/fixture.h"

enum { SLOTS = 24, EVENTS = 400, SLOT = 1 << 20 };

/* A synthetic program: a block in each slot, or none. */
typedef struct {
    uint64_t seed, total;
    mv_block_entry held[SLOTS]; /* bytes: 0 for none */
    mv_block_log log;
    mv_build build;
    mv_trace trace;
    uint64_t totals[EVENTS]; /* after the entry of that time; MV_NO_BYTES: missing */
} program;

static program p;

static void begin(uint64_t seed)
{
    p = (program){.seed = seed};
    mv_build_init(&p.build, mvt_memory(), &p.trace);
    mv_block_log_begin(&p.log, &p.build, mvt_memory());
    mv_block_log_device(&p.log, 0);
    mv_live_fact_add(&p.build, MV_FACT_ALLOCATOR, "xla");
}

static mv_stack_id stack_of(uint32_t number)
{
    mv_frame_row row = MV_FRAME_ROW;

    const char *name = mvt_format("f%u", number);
    row.function = mv_build_string(&p.build, name, strlen(name));
    mv_frame_id frame = mv_build_frame(&p.build, &row);
    return mv_build_stack(&p.build, &frame, 1);
}

/* Makes one alloc or free, which is in the log unless it is lost. */
static void run_event(uint32_t at, uint32_t lost_percent, bool has_totals)
{
    uint32_t slot = mvt_random(&p.seed, SLOTS);
    bool is_lost = mvt_random(&p.seed, 100) < lost_percent, is_alloc = p.held[slot].bytes == 0;
    mv_block_entry *e = &p.held[slot];

    if (is_alloc)
        *e = (mv_block_entry){.addr = (uint64_t)(slot + 1) * SLOT + 256u * mvt_random(&p.seed, 8),
                              .bytes = 256u * (1 + mvt_random(&p.seed, 6)),
                              .stack = stack_of(mvt_random(&p.seed, 3))};
    e->requested = e->bytes - 8;
    e->time_us = at;
    e->has_total = has_totals;
    p.total += is_alloc ? e->bytes : 0 - e->bytes;
    e->total = p.total;
    p.totals[at] = is_lost ? MV_NO_BYTES : p.total;
    if (!is_lost && is_alloc)
        mv_block_log_alloc(&p.log, e);
    else if (!is_lost)
        mv_block_log_free(&p.log, e);
    if (!is_alloc)
        e->bytes = 0;
}

static mv_lives end(void)
{
    mvt_ok(mv_block_log_end(&p.log, mvt_err()));
    const char *unsound = mvt_unsound(&p.trace);
    cr_assert_null(unsound, "%s", unsound);
    return mvt_lives(mvt_memory(), &p.trace, 0);
}

/* Returns the bytes allocated after the last event of a time. */
static uint64_t level_at(const mv_lives *lives, uint32_t time)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t event = lives->events.count;
    uint64_t sum = 0;

    while (event > 0 && lives->events.time_us[event - 1] > time)
        event--;
    for (uint32_t i = 0; i < a->count; i++)
        if ((a->birth[i] == MV_BEFORE || a->birth[i] < event) && a->freed[i] >= event)
            sum += a->block[i];
    return sum;
}

static void expect_sums(const mv_lives *lives, uint32_t round)
{
    for (uint32_t i = 0; i < EVENTS; i++)
        if (p.totals[i] != MV_NO_BYTES)
            cr_assert_eq(level_at(lives, i), p.totals[i], "round %u, time %u: %llu, not %llu",
                         round, i, (unsigned long long)level_at(lives, i),
                         (unsigned long long)p.totals[i]);
}

/* The first third is before the log begins; up to half of the remaining events are lost. */
LongTest(block_balance, sums_equal_the_totals)
{
    for (uint32_t round = 0; round < 200; round++) {
        begin(round + 1);
        for (uint32_t at = 0; at < EVENTS; at++)
            run_event(at, at < EVENTS / 3 ? 100 : round % 6 * 10, true);
        mv_lives lives = end();
        cr_expect_eq(lives.doubts.residual, 0, "round %u", round);
        cr_expect_eq(lives.doubts.lone_frees + lives.doubts.lost_frees, 0, "round %u", round);
        cr_expect_eq(p.trace.notes[MV_NOTE_LOST_EVENTS].count > 0, round % 6 > 0, "%u", round);
        expect_sums(&lives, round);
    }
}

/* Without totals, the only evidence is that bytes are used again. A complete log must get no
 * note. */
LongTest(block_balance, logs_without_totals_are_sound)
{
    for (uint32_t round = 0; round < 100; round++) {
        begin(round + 1);
        for (uint32_t at = 0; at < EVENTS; at++)
            run_event(at, round % 5 * 10, false);
        mv_lives lives = end();
        cr_expect_eq(lives.doubts.residual, 0, "round %u", round);
        if (round % 5 > 0)
            continue;
        cr_expect_eq(p.trace.notes[MV_NOTE_LOST_EVENTS].count, 0, "round %u", round);
        expect_sums(&lives, round);
    }
}
