/* A picture of the allocator's state: boxes are compared with a literal layout, and scenes are made
 * for every snapshot. */
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_json.h"
#include "tests/paper/fixture_paper.h"
#include "viz/pictures/state.h"

/* Returns the piece that is `at` bytes into a group, in the order of the group's segments. */
static uint32_t piece_at(const mv_heap_map *map, const mv_state *state, const mv_state_group *g,
                         uint64_t at)
{
    for (uint32_t i = g->segments; i < g->segments + g->segment_count; i++) {
        uint32_t segment = state->order[i];
        for (uint32_t p = map->first_piece[segment]; p < map->first_piece[segment + 1]; p++) {
            if (at < map->piece_size[p])
                return p;
            at -= map->piece_size[p];
        }
    }
    return MV_NO_ROW;
}

/* Each box must show its block, and touch the previous box. */
static void check_group(const mv_lives *lives, const mv_heap_map *map, const mv_state *state,
                        uint32_t group, uint32_t event, uint32_t *box)
{
    const mv_state_group *g = &state->groups[group];
    uint64_t at = 0, allocated = 0, pending = 0;

    for (; *box < state->box_count && state->boxes[*box].row < g->first_row + g->rows; ++*box) {
        const mv_state_box *b = &state->boxes[*box];
        uint32_t first = piece_at(map, state, g, at),
                 last = piece_at(map, state, g, at + b->bytes - 1);
        cr_assert_eq((uint64_t)(b->row - g->first_row) * state->row_bytes + b->offset, at);
        cr_assert_leq(b->offset + b->bytes, state->row_bytes);
        cr_assert_eq(b->piece, first);
        cr_assert_eq(b->count == 1, first == last);
        cr_assert_eq(piece_at(map, state, g, at - b->before), first);
        cr_assert(at == b->before || piece_at(map, state, g, at - b->before - 1) != first);
        if (b->count == 1) {
            uint32_t alloc = map->piece_row[first];
            bool is_allocated = alloc != MV_NO_ROW && mv_alloc_is_allocated(lives, alloc, event);
            cr_assert_eq(b->allocated, is_allocated ? b->bytes : 0);
            cr_assert_eq(b->pending, alloc != MV_NO_ROW && !is_allocated ? b->bytes : 0);
        }
        at += b->bytes;
        allocated += b->allocated;
        pending += b->pending;
    }
    cr_assert_eq(at, g->bytes);
    cr_assert_eq(allocated, g->allocated);
    cr_assert_eq(pending, g->pending);
    cr_assert_eq(g->free, g->bytes - allocated - pending);
}

static mv_state state_of(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         uint32_t event, mv_state_opts opts, mv_heap_map *map)
{
    mv_heap heap;
    mv_state state;

    mvt_ok(mv_heap_init(arena, trace, lives, &heap, mvt_err()));
    mv_heap_advance(&heap, event);
    mvt_ok(mv_heap_map_make(arena, &heap, map, mvt_err()));
    mvt_ok(mv_state_lay(arena, lives, map, event, &opts, &state, mvt_err()));
    return state;
}

static void check_state(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                        uint32_t event, mv_state_opts opts)
{
    mv_levels levels = mv_moment_levels(lives, event);
    uint64_t bytes = 0, allocated = 0, pending = 0;
    uint32_t box = 0, segments = 0;
    mv_heap_map map;
    mv_state state = state_of(arena, trace, lives, event, opts, &map);

    for (uint32_t g = 0; g < state.group_count; g++) {
        const mv_state_group *group = &state.groups[g];
        check_group(lives, &map, &state, g, event, &box);
        cr_assert_eq(group->segments, segments);
        segments += group->segment_count;
        cr_assert(!opts.by_address || state.group_count == 1);
        for (uint32_t i = 1; i < group->segment_count && opts.by_address; i++)
            cr_assert_gt(map.addr[state.order[i]], map.addr[state.order[i - 1]]);
        for (uint32_t i = 1; i < group->segment_count && !opts.by_address; i++)
            cr_assert_leq(map.size[state.order[group->segments + i]],
                          map.size[state.order[group->segments + i - 1]]);
        bytes += group->bytes;
        allocated += group->allocated;
        pending += group->pending;
    }
    cr_assert_eq(box, state.box_count);
    cr_assert_eq(segments, map.count);
    cr_assert_leq(state.group_count, opts.most_groups);
    cr_assert_eq(bytes, levels.reserved);
    cr_assert_eq(allocated, levels.allocated);
    cr_assert_eq(pending, levels.active - levels.allocated);
}

