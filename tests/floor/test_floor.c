
#include "analyze/floor/floor_costs.h"
#include "analyze/totals/totals.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

static void random_blocks(uint64_t *seed, mv_placed_block *blocks, uint32_t count, uint32_t time)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t birth = mvt_random(seed, time), life = 1 + mvt_random(seed, time / 2);
        blocks[i] = (mv_placed_block){birth, birth + life, 1 + mvt_random(seed, 9)};
    }
}

/* ---- placements -------------------------------------------------------------------------- */

/* Finds the lowest top of all placements, the slow way: for every order of the blocks, puts each
 * block at the lowest address at which it overlaps no earlier one. */
static uint64_t lowest_top(const mv_placed_block *b, uint32_t count, uint32_t *order,
                           uint64_t *offset, uint32_t placed, uint64_t top)
{
    uint64_t best = UINT64_MAX;

    if (placed == count)
        return top;
    for (uint32_t i = placed; i < count; i++) {
        uint32_t row = order[i], moved = order[placed];
        uint64_t at = 0, found;
        order[i] = moved;
        order[placed] = row;
        for (uint32_t j = 0; j < placed;) {
            uint32_t other = order[j];
            bool meets = b[row].birth < b[other].death && b[other].birth < b[row].death;
            if (meets && at < offset[other] + b[other].size && offset[other] < at + b[row].size) {
                at = offset[other] + b[other].size;
                j = 0;
            } else {
                j++;
            }
        }
        offset[row] = at;
        found = lowest_top(b, count, order, offset, placed + 1,
                           at + b[row].size > top ? at + b[row].size : top);
        best = found < best ? found : best;
        order[placed] = moved;
        order[i] = row;
    }
    return best;
}

static bool is_sound(const mv_placed_block *blocks, uint32_t count, const uint64_t *offset,
                     uint64_t top)
{
    bool sound;

    mvt_ok(mv_placement_check(mvt_memory(), blocks, count, offset, top, &sound, mvt_err()));
    return sound;
}

LongTest(floor, the_placement_of_a_few_blocks_is_the_best_of_all)
{
    for (uint64_t seed = 1; seed < 100; seed++) {
        uint64_t state = seed * 0x9e3779b97f4a7c15, offset[7], best;
        uint32_t order[7] = {0, 1, 2, 3, 4, 5, 6};
        mv_placed_block blocks[7];
        mv_placement found;

        random_blocks(&state, blocks, 7, 8);
        best = lowest_top(blocks, 7, order, offset, 0, 0);
        mvt_ok(mv_placement_find(mvt_memory(), blocks, 7, MV_PLACEMENT_EFFORT, &found, mvt_err()));
        cr_assert_eq(found.top, best, "seed %llu", (unsigned long long)seed);
        cr_assert_eq(found.lower, best);
        cr_assert_leq(found.load, best);
    }
}

/* At most 6 bytes are in use at once, but every placement needs at least 7. */
Test(floor, the_search_proves_that_the_load_cannot_be_reached)
{
    mv_placed_block blocks[] = {{0, 1, 1}, {3, 6, 1}, {0, 2, 2},  {2, 3, 1}, {1, 5, 2},  {4, 8, 1},
                                {0, 1, 1}, {5, 8, 1}, {7, 10, 2}, {6, 9, 2}, {8, 12, 2}, {1, 5, 2}};
    mv_placement found;

    mvt_ok(mv_placement_find(mvt_memory(), blocks, 12, MV_PLACEMENT_EFFORT, &found, mvt_err()));
    cr_expect_eq(found.load, 6);
    cr_expect_eq(found.lower, 7);
    cr_expect_eq(found.top, 7);
}

/* A small file takes only a short time, however hard its blocks are to place. */
Test(floor, the_effort_is_bounded_by_the_number_of_blocks)
{
    cr_expect_eq(mv_placement_effort(0, MV_PLACEMENT_EFFORT), 0);
    cr_expect_eq(mv_placement_effort(64, MV_PLACEMENT_EFFORT), 64 << 18);
    cr_expect_eq(mv_placement_effort(64, 1000), 1000);
    cr_expect_eq(mv_placement_effort(UINT32_MAX, MV_PLACEMENT_EFFORT), MV_PLACEMENT_EFFORT);
}

Test(floor, many_blocks_are_placed_soundly)
{
    enum { COUNT = 600 };
    static mv_placed_block blocks[COUNT];

    for (uint64_t seed = 1; seed < 4; seed++) {
        uint64_t state = seed * 0x9e3779b97f4a7c15;
        mv_placement found;
        random_blocks(&state, blocks, COUNT, 500);
        mvt_ok(mv_placement_find(mvt_memory(), blocks, COUNT, 3000000, &found, mvt_err()));
        for (uint32_t i = 0; i < COUNT; i++)
            for (uint32_t j = 0; j < i; j++)
                cr_assert(blocks[i].birth >= blocks[j].death ||
                              blocks[j].birth >= blocks[i].death ||
                              found.offset[i] >= found.offset[j] + blocks[j].size ||
                              found.offset[j] >= found.offset[i] + blocks[i].size,
                          "blocks %u and %u overlap", i, j);
        cr_expect(is_sound(blocks, COUNT, found.offset, found.top));
        cr_expect_geq(found.top, found.load);
    }
}

