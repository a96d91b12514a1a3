/* Blocks that pile up over several steps and are freed all at once. They are garbage if the frees
 * show that Python's collector ran. Lists, caches and windows are not piles. */
#include "analyze/leaks/piles.h"

#include "tests/fixture/fixture_json.h"
#include "tests/fixture/in_process.h"
#include "tests/leaks/fixture_leaks.h"

#define TORCH  "/v/lib/python3.12/site-packages/torch/"
#define LOOP   "train:/w/train.py:20"
#define MODULE "_call_impl:" TORCH "nn/modules/module.py:1790;" LOOP
#define RELU \
    "relu:" TORCH "nn/functional.py:1723;forward:" TORCH "nn/modules/activation.py:143;" MODULE
#define PROJECT "project:/w/model.py:14;" LOOP
#define LINEAR  "forward:" TORCH "nn/modules/linear.py:134;" MODULE

enum { STEPS = 200, MOST = 512 };

/* How a run of STEPS steps frees the blocks of MIB bytes, one of which is made in each step. */
typedef struct {
    const char *name;
    const char *frees[4]; /* the stacks of the frees, used in turn; NULL: not recorded */
    uint32_t after[4];    /* numbers of steps between frees, used in turn */
    uint32_t window;      /* each new block frees an old one, once there are this many */
    uint32_t first, each; /* made in steps with step % each < first; 0: in all steps */
    uint32_t rest;        /* MiB that the run uses in addition */
    uint32_t most_times;  /* 0: no limit */
    uint32_t in_use;      /* number of youngest blocks, which are never freed */
    uint32_t places;      /* alternates between different allocations of a step */
    /* The expected results. */
    uint32_t piles;
    mv_pile_cause cause;
    mv_pile_proof proof;
    uint32_t least, most; /* steps */
    uint32_t blocks;
} habit;

typedef struct {
    mvt_trace *t;
    const habit *h;
    uint64_t next, live[MOST];
    uint32_t count, since, times;
} run;

static void free_all(run *r)
{
    const habit *h = r->h;
    uint32_t turns = h->after[3] ? 4 : h->after[2] ? 3 : h->after[1] ? 2 : 1, ways = 0;

    if (h->after[0] == 0 || r->since < h->after[r->times % turns] ||
        (h->most_times > 0 && r->times == h->most_times))
        return;
    while (ways < 4 && h->frees[ways])
        ways++;
    for (uint32_t i = 0; i + h->in_use < r->count; i++)
        mvt_free(r->t, .addr = r->live[i], .stack = ways ? h->frees[r->times % ways] : NULL);
    r->count = r->since = 0;
    r->times++;
}

static void work(run *r)
{
    static const char *const lines[] = {LINEAR, RELU, PROJECT};
    uint32_t places = r->h->places ? r->h->places : 1;

    for (uint32_t k = 0; k < 3; k++) {
        mvt_alloc(r->t, .addr = 0x20000000 + k * MIB, .bytes = MIB, .stack = lines[k]);
        if (k + 1 == 1 + r->times % places)
            free_all(r);
    }
    for (uint32_t k = 0; k < 3; k++)
        mvt_free(r->t, .addr = 0x20000000 + k * MIB);
}

static run begin(const habit *h)
{
    return (run){.t = mvt_run_new(), .h = h, .next = 0x40000000};
}

static void make(run *r, uint32_t step)
{
    const habit *h = r->h;

    if (h->each > 0 && step % h->each >= h->first)
        return;
    mvt_alloc(r->t, .addr = r->next, .bytes = MIB, .stack = "__init__:/w/layer.py:31;" LOOP);
    r->live[r->count++] = r->next;
    r->next += MIB;
    if (h->window > 0 && r->count > h->window) {
        mvt_free(r->t, .addr = r->live[0]);
        memmove(r->live, r->live + 1, --r->count * sizeof *r->live);
    }
}

static mvt_trace *write(const habit *h)
{
    run r = begin(h);

    mvt_alloc(r.t, .addr = (uint64_t)1 << 33, .bytes = (1 + h->rest) * MIB,
              .stack = "load:/w/train.py:5");
    for (uint32_t step = 0; step < STEPS; step++) {
        mvt_annotate(r.t, mvt_format("ProfilerStep#%u", step), true, 0);
        make(&r, step);
        r.since++;
        work(&r);
    }
    mvt_final_heap(r.t);
    return r.t;
}

