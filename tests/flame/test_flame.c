/* Folded stacks must add up to the allocated and to the reserved bytes. */
#include "analyze/flame/flame.h"
#include "analyze/totals/moment.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_json.h"

static uint64_t sum_of(const mv_flame *flame, uint8_t part)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < flame->count; i++)
        sum += flame->rows[i].part == part ? flame->rows[i].bytes : 0;
    return sum;
}

static void check_moment(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, uint32_t event)
{
    mv_levels levels = mv_moment_levels(lives, event);
    mv_flame memory, segments;

    mvt_ok(mv_flame_memory(arena, lives, event, sites, &memory, mvt_err()));
    mvt_ok(mv_flame_segments(arena, trace, lives, event, sites, NULL, &segments, mvt_err()));
    cr_expect_eq(sum_of(&memory, MV_FLAME_ALLOCATED), levels.allocated);
    cr_expect_eq(sum_of(&segments, MV_FLAME_ALLOCATED), levels.allocated);
    cr_expect_eq(sum_of(&segments, MV_FLAME_PENDING), levels.active - levels.allocated);
    cr_expect_eq(sum_of(&segments, MV_FLAME_FREE), levels.reserved - levels.active);
}

/* Marking rows as other must move their bytes and pieces, and change nothing else. */
static void check_others(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, uint32_t event)
{
    uint8_t *is_other = mv_push_array(arena, uint8_t, lives->allocs.count);
    uint64_t kept = 0, others = 0, cut;
    mv_flame all, flame;

    for (uint32_t i = 0; i < lives->allocs.count; i++) {
        is_other[i] = i * 7 % 3 == 0;
        if (mv_alloc_is_allocated(lives, i, event))
            *(is_other[i] ? &others : &kept) += lives->allocs.block[i];
    }
    mvt_ok(mv_flame_segments(arena, trace, lives, event, sites, NULL, &all, mvt_err()));
    mvt_ok(mv_flame_segments(arena, trace, lives, event, sites, is_other, &flame, mvt_err()));
    cr_expect_eq(sum_of(&flame, MV_FLAME_ALLOCATED), kept);
    cr_expect_eq(sum_of(&flame, MV_FLAME_OTHER), others);
    cr_expect_eq(sum_of(&flame, MV_FLAME_PENDING), sum_of(&all, MV_FLAME_PENDING));
    cr_expect_eq(sum_of(&flame, MV_FLAME_FREE), sum_of(&all, MV_FLAME_FREE));
    for (uint32_t top = 0; top < 6; top++) {
        uint64_t blocks = 0, blocks_before = 0, least = UINT64_MAX, most = 0;
        uint32_t rows = 0;
        mvt_ok(mv_flame_segments(arena, trace, lives, event, sites, NULL, &flame, mvt_err()));
        mv_flame_keep_top(&flame, top);
        for (uint32_t i = 0; i < all.count; i++)
            blocks_before += all.rows[i].blocks;
        for (uint32_t i = 0; i < flame.count; i++) {
            blocks += flame.rows[i].blocks;
            if (flame.rows[i].part != MV_FLAME_ALLOCATED)
                continue;
            rows++;
            least = flame.rows[i].bytes < least ? flame.rows[i].bytes : least;
        }
        for (uint32_t i = 0; i < all.count; i++)
            most += all.rows[i].part == MV_FLAME_ALLOCATED && all.rows[i].bytes > least;
        cr_expect_leq(rows, top);
        cr_expect(rows == 0 || most < rows, "%lu rows are larger than the least of %u", most, rows);
        cr_expect_eq(blocks, blocks_before);
        cut = sum_of(&flame, MV_FLAME_ALLOCATED) + sum_of(&flame, MV_FLAME_OTHER);
        cr_expect_eq(cut, kept + others);
    }
}

Test(flame, stacks_of_random_heaps_add_up)
{
    for (uint32_t seed = 1; seed <= 8; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_truth truth = mvt_heap_run(
            t, (mvt_heap_opts){.seed = seed, .calls = 120, .expandable = seed % 2 == 0});
        const mv_trace *trace = mvt_done(t);
        mv_sites sites;
        mv_lives lives = mvt_lives(mvt_arena(t), trace, 0);

        mvt_ok(mv_sites_find(mvt_arena(t), trace, &sites, mvt_err()));
        for (uint32_t e = 0; e <= truth.events; e += 7)
            check_moment(mvt_arena(t), trace, &lives, e % 2 ? &sites : NULL, e - 1);
        for (uint32_t e = 0; e <= truth.events; e += 31)
            check_others(mvt_arena(t), trace, &lives, e % 2 ? &sites : NULL, e - 1);
    }
}

/* Adds up the numbers after the last blank of each line. */
static uint64_t sum_folded(const char *text)
{
    uint64_t sum = 0;

    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n'), *at = end;
        cr_assert(end, "the last line ends");
        while (at > line && at[-1] != ' ')
            at--;
        cr_assert(at > line && at < end, "%s", line);
        sum += strtoull(at, NULL, 10);
        line = end + 1;
    }
    return sum;
}

LongTest(flame, command_line_adds_up)
{
    static const char *const names[] = {"gpt_train",   "streams",    "graphs",
                                        "two_devices", "no_history", "expandable_empty"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        for (int way = 0; way < 4; way++) {
            const char *command = way & 1 ? "segments" : "memory";
            cJSON *json =
                mvt_json(0, "$MEMVIZ %s --json $SNAPS/%s.pickle -o x.folded", command, names[i]);
            mvt_run r = mvt_here_or_sh("$MEMVIZ %s --frames %s -o - $SNAPS/%s.pickle", command,
                                       way & 2 ? "all" : "user", names[i]);
            cr_expect_eq((double)sum_folded(r.out), mvt_json_number(json, "bytes"), "%s", names[i]);
            cr_expect_str_eq(mvt_json_text(json, "written"), "x.folded");
        }
}

Test(flame, wrong_options_are_wrong_usage)
{
    static const mvt_expected_run all[] = {
        {"$MEMVIZ memory --size 9x9 $SNAPS/oom.pickle", 2, "", "name one with -o"},
        {"$MEMVIZ segments -o .html $SNAPS/oom.pickle", 2, "",
         "the name must end in .folded, .svg, .png or .html"},
        {"$MEMVIZ memory --json -o - $SNAPS/oom.pickle", 2, "", "cannot both"},
        {"echo old >x.folded; $MEMVIZ memory -o x.folded --at noon $SNAPS/oom.pickle; "
         "s=$?; cat x.folded; exit $s",
         2, "old\n", "'noon' is not a valid --at"},
        {"$MEMVIZ memory -o none/x.folded $SNAPS/oom.pickle", 1, "", "cannot write"},
    };

    MVT_EXPECT_RUNS("%s", all);
}
