/* Memory held by captured CUDA graphs. */
#include "analyze/advice/triage.h"

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/fixture/fixture_program.h"

static mv_graphs graphs_of(const mv_trace *trace)
{
    mv_lives *lives = mv_push_struct(mvt_memory(), mv_lives);
    mv_graphs found;

    *lives = mvt_lives(mvt_memory(), trace, 0);
    mvt_ok(mv_graphs_find(mvt_memory(), trace, lives, NULL, &found, mvt_err()));
    return found;
}

/* Checks sums that hold in any file. */
static void expect_sums(const mv_graphs *g, const char *name)
{
    for (uint32_t i = 0; i < g->pool_count; i++) {
        const mv_graph_pool *p = &g->pools[i];
        uint64_t own = 0, released = 0, memory = 0, captures = 0;
        for (uint32_t c = 0; c < g->count; c++) {
            const mv_graph_capture *capture = &g->captures[c];
            if (capture->pool.row != p->pool.row)
                continue;
            cr_expect_eq(capture->memory, capture->own + capture->shared, "%s", name);
            cr_expect_leq(capture->released, capture->own, "%s", name);
            cr_expect_leq(capture->alive, capture->kept, "%s", name);
            cr_expect_leq(capture->memory, capture->allocated, "%s", name);
            own += capture->own;
            released += capture->released;
            memory += capture->memory;
            captures++;
        }
        cr_expect_eq(p->captures, captures, "%s", name);
        cr_expect_eq(p->memory, memory, "%s", name);
        if (p->reserved == MV_NO_BYTES)
            continue;
        cr_expect_eq(p->used, own - released, "%s", name);
        cr_expect_eq(p->used + p->unused, p->reserved, "%s", name);
        cr_expect(p->left == MV_NO_BYTES || p->left <= p->used, "%s", name);
    }
}

/* ---- a server that captures for three batch sizes ---------------------------------------- */

#define POOL .pool_a = 4

/* Before each capture, the batch runs once in the default pool. The second run reuses the memory of
 * the first, plus a little more. */
static mvt_trace *server(void)
{
    const uint64_t warm = 0x10000000, pool = 0x20000000, more = 0x30000000;
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = warm, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = warm, .bytes = 8 * MIB, .stack = "warm:run.py:5;main:run.py:20");
    mvt_free(t, .addr = warm);
    mvt_segment_alloc(t, .addr = pool, .bytes = 20 * MIB, POOL,
                      .stack = "f:m.py:1;capture:run.py:9");
    mvt_alloc(t, .addr = pool, .bytes = 8 * MIB, .stack = "f:m.py:1;capture:run.py:9");
    mvt_alloc(t, .addr = pool + 8 * MIB, .bytes = 4 * MIB, .stack = "g:m.py:2;capture:run.py:9");
    mvt_free(t, .addr = pool);
    mvt_alloc(t, .addr = warm, .bytes = 8 * MIB, .stack = "warm:run.py:5;main:run.py:20");
    mvt_free(t, .addr = warm);
    mvt_alloc(t, .addr = pool, .bytes = 4 * MIB, .stack = "f:m.py:1;capture:run.py:9");
    mvt_segment_alloc(t, .addr = more, .bytes = 20 * MIB, POOL,
                      .stack = "g:m.py:2;capture:run.py:9");
    mvt_alloc(t, .addr = more, .bytes = 12 * MIB, .stack = "g:m.py:2;capture:run.py:9");
    mvt_free(t, .addr = pool);
    mvt_free(t, .addr = more);
    mvt_alloc(t, .addr = warm, .bytes = 8 * MIB, .stack = "warm:run.py:5;main:run.py:20");
    mvt_free(t, .addr = warm);
    mvt_alloc(t, .addr = pool + 12 * MIB, .bytes = 2 * MIB, .stack = "f:m.py:1;capture:run.py:9");
    mvt_alloc(t, .addr = more, .bytes = 2 * MIB, .stack = "g:m.py:2;capture:run.py:9");
    mvt_final_heap(t);
    return t;
}

Test(graphs, a_pool_grows_and_later_captures_use_it_again)
{
    static const struct {
        uint64_t memory, shared, kept;
        int64_t grown;
    } wanted[] = {{12, 0, 4, 20}, {16, 4, 0, 20}, {4, 2, 4, 0}};
    const mv_trace *trace = mvt_done(server());
    mv_graphs g = graphs_of(trace);

    cr_assert_eq(g.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const mv_graph_capture *c = &g.captures[i];
        cr_expect_eq(c->memory, wanted[i].memory * MIB, "capture %u: %llu", i,
                     (unsigned long long)c->memory);
        cr_expect_eq(c->shared, wanted[i].shared * MIB, "capture %u", i);
        cr_expect_eq(c->kept, wanted[i].kept * MIB, "capture %u", i);
        cr_expect_eq(c->alive, wanted[i].kept * MIB, "capture %u", i);
        cr_expect_eq(c->grown, wanted[i].grown * (int64_t)MIB, "capture %u", i);
        cr_expect_eq(c->graph, MV_GRAPH_UNKNOWN);
    }
    cr_assert_eq(g.pool_count, 1);
    cr_expect_eq(g.pools[0].reserved, 40 * MIB);
    cr_expect_eq(g.pools[0].used, 26 * MIB);
    cr_expect_eq(g.pools[0].allocated, 8 * MIB);
    cr_expect_eq(g.pools[0].left, MV_NO_BYTES);
    cr_expect_str_eq(
        mv_graphs_text(mvt_memory(), trace, &g),
        "at least 3 captures of CUDA graphs: 32.0 MiB one by one, 26.0 MiB together; 14.0 MiB of "
        "their pools were never used by a capture");
    expect_sums(&g, "server");
}

