/* The module calls that reports distinguish, compared with programs whose layers are known and
 * programs without layers. */
#include "analyze/code/culprit.h"
#include "analyze/peak/site_layers.h"
#include "tests/fixture/fixture.h"

#define TORCH "/v/lib/python3.12/site-packages/torch/"
#define CALL                                                                  \
    "_call_impl:" TORCH "nn/modules/module.py:1790;_wrapped_call_impl:" TORCH \
    "nn/modules/module.py:1779;"
#define MODEL "forward:/w/t.py:69;" CALL "step:/w/t.py:74"

typedef struct {
    mv_lives lives;
    mv_categories categories;
    mv_layers layers;
} survey;

static const mv_trace *load(const char *name)
{
    mv_trace *trace = mv_push_struct(mvt_memory(), mv_trace);

    *trace = mvt_load(mvt_memory(), name);
    return trace;
}

static survey survey_of(const mv_trace *trace)
{
    const uint8_t *kinds = mv_frame_kinds(mvt_memory(), trace);
    survey s;

    s.lives = mvt_lives(mvt_memory(), trace, 0);
    mvt_ok(
        mv_categories_find(mvt_memory(), trace, &s.lives, kinds, NULL, &s.categories, mvt_err()));
    mvt_ok(mv_layers_find(mvt_memory(), trace, &s.lives, &s.categories, &s.layers, mvt_err()));
    return s;
}

/* Returns "t.py:69 forward 8; ..." for all loops. */
static const char *loops_of(const mv_trace *trace)
{
    survey s = survey_of(trace);
    char *text = mv_arena_push(mvt_memory(), 4096, 1), label[200];

    for (uint32_t i = 0; i < s.layers.loop_count; i++)
        mv_text_append(text, 4096, "%s%s %u", i ? "; " : "",
                       mv_frame_label(trace, s.layers.loops[i].line, label, sizeof label),
                       s.layers.loops[i].count);
    return text;
}

/* The counts come from testdata/snapshots/train.py (L=), from torchvision's models, and from the
 * scripts that recorded the others. */
