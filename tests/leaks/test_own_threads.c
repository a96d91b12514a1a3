/* Memory that a library's threads allocate for a line of the program is charged to that line.
 * Memory allocated at other times, or for no line, stays separate. */
#include "analyze/levels/levels.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/leaks/fixture_leaks.h"

#define NCCL "/site-packages/nvidia/nccl/lib/libnccl.so.2"
#define C10  "/site-packages/torch/lib/libc10_cuda.so"

/* The allocations of a step, in order:
 *     l  the line keeps 3 MiB from the library       t  a thread of the library keeps 5 MiB
 *     o  another line uses a third line's memory     k  another line keeps 2 MiB from the library
 *  */
typedef struct {
    const char *step;
    const char *library;  /* NULL: NCCL */
    const char *thread_s; /* the thread's library; NULL: the same */
} program;

static mv_leaks leaks_of(const program *p)
{
    mvt_calls *c = mvt_calls_new();
    const char *library = p->library ? p->library : NCCL;
    uint64_t addr = 0;

    for (int step = 0; step < 12; step++) {
        mvt_calls_annotate(c, MV_STAGE_MARK, mvt_format("step %d", step));
        for (const char *at = p->step; *at; at++) {
            char what = *at;
            addr += 1 << 24;
            if (what == 'l')
                mvt_call(c, MV_API_ALLOC, .addr = addr, .size = 3 * MIB, .library = library,
                         .function = "all_reduce");
            if (what == 'k')
                mvt_call(c, MV_API_ALLOC, .addr = addr, .size = 2 * MIB, .library = library,
                         .function = "broadcast", .file = "/home/me/other.py");
            if (what == 't')
                mvt_call(c, MV_API_ALLOC, .addr = addr, .size = 5 * MIB,
                         .library = p->thread_s ? p->thread_s : library, .file = "src/proxy.cc",
                         .function = "ncclProxyService(void*)");
            if (what == 'o') {
                mvt_call(c, MV_API_ALLOC, .addr = addr, .size = MIB, .function = "matmul",
                         .file = "/home/me/model.py");
                mvt_call(c, MV_API_FREE, .addr = addr);
            }
        }
    }
    mv_trace trace = *mvt_calls_done(c);
    mvt_ok(mv_level_take(mvt_memory(), &trace, MV_LEVEL_CUDA, mvt_err()));
    mv_leaks leaks = mvt_leaks_of(mvt_memory(), &trace);
    cr_assert_eq(leaks.verdict, MV_VERDICT_LEAK, "%s", leaks.why);
    cr_assert_eq(leaks.leaked_bytes + leaks.retained_bytes, leaks.live_bytes);
    return leaks;
}

Test(own_threads, memory_right_after_a_line_belongs_to_the_line)
{
    static const char *const steps[] = {"olt", "llttto", "oltt", "lltlto"};

    for (int i = 0; i < 4; i++) {
        mv_leaks leaks = leaks_of(&(program){.step = steps[i]});
        const mv_leak *leak = &leaks.leaks[0];
        cr_assert_eq(leaks.count, 1, "%s: %u", steps[i], leaks.count);
        cr_assert_gt(leak->own_threads, 0);
        cr_assert_lt(leak->own_threads, leak->bytes);
        cr_assert_eq(leak->own_threads % (5 * MIB), 0);
        cr_assert(strstr(leak->advice, "train.py:7 all_reduce"), "%s", leak->advice);
        cr_assert(strstr(leak->evidence, "by NCCL's own threads"), "%s", leak->evidence);
    }
}

Test(own_threads, memory_at_other_times_stays_separate)
{
    /* The thread allocates after another line, before the line, or between two alternating
     * lines. */
    static const char *const steps[] = {"lot", "tol", "tlo", "lkt"};

    for (int i = 0; i < 4; i++) {
        mv_leaks leaks = leaks_of(&(program){.step = steps[i]});
        bool is_other = i == 3; /* of two consecutive lines, the later one is charged */
        cr_assert_eq(leaks.count, 2, "%s: %u", steps[i], leaks.count);
        for (uint32_t k = 0; k < leaks.count; k++)
            if (strstr(leaks.leaks[k].advice, "train.py"))
                cr_assert_eq(leaks.leaks[k].own_threads, 0);
            else
                cr_assert_eq(leaks.leaks[k].own_threads > 0, is_other);
    }
}

Test(own_threads, memory_of_another_library_or_of_pytorch_stays_separate)
{
    mv_leaks leaks = leaks_of(&(program){.step = "olt", .thread_s = "/lib/libcublas.so.12"});

    cr_assert_eq(leaks.count, 2);
    leaks = leaks_of(&(program){.step = "olt", .library = C10});
    cr_assert_eq(leaks.count, 2);
    leaks = leaks_of(&(program){.step = "olt", .library = "/home/me/simulate"});
    cr_assert_eq(leaks.count, 2, "threads of the program are not a library's own");
}