/* The frame that all blocks of a capture have in common shows where the capture was made. */
Test(graphs, the_line_of_the_capture_is_found)
{
    const mv_trace *trace = mvt_done(server());
    mv_graphs g = graphs_of(trace);

    cr_expect_eq(trace->frames.line[g.captures[0].frame.row], 9);
}

/* If no event separates two captures, they count as one. Ranges separate and name them. */
Test(graphs, ranges_separate_captures)
{
    for (int with_ranges = 0; with_ranges < 2; with_ranges++) {
        mvt_trace *t = mvt_new();

        for (uint64_t i = 0; i < 2; i++) {
            if (with_ranges)
                mvt_annotate(t, i ? "capture_32" : "capture_64", true, 0);
            mvt_segment_alloc(t, .addr = 0x20000000 + i * 32 * MIB, .bytes = 20 * MIB, .pool_b = 1);
            mvt_alloc(t, .addr = 0x20000000 + i * 32 * MIB, .bytes = MIB);
            if (with_ranges)
                mvt_annotate(t, i ? "capture_32" : "capture_64", false, 0);
        }
        mvt_final_heap(t);
        mv_graphs g = graphs_of(mvt_done(t));
        cr_assert_eq(g.count, with_ranges ? 2 : 1);
        cr_expect_str_eq(g.captures[0].name, with_ranges ? "capture_64" : "");
        cr_expect_str_eq(g.captures[g.count - 1].name, with_ranges ? "capture_32" : "");
        expect_sums(&g, "ranges");
    }
}

/* torch.cuda.graph empties the cache before it captures. */
Test(graphs, the_beginning_of_a_capture_is_seen_by_what_it_frees)
{
    const char *enter = "__enter__:/lib/python3.12/site-packages/torch/cuda/graphs.py:200;"
                        "capture:run.py:9";
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 20 * MIB);
    for (uint64_t i = 0; i < 2; i++) {
        if (i)
            mvt_segment_free(t, .addr = 0x10000000, .bytes = 20 * MIB, .stack = enter);
        mvt_segment_alloc(t, .addr = 0x20000000 + i * 32 * MIB, .bytes = 20 * MIB, POOL);
        mvt_alloc(t, .addr = 0x20000000 + i * 32 * MIB, .bytes = MIB);
    }
    mvt_final_heap(t);
    mv_graphs g = graphs_of(mvt_done(t));
    cr_expect_eq(g.count, 2);
}

/* Profiling creates and destroys two graphs, and one graph stays. */
static const mv_trace *profiled(uint64_t unit)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 100 * unit, .size = 40 * unit);
    mvt_calls_event(c, MV_ACTION_SEGMENT_ALLOC, 100 * unit, 40 * unit);
    for (uint64_t i = 1; i <= 3; i++) {
        uint64_t at = (i == 2 ? 110 : 100) * unit, bytes = (i == 3 ? 2 : 8) * unit;
        const char *name = mvt_format("CUDA graph capture %d", (int)i);
        mvt_calls_annotate(c, MV_STAGE_START, name);
        mvt_calls_event(c, MV_ACTION_ALLOC, at, bytes);
        mvt_calls_event(c, MV_ACTION_FREE_REQUESTED, at, bytes);
        mvt_calls_event(c, MV_ACTION_FREE_COMPLETED, at, bytes);
        mvt_calls_annotate(c, MV_STAGE_END, name);
        mvt_call(c, MV_API_OBJECT_CREATE, .handle = 70 + i, .api = "cuGraphInstantiateWithFlags");
        if (i < 3)
            mvt_call(c, MV_API_OBJECT_DESTROY, .handle = 70 + i, .api = "cuGraphExecDestroy");
    }
    mvt_call(c, MV_API_OBJECT_DESTROY, .handle = 73, .api = "cuGraphExecDestroy"); /* at exit */
    return mvt_calls_done(c);
}