Test(floor, the_check_rejects_overlap_and_a_wrong_top)
{
    mv_placed_block blocks[] = {{0, 4, 8}, {2, 6, 8}, {4, 8, 8}};
    uint64_t good[] = {0, 8, 0}, bad[] = {0, 7, 0}, late[] = {0, 8, 1};

    cr_expect(is_sound(blocks, 3, good, 16));
    cr_expect_not(is_sound(blocks, 3, good, 15));
    cr_expect_not(is_sound(blocks, 3, bad, 16));
    cr_expect_not(is_sound(blocks, 3, late, 16));
}

/* ---- parts of reserved memory ---------------------------------------------------------- */

/* Checks the parts, and that the floor finds the same peak as `stats`. */
static void check_parts(const mv_trace *trace, const mv_lives *lives, const mv_minimum *found)
{
    mv_totals totals;

    mvt_ok(mv_totals_find(mvt_memory(), trace, lives, &totals, mvt_err()));
    cr_expect(!found->is_known || found->reserved == totals.peak.bytes.reserved);
    cr_expect_eq(found->reserved, found->lower + found->separation + found->placement);
}

static mv_minimum find(mvt_trace *t)
{
    const mv_trace *trace = mvt_done(t);
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);
    mv_minimum bound, found;

    mvt_ok(mv_minimum_find(mvt_memory(), trace, &lives, true, &bound, mvt_err()));
    mvt_ok(mv_minimum_find(mvt_memory(), trace, &lives, false, &found, mvt_err()));
    cr_expect_leq(bound.lower, found.lower);
    check_parts(trace, &lives, &found);
    return found;
}

/* One block of 20 MiB on each of two streams, one after the other. */
static mvt_trace *one_after_the_other(bool releases)
{
    mvt_trace *t = mvt_new();

    mvt_full_segment(t, .addr = 0x10000000, .bytes = 20 * MIB);
    mvt_free(t, .addr = 0x10000000);
    if (releases)
        mvt_segment_free(t, .addr = 0x10000000, .bytes = 20 * MIB);
    mvt_segment_alloc(t, .addr = 0x20000000, .bytes = 20 * MIB, .stream = 7);
    mvt_alloc(t, .addr = 0x20000000, .bytes = 20 * MIB - 100, .stream = 7);
    mvt_free(t, .addr = 0x20000000);
    mvt_final_heap(t);
    return t;
}

Test(floor, memory_of_two_streams_is_kept_apart)
{
    mv_minimum found = find(one_after_the_other(false));

    cr_expect(found.is_known);
    cr_expect_eq(found.reserved, 40 * MIB);
    cr_expect_eq(found.lower, 20 * MIB);
    cr_expect_eq(found.upper, 20 * MIB);
    cr_expect(found.ideal);
    cr_expect_eq(found.separation, 20 * MIB);
    cr_expect_eq(found.placement, 0);
}

Test(floor, released_memory_keeps_nothing_apart)
{
    mv_minimum found = find(one_after_the_other(true));

    cr_expect_eq(found.reserved, 20 * MIB);
    cr_expect_eq(found.separation, 0);
    cr_expect_eq(found.placement, 0);
}

Test(floor, a_request_counts_in_units_of_512_bytes)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 2 * MIB);
    mvt_alloc(t, .addr = 0x10000000, .bytes = 513);
    mvt_final_heap(t);
    mv_minimum found = find(t);
    cr_expect_eq(found.lower, 1024);
    cr_expect_eq(found.placement, 2 * MIB - 1024);
}

/* A block in a graph's pool is freed; afterwards a block in the default pool is the only live
 * one. */
Test(floor, the_pool_of_a_graph_keeps_its_memory)
{
    for (uint64_t graph = 0; graph < 2; graph++) {
        mvt_trace *t = mvt_new();
        mvt_full_segment(t, .addr = 0x10000000, .bytes = 20 * MIB);
        mvt_free(t, .addr = 0x10000000);
        mvt_full_segment(t, .addr = 0x20000000, .bytes = 20 * MIB);
        mvt_segment(t, .addr = 0x10000000, .bytes = 20 * MIB, .pool_a = graph);
        mvt_block(t, .bytes = 20 * MIB, .state = MV_BLOCK_INACTIVE);
        mvt_segment(t, .addr = 0x20000000, .bytes = 20 * MIB);
        mvt_block(t, .bytes = 20 * MIB, .state = MV_BLOCK_ALLOCATED);
        mv_minimum found = find(t);
        cr_expect_eq(found.lower, graph ? 40 * MIB : 20 * MIB);
        cr_expect_eq(found.upper, found.lower);
    }
}

