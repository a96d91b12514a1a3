/* Named tensors: their blocks, their bytes, and how reports use them. */
#include "analyze/flame/module_tree.h"
#include "analyze/peak/grouping.h"
#include "analyze/peak/site_tensors.h"
#include "tests/fixture/fixture.h"

#define BLOCK 0x100000
#define MODEL "forward:/w/model.py:5;main:/w/train.py:9"

typedef struct {
    const mv_trace *trace;
    mv_lives lives;
    mv_tensor_blocks found;
} blocks;

static blocks blocks_of(mvt_trace *t)
{
    blocks b = {.trace = mvt_done(t)};

    b.lives = mvt_lives(mvt_arena(t), b.trace, 0);
    mvt_ok(mv_tensor_blocks_find(mvt_arena(t), b.trace, &b.lives, &b.found, mvt_err()));
    return b;
}

/* Returns the bytes that count for a tensor, or UINT64_MAX if it lies in no block. */
static uint64_t counted(const blocks *b, const char *name)
{
    for (uint32_t i = 0; i < b->found.count; i++)
        if (strcmp(mv_string_text(b->trace, b->trace->tensors.name[b->found.row[i]]), name) == 0)
            return b->found.bytes[i];
    return UINT64_MAX;
}

static mvt_trace *with_blocks(uint32_t count)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = BLOCK, .bytes = (uint64_t)count * 0x1000, .stack = MODEL);
    for (uint32_t i = 0; i < count; i++)
        mvt_alloc(t, .addr = BLOCK + i * 0x1000, .bytes = 0x1000, .stack = MODEL);
    return t;
}

static void name(mvt_trace *t, const char *text, uint64_t at, uint64_t bytes)
{
    mvt_tensor(t, .name = text, .role = MV_TENSOR_PARAMETER, .addr = BLOCK + at, .bytes = bytes,
               .shape = "[4]", .dtype = "f32");
}

Test(tensors, the_innermost_of_those_that_share_bytes_counts)
{
    mvt_trace *t = with_blocks(2);

    name(t, "flat", 0, 0x1000);
    name(t, "weight", 0, 0x400);
    name(t, "bias", 0x600, 0x100);
    name(t, "tied", 0, 0x400);       /* at the same address as "weight", which comes first */
    name(t, "across", 0x580, 0x100); /* overlaps "bias" */
    name(t, "whole", 0x1000, 0x1000);
    blocks b = blocks_of(t);
    cr_expect_eq(counted(&b, "weight"), 0x400);
    cr_expect_eq(counted(&b, "tied"), 0);
    cr_expect_eq(counted(&b, "across"), 0x80);
    cr_expect_eq(counted(&b, "bias"), 0x100);
    cr_expect_eq(counted(&b, "flat"), 0x1000 - 0x400 - 0x80 - 0x100);
    cr_expect_eq(counted(&b, "whole"), 0x1000);
}

Test(tensors, those_beyond_a_block_or_in_none_are_reported)
{
    mvt_trace *t = with_blocks(2);

    mvt_free(t, .addr = BLOCK + 0x1000);
    name(t, "beyond", 0xc00, 0x1000);
    name(t, "freed", 0x1000, 0x10);
    name(t, "before", (uint64_t)-0x1000, 0x10);
    name(t, "empty", 0, 0);
    mvt_tensor(t, .name = "elsewhere", .device = 1, .addr = BLOCK, .bytes = 16, .dtype = "f32");
    blocks b = blocks_of(t);
    cr_expect_eq(b.found.count, 1);
    cr_expect_eq(b.found.outside, 2);
    cr_expect_eq(counted(&b, "beyond"), 0x400);
}

/* Random tensors, whose bytes must equal a byte-by-byte count. */
Test(tensors, counts_equal_a_byte_by_byte_count)
{
    enum { BYTES = 0x1000, COUNT = 12 };

    for (uint32_t round = 0; round < 200; round++) {
        mvt_trace *t = with_blocks(1);
        uint64_t from[COUNT], to[COUNT], owned[COUNT] = {0};
        uint32_t seed = round;
        char text[COUNT][8];
        for (uint32_t i = 0; i < COUNT; i++) {
            seed = seed * 1103515245 + 12345;
            from[i] = (seed >> 8) % 64 * 64;
            to[i] = from[i] + 64 + (seed >> 20) % 32 * 64;
            snprintf(text[i], sizeof text[i], "t%u", i);
            name(t, text[i], from[i], to[i] - from[i]);
            to[i] = to[i] < BYTES ? to[i] : BYTES;
        }
        for (uint64_t at = 0; at < BYTES; at += 64) {
            uint32_t owner = COUNT;
            for (uint32_t i = 0; i < COUNT; i++)
                if (from[i] <= at && at < to[i] &&
                    (owner == COUNT || from[i] > from[owner] ||
                     (from[i] == from[owner] && to[i] < to[owner])))
                    owner = i;
            if (owner < COUNT)
                owned[owner] += 64;
        }
        blocks b = blocks_of(t);
        for (uint32_t i = 0; i < COUNT; i++)
            cr_assert_eq(counted(&b, text[i]), owned[i], "round %u: %s", round, text[i]);
        mvt_drop(t);
    }
}

