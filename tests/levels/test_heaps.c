/* Heaps, which are blocks that a program registered: replayed, and as a level. Sums are compared
 * with a slow replay. Invalid calls are counted and do no harm. */
#include "analyze/levels/heap_blocks.h"
#include "analyze/levels/levels.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/leaks/fixture_leaks.h"

#define FFI    "/lib/x86_64-linux-gnu/libffi.so.8"
#define CTYPES "/opt/python/bin/python3.12" /* ctypes may be in the interpreter */

static mv_trace taken(mvt_calls *c, const char *name)
{
    mv_trace trace = *mvt_calls_done(c);

    mvt_ok(mv_level_take_named(mvt_memory(), &trace, name, mvt_err()));
    cr_assert_null(mvt_unsound(&trace), "%s", mvt_unsound(&trace));
    return trace;
}

static uint64_t held_by(mvt_calls *c, const char *name)
{
    mv_trace trace = taken(c, name);

    return mvt_level_totals(&trace, 0).current.bytes.allocated;
}

static mv_heap_sum sum_of(mvt_calls *c, const char *name)
{
    const mv_trace *trace = mvt_calls_done(c);
    mv_heaps heaps;

    mvt_ok(mv_heaps_find(mvt_memory(), trace, &heaps, mvt_err()));
    for (uint32_t i = 0; i < heaps.count; i++)
        if (strcmp(mv_string_text(trace, heaps.sums[i].name), name) == 0)
            return heaps.sums[i];
    cr_assert_fail("no heap %s", name);
    return (mv_heap_sum){0};
}

/* ---- sums -------------------------------------------------------------------------------- */

enum { CALLS = 3000, ADDRESSES = 40, HEAPS = 3 };
static const char *const heap_names[HEAPS] = {"cupy", "rmm", "pool"};

/* The slow replay: a list of blocks, of which the newest is last. */
typedef struct {
    uint64_t address, bytes;
    int heap;
} slow_block;

typedef struct {
    slow_block blocks[CALLS];
    uint32_t count;
    uint64_t most[HEAPS];
} slow_heaps;

static uint64_t slow_held(const slow_heaps *s, int heap)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < s->count; i++)
        bytes += s->blocks[i].heap == heap ? s->blocks[i].bytes : 0;
    return bytes;
}

/* Returns the heap of the newest block at the address, among this heap's blocks or all blocks (-1),
 * or -1 if there is none. */
static int slow_lose(slow_heaps *s, int heap, uint64_t address)
{
    for (uint32_t i = s->count; i-- > 0;)
        if (s->blocks[i].address == address && (heap < 0 || s->blocks[i].heap == heap)) {
            int found = s->blocks[i].heap;
            memmove(s->blocks + i, s->blocks + i + 1, (--s->count - i) * sizeof *s->blocks);
            return found;
        }
    return -1;
}

static void slow_gain(slow_heaps *s, int heap, uint64_t address, uint64_t bytes)
{
    s->blocks[s->count++] = (slow_block){address, bytes, heap};
    if (slow_held(s, heap) > s->most[heap])
        s->most[heap] = slow_held(s, heap);
}

LongTest(heaps, each_heap_equals_the_slow_replay)
{
    static slow_heaps slow;

    for (uint64_t seed = 1; seed < 9; seed++) {
        mvt_calls *c = mvt_calls_new();
        uint64_t random = seed;

        slow = (slow_heaps){0};
        for (int i = 0; i < CALLS; i++) {
            int heap = (int)mvt_random(&random, HEAPS),
                any = mvt_random(&random, 3) == 0 ? -1 : heap;
            uint64_t address = (1 + mvt_random(&random, ADDRESSES)) * MIB,
                     size = mvt_random(&random, 9);
            const char *name = any < 0 ? NULL : heap_names[heap];
            switch (mvt_random(&random, 40)) {
            case 0:
                mvt_heap(c, MV_HEAP_RESET, .heap = heap_names[heap]);
                for (uint64_t at = 1; at <= ADDRESSES; at++)
                    slow_lose(&slow, heap, at * MIB);
                break;
            case 1:
            case 2:
                mvt_heap(c, MV_HEAP_RESIZE, .heap = name, .addr = address, .size = size);
                any = slow_lose(&slow, any, address);
                if (any >= 0)
                    slow_gain(&slow, any, address, size);
                break;
            default:
                if (mvt_random(&random, 2)) {
                    mvt_heap(c, MV_HEAP_FREE, .heap = name, .addr = address);
                    slow_lose(&slow, any, address);
                } else {
                    mvt_heap(c, MV_HEAP_ALLOC, .heap = heap_names[heap], .addr = address,
                             .size = size);
                    slow_lose(&slow, heap, address);
                    slow_gain(&slow, heap, address, size);
                }
            }
        }
        for (int heap = 0; heap < HEAPS; heap++) {
            mv_trace trace = taken(c, heap_names[heap]);
            mv_totals totals = mvt_level_totals(&trace, 0);
            cr_assert_eq(totals.current.bytes.allocated, slow_held(&slow, heap));
            cr_assert_eq(totals.current.bytes.reserved, slow_held(&slow, heap));
            cr_assert_eq(totals.peak.bytes.allocated, slow.most[heap]);
            cr_assert_eq(sum_of(c, heap_names[heap]).held_bytes, slow_held(&slow, heap));
            cr_assert_eq(sum_of(c, heap_names[heap]).peak_bytes, slow.most[heap]);
        }
    }
}

