/* Levels: the memory from CUDA calls, as a trace that every analysis accepts. Sums are compared
 * with the ledger's holdings, call by call. */
#include "analyze/ledger/holdings.h"
#include "analyze/levels/levels.h"
#include "analyze/peak/category.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/leaks/fixture_leaks.h"

#define C10 "/opt/site-packages/torch/lib/libc10_cuda.so"

/* ---- sums -------------------------------------------------------------------------------- */

static mv_trace taken(mvt_calls *c, mv_level level)
{
    mv_trace trace = *mvt_calls_done(c);

    mvt_ok(mv_level_take(mvt_memory(), &trace, level, mvt_err()));
    cr_assert_null(mvt_unsound(&trace), "%s", mvt_unsound(&trace));
    return trace;
}

/* Finds the bytes that calls hold at the end, and the most that they ever held. */
static void held(const mv_trace *trace, mv_lot_kind kind, uint64_t *end, uint64_t *most)
{
    mv_holdings h;

    mv_holdings_init(&h, mvt_memory(), trace, 0, true);
    *most = 0;
    for (uint32_t i = 0; i < trace->api_calls.count; i++) {
        cr_assert(mv_holdings_apply(&h, i));
        *most = h.held[kind].bytes > *most ? h.held[kind].bytes : *most;
    }
    *end = h.held[kind].bytes;
    mv_holdings_drop(&h);
}

enum { KEYS = 40, CALLS = 3000 };

LongTest(levels, each_level_equals_its_calls_and_their_peak)
{
    for (uint64_t seed = 1; seed < 9; seed++) {
        mvt_calls *c = mvt_calls_new();
        uint64_t random = seed, end, most;

        for (int i = 0; i < CALLS; i++) {
            /* Address ranges are 1 MiB apart, so that no two allocations overlap. */
            static const char *const libraries[] = {"/lib/libnccl.so.2", "/lib/libcublas.so.13",
                                                    C10, ""};
            uint64_t key = mvt_random(&random, KEYS), size = 1 + mvt_random(&random, MIB);
            mvt_call_args args = {.addr = (1 + key) * MIB,
                                  .size = size,
                                  .handle = 1 + key,
                                  .library = libraries[mvt_random(&random, 4)],
                                  .function = mvt_random(&random, 3) ? "keep" : NULL};
            static const mv_api_action actions[] = {
                MV_API_ALLOC,   MV_API_FREE,        MV_API_ALLOC_ASYNC, MV_API_CREATE,
                MV_API_RELEASE, MV_API_ALLOC_ARRAY, MV_API_FREE,        MV_API_FREE_ARRAY,
                MV_API_RELEASE, MV_API_REGISTER};
            mv_api_action action = actions[mvt_random(&random, sizeof actions / sizeof *actions)];
            if (action == MV_API_REGISTER)
                args.addr += (uint64_t)1 << 40;
            args.result = mvt_random(&random, 20) == 0 ? 2 : 0;
            mvt_call_row(c, action, args);
        }
        for (int host = 0; host < 2; host++) {
            held(mvt_calls_done(c), host ? MV_LOT_HOST : MV_LOT_DEVICE, &end, &most);
            mv_trace trace = taken(c, host ? MV_LEVEL_HOST : MV_LEVEL_CUDA);
            mv_totals totals = mvt_level_totals(&trace, 0);
            cr_assert_eq(totals.current.bytes.allocated, end);
            cr_assert_eq(totals.current.bytes.reserved, end);
            cr_assert_eq(totals.peak.bytes.allocated, most);
            cr_assert_eq(totals.peak.bytes.reserved, most);
        }
    }
}

/* Sizes that PyTorch would round must stay as requested. */
Test(levels, no_size_is_rounded)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 1);
    mvt_call(c, MV_API_ALLOC, .addr = 0x1200, .size = 513);
    mvt_call(c, MV_API_ALLOC, .addr = 0x200000, .size = 2 * MIB);
    mvt_call(c, MV_API_FREE, .addr = 0x1200);
    mv_trace trace = taken(c, MV_LEVEL_CUDA);
    mv_totals totals = mvt_level_totals(&trace, 0);
    cr_assert_eq(totals.current.bytes.allocated, 2 * MIB + 1);
    cr_assert_eq(totals.peak.bytes.active, 2 * MIB + 514);
}