Test(state, boxes_equal_a_literal_layout)
{
    static const mv_state_opts opts[] = {{30, 9, 640, 0, false, false},
                                         {3, 1, 1, 5, false, false},
                                         {200, 2, 100000, 90, false, false},
                                         {30, 9, 640, 8, true, false}};

    for (uint32_t seed = 1; seed <= 16; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_truth truth =
            mvt_heap_run(t, (mvt_heap_opts){.seed = seed, .calls = 150, .expandable = seed % 2});
        const mv_trace *trace = mvt_done(t);
        mv_lives lives = mvt_lives(mvt_arena(t), trace, 0);

        for (uint32_t e = 0; e <= truth.events; e += 23)
            for (size_t i = 0; i < sizeof opts / sizeof *opts; i++)
                check_state(mvt_arena(t), trace, &lives, e - 1, opts[i]);
    }
}

/* The events do not mention all pools. A pool that no event names is the default pool, in one group
 * with the named pools. */
Test(state, a_pool_is_one_group)
{
    mv_trace trace = mvt_load(mvt_memory(), "late_start");
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);
    mv_state_opts opts = {.most_rows = 30, .most_groups = 9, .columns = 640};
    mv_heap_map map;
    mv_state state = state_of(mvt_memory(), &trace, &lives, 206, opts, &map);

    cr_assert_eq(state.group_count, 2);
    cr_expect_eq(state.groups[0].segment_count, 9);
    cr_expect_eq(state.groups[1].segment_count, 35);
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    for (uint32_t device = 0; device < mv_trace_devices(trace); device++)
        for (int i = 0; i < 2; i++) {
            uint32_t events = mv_trace_events(trace, device).count;
            mvt_picture p = mvt_picture_of(&mv_paper_state, trace, device,
                                           (mv_paper_opts){.is_dark = i,
                                                           .event = i ? events / 2 - 1 : events - 1,
                                                           .height = i ? 480 : 0});
            mvt_scene_check(&p.paper.scene, name);
        }
}

EachSnapshot(state, pictures_of_every_snapshot_are_legible, check_snapshot);

/* Returns the state of eight segments of equal size in one pool. */
static mv_state state_of_equal(uint32_t rows)
{
    mvt_trace *t = mvt_new();
    mv_state_opts opts = {.most_rows = 90, .most_groups = 9, .columns = 640, .rows = rows};
    mv_heap_map map;

    for (uint64_t i = 1; i <= 8; i++)
        mvt_segment_alloc(t, .addr = i << 30, .bytes = 20 << 20);
    mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
    return state_of(mvt_arena(t), mvt_done(t), &lives, 7, opts, &map);
}

/* A tall picture has more rows, but no segment is cut for it. */
Test(state, rows_fill_a_tall_picture)
{
    static const uint32_t rows[][2] = {{0, 1}, {1, 1}, {3, 3}, {4, 4}, {5, 4}, {8, 8}, {50, 8}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mv_state state = state_of_equal(rows[i][0]);
        cr_expect_eq(state.rows, rows[i][1], "%u: %u", rows[i][0], state.rows);
        cr_expect_eq(state.box_count, 8, "%u", rows[i][0]);
    }
}

#define SAYS(...) MVT_PICTURE_SAYS(&mv_paper_state, __VA_ARGS__)

Test(state, a_picture_lists_contents_and_missing_data)
{
    SAYS("gpt_train", "1.19 GiB reserved = ", "large pool, default stream", "the largest hole has",
         "segment of 20.0 MiB at 0x", "in a segment of", " requested");
    SAYS("gpt_train_expandable", "an expandable segment of");
    SAYS("mempool", "private large pool (0, 1)", "30.0 MiB is free, in one hole");
    SAYS("streams", " + 97.5 MiB pending",
         "freed, but a stream may still use it: ", "freed; a stream may use it");
    SAYS("no_history", "no events were recorded");
    SAYS("ring", "history truncated");
}

Test(state, out_of_memory_is_explained)
{
    mvt_trace *t = mvt_new();
    mvt_picture p;

    mvt_segment_alloc(t, .addr = 1 << 21, .bytes = 2 << 20);
    mvt_alloc(t, .addr = 1 << 21, .bytes = 512, .stack = "f:a.py:1");
    mvt_oom(t, .addr = 4096, .bytes = 8 << 20);
    p = mvt_picture_of(&mv_paper_state, mvt_done(t), 0, (mv_paper_opts){.event = 2});
    cr_expect(mvt_scene_says(&p.paper.scene, "out of memory: requested 8.00 MiB; 2.00 MiB is "
                                             "free here, the largest hole 2.00 MiB"));
}

/* Small blocks together do not have the colour of blocks without frames. */
Test(state, small_blocks_have_a_colour_of_their_own)
{
    mvt_trace *t = mvt_new();
    const mv_theme *theme = mv_theme_of(false);
    uint32_t rest = 0;
    mvt_picture p;

    mvt_segment_alloc(t, .addr = 1 << 21, .bytes = 64 << 20);
    for (uint64_t i = 0; i < 2000; i++)
        mvt_alloc(t, .addr = (1 << 21) + 1024 * i, .bytes = 512, .stack = "f:a.py:1");
    p = mvt_picture_of(&mv_paper_state, mvt_done(t), 0, (mv_paper_opts){.event = 2000});
    for (uint32_t i = 0; i < p.paper.scene.shape_count; i++) {
        cr_assert_neq(p.paper.scene.shapes[i].fill, theme->native);
        rest += p.paper.scene.shapes[i].fill == theme->rest;
    }
    cr_expect_geq(rest, 2, "in the picture and in its key");
}