Test(floor, missing_data_is_reported)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x10000000, .bytes = 20 * MIB);
    mvt_block(t, .bytes = 20 * MIB, .state = MV_BLOCK_ALLOCATED);
    mv_minimum found = find(t);
    cr_expect_not(found.is_known);
    cr_expect(strstr(found.why, "no memory events"));
    cr_expect_str_eq(mv_minimum_line(mvt_memory(), &found), "");
}

Test(floor, the_requests_beyond_the_floor_add_up_to_the_difference)
{
    mvt_trace *t = mvt_new();
    mv_minimum found;
    mv_minimum_costs costs;

    mvt_full_segment(t, .addr = 0x10000000, .bytes = 20 * MIB, .stack = "first:a.py:1");
    mvt_free(t, .addr = 0x10000000);
    for (uint64_t i = 2; i < 4; i++) { /* 28 of the 60 MiB exceed the floor */
        mvt_segment_alloc(t, .addr = i << 28, .bytes = 20 * MIB, .stream = i,
                          .stack = i == 2 ? "second:a.py:2" : "third:a.py:3");
        mvt_alloc(t, .addr = i << 28, .bytes = 16 * MIB, .stream = i, .stack = "block:a.py:9");
    }
    mvt_final_heap(t);
    const mv_trace *trace = mvt_done(t);
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);
    mvt_ok(mv_minimum_find(mvt_memory(), trace, &lives, true, &found, mvt_err()));
    mvt_ok(mv_minimum_costs_find(mvt_memory(), &lives, &found, &costs, mvt_err()));
    cr_assert_eq(found.reserved - found.lower, 28 * MIB);
    cr_assert_eq(costs.count, 2);
    cr_expect_eq(costs.rows[0].bytes, 20 * MIB);
    cr_expect_eq(costs.rows[1].bytes, 8 * MIB);
    cr_expect_str_eq(mv_minimum_costs_sentence(mvt_memory(), trace, &costs),
                     "beyond the floor: 20.0 MiB for a.py:3 third, 8.00 MiB for a.py:2 second");
}

Test(floor, nothing_is_beyond_a_floor_that_is_reached)
{
    mv_lives lives = {0};
    mv_minimum floor = {.is_known = true, .reserved = MIB, .lower = MIB};
    mv_minimum_costs costs;

    mvt_ok(mv_minimum_costs_find(mvt_memory(), &lives, &floor, &costs, mvt_err()));
    cr_expect_eq(costs.count, 0);
    cr_expect_str_empty(mv_minimum_costs_sentence(mvt_memory(), NULL, &costs));
}

static uint32_t complete, ideal;

static void check_snapshot(const mv_trace *trace, const char *name)
{
    for (uint32_t device = 0; device < mv_trace_devices(trace); device++) {
        mv_lives lives = mvt_lives(mvt_memory(), trace, device);
        mv_minimum found;
        mvt_ok(mv_minimum_find(mvt_memory(), trace, &lives, false, &found, mvt_err()));
        if (!found.is_known || found.block_count == 0)
            continue;
        check_parts(trace, &lives, &found);
        cr_expect_leq(found.lower, found.upper, "%s", name);
        cr_expect_leq((double)found.upper, 1.01 * (double)found.lower, "%s", name);
        cr_expect(is_sound(found.blocks, found.block_count, found.offset, found.upper), "%s", name);
        complete += lives.history == MV_HISTORY_COMPLETE;
        ideal += lives.history == MV_HISTORY_COMPLETE && found.ideal;
    }
}

LongTest(floor, the_bounds_meet_on_recordings)
{
    mvt_each_snapshot(check_snapshot);
    cr_expect_gt(complete, 20);
    cr_expect_geq(10 * ideal, 9 * complete, "%u of %u", ideal, complete);
}

Test(floor, the_command_prints_the_parts)
{
    cJSON *report = mvt_json_here(0, "$MEMVIZ floor --json $SNAPS/gpt_train.pickle");
    const cJSON *device = mvt_member(report, "devices.0");
    double reserved = mvt_json_number(device, "reserved"), lower = mvt_json_number(device, "lower");

    cr_expect(cJSON_IsTrue(mvt_member(device, "checked")));
    cr_expect_eq(reserved, lower + mvt_json_number(device, "separation") +
                               mvt_json_number(device, "placement"));
    cr_expect_eq(mvt_json_sum(mvt_member(device, "costs"), "bytes"), reserved - lower);
}