/* A segment of 20 MiB with a block of 5 MiB, then NCCL's 8 MiB. Afterwards the block is freed. */
static mvt_calls *whole(void)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 100 * MIB, .size = 20 * MIB, .library = C10);
    mvt_calls_event(c, MV_ACTION_SEGMENT_ALLOC, 100 * MIB, 20 * MIB);
    mvt_calls_event(c, MV_ACTION_ALLOC, 100 * MIB, 5 * MIB);
    mvt_call(c, MV_API_CREATE, .handle = 3, .size = 8 * MIB, .library = "/lib/libnccl.so.2");
    mvt_calls_event(c, MV_ACTION_FREE_REQUESTED, 100 * MIB, 5 * MIB);
    mvt_calls_event(c, MV_ACTION_FREE_COMPLETED, 100 * MIB, 5 * MIB);
    mvt_call(c, MV_API_FREE, .addr = 100 * MIB, .library = C10);
    mvt_calls_event(c, MV_ACTION_SEGMENT_FREE, 100 * MIB, 20 * MIB);
    return c;
}

Test(levels, the_whole_device_counts_pytorchs_segments_once)
{
    mvt_calls *c = whole();
    mv_trace all = taken(c, MV_LEVEL_ALL), cuda = taken(c, MV_LEVEL_CUDA);
    mv_trace pytorch = taken(c, MV_LEVEL_PYTORCH);
    mv_totals of_all = mvt_level_totals(&all, 0), of_cuda = mvt_level_totals(&cuda, 0);

    cr_assert_eq(of_all.peak.bytes.reserved, 28 * MIB);
    cr_assert_eq(of_all.peak.bytes.allocated, 13 * MIB);
    cr_assert_eq(of_all.current.bytes.reserved, 8 * MIB);
    cr_assert_eq(of_cuda.peak.bytes.reserved, of_all.peak.bytes.reserved);
    cr_assert_eq(of_cuda.peak.bytes.allocated, 28 * MIB);
    cr_assert_eq(pytorch.devices[0].events.count, 5);
    /* In chronological order: NCCL between the alloc and the free. */
    cr_assert_eq(all.devices[0].events.count, 5 + 2);
    cr_assert_eq(all.devices[0].events.action[2], MV_ACTION_SEGMENT_ALLOC);
    cr_assert_eq(all.devices[0].events.size[2], 8 * MIB);
    cr_assert_eq(all.devices[0].events.action[4], MV_ACTION_FREE_REQUESTED);
}

Test(levels, a_stack_begins_with_the_call_and_the_library_is_the_category)
{
    mvt_calls *c = mvt_calls_new();
    mv_categories categories;
    uint32_t count;

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 5, .library = "/a/libnccl.so.2",
             .api = "cuMemAlloc_v2", .function = "keep");
    mvt_call(c, MV_API_ALLOC, .addr = 0x9000, .size = 7, .library = "/a/libcublas.so.13");
    mv_trace trace = taken(c, MV_LEVEL_CUDA);
    const mv_frame_id *frames = mv_stack_frames(&trace, trace.devices[0].events.stack[1], &count);
    cr_assert_eq(count, 2);
    cr_assert_geq(frames[0].row, trace.origin.first_call_frame);
    cr_assert_str_eq(mv_string_text(&trace, trace.frames.function[frames[0].row]), "cuMemAlloc_v2");
    cr_assert_str_eq(mv_string_text(&trace, trace.frames.file[frames[0].row]), "/a/libnccl.so.2");
    cr_assert_str_eq(mv_string_text(&trace, trace.frames.function[frames[1].row]), "keep");
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);
    mvt_ok(mv_categories_find(mvt_memory(), &trace, &lives, mv_frame_kinds(mvt_memory(), &trace),
                              NULL, &categories, mvt_err()));
    cr_assert_str_eq(categories.name[categories.of_alloc[0]], "NCCL");
    cr_assert_str_eq(categories.name[categories.of_alloc[1]], "cuBLAS");
}

/* ---- steps ------------------------------------------------------------------------------- */

enum { ROUNDS = 12 };

/* Rounds that allocate and free on the device from two lines, in a program without Python. Either
 * each round pins a buffer that is kept, or all buffers are pinned before the first round. */
static mvt_calls *rounds(bool pins_each)
{
    mvt_calls *c = mvt_calls_new();
    uint64_t buffer = (uint64_t)1 << 40;

    for (int i = 0; i < ROUNDS && !pins_each; i++, buffer += MIB)
        mvt_call(c, MV_API_REGISTER, .addr = buffer, .size = MIB, .function = "set_up",
                 .file = "pool.cc");
    for (int i = 0; i < ROUNDS; i++, buffer += MIB) {
        mvt_call(c, MV_API_ALLOC, .addr = 1 * MIB, .size = 4096, .function = "read",
                 .file = "loop.cc");
        mvt_call(c, MV_API_ALLOC, .addr = 2 * MIB, .size = 8192, .function = "work",
                 .file = "loop.cc");
        if (pins_each)
            mvt_call(c, MV_API_REGISTER, .addr = buffer, .size = MIB, .function = "keep",
                     .file = "loop.cc", .library = "/a/libloop.so");
        mvt_call(c, MV_API_FREE, .addr = 2 * MIB);
        mvt_call(c, MV_API_FREE, .addr = 1 * MIB);
    }
    return c;
}