Test(state, almost_empty_traces_are_drawn)
{
    mvt_trace *empty = mvt_new(), *senseless = mvt_new(), *nothing = mvt_new();
    mvt_picture p =
        mvt_picture_of(&mv_paper_state, mvt_done(empty), 0, (mv_paper_opts){.event = MV_BEFORE});
    cr_expect(mvt_scene_says(&p.paper.scene, "nothing is reserved at this moment"));
    mvt_scene_check(&p.paper.scene, "empty");
    mvt_oom(senseless, .addr = UINT64_MAX, .bytes = UINT64_MAX);
    mvt_free(senseless, .addr = 512, .bytes = UINT64_MAX);
    mvt_segment_alloc(senseless, .addr = 4096, .bytes = UINT64_MAX - 8192);
    p = mvt_picture_of(&mv_paper_state, mvt_done(senseless), 0,
                       (mv_paper_opts){.event = 3, .width = 1, .height = 1});
    mvt_scene_check(&p.paper.scene, "senseless");
    for (uint64_t i = 0; i < 4; i++)
        mvt_segment_alloc(nothing, .addr = i << 21);
    mvt_alloc(nothing, .addr = 512, .stack = "f:a.py:1");
    p = mvt_picture_of(&mv_paper_state, mvt_done(nothing), 0, (mv_paper_opts){.event = 4});
    mvt_scene_check(&p.paper.scene, "no bytes");
}

/* A very large number of pieces of all sizes, in many pools and streams. */
LongTest(state, a_picture_of_anything_stays_small)
{
    mvt_trace *t = mvt_new();
    uint64_t state = 3;
    mvt_picture p;

    for (uint64_t s = 0; s < 1500; s++) {
        uint64_t base = (s + 1) << 32, at = base;
        mvt_segment_alloc(t, .addr = base, .bytes = (uint64_t)1 << (21 + s % 8), .stream = s % 40);
        for (uint32_t i = 0; i < 20; i++) {
            uint64_t bytes = 512 << mvt_random(&state, 8);
            mvt_alloc(t, .addr = at, .bytes = bytes, .stream = s % 40,
                      .stack = mvt_format("\"\"<<<<&&&&\"\"%u:a.py:%u", mvt_random(&state, 16), i));
            at += bytes + 512 * (i % 2);
        }
    }
    p = mvt_picture_of(&mv_paper_state, mvt_done(t), 0,
                       (mv_paper_opts){.event = mv_trace_events(mvt_done(t), 0).count - 1});
    mvt_scene_check(&p.paper.scene, "anything");
    cr_expect(mvt_scene_says(&p.paper.scene, " more pools and streams"));
}

Test(state, fails_when_memory_is_out)
{
    mvt_picture_without_memory(&mv_paper_state, mvt_done(mvt_small()), (mv_paper_opts){.event = 3});
}

Test(state, the_scene_of_a_small_trace_is_unchanged)
{
    mvt_picture_golden(&mv_paper_state, "small_state", (mv_paper_opts){.event = 2});
}

LongTest(state, the_command_draws_the_state)
{
    cJSON *json = mvt_json(0, "$MEMVIZ segment_plot --json --view state --at peak "
                              "$SNAPS/gpt_train.pickle -o x.svg");
    mvt_run r = mvt_here_or_sh("$MEMVIZ segment_plot --view state $SNAPS/two_devices.pickle -o -");

    mvt_json_has(json, "written events drawn");
    cr_expect_str_eq(mvt_json_text(json, "written"), "x.svg");
    cr_expect_gt(mvt_json_number(json, "drawn"), 100);
    cr_expect(strstr(r.out, "device 0 of 2") && strstr(r.out, "device 1 of 2"));
    r = mvt_sh(
        "for v in active state; do $MEMVIZ segment_plot --view $v $SNAPS/oom.pickle -o a.svg;"
        "$MEMVIZ trace_plot --view $v $SNAPS/oom.pickle -o b.svg; cmp a.svg b.svg; done; "
        "$MEMVIZ segment_plot --view state --theme dark --size 90x60 $SNAPS/oom.pickle -o a.png; "
        "$MEMVIZ trace_plot --at peak $SNAPS/oom.pickle -o b.svg");
    cr_expect_eq(r.status, 2);
    cr_expect_str_eq(r.out, "a.svg\nb.svg\na.svg\nb.svg\na.png\n");
    cr_expect(strstr(r.err, "--at names a moment"));
    r = mvt_sh("$MEMVIZ segment_plot --view state --at noon $SNAPS/oom.pickle -o x.svg; s=$?; ls; "
               "exit $s");
    cr_expect_eq(r.status, 2);
    cr_expect_str_eq(r.out, "");
}