static const char *category_of(mvt_trace *t, uint32_t alloc, const char *rule)
{
    blocks b = blocks_of(t);
    mv_categories found;
    mv_rules rules = {0};
    char why[200];

    if (rule)
        cr_assert(mv_rules_read(mvt_arena(t), (mv_span){(const uint8_t *)rule, strlen(rule)},
                                &rules, why, sizeof why));
    mvt_ok(mv_categories_find(mvt_arena(t), b.trace, &b.lives,
                              mv_frame_kinds(mvt_arena(t), b.trace), &rules, &found, mvt_err()));
    return found.name[found.of_alloc[alloc]];
}

Test(tensors, a_block_has_the_category_of_most_named_bytes)
{
    mvt_trace *t = with_blocks(3);

    name(t, "weight", 0, 0x600);
    mvt_tensor(t, .name = "weight", .role = MV_TENSOR_OPTIMIZER_STATE, .addr = BLOCK + 0x800,
               .bytes = 0x800, .dtype = "f32");
    mvt_tensor(t, .name = "mean", .role = MV_TENSOR_BUFFER, .addr = BLOCK + 0x1000, .bytes = 8,
               .dtype = "f32");
    mvt_tensor(t, .name = "logits", .role = MV_TENSOR_NAMED, .addr = BLOCK + 0x2000, .bytes = 8,
               .dtype = "f32");
    cr_expect_str_eq(category_of(t, 0, NULL), "optimizer_state");
    cr_expect_str_eq(category_of(t, 1, NULL), "parameter");
    cr_expect_str_eq(category_of(t, 2, NULL), "unknown");
    cr_expect_str_eq(category_of(t, 0, "model\\.py mine"), "mine");
}

static const mv_flame_node *node_at(const mv_flame_tree *tree, const char *path)
{
    uint32_t at = 0;

    while (*path) {
        size_t length = strcspn(path, "/");
        uint32_t child = tree->nodes[at].child;
        while (child && (strlen(tree->nodes[child].label) != length ||
                         memcmp(tree->nodes[child].label, path, length) != 0))
            child = tree->nodes[child].next;
        cr_assert(child, "%s", path);
        at = child;
        path += length + (path[length] == '/');
    }
    return &tree->nodes[at];
}

Test(tensors, modules_are_a_tree_that_adds_up)
{
    mvt_trace *t = with_blocks(5);
    mv_categories categories;
    mv_flame_tree tree;
    mv_grouping grouping;

    name(t, "layers.0.up.weight", 0, 0xff0);
    name(t, "layers.0.up.bias", 0x1000, 0x100);
    name(t, "layers.1.up.weight", 0x1100, 0x200);
    mvt_tensor(t, .name = "layers.0.up.weight", .slot = "AdamW exp_avg", .shape = "[4]",
               .role = MV_TENSOR_OPTIMIZER_STATE, .addr = BLOCK + 0x2000, .bytes = 0x1000,
               .dtype = "f32");
    mvt_tensor(t, .name = "v1.5 logits", .shape = "[8]", .role = MV_TENSOR_NAMED,
               .addr = BLOCK + 0x3000, .bytes = 0x1000, .dtype = "f32");
    blocks b = blocks_of(t);
    mvt_ok(mv_categories_find(mvt_arena(t), b.trace, &b.lives,
                              mv_frame_kinds(mvt_arena(t), b.trace), NULL, &categories, mvt_err()));
    mvt_ok(mv_module_tree_find(mvt_arena(t), b.trace, &b.lives, &categories,
                               b.lives.events.count - 1, &tree, mvt_err()));
    cr_expect_eq(tree.nodes[0].bytes, 0x5000);
    cr_expect_eq(tree.nodes[0].blocks, 5);
    cr_expect_eq(node_at(&tree, "layers")->bytes, 0x1000 + 0x100 + 0x200 + 0x1000);
    cr_expect_eq(node_at(&tree, "layers/0/up/weight [4] f32")->bytes, 0x1000, "with its rounding");
    cr_expect_eq(node_at(&tree, "layers/0/up/weight [4] f32 \xc2\xb7 AdamW exp_avg")->blocks, 1);
    cr_expect_eq(node_at(&tree, "layers/0/up/bias [4] f32")->blocks, 0,
                 "of the larger one's block");
    cr_expect_eq(node_at(&tree, "v1.5 logits [8] f32")->bytes, 0x1000);
    cr_expect_eq(node_at(&tree, "(no name)/rest of blocks with several tensors")->bytes, 0xd00);
    cr_expect_eq(node_at(&tree, "(no name)/unknown")->bytes, 0x1000);
    mvt_ok(mv_grouping_find(mvt_arena(t), b.trace, &b.lives, NULL, MV_BY_MODULE, &grouping,
                            mvt_err()));
    cr_expect_str_eq(grouping.name[grouping.of_alloc[0]], "layers.0.up");
    cr_expect_str_eq(grouping.name[grouping.of_alloc[1]], "layers.1.up");
    cr_expect_str_eq(grouping.name[grouping.of_alloc[3]], "v1.5 logits");
    cr_expect_str_eq(grouping.name[grouping.of_alloc[4]], "(no name)");
}