/* A pool's block begins at the same address as a larger heap's block. Both exist, and a free
 * without a heap's name frees the newer one. */
Test(heaps, an_address_may_be_in_two_heaps)
{
    mvt_calls *c = mvt_calls_new();

    mvt_heap(c, MV_HEAP_ALLOC, .heap = "arena", .addr = MIB, .size = 1000);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "pool", .addr = MIB, .size = 10);
    mvt_heap(c, MV_HEAP_FREE, .addr = MIB);
    cr_assert_eq(held_by(c, "arena"), 1000);
    cr_assert_eq(held_by(c, "pool"), 0);
    cr_assert_eq(sum_of(c, "pool").frees, 1);
}

Test(heaps, a_block_is_on_the_device_that_was_current)
{
    mvt_calls *c = mvt_calls_new();

    mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = MIB, .size = 7, .device = 1);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = 2 * MIB, .size = 5, .device = -1);
    mvt_heap(c, MV_HEAP_FREE, .heap = "cupy", .addr = MIB, .device = 0);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = 3 * MIB, .size = 9, .device = 1);
    mv_trace trace = taken(c, "cupy");
    cr_assert_eq(trace.device_count, 2);
    cr_assert_eq(mvt_level_totals(&trace, 0).current.bytes.allocated, 5);
    cr_assert_eq(mvt_level_totals(&trace, 1).current.bytes.allocated, 9);
    cr_assert_eq(mvt_level_totals(&trace, 1).peak.bytes.allocated, 9);
}

Test(heaps, invalid_blocks_are_counted_and_hold_nothing)
{
    mvt_calls *c = mvt_calls_new();
    char words[MV_HEAP_WORDS];

    mvt_heap(c, MV_HEAP_FREE, .heap = "pool", .addr = MIB);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "pool", .addr = MIB, .size = 100);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "pool", .addr = MIB, .size = 50);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "pool", .addr = 2 * MIB, .size = 0);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "pool", .addr = 3 * MIB, .size = UINT64_MAX);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "pool", .addr = 4 * MIB, .size = (uint64_t)1 << 63);
    mvt_heap(c, MV_HEAP_FREE, .heap = "pool", .addr = 2 * MIB);
    mvt_heap(c, 0, .heap = "pool", .addr = MIB);
    mvt_heap(c, MV_HEAP_FREE, .addr = 9 * MIB);
    mvt_heap(c, MV_HEAP_RESIZE, .addr = 9 * MIB, .size = 7);
    mvt_heap(c, MV_HEAP_ALLOC, .addr = 9 * MIB, .size = 7);
    mvt_heap(c, MV_HEAP_RESET, .size = 7);
    mv_heap_sum sum = sum_of(c, "pool");
    cr_assert(sum.lone_frees == 1 && sum.doubles == 1 && sum.odd_sizes == 3);
    cr_assert_str_eq(mv_heap_doubts(&sum, words),
                     "1 free of an unknown block, 1 block allocated twice, "
                     "3 sizes of 0 or too large for any device");
    cr_assert_eq(held_by(c, "pool"), 50);
    sum.lone_frees = 2;
    sum.doubles = sum.odd_sizes = UINT64_MAX;
    cr_assert_lt(strlen(mv_heap_doubts(&sum, words)), MV_HEAP_WORDS);
    sum.lone_frees = sum.doubles = sum.odd_sizes = 0;
    cr_assert_str_eq(mv_heap_doubts(&sum, words), "");
}

Test(heaps, overlapping_blocks_of_a_damaged_file_do_no_harm)
{
    mvt_calls *c = mvt_calls_new();
    uint64_t random = 7;

    for (int i = 0; i < CALLS; i++)
        mvt_heap(c, mvt_random(&random, 6), .heap = heap_names[mvt_random(&random, HEAPS)],
                 .addr = mvt_random(&random, 5000), .size = mvt_random(&random, 400),
                 .device = (int32_t)mvt_random(&random, 3) - 1);
    mv_trace trace = taken(c, "cupy");
    mvt_lives(mvt_memory(), &trace, 0);
    mvt_lives(mvt_memory(), &trace, 1);
}