static void expect(const habit *h)
{
    mv_leaks found = mvt_leaks(write(h));
    const mv_pile *pile = found.piles;

    cr_expect_neq(found.verdict, MV_VERDICT_LEAK, "%s", h->name);
    cr_assert_eq(found.pile_count, h->piles, "%s: %u", h->name, found.pile_count);
    if (h->piles == 0)
        return;
    cr_expect_eq(pile->cause, h->cause, "%s: %s", h->name, pile->evidence);
    cr_expect_eq(pile->proof, h->proof, "%s: %s", h->name, pile->evidence);
    cr_expect_eq(pile->least_steps, h->least, "%s: %u", h->name, pile->least_steps);
    cr_expect_eq(pile->most_steps, h->most, "%s: %u", h->name, pile->most_steps);
    cr_expect_eq(pile->blocks, h->blocks, "%s: %u", h->name, pile->blocks);
    cr_expect_eq(pile->bytes, h->blocks * MIB, "%s", h->name);
    cr_expect_leq(pile->at_peak, pile->bytes, "%s", h->name);
    cr_expect_geq(pile->at_peak + 4 * MIB, pile->bytes, "%s: %llu", h->name,
                  (unsigned long long)pile->at_peak);
    cr_expect(*pile->advice && *pile->every);
}

/* A block waits from the step after the one in which it was born. The block of the last step is not
 * counted. */
#define ONE_PILE(of, by, least_, most_)                                                           \
    .piles = 1, .cause = MV_PILE_##of, .proof = MV_PILE_##by, .least = (least_), .most = (most_), \
    .blocks = (most_)-1

Test(piles, blocks_that_the_collector_frees_are_garbage)
{
    static const habit habits[] = {
        {"native stacks",
         {"delete_garbage::0;gc_collect_main::0;" LOOP},
         {40},
         ONE_PILE(OF_CYCLES, BY_COLLECTOR, 40, 40)},
        {"neighbours' names",
         {"THPVariable_clear(THPVariable*):python_variable.cpp:0;"
          "PyObject_GC_Del::0;PyObject_GC_Del::0;" LOOP},
         {40},
         ONE_PILE(OF_CYCLES, BY_COLLECTOR, 40, 40)},
        {"a function that collects",
         {"garbage_collection_cuda:/v/lib/python3.12/site-packages/"
          "lightning/memory.py:80;" LOOP},
         {20},
         ONE_PILE(OF_CYCLES, BY_COLLECTOR, 20, 20)},
        {"generations, at lines that run in each step",
         {RELU, LINEAR},
         {53, 31, 90},
         ONE_PILE(OF_CYCLES, IN_PASSING, 31, 90)},
        {"three functions",
         {"a:/w/a.py:1;" LOOP, "b:/w/a.py:9;" LOOP, "c:/w/c.py:1;" LOOP},
         {30, 41},
         ONE_PILE(OF_CYCLES, ANYWHERE, 30, 41)},
        {"three places without stacks",
         {NULL},
         {37, 44, 52},
         .places = 3,
         ONE_PILE(OF_CYCLES, ANYWHERE, 37, 52)},
    };

    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        expect(&habits[i]);
}

Test(piles, blocks_of_a_possible_list_are_not_called_garbage)
{
    static const habit habits[] = {
        {"no stacks of frees", {NULL}, {40}, ONE_PILE(UNKNOWN, NO_PLACE, 40, 40)},
        {"a list for a log",
         {"flush:/w/log.py:7;" LOOP},
         {50},
         ONE_PILE(UNKNOWN, ONE_PLACE, 50, 50)},
        {"episodes of any length", {LOOP}, {23, 41, 17}, ONE_PILE(UNKNOWN, ONE_PLACE, 17, 41)},
        {"a log that is called at three lines",
         {"flush:/w/log.py:7;a:/w/a.py:1;" LOOP, "flush:/w/log.py:7;b:/w/a.py:9;" LOOP,
          "flush:/w/log.py:7;c:/w/c.py:1;" LOOP},
         {20},
         ONE_PILE(UNKNOWN, ONE_PLACE, 20, 20)},
        {"gradients",
         {"zero_grad:" TORCH "nn/modules/module.py:2900;" LOOP},
         {20},
         ONE_PILE(UNKNOWN, ONE_PLACE, 20, 20)},
        {"a state that its own line resets",
         {"__init__:/w/layer.py:31;reset:/w/train.py:9"},
         {20},
         ONE_PILE(UNKNOWN, ONE_PLACE, 20, 20)},
        {"more than a twentieth of the peak",
         {LOOP},
         {20},
         .rest = 340,
         ONE_PILE(UNKNOWN, ONE_PLACE, 20, 20)},
        {"less than a twentieth", {LOOP}, {20}, .rest = 380},
    };

    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        expect(&habits[i]);
}