#define TORCH "/venv/lib/python3.12/site-packages/torch/"
#define MAIN  "main:/w/train.py:9"
#define LINE                                                                                   \
    "forward:" TORCH "nn/modules/linear.py:134;_call_impl:" TORCH "nn/modules/module.py:1790;" \
    "forward:/w/model.py:5;_call_impl:" TORCH "nn/modules/module.py:1790;" MAIN

/* One line makes an activation of one size and temporary blocks of another size, as `x +
 * self.down(gelu(self.up(x)))` does. */
static void forward(mvt_trace *t, uint64_t at, bool is_last)
{
    mvt_alloc(t, .addr = at, .bytes = 0x4000, .stack = LINE);
    for (uint32_t i = 1; i < 4; i++) {
        mvt_alloc(t, .addr = at + i * 0x8000, .bytes = 0x1000, .stack = LINE);
        mvt_free(t, .addr = at + i * 0x8000);
    }
    if (is_last)
        return;
    mvt_alloc(t, .addr = at + 0x100000, .bytes = 0x2000, .stack = ""); /* a temporary block */
    mvt_alloc(t, .addr = at + 0x200000, .bytes = 0x3000, .stack = ""); /* a gradient */
    mvt_free(t, .addr = at);
    mvt_free(t, .addr = at + 0x100000);
}

static mv_categories categories_at_end(mvt_trace *t, mv_lives *lives)
{
    const mv_trace *trace = mvt_done(t);
    mv_categories found;

    *lives = mvt_lives(mvt_arena(t), trace, 0);
    mvt_ok(mv_categories_find(mvt_arena(t), trace, lives, mv_frame_kinds(mvt_arena(t), trace), NULL,
                              &found, mvt_err()));
    return found;
}

static const char *last_of_size(const mv_categories *found, const mv_lives *lives, uint64_t bytes)
{
    for (uint32_t i = lives->allocs.count; i-- > 0;)
        if (lives->allocs.requested[i] == bytes)
            return found->name[found->of_alloc[i]];
    return "(none)";
}

Test(tensors, undecided_blocks_are_categorized_by_size_first)
{
    mvt_trace *t = mvt_new();
    mv_lives lives;

    forward(t, 0x1000000, false);
    mvt_free(t, .addr = 0x1200000);
    forward(t, 0x1000000, false);
    mvt_free(t, .addr = 0x1200000);
    forward(t, 0x1000000, true);
    mv_categories found = categories_at_end(t, &lives);
    cr_expect_str_eq(last_of_size(&found, &lives, 0x4000), "activation");
    cr_expect_str_eq(last_of_size(&found, &lives, 0x1000), "temporary");
}

/* SGD and fused optimizers allocate nothing, so only their range shows that the backward pass is
 * over. Without the range, many temporary blocks of the gradient's size would be right. */
static const char *gradient_at_end(bool steps)
{
    mvt_trace *t = mvt_new();
    mv_lives lives;

    mvt_alloc(t, .addr = 0x100000, .bytes = 64, .stack = LINE);
    for (uint32_t i = 0; i < 3; i++) {
        mvt_alloc(t, .addr = 0x200000, .bytes = 0x3000, .stack = "");
        mvt_free(t, .addr = 0x200000);
    }
    mvt_alloc(t, .addr = 0x300000, .bytes = 0x3000, .stack = "");
    mvt_free(t, .addr = 0x100000);
    if (steps) {
        mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
        mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
    }
    /* The trace shows that the program trains, so empty stacks belong to the backward pass. */
    mvt_alloc(t, .addr = 0x400000, .bytes = 64, .time_us = 1,
              .stack = "backward:" TORCH "autograd/__init__.py:374;" MAIN);
    mv_categories found = categories_at_end(t, &lives);
    return last_of_size(&found, &lives, 0x3000);
}

Test(tensors, a_step_that_allocates_nothing_ends_the_backward_pass)
{
    cr_expect_str_eq(gradient_at_end(true), "gradient");
    cr_expect_str_eq(gradient_at_end(false), "temporary");
}