LongTest(heaps, without_memory_the_trace_is_unchanged)
{
    mvt_calls *c = mvt_calls_new();

    for (uint64_t i = 0; i < 200; i++)
        mvt_heap(c, MV_HEAP_ALLOC, .heap = i % 2 ? "cupy" : "rmm", .addr = i * MIB, .size = 5,
                 .library = FFI, .frames = "hook:/a/hooks.py:1;load:/a/train.py:2");
    const mv_trace *before = mvt_calls_done(c);
    for (mvt_limit l = {.step = 65536}; mvt_more_memory(&l);) {
        mv_trace trace = *before;
        l.code = mv_level_take_named(&l.arena, &trace, "cupy", mvt_err());
        cr_assert(l.code == MV_OK || memcmp(&trace, before, sizeof trace) == 0);
    }
}

/* ---- which level ------------------------------------------------------------------------- */

static mvt_calls *two_heaps(bool has_cuda)
{
    mvt_calls *c = mvt_calls_new();

    if (has_cuda)
        mvt_call(c, MV_API_ALLOC, .addr = MIB, .size = 64 * MIB);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = MIB, .size = 512);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "rmm", .addr = 2 * MIB, .size = 256);
    mvt_heap(c, MV_HEAP_FREE, .heap = "never", .addr = MIB);
    return c;
}

Test(heaps, heaps_are_levels_after_those_of_the_calls)
{
    const mv_trace *trace = mvt_calls_done(two_heaps(true));
    mv_level_list list = mv_levels_of(trace);

    cr_assert_eq(list.count, 3);
    cr_assert_str_eq(list.name[0], "cuda");
    cr_assert_str_eq(list.name[1], "cupy");
    cr_assert_str_eq(list.name[2], "rmm");
    cr_assert_eq(mv_level_default(trace), MV_LEVEL_CUDA);
    trace = mvt_calls_done(two_heaps(false));
    cr_assert_str_eq(mv_level_name_of(trace, mv_level_default(trace)), "cupy");
    cr_assert(mv_level_has(trace, MV_LEVEL_DEFAULT));
    cr_assert_str_eq(mv_level_about("cupy"),
                     "blocks of an allocator registered with memviz_heap()");
}

Test(heaps, the_level_all_does_not_count_heaps_again)
{
    cr_assert_eq(held_by(two_heaps(true), "all"), 64 * MIB);
    cr_assert_eq(held_by(two_heaps(true), "cuda"), 64 * MIB);
    cr_assert_eq(held_by(two_heaps(true), "rmm"), 256);
}

Test(heaps, an_unknown_level_gets_the_list_of_levels)
{
    mv_trace trace = *mvt_calls_done(two_heaps(true));
    mv_err err = {0};

    cr_assert_eq(mv_level_take_named(mvt_memory(), &trace, "cupi", &err), MV_ABSENT);
    cr_assert_str_eq(err.detail, "no level cupi: this file has cuda, cupy and rmm");
    cr_assert_eq(mv_level_take_named(mvt_memory(), &trace, "never", &err), MV_ABSENT);
    cr_assert_str_eq(err.detail, "no block of that heap");
}

Test(heaps, a_taken_heap_is_named_and_has_no_calls)
{
    mv_trace trace = taken(two_heaps(true), "rmm");

    cr_assert_str_eq(trace.origin.level, "rmm");
    cr_assert(trace.origin.is_heap);
    cr_assert(trace.api_calls.count == 0 && trace.heap_calls.count == 0);
    cr_assert_eq(mv_trace_as_read(&trace)->heap_calls.count, 3);
}

/* ---- the charged lines -------------------------------------------------------------------- */

#define HOOK "malloc_postprocess:/home/me/hooks.py:12;"

static const char *charged(mvt_calls *c, uint32_t event, char text[128])
{
    mv_trace trace = taken(c, "cupy");

    return mv_culprit_label(&trace, NULL, trace.devices[0].events.stack[event], text, 128);
}

static mvt_calls *one_block(const char *library, const char *frames)
{
    mvt_calls *c = mvt_calls_new();

    mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = MIB, .size = 5, .library = library,
             .frames = frames);
    return c;
}

Test(heaps, a_hook_in_python_is_part_of_the_allocator)
{
    const char *frames = HOOK "zeros:/x/site-packages/cupy/basic.py:240;load:/home/me/train.py:31";
    char text[128];
    mv_trace trace = taken(one_block(FFI, frames), "cupy");
    uint32_t count;
    const mv_frame_id *stack = mv_stack_frames(&trace, trace.devices[0].events.stack[1], &count);

    cr_assert_eq(count, 3);
    cr_assert(mv_frame_is_call(&trace, stack[0]));
    cr_assert_str_eq(mv_frame_label(&trace, stack[0], text, sizeof text),
                     "malloc_postprocess (cupy)");
    cr_assert_str_eq(charged(one_block(FFI, frames), 1, text), "train.py:31 load");
    cr_assert_str_eq(charged(one_block(CTYPES, frames), 1, text), "train.py:31 load");
}

