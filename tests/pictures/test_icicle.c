/* Flame graphs as trees and as pictures, compared with literal models. */
#include <math.h>

#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/pictures/fixture_tree.h"
#include "view/paper/paper.h"
#include "viz/pictures/icicle.h"

typedef struct {
    mv_arena *arena;
    mv_lives lives;
    mv_sites sites;
    mv_flame flame;
    mv_flame_tree tree;
    mv_paper paper;
} picture;

static picture p;

static void draw(const mv_trace *trace, uint32_t device, bool is_segments, mv_paper_opts opts)
{
    p = (picture){.arena = mvt_memory()};
    p.lives = mvt_lives(p.arena, trace, device);
    mvt_ok(mv_sites_find(p.arena, trace, &p.sites, mvt_err()));
    if (is_segments)
        mvt_ok(mv_flame_segments(p.arena, trace, &p.lives, opts.event, &p.sites, NULL, &p.flame,
                                 mvt_err()));
    else
        mvt_ok(mv_flame_memory(p.arena, &p.lives, opts.event, &p.sites, &p.flame, mvt_err()));
    mvt_ok(mv_flame_tree_make(p.arena, trace, &p.lives, &p.flame, &p.sites, p.sites.kinds, &p.tree,
                              mvt_err()));
    if (!opts.title)
        opts.title = "test";
    opts.flame = &p.tree;
    mvt_ok(mv_paper_find(p.arena, trace, &p.lives,
                         is_segments ? &mv_paper_segment_stacks : &mv_paper_stacks, &opts, &p.paper,
                         mvt_err()));
}

/* Allocations with stacks of up to six frames, drawn from only a few, so that paths fork and
 * meet. */
static mvt_trace *random_trace(uint64_t seed, uint32_t events)
{
    mvt_trace *t = mvt_new();
    uint64_t state = seed, addr = (uint64_t)1 << 40;

    for (uint32_t e = 0; e < events; e++) {
        char stack[400];
        int at = 0, frames = mvt_random(&state, 6);
        for (int i = 0; i < frames; i++)
            at += snprintf(stack + at, sizeof stack - (size_t)at, "%sf%u:a.py:%u", i ? ";" : "",
                           mvt_random(&state, 3), (unsigned)(1 + i));
        mvt_segment_alloc(t, .addr = addr, .bytes = 40 << 20);
        mvt_alloc(t, .addr = addr, .bytes = 512 * (1 + mvt_random(&state, 5000)),
                  .stack = frames ? stack : NULL);
        if (mvt_random(&state, 3) == 0)
            mvt_free(t, .addr = addr);
        addr += 40 << 20;
    }
    mvt_final_heap(t);
    return t;
}

/* ---- compared with literal models ----------------------------------------------------------- */

/* Returns a row's folded stack, such as "main;step;forward". */
static void path_of_row(const mv_trace *trace, const mv_flame_row *row, char *out, size_t size)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, row->stack, &count);
    mv_frame_kind shows = mv_stack_shows(trace, p.sites.kinds, row->stack);
    char label[512];
    int at = 0;

    out[0] = 0;
    for (uint32_t i = count; i-- > 0;)
        if (mv_frame_is_shown(trace, p.sites.kinds, shows, frames[i]))
            at += snprintf(out + at, size - (size_t)at, ";%s",
                           mv_frame_label(trace, frames[i], label, sizeof label));
    if (at == 0)
        at += snprintf(out, size, ";%s",
                       mv_culprit_label(trace, p.sites.kinds, row->stack, label, sizeof label));
    snprintf(out + at, size - (size_t)at, ";");
}

static const char *path_of_node(const mv_flame_tree *tree, uint32_t node)
{
    const mv_flame_node *n = &tree->nodes[node];

    return node ? mvt_format("%s%s;", path_of_node(tree, n->parent), n->label) : ";";
}