Test(piles, blocks_that_do_not_pile_up_are_not_a_pile)
{
    static const habit habits[] = {
        {"a window", .window = 30},
        {"a replay buffer that is full", .window = 120},
        {"an evaluation's outputs", {LOOP}, {40}, .first = 12, .each = 40},
        {"micro-batches", .frees = {LOOP}, .after = {3}},
        {"freed once, at the end", .frees = {LOOP}, .after = {STEPS}},
    };

    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        expect(&habits[i]);
}

/* Blocks that wait longer than any earlier ones may never be freed, but they are a leak only after
 * twice that time. If the collector, whose runs are irregular, frees them, they are not a leak. */
Test(piles, a_list_that_is_no_longer_emptied_is_not_clean)
{
    static const struct {
        habit habit;
        mv_leak_verdict verdict;
    } cases[] = {
        {{.frees = {LOOP}, .after = {80}, .most_times = 1}, MV_VERDICT_UNKNOWN},
        {{.frees = {LOOP}, .after = {20}, .most_times = 2}, MV_VERDICT_LEAK},
        {{.frees = {RELU}, .after = {20}, .most_times = 2}, MV_VERDICT_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_leaks found = mvt_leaks(write(&cases[i].habit));

        cr_expect_eq(found.verdict, cases[i].verdict, "%zu: %s", i, found.why);
    }
}

/* Blocks that survive one run of Python's collector are freed only by a later, rarer kind of
 * collection. Before that they pile up, and the verdict is unknown, with a way to decide. If a list
 * keeps them, they are a leak. */
Test(piles, blocks_left_to_a_rarer_collection_are_not_a_leak)
{
    habit h = {.frees = {RELU}, .after = {12}, .in_use = 2};
    mv_leaks found = mvt_leaks(write(&h));

    cr_expect_eq(found.verdict, MV_VERDICT_UNKNOWN, "%s", found.why);
    cr_expect_str_eq(found.settle, "call gc.collect() before the recording ends");
    h.frees[0] = LOOP;
    found = mvt_leaks(write(&h));
    cr_expect_eq(found.verdict, MV_VERDICT_LEAK, "%s", found.why);
}

/* A list that is cut to its newer half from time to time and that keeps more each time. It is never
 * emptied, and it grows. */
Test(piles, a_list_that_keeps_more_each_time_is_not_a_pile)
{
    static const habit none = {.name = "pruned"};
    run r = begin(&none);

    for (uint32_t step = 0; step < 100; step++) {
        mvt_annotate(r.t, mvt_format("ProfilerStep#%u", step), true, 0);
        for (uint32_t i = 0; i <= step / 20; i++)
            make(&r, step);
        work(&r);
        if (step % 20 < 19)
            continue;
        for (uint32_t i = 0; i < r.count / 2; i++)
            mvt_free(r.t, .addr = r.live[i]);
        memmove(r.live, r.live + r.count / 2, (r.count - r.count / 2) * sizeof *r.live);
        r.count -= r.count / 2;
    }
    mv_leaks leaks = mvt_leaks_of_run(r.t);
    cr_expect_eq(leaks.pile_count, 0);
    cr_expect_neq(leaks.verdict, MV_VERDICT_CLEAN, "%s", leaks.why);
}

/* A list that fills up to the last step and is freed within the recording, so its line keeps
 * nothing. */
Test(piles, a_list_that_is_gone_at_the_end_is_clean)
{
    static const habit none = {.name = "gone"};
    run r = begin(&none);

    mvt_alloc(r.t, .addr = (uint64_t)1 << 33, .bytes = 64 * MIB, .stack = "load:/w/train.py:5");
    mvt_alloc(r.t, .addr = (uint64_t)3 << 32, .bytes = 64 * MIB, .stack = "save:/w/find.py:8");
    for (uint32_t step = 0; step < 40; step++) {
        mvt_annotate(r.t, mvt_format("ProfilerStep#%u", step), true, 0);
        make(&r, step);
        work(&r);
    }
    for (uint32_t i = 0; i < r.count; i++)
        mvt_free(r.t, .addr = r.live[i]);
    mvt_free(r.t, .addr = (uint64_t)3 << 32);
    mv_leaks leaks = mvt_leaks_of_run(r.t);
    cr_expect_eq(leaks.verdict, MV_VERDICT_CLEAN, "%s", leaks.why);
    cr_expect_not(leaks.floor.rises);
}

/* Recorded with Python 3.12's collector, and look-alikes. */
Test(piles, real_collections_are_garbage_and_real_lists_are_not)
{
    static const struct {
        const char *name, *line;
        mv_pile_proof proof; /* MV_PILE_NO_PLACE: nothing is garbage */
    } cases[] = {
        {"garbage", "record.py:525 __init__", MV_PILE_IN_PASSING},
        {"garbage_native", "record.py:525 __init__", MV_PILE_BY_COLLECTOR},
        {"garbage_by_hand", NULL, MV_PILE_NO_PLACE},
        {"emptied_lists", NULL, MV_PILE_NO_PLACE},
        {"episodes", NULL, MV_PILE_NO_PLACE},
        {"replay_buffer", NULL, MV_PILE_NO_PLACE},
        {"habits", NULL, MV_PILE_NO_PLACE},
        {"prefetch", NULL, MV_PILE_NO_PLACE},
        {"serving", NULL, MV_PILE_NO_PLACE},
        {"micro_batches", NULL, MV_PILE_NO_PLACE},
        {"validation_outputs", NULL, MV_PILE_NO_PLACE},
    };
    char label[160];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t garbage = 0;

        mv_trace trace = mvt_load(mvt_memory(), mvt_format("../leaks/%s", cases[i].name));
        mv_leaks found = mvt_leaks_of(mvt_memory(), &trace);
        for (uint32_t k = 0; k < found.pile_count; k++)
            garbage += found.piles[k].cause == MV_PILE_OF_CYCLES;
        cr_assert_eq(garbage, cases[i].line != NULL, "%s: %u", cases[i].name, garbage);
        if (!cases[i].line)
            continue;
        cr_expect_eq(found.piles[0].proof, cases[i].proof, "%s", cases[i].name);
        cr_expect_str_eq(mv_culprit_label(&trace, NULL, found.piles[0].stack, label, sizeof label),
                         cases[i].line);
    }
}