LongTest(layers, recorded_models_have_the_layers_that_they_were_made_with)
{
    static const struct {
        const char *file, *loops;
    } all[] = {
        {"gpt_train", "train.py:69 forward 8"},
        {"gpt_train_expandable", "train.py:69 forward 8"},
        {"leak_in_training", "train.py:69 forward 4"},
        {"no_leak_warmup", "train.py:69 forward 4"},
        {"eval_without_no_grad", "train.py:69 forward 4"},
        {"annotated", "train.py:69 forward 2"},
        {"late_start", "train.py:69 forward 4"},
        {"whatif_0", "train.py:69 forward 6"},
        {"resnet_all", "resnet.py:273 _forward_impl 2; resnet.py:274 _forward_impl 2; "
                       "resnet.py:275 _forward_impl 2; resnet.py:276 _forward_impl 2"},
        {"../midway/resnet-loss", "resnet.py:273 _forward_impl 3; resnet.py:274 _forward_impl 4; "
                                  "resnet.py:275 _forward_impl 6; resnet.py:276 _forward_impl 3"},
        {"../midway/gpt-forward", "make_snapshots.py:68 forward 12"},
        {"../midway/llama-infer", "modeling_llama.py:403 forward 16"},
        {"../oom/gpt-oomforward", "make_snapshots.py:68 forward 8"},
        /* One cell for each of 60 time steps. These are calls as well. */
        {"../midway/rnn-forward", "midway.py:29 forward 60"},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        cr_expect_str_eq(loops_of(load(all[i].file)), all[i].loops, "%s", all[i].file);
}

Test(layers, nothing_is_claimed_of_runs_without_layers)
{
    static const char *const files[] = {
        "mlp_train",
        "compiled",
        "frag_pinned_by_small",
        "leak_global_list",
        "leak_cycle",
        "streams",
        "two_devices",
        "oom",
        "leak_hidden_state",
        "no_history",
        "graphs",
        "../leaks/functional_layers",
        "../leaks/build_only",
        "../leaks/set_up_only",
    };

    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        cr_expect_str_empty(loops_of(load(files[i])), "%s", files[i]);
}

/* Allocates at the places in `layers`. A letter is a place that `caller` calls, '.' is a place in
 * the model outside of it, and '|' allocates nothing. */
static const mv_trace *trace_of(const char *layers, const char *caller)
{
    mvt_trace *t = mvt_new();
    uint64_t at = 0x1000;

    for (const char *c = layers; *c; c++) {
        if (*c == '|')
            continue;
        mvt_alloc(t, .addr = at, .bytes = 512,
                  .stack = *c == '.' ? "forward:/w/t.py:70;" CALL "step:/w/t.py:74"
                                     : mvt_format("f:/w/m.py:%d;" CALL "%s", *c, caller));
        at += 512;
    }
    return mvt_done(t);
}

static const char *loops_in(const char *layers)
{
    return loops_of(trace_of(layers, MODEL));
}

Test(layers, layers_are_alike_or_have_missing_parts)
{
    cr_expect_str_eq(loops_in("abc|abc"), "t.py:69 forward 2");
    cr_expect_str_eq(loops_in("ab|ab|ab"), "t.py:69 forward 3");
    cr_expect_str_eq(loops_in(".abc|abc.."), "t.py:69 forward 2",
                     "the enclosing module is not a layer");
    cr_expect_str_eq(loops_in("aabbc|abbbc|abc"), "t.py:69 forward 3", "how often in a row");
    cr_expect_str_eq(loops_in("abca|abca|abca"), "t.py:69 forward 3", "the first place recurs");
    cr_expect_str_eq(loops_in("xabc|abc|abc"), "t.py:69 forward 3", "made once, in the first");
    cr_expect_str_eq(loops_in("abdc|abc|abc"), "t.py:69 forward 3", "one has more");
    cr_expect_str_eq(loops_in("abc|abc|ab"), "t.py:69 forward 3", "the last is not finished");
    cr_expect_str_eq(loops_in("abc"), "");
    cr_expect_str_eq(loops_in("aaaa"), "", "one place");
    cr_expect_str_eq(loops_in("ab|ab"), "", "two parts with two places");
    cr_expect_str_eq(loops_in("abcd|acbd"), "", "another order");
    cr_expect_str_eq(loops_in("abc|axy|abz"), "", "other places");
    cr_expect_str_eq(loops_in("abcdefghijkl"), "");
}

static const char *names_of(const char *const *metadata)
{
    mvt_trace *t = mvt_new();
    char *text = mv_arena_push(mvt_memory(), 200, 1);

    for (unsigned i = 0; i < 9; i++) {
        const char *stack = mvt_format("f:/w/m.py:%u;" CALL MODEL, i % 3 + 1);
        mvt_alloc(t, .addr = 0x1000 + 512 * i, .bytes = 512, .stack = stack,
                  .metadata = metadata[i / 3]);
    }
    mvt_alloc(t, .addr = 0x9000, .bytes = 512,
              .stack = "backward:" TORCH "_tensor.py:631;step:/w/t.py:75");
    const mv_trace *trace = mvt_done(t);
    survey s = survey_of(trace);
    cr_assert_eq(s.layers.loop_count, 1);
    cr_assert_eq(s.layers.loops[0].count, 3);
    for (uint32_t i = 0; s.layers.loops[0].name && i < 3; i++)
        mv_text_append(text, 200, "%s ", mv_string_text(trace, s.layers.loops[0].name[i]));
    return text;
}

/* The user's names are shown if they distinguish all calls. */
Test(layers, calls_have_the_names_that_the_program_gave_them)
{
    cr_expect_str_eq(names_of((const char *const[]){"h.0", "h.1", "h.2"}), "h.0 h.1 h.2 ");
    cr_expect_str_empty(names_of((const char *const[]){"h.0", "h.1", "h.1"}));
    cr_expect_str_empty(names_of((const char *const[]){"h.0", NULL, "h.2"}));
    cr_expect_str_empty(names_of((const char *const[]){"model", "model", "model"}));
}

/* The same calls from a loop in the script, such as steps, are not layers, because no module
 * surrounds them. */
Test(layers, a_loop_outside_of_modules_has_no_layers)
{
    cr_expect_str_empty(loops_of(trace_of("abc|abc|abc", "main:/w/t.py:9")));
}

Test(layers, every_allocation_is_in_the_call_that_made_it)
{
    survey s = survey_of(trace_of(".abc|abbc|abc.", MODEL));
    static const uint32_t expected[] = {9, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 9};

    for (uint32_t i = 0; i < 12; i++) {
        cr_expect_eq(s.layers.loop[i], expected[i] != 9, "row %u", i);
        cr_expect(expected[i] == 9 || s.layers.index[i] == expected[i], "row %u", i);
    }
}

/* A site's bytes by layer must be part of its bytes, and blocks must be counted only once. */
Test(layers, parts_of_sites_add_up)
{
    static const char *const files[] = {"gpt_train", "leak_in_training", "resnet_all", "annotated",
                                        "mlp_train"};

    for (unsigned f = 0; f < 5; f++) {
        const mv_trace *trace = load(files[f]);
        survey s = survey_of(trace);
        mv_peak_opts opts = {.window = {0, s.lives.events.count},
                             .kinds = mv_frame_kinds(mvt_memory(), trace)};
        mv_moment_query ask = {.kind = MV_MOMENT_PEAK, .window = opts.window};
        mv_attribution found;
        mv_moment at;
        mvt_ok(mv_moment_find(mvt_memory(), &s.lives, ask, &at, mvt_err()));
        mvt_ok(mv_peak_attribute(mvt_memory(), trace, &s.lives, at, opts, &found, mvt_err()));
        mv_site_layers *split = mv_site_layers_find(mvt_memory(), &s.lives, &s.layers, &found);
        for (uint32_t i = 0; i < found.count; i++) {
            uint64_t bytes = 0;
            uint32_t blocks = 0;
            for (uint32_t k = 0; k < split[i].count; k++) {
                bytes += split[i].layers[k].bytes;
                blocks += split[i].layers[k].blocks;
                cr_expect(k == 0 || split[i].layers[k - 1].index < split[i].layers[k].index);
                cr_expect_lt(split[i].layers[k].index, s.layers.loops[split[i].loop].count);
            }
            cr_expect_eq(bytes, split[i].bytes);
            cr_expect_leq(bytes, found.sites[i].bytes, "%s", files[f]);
            cr_expect_leq(blocks, found.sites[i].blocks, "%s", files[f]);
            cr_expect_eq(split[i].loop == MV_NO_ROW, split[i].count == 0);
        }
    }
}

Test(layers, the_leak_is_in_the_layer_with_the_hook)
{
    const mv_trace *trace = load("leak_in_training");
    survey s = survey_of(trace);
    uint64_t held[4] = {0}; /* at the end of the run */

    for (uint32_t i = 0; i < s.lives.allocs.count; i++)
        if (s.layers.loop[i] && s.lives.allocs.freed[i] == MV_NEVER)
            held[s.layers.index[i]] += s.lives.allocs.block[i];
    /* m.blocks[1].up has the hook. It keeps 2 MiB in each of 12 steps. */
    cr_expect_eq(held[0] + held[2] + held[3], 0);
    cr_expect_eq(held[1], 24 * MIB);
}

Test(layers, too_little_memory_is_an_error)
{
    const mv_trace *trace = load("annotated");
    survey s = survey_of(trace);
    mv_layers layers = {0};

    for (mvt_limit l = {.step = 16384}; mvt_more_memory(&l);)
        l.code = mv_layers_find(&l.arena, trace, &s.lives, &s.categories, &layers, mvt_err());
    cr_expect_eq(layers.loop_count, 1);
}