static mv_leaks leaks_of(mvt_calls *c, mv_level level)
{
    mv_trace trace = taken(c, level);

    return mvt_leaks_of(mvt_memory(), &trace);
}

Test(levels, a_level_without_step_marks_has_the_steps_of_all_levels)
{
    mv_leaks leaks = leaks_of(rounds(true), MV_LEVEL_HOST);

    cr_assert_eq(leaks.verdict, MV_VERDICT_LEAK);
    cr_assert_geq(leaks.steps.count, ROUNDS - 1); /* the first one begins before the first buffer */
    cr_assert_eq(leaks.count, 1);
    cr_assert_eq(leaks.leaks[0].bytes, ROUNDS * MIB);
    cr_assert_eq(leaks.leaks[0].kind, MV_LEAK_CUDA_CALLS);
    cr_assert_eq(leaks_of(rounds(true), MV_LEVEL_CUDA).verdict, MV_VERDICT_CLEAN);
}

Test(levels, blocks_made_before_the_steps_are_not_leaks)
{
    mv_leaks leaks = leaks_of(rounds(false), MV_LEVEL_HOST);

    cr_assert_eq(leaks.verdict, MV_VERDICT_CLEAN);
    cr_assert_eq(leaks.floor.first, ROUNDS * MIB);
    cr_assert_eq(leaks.floor.last, ROUNDS * MIB);
}

/* A pool serves all blocks except the kept ones, so there are no other CUDA calls in a round, or
 * none at all after set-up. */
static mvt_calls *pooled(bool is_each_round)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = MIB, .size = MIB, .function = "weights", .launches = 3);
    for (uint64_t i = 0; i < ROUNDS; i++)
        mvt_call(c, MV_API_ALLOC, .addr = (2 + i) * MIB, .size = MIB, .function = "keep",
                 .launches = 10 + (is_each_round ? 40 : 1) * i);
    mvt_call(c, MV_API_FREE, .addr = MIB, .launches = 10 + 40 * ROUNDS);
    return c;
}

Test(levels, launches_are_the_clock_of_a_program_with_a_pool)
{
    mv_leaks leaks = leaks_of(pooled(true), MV_LEVEL_CUDA);

    cr_assert_eq(leaks.verdict, MV_VERDICT_LEAK);
    cr_assert_eq(leaks.leaks[0].bytes, ROUNDS * MIB);
    cr_assert_eq(leaks_of(pooled(true), MV_LEVEL_ALL).verdict, MV_VERDICT_LEAK);
    cr_assert_neq(leaks_of(pooled(false), MV_LEVEL_CUDA).verdict, MV_VERDICT_LEAK);
}

/* Only pinned buffers, one after another. The program waits for the device after each of them,
 * after none, or only later. */
static mvt_calls *pinned(uint64_t waits, uint64_t later)
{
    mvt_calls *c = mvt_calls_new();

    for (uint64_t i = 0; i < ROUNDS; i++)
        mvt_call(c, MV_API_ALLOC_HOST, .addr = (2 + i) * MIB, .size = MIB, .function = "keep",
                 .waits = waits * i);
    mvt_call(c, MV_API_ALLOC_HOST, .addr = MIB, .size = MIB, .function = "other",
             .waits = waits * ROUNDS + later);
    return c;
}

Test(levels, waits_distinguish_buffers_of_steps_from_a_list)
{
    mv_leaks leaks = leaks_of(pinned(1, 0), MV_LEVEL_HOST);

    cr_assert_eq(leaks.verdict, MV_VERDICT_LEAK, "%s", leaks.why);
    cr_assert_eq(leaks.leaks[0].bytes, ROUNDS * MIB);
    cr_assert_neq(leaks_of(pinned(0, 0), MV_LEVEL_HOST).verdict, MV_VERDICT_LEAK);
    cr_assert_neq(leaks_of(pinned(0, 50), MV_LEVEL_HOST).verdict, MV_VERDICT_LEAK);
    cr_assert_neq(leaks_of(pinned(1, 50), MV_LEVEL_HOST).verdict, MV_VERDICT_LEAK);
}

/* ---- which level ------------------------------------------------------------------------- */