/* Returns the rows with this member in one of the program's reports on a run, or NULL. */
static const cJSON *row_of(const char *words, const habit *h, const char *list, const char *member,
                           const char *value)
{
    const cJSON *row;

    mvt_folder_put("f", mvt_pickle_bytes(write(h), false));
    mvt_ran r = mvt_program(words, NULL);
    cr_assert_eq(r.status, 0, "%s", (const char *)r.err.data);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(mvt_json_of((const char *)r.out.data), list)) {
        if (strcmp(mvt_json_text(row, member), value) == 0)
            return row;
    }
    return NULL;
}

/* Garbage has a separate line in the triage, alongside the verdict on leaks. A list in the program
 * does not. */
Test(piles, triage_reports_garbage)
{
    static const habit garbage = {.frees = {RELU}, .after = {40}}, unknown = {.after = {40}},
                       list = {.frees = {LOOP}, .after = {40}};
    const cJSON *row = row_of("--json f", &garbage, "findings", "verdict", "garbage");

    cr_assert_not_null(row);
    cr_expect_str_eq(mvt_json_text(row, "report"), "leaks");
    cr_expect_eq(mvt_json_number(row, "bytes"), 38.0 * MIB);
    cr_expect_not_null(strstr(mvt_json_text(row, "text"), "every 40 steps"));
    cr_expect_not_null(row_of("--json f", &garbage, "findings", "verdict", "clean"));
    cr_expect_not_null(row_of("--json f", &unknown, "findings", "verdict", "piles_up"));
    cr_expect_null(row_of("--json f", &list, "findings", "verdict", "piles_up"));
    cr_expect_null(row_of("--json f", &list, "findings", "verdict", "garbage"));
    row = row_of("leaks --json f", &list, "piles", "cause", "unknown");
    cr_assert_not_null(row);
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "freed_at")), 1);
    cr_expect_eq(mvt_json_number(row, "steps.most"), 40);
}