/* Returns where a node must be: its parent's position plus the heavier siblings on its left. */
static uint64_t literal_offset(const mv_flame_tree *tree, uint32_t node)
{
    uint32_t parent = tree->nodes[node].parent;

    if (node == 0)
        return 0;
    uint64_t offset = literal_offset(tree, parent);
    for (uint32_t c = tree->nodes[parent].child; c != node; c = tree->nodes[c].next)
        offset += tree->nodes[c].bytes;
    return offset;
}

static void check_boxes(uint64_t least, uint32_t most, uint32_t deepest)
{
    const mv_flame_tree *tree = &p.tree;
    mv_icicle_boxes boxes;
    uint32_t nodes = 0, meant = 1;
    uint64_t cut = UINT64_MAX;

    mvt_ok(mv_icicle_lay(p.arena, tree, least, most, deepest, &boxes, mvt_err()));
    for (uint32_t i = 0; i < boxes.count; i++) {
        const mv_icicle_box *box = &boxes.boxes[i];
        uint64_t rest = 0, place = UINT64_MAX;
        nodes += box->rest == 0;
        cr_assert_leq(box->depth, deepest);
        if (!box->rest) {
            cr_assert_eq(box->bytes, tree->nodes[box->node].bytes);
            cr_assert_eq(box->offset, literal_offset(tree, box->node));
            cut = box->bytes < cut ? box->bytes : cut;
            continue;
        }
        uint32_t count = 0;
        for (uint32_t c = tree->nodes[box->node].child; c; c = tree->nodes[c].next) {
            bool has_box = false;
            for (uint32_t b = 0; b < boxes.count; b++)
                has_box = has_box || (!boxes.boxes[b].rest && boxes.boxes[b].node == c);
            if (has_box)
                continue;
            place = place == UINT64_MAX ? literal_offset(tree, c) : place;
            rest += tree->nodes[c].bytes;
            count++;
        }
        cr_assert_eq(box->rest, count);
        cr_assert_eq(box->bytes, rest);
        cr_assert_eq(box->offset, place);
    }
    cr_assert_eq(nodes, boxes.nodes);
    cr_assert_leq(nodes, most ? most : 1);
    for (uint32_t i = 1; i < tree->count; i++)
        meant += tree->nodes[i].bytes >= cut && tree->nodes[i].depth <= deepest;
    cr_assert_eq(nodes, meant, "what is as heavy as the lightest box has a box");
}

LongTest(icicle, trees_and_boxes_equal_literal_models)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        mvt_trace *t = random_trace(seed, 5 + 6 * (uint32_t)seed);
        const mv_trace *trace = mvt_done(t);
        uint32_t events = mv_trace_events(trace, 0).count;

        draw(trace, 0, false,
             (mv_paper_opts){.event = seed % 3 ? events - 1 : (uint32_t)seed % events});
        char row[4096];
        for (uint32_t i = 0; i < p.tree.count; i++) {
            uint64_t bytes = 0, blocks = 0;
            const char *node = path_of_node(&p.tree, i);
            for (uint32_t r = 0; r < p.flame.count; r++) {
                path_of_row(trace, &p.flame.rows[r], row, sizeof row);
                if (strncmp(row, node, strlen(node)) == 0) {
                    bytes += p.flame.rows[r].bytes;
                    blocks += p.flame.rows[r].blocks;
                }
            }
            cr_assert_eq(p.tree.nodes[i].bytes, bytes, "%s", node);
            cr_assert_eq(p.tree.nodes[i].blocks, blocks, "%s", node);
            for (uint32_t j = 0; j < i; j++)
                cr_assert(p.tree.nodes[j].parent != p.tree.nodes[i].parent ||
                          strcmp(p.tree.nodes[j].label, p.tree.nodes[i].label) != 0);
        }
        mvt_check_tree(&p.tree);
        check_boxes(0, 100000, 100);
        check_boxes(1 << 20, 100000, 100);
        check_boxes(1, 7, 100);
        check_boxes(1, 100000, 2);
        mvt_scene_check(&p.paper.scene, "random");
        draw(trace, 0, true, (mv_paper_opts){.event = events - 1});
        mvt_check_tree(&p.tree);
        cr_assert_eq(p.tree.nodes[0].bytes, mv_moment_levels(&p.lives, events - 1).reserved);
    }
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    for (uint32_t device = 0; device < mv_trace_devices(trace); device++)
        for (int i = 0; i < 4; i++) {
            uint32_t events = mv_trace_events(trace, device).count;
            draw(trace, device, i % 2, (mv_paper_opts){.is_dark = i < 2, .event = events - 1});
            mvt_scene_check(&p.paper.scene, name);
        }
}