Test(graphs, what_destroyed_graphs_left_behind_is_known)
{
    const mv_trace *trace = profiled(MIB);
    mv_graphs g = graphs_of(trace);

    cr_assert_eq(g.count, 3);
    cr_expect_eq(g.captures[0].graph, MV_GRAPH_DESTROYED);
    cr_expect_eq(g.captures[2].graph, MV_GRAPH_EXISTS);
    cr_expect_eq(g.captures[2].shared, 2 * MIB);
    cr_assert_eq(g.pool_count, 1);
    cr_expect_eq(g.pools[0].reserved, 40 * MIB);
    cr_expect_eq(g.pools[0].used, 16 * MIB);
    cr_expect_eq(g.pools[0].left, 14 * MIB);
    cr_expect(
        strstr(mv_graphs_text(mvt_memory(), trace, &g), "14.0 MiB served only graphs that were"));
    expect_sums(&g, "calls");
}

/* Memory smaller than PyTorch's smallest segment is not worth a line. */
Test(graphs, the_triage_notes_what_destroyed_graphs_left_behind)
{
    for (uint64_t unit = MIB / 8; unit <= MIB; unit *= 8) {
        const mv_trace *trace = profiled(unit);
        mv_triage triage;
        const char *text = NULL;
        mvt_ok(mv_triage_find(mvt_memory()->budget,
                              (mv_triage_query){trace, trace, .end = UINT32_MAX}, 0, &triage,
                              mvt_err()));
        for (uint32_t i = 0; i < triage.count; i++)
            if (triage.rows[i].finding->report == MV_REPORT_STATS)
                text = triage.rows[i].text;
        if (unit < MIB)
            cr_expect_null(text);
        else
            cr_expect_str_eq(text, "14.0 MiB served only CUDA graphs that were destroyed");
        mv_triage_release(&triage);
    }
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    mv_graphs g = graphs_of(trace);
    uint64_t reserved = 0;

    expect_sums(&g, name);
    for (uint32_t i = 0; i < trace->segments.count; i++)
        if (trace->segments.device[i] == 0 && trace->segments.pool[i].row != MV_NO_ROW &&
            trace->segments.pool[i].row != 0)
            reserved += trace->segments.total_size[i];
    for (uint32_t i = 0; i < g.pool_count; i++)
        reserved -= g.pools[i].reserved;
    cr_expect_eq(reserved, 0, "%s", name);
}

EachSnapshot(graphs, pools_equal_those_of_the_final_heap, check_snapshot);

/* Blocks of 512 bytes, counted one by one. */
enum { CAPTURES = 12, SEGMENTS = 6, UNITS = 64 };

Test(graphs, shared_addresses_equal_a_count_one_by_one)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        int first[SEGMENTS][UNITS];
        uint64_t random = seed, own[CAPTURES] = {0}, memory[CAPTURES] = {0}, used = 0;
        mvt_trace *t = mvt_new();

        memset(first, -1, sizeof first);
        mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 20 * MIB);
        for (uint64_t s = 0; s < SEGMENTS; s++)
            mvt_segment_alloc(t, .addr = 0x20000000 + s * UNITS * 512, .bytes = UNITS * 512, POOL);
        for (int c = 0; c < CAPTURES; c++) {
            bool touched[SEGMENTS][UNITS] = {{false}};
            mvt_alloc(t, .addr = 0x10000000, .bytes = 512);
            mvt_free(t, .addr = 0x10000000);
            for (int i = 0; i < 8; i++) {
                uint64_t s = mvt_random(&random, SEGMENTS), at = mvt_random(&random, UNITS - 9);
                uint64_t units = 1 + mvt_random(&random, 8);
                uint64_t addr = 0x20000000 + (s * UNITS + at) * 512;
                mvt_alloc(t, .addr = addr, .bytes = units * 512);
                mvt_free(t, .addr = addr);
                for (uint64_t u = at; u < at + units; u++) {
                    memory[c] += touched[s][u] ? 0 : 512;
                    own[c] += first[s][u] < 0 ? 512 : 0;
                    first[s][u] = first[s][u] < 0 ? c : first[s][u];
                    touched[s][u] = true;
                }
            }
            used += own[c];
        }
        mvt_final_heap(t);
        mv_graphs g = graphs_of(mvt_done(t));
        cr_assert_eq(g.count, CAPTURES);
        for (int c = 0; c < CAPTURES; c++) {
            cr_assert_eq(g.captures[c].memory, memory[c], "seed %d, capture %d", (int)seed, c);
            cr_assert_eq(g.captures[c].own, own[c], "seed %d, capture %d", (int)seed, c);
        }
        cr_assert_eq(g.pools[0].used, used);
        expect_sums(&g, "random");
        mvt_drop(t);
    }
}

/* stats prints these figures. */
Test(graphs, the_report_lists_the_graphs)
{
    mvt_run run = mvt_here("$MEMVIZ stats $SNAPS/graph_trees.pickle");

    cr_expect_eq(run.status, 0);
    cr_expect(strstr(run.out, "at least 2 captures of CUDA graphs or uses of a MemPool: "), "%s",
              run.out);
    cr_expect(strstr(run.out, "more.py:55 graph_trees"), "%s", run.out);
}