/* An extension that registers blocks is not part of a Python stack. A function without a caller
 * stays. */
Test(heaps, other_python_functions_are_charged)
{
    char text[128];

    cr_assert_str_eq(charged(one_block("/x/_pool.so", HOOK "load:/home/me/train.py:31"), 1, text),
                     "hooks.py:12 malloc_postprocess");
    cr_assert_str_eq(charged(one_block(FFI, "load:/home/me/train.py:31"), 1, text),
                     "train.py:31 load");
    cr_assert_str_eq(charged(one_block(FFI, NULL), 1, text), "(no stack)");
}

static mvt_calls *native_blocks(const char *first, const char *second)
{
    mvt_calls *c = mvt_calls_new();

    mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = MIB, .size = 5, .frames = first);
    mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = 2 * MIB, .size = 5, .frames = second);
    return c;
}

#define TAKE "Pool--take:/src/pool.cc:41;"

Test(heaps, a_native_allocator_is_the_function_that_all_blocks_have_in_common)
{
    char text[128];

    cr_assert_str_eq(
        charged(native_blocks(TAKE "load:/src/main.cc:7", TAKE "step:/src/main.cc:9"), 1, text),
        "main.cc:7 load");
    /* A function that is inlined into its callers, or that has only one caller, cannot be told
     * apart from them. */
    cr_assert_str_eq(charged(native_blocks("load:/src/pool.cc:41;main:/src/main.cc:7",
                                           "step:/src/pool.cc:41;main:/src/main.cc:9"),
                             1, text),
                     "pool.cc:41 load");
    cr_assert_str_eq(
        charged(native_blocks(TAKE "load:/src/main.cc:7", TAKE "load:/src/main.cc:8"), 1, text),
        "pool.cc:41 Pool--take");
}

enum { ROUNDS = 12 };

/* A pool that called CUDA only once. Each round keeps a block. */
static mvt_calls *keeping(bool keeps)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = MIB, .size = 900 * MIB);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = MIB, .size = MIB, .library = FFI,
                 .frames = HOOK "step:/home/me/train.py:30;main:/home/me/train.py:40");
        mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = 2 * MIB, .size = 3 * MIB, .library = FFI,
                 .frames = HOOK "step:/home/me/train.py:31;main:/home/me/train.py:40");
        if (keeps)
            mvt_heap(c, MV_HEAP_ALLOC, .heap = "cupy", .addr = (10 + i) * MIB, .size = MIB / 2,
                     .library = FFI,
                     .frames = HOOK "keep:/home/me/train.py:33;main:/home/me/train.py:40");
        mvt_heap(c, MV_HEAP_FREE, .heap = "cupy", .addr = 2 * MIB);
        mvt_heap(c, MV_HEAP_FREE, .heap = "cupy", .addr = MIB);
    }
    return c;
}

static mv_leaks leaks_of(mvt_calls *c, const char *level, mv_trace *trace)
{
    *trace = taken(c, level);
    return mvt_leaks_of(mvt_memory(), trace);
}

Test(heaps, a_leak_names_the_line_and_the_heap)
{
    char text[128];
    mv_trace trace;
    mv_leaks leaks = leaks_of(keeping(true), "cupy", &trace);

    cr_assert_eq(leaks.verdict, MV_VERDICT_LEAK);
    cr_assert_eq(leaks.count, 1);
    cr_assert_eq(leaks.leaks[0].kind, MV_LEAK_HEAP);
    cr_assert_eq(leaks.leaks[0].bytes, ROUNDS * MIB / 2);
    cr_assert_str_eq(mv_frame_label(&trace, leaks.leaks[0].culprit, text, sizeof text),
                     "train.py:33 keep");
    cr_assert_not_null(strstr(leaks.leaks[0].advice, "arrays"));
    cr_assert_eq(leaks_of(keeping(false), "cupy", &trace).verdict, MV_VERDICT_CLEAN);
}

/* The steps of a heap's blocks are also a clock for the other levels. The heap itself does not leak
 * there. */
Test(heaps, step_marks_of_heaps_apply_to_all_levels)
{
    mv_trace trace;
    mv_leaks leaks = leaks_of(keeping(true), "cuda", &trace);

    cr_assert_eq(leaks.verdict, MV_VERDICT_CLEAN);
    cr_assert_geq(leaks.steps.count, ROUNDS - 1);
}