EachSnapshot(icicle, pictures_of_every_snapshot_are_legible, check_snapshot);

/* ---- almost no data, and very much ----------------------------------------------------------- */

Test(icicle, a_picture_names_missing_data)
{
    mvt_trace *empty = mvt_new(), *bare = mvt_new();

    draw(mvt_done(empty), 0, false, (mv_paper_opts){.event = MV_BEFORE});
    cr_expect(
        mvt_scene_says(&p.paper.scene, "nothing to draw: no bytes are allocated at this moment"));
    cr_expect_eq(p.paper.drawn, 0);
    mvt_scene_check(&p.paper.scene, "empty");
    mvt_alloc(bare, .addr = 512, .bytes = 512);
    draw(mvt_done(bare), 0, false, (mv_paper_opts){.event = 0, .width = 1, .height = 1});
    cr_expect(mvt_scene_says(&p.paper.scene, "recorded without stacks"));
    cr_expect_eq(p.paper.drawn, 2);
    mvt_scene_check(&p.paper.scene, "bare");
    draw(mvt_done(bare), 0, false, (mv_paper_opts){.event = MV_BEFORE});
    cr_expect(mvt_scene_says(&p.paper.scene, "before the first event"));
}

Test(icicle, blocks_of_0_bytes_are_not_drawn)
{
    mvt_trace *t = mvt_new();

    for (uint64_t i = 0; i < 4; i++)
        mvt_alloc(t, .addr = 4096 * i, .stack = "f:a.py:1");
    draw(mvt_done(t), 0, false, (mv_paper_opts){.event = 3});
    mvt_scene_check(&p.paper.scene, "zero");
}

/* 1,500 stacks of 120 frames that have little in common, with the worst possible labels. */
LongTest(icicle, a_picture_of_anything_stays_small)
{
    mvt_trace *t = mvt_new();
    uint64_t state = 7, addr = (uint64_t)1 << 40;

    for (uint32_t e = 0; e < 1500; e++) {
        char stack[8000];
        int at = 0;
        for (uint32_t i = 0; i < 120; i++)
            at += snprintf(stack + at, sizeof stack - (size_t)at, "%s\"\"<<&&>>\"_%u:a.py:%u",
                           i ? ";" : "", mvt_random(&state, i > 60 ? 2 : 900), i);
        mvt_alloc(t, .addr = addr, .bytes = 512 + 512 * (mvt_random(&state, 8)), .stack = stack);
        addr += 1 << 20;
    }
    draw(mvt_done(t), 0, false, (mv_paper_opts){.event = 1499});
    mvt_scene_check(&p.paper.scene, "anything");
    cr_expect_gt(p.paper.drawn, 500);
    draw(mvt_done(t), 0, false, (mv_paper_opts){.event = 1499, .height = 240});
    mvt_scene_check(&p.paper.scene, "anything");
    cr_expect(mvt_scene_says(&p.paper.scene, "more levels do not fit"));
    cr_expect_eq(p.paper.scene.shown_height, 240);
}