Test(levels, the_default_is_the_first_level_in_the_file)
{
    mvt_calls *pinned = mvt_calls_new(), *cuda = mvt_calls_new(), *failed = mvt_calls_new();

    mvt_call(pinned, MV_API_ALLOC_HOST, .addr = 0x1000, .size = 5);
    mvt_call(cuda, MV_API_ALLOC_HOST, .addr = 0x1000, .size = 5);
    mvt_call(cuda, MV_API_ALLOC, .addr = 0x9000, .size = 5);
    mvt_call(failed, MV_API_ALLOC, .addr = 0x9000, .size = 5, .result = 2);
    cr_assert_eq(mv_level_default(mvt_calls_done(pinned)), MV_LEVEL_HOST);
    cr_assert_eq(mv_level_default(mvt_calls_done(cuda)), MV_LEVEL_CUDA);
    cr_assert_eq(mv_level_default(mvt_calls_done(whole())), MV_LEVEL_PYTORCH);
    cr_assert(!mv_level_has(mvt_calls_done(failed), MV_LEVEL_DEFAULT));
    cr_assert_eq(mv_level_default(mvt_calls_done(failed)), MV_LEVEL_PYTORCH);
}

Test(levels, a_taken_level_is_named_and_has_no_calls)
{
    mv_trace trace = taken(whole(), MV_LEVEL_ALL);

    cr_assert_str_eq(trace.origin.level, "all");
    cr_assert_eq(trace.api_calls.count, 0);
    cr_assert_gt(mv_trace_as_read(&trace)->api_calls.count, 0);
    cr_assert_eq(mv_trace_as_read(mv_trace_as_read(&trace)), trace.origin.as_read);
}

Test(levels, calls_are_counted_up_to_the_last_number)
{
    mvt_calls *c = whole();
    mv_trace trace = *mvt_calls_done(c);

    trace.calls = MV_NO_CALL - 1;
    mvt_ok(mv_level_take(mvt_memory(), &trace, MV_LEVEL_ALL, mvt_err()));
    cr_assert_eq(trace.calls, MV_NO_CALL);
    cr_assert_null(mvt_unsound(&trace), "%s", mvt_unsound(&trace));
}

static const char *listed(const mv_trace *trace)
{
    static char text[256];
    mv_level_list list = mv_levels_of(trace);

    *text = 0;
    for (uint32_t i = 0; i < list.count; i++)
        mv_text_append(text, sizeof text, "%s%s", i ? " " : "", list.name[i]);
    return text;
}

Test(levels, a_list_is_complete_or_names_the_rest)
{
    mvt_calls *cuda = mvt_calls_new(), *nothing = mvt_calls_new();

    mvt_call(cuda, MV_API_ALLOC_HOST, .addr = 0x1000, .size = 5);
    mvt_call(cuda, MV_API_ALLOC, .addr = 0x9000, .size = 5);
    cr_assert_str_eq(listed(mvt_calls_done(cuda)), "cuda host");
    cr_assert_str_eq(listed(mvt_calls_done(nothing)), "");
    const mv_trace *trace = mvt_calls_done(whole());
    cr_assert(strstr(listed(trace), "pytorch cuda") == listed(trace));
    cr_assert_not_null(strstr(listed(trace), " all"));
}

Test(levels, a_wrong_level_name_is_explained)
{
    mv_trace trace = *mvt_calls_done(whole()), made = trace;
    mv_err err = {0};

    cr_assert_eq(mv_level_take_named(mvt_memory(), &made, "cuda", &err), MV_OK);
    cr_assert_str_eq(made.origin.level, "cuda");
    made = trace;
    cr_assert_eq(mv_level_take_named(mvt_memory(), &made, "", &err), MV_OK);
    cr_assert_null(made.origin.level);
    cr_assert_eq(mv_level_take_named(mvt_memory(), &made, "nonsense", &err), MV_ABSENT);
    cr_assert_not_null(strstr(err.detail, "no level nonsense"));
    made = *mvt_calls_done(mvt_calls_new());
    cr_assert_eq(mv_level_take_named(mvt_memory(), &made, "host", &err), MV_ABSENT);
    cr_assert_str_eq(err.detail, mv_level_missing_text(MV_LEVEL_HOST));
}

Test(levels, without_memory_the_trace_is_unchanged)
{
    const mv_trace *before = mvt_calls_done(whole());

    for (mvt_limit l = {.step = 4096}; mvt_more_memory(&l);) {
        mv_trace trace = *before;
        l.code = mv_level_take(&l.arena, &trace, MV_LEVEL_ALL, mvt_err());
        cr_assert(l.code == MV_OK || memcmp(&trace, before, sizeof trace) == 0);
    }
}