Test(icicle, fails_when_memory_is_out)
{
    mvt_trace *t = random_trace(5, 60);
    const mv_trace *trace = mvt_done(t);

    draw(trace, 0, false, (mv_paper_opts){.event = 59});
    for (mvt_limit l = {.step = 8192}; mvt_more_memory(&l);) {
        mv_paper_opts opts = {.title = "x", .event = 59};
        mv_flame_tree tree;
        mv_paper paper;
        l.code = mv_flame_tree_make(&l.arena, trace, &p.lives, &p.flame, &p.sites, p.sites.kinds,
                                    &tree, mvt_err());
        opts.flame = &tree;
        if (l.code == MV_OK)
            l.code = mv_paper_find(&l.arena, trace, &p.lives, &mv_paper_stacks, &opts, &paper,
                                   mvt_err());
    }
}

Test(icicle, the_scene_of_a_small_trace_is_unchanged)
{
    mvt_trace *t = mvt_small();
    const mv_trace *trace = mvt_done(t);

    draw(trace, 0, true,
         (mv_paper_opts){.title = "small", .event = mv_trace_events(trace, 0).count - 1});
    mvt_scene_golden(&p.paper.scene, "small_segments");
}

/* Counts the boxes that are wide enough for the shortest amount, and how many of them have a
 * text. */
static void count_names(const mv_scene *scene, uint32_t *wide, uint32_t *named, float *bottom)
{
    *wide = *named = 0;
    *bottom = 0;
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        const mv_point *at = &scene->points[s->first];
        if (s->kind != MV_SHAPE_RECTS || s->count != 2 || !s->title)
            continue;
        *bottom = fmaxf(*bottom, at[1].y);
        if (at[1].x - at[0].x < 70)
            continue;
        ++*wide;
        *named += i + 1 < scene->shape_count && s[1].kind == MV_SHAPE_TEXT;
    }
}

/* In a picture of a given height, the levels must fill it, and their texts must use all available
 * lines. */
Test(icicle, boxes_fill_the_height)
{
    static const char *const names[] = {"leak_in_training", "gpt_train", "streams"};

    for (unsigned n = 0; n < sizeof names / sizeof *names; n++)
        for (int is_segments = 0; is_segments < 2; is_segments++) {
            mv_trace trace = mvt_load(mvt_memory(), names[n]);
            mv_paper_opts opts = {.width = 1200, .height = 700, .event = MV_BEFORE};
            uint32_t wide, named;
            float bottom;
            opts.event = mv_trace_events(&trace, 0).count - 1;
            draw(&trace, 0, is_segments, opts);
            count_names(&p.paper.scene, &wide, &named, &bottom);
            cr_expect_gt(bottom, 630, "%s: the boxes end at %g", names[n], (double)bottom);
            cr_expect_geq(named * 10, wide * 9, "%s: %u of %u boxes have a name", names[n], named,
                          wide);
            mvt_scene_check_texts(&p.paper.scene, names[n]);
        }
}

LongTest(icicle, commands_draw_flame_graphs)
{
    static const char *const names[] = {"gpt_train", "streams", "two_devices", "no_history"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        for (int n = 0; n < 2; n++) {
            const char *command = n ? "segments" : "memory";
            cJSON *svg =
                mvt_json(0, "$MEMVIZ %s --json $SNAPS/%s.pickle -o x.svg", command, names[i]);
            cJSON *folded =
                mvt_json(0, "$MEMVIZ %s --json $SNAPS/%s.pickle -o x.folded", command, names[i]);
            cr_expect_str_eq(mvt_json_text(svg, "written"), "x.svg");
            cr_expect_eq(mvt_json_number(svg, "bytes"), mvt_json_number(folded, "bytes"));
            cr_expect_eq(mvt_json_number(svg, "stacks"), mvt_json_number(folded, "stacks"));
            cr_expect_gt(mvt_json_number(svg, "drawn"), 1);
        }
}

/* If a filter matches nothing, the picture must not claim that nothing is allocated. */
Test(icicle, a_filter_without_matches_is_reported)
{
    mvt_run r = mvt_sh("$MEMVIZ memory -q $SNAPS/gpt_train.pickle --filter nosuchframe -o x.svg && "
                       "cat x.svg");

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect(strstr(r.out, "none of the 407 blocks matches"));
    cr_expect(!strstr(r.out, "no bytes are allocated"));
}
