/* Lives joined from pieces equal those of the whole trace, which are the slow model. */
#include "analyze/lives/alive.h"
#include "analyze/lives/digests.h"
#include "analyze/lives/lives_join.h"
#include "analyze/totals/level_steps.h"
#include "parse/pieces.h"
#include "parse/writers.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/in_process.h"
#include "tests/fixture/sweeps.h"

static const char *path_of_file(void)
{
    return mv_arena_printf(mvt_memory(), "%s/joined.bin", mvt_folder_path());
}

static void write_file(const mv_trace *trace, uint32_t chunk_rows)
{
    const mv_spans *spans = NULL;
    mv_write_opts opts = {.digests = mv_digests_make(mvt_memory(), trace, &spans, mvt_err()),
                          .chunk_rows = chunk_rows};
    mv_sink sink;

    cr_assert_not_null(opts.digests);
    opts.spans = spans;
    mvt_ok(mv_sink_open(&sink, path_of_file(), mvt_err()));
    mvt_ok(mv_snapshot_write(mvt_memory(), trace, &opts, &sink, mvt_err()));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
}

/* Joins the pieces of the file, in `arena`. Returns MV_CORRUPT if the whole file is needed. */
static mv_code join_file(mv_arena *arena, mv_pieces *pieces, const mv_trace *trace, uint32_t device,
                         mv_lives_kept kept, mv_lives *out)
{
    mv_lives_join *join = mv_lives_join_begin(arena, trace, device, kept);
    mv_find_lives_fn *find = kept.of_few ? mv_lives_find_ranked : mv_lives_find;
    mv_err err = {0};

    cr_assert_not_null(join);
    for (uint32_t i = 0; i < mv_pieces_count(pieces, device) && err.code == MV_OK; i++) {
        mv_lives_piece found;
        mv_trace piece;
        mv_lives lives;
        if (mv_pieces_read(pieces, mvt_memory(), device, i, &piece, &err) == MV_OK &&
            find(mvt_memory(), &piece, device, &lives, &err) == MV_OK &&
            mv_lives_join_look(join, mvt_memory(), &piece, &lives, &found, &err) == MV_OK &&
            mv_lives_join_place(join, &found, &err) == MV_OK)
            mv_lives_join_copy(join, &found);
    }
    mv_lives_join_end(join, err.code == MV_OK ? out : NULL, &err);
    return err.code;
}

/* Compares the values of segment events, and of the alloc after each. */
static void same_few(const mv_lives *a, const mv_lives *b, const mv_table_column *c,
                     const char *name)
{
    const mv_events *e = &b->events;
    const char *x = mv_column_of(&a->events, c), *y = mv_column_of(e, c);
    bool is_awaited = false;

    for (uint32_t i = 0; i < e->count; i++) {
        bool is_alloc = e->action[i] == MV_ACTION_ALLOC;
        bool is_segment = mv_is_segment_action(e->action[i]);
        if (is_segment || (is_alloc && is_awaited))
            cr_assert(memcmp(x + (size_t)i * c->size, y + (size_t)i * c->size, c->size) == 0,
                      "%s %s: %u", name, c->name, i);
        is_awaited = is_segment || (is_awaited && !is_alloc);
    }
}

static bool has_rank(const mv_address_ranks *ranks, uint64_t addr)
{
    uint32_t rank = mv_address_rank(ranks, addr);

    return rank < ranks->count && ranks->addr[rank] == addr;
}

/* Ranks are ascending, and contain every address of the table. */
static void check_ranks(const mv_lives *lives, const char *name)
{
    const mv_segment_lives *s = &lives->segments;

    for (uint32_t i = 1; i < lives->ranks->count; i++)
        cr_assert_lt(lives->ranks->addr[i - 1], lives->ranks->addr[i], "%s", name);
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        cr_assert(has_rank(lives->ranks, lives->allocs.addr[i]), "%s: alloc %u", name, i);
    for (uint32_t i = 0; i < s->count; i++)
        cr_assert(has_rank(lives->ranks, s->addr[i]) &&
                      has_rank(lives->ranks, s->addr[i] + s->size[i]),
                  "%s: segment %u", name, i);
}

static void same_events(const mv_lives *joined_lives, const mv_lives *lives, mv_lives_kept kept,
                        const char *name)
{
    const mv_events *a = &joined_lives->events, *b = &lives->events;
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);

    cr_assert_eq(a->count, b->count, "%s", name);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *c = &table->columns[i];
        const void *joined = mv_column_of(a, c);
        if (kept.columns & 1u << i)
            cr_expect(memcmp(joined, mv_column_of(b, c), a->count * (size_t)c->size) == 0, "%s %s",
                      name, c->name);
        else if (kept.of_few & 1u << i)
            same_few(joined_lives, lives, c, name);
        else
            cr_expect_null(joined, "%s %s", name, c->name);
    }
}

static void same_times(const mv_events *a, const mv_events *b, const char *name)
{
    for (uint32_t i = 0; i < a->count; i++) {
        cr_assert_eq(mv_event_time(a, i), b->time_us[i], "%s event %u", name, i);
        cr_assert_eq(mv_event_from(a, b->time_us[i]), mv_event_from(b, b->time_us[i]), "%s", name);
    }
}

static void same_freeing_stacks(const mv_lives *a, const mv_lives *b, const char *name)
{
    for (uint32_t i = 0; (a->freed_by || a->events.stack) && i < a->allocs.count; i++)
        cr_assert_eq(mv_alloc_freeing_stack(a, i).row, mv_alloc_freeing_stack(b, i).row,
                     "%s allocation %u", name, i);
}

/* Only the changes of segments are prepared for joined lives. */
static void same_prepared_steps(const mv_lives *a, const mv_lives *b, const char *name)
{
    mv_level_steps x, y;

    cr_expect(a->ends_are_own && !b->ends_are_own);
    cr_assert(mv_level_steps_init(mvt_memory(), a, &x) && mv_level_steps_init(mvt_memory(), b, &y));
    cr_expect_eq(x.prepared_count, y.prepared_count, "%s", name);
}

static void expect_whole(const mv_lives *l)
{
    cr_expect_eq(l->has_no_heap + l->is_missing_allocs + l->is_missing_memory_events +
                     l->is_missing_segment_events + l->has_later_events,
                 0);
}

static uint32_t joined, refused; /* devices */

static void check_device(mv_pieces *pieces, const mv_trace *tables, uint32_t device,
                         mv_lives_kept kept, const char *name)
{
    mv_trace entire;
    mv_lives a, b;
    const char *difference;

    if (join_file(mvt_memory(), pieces, tables, device, kept, &a) == MV_CORRUPT) {
        refused++;
        return;
    }
    joined++;
    mvt_ok(mv_trace_read(mvt_memory(), path_of_file(), NULL, &entire, mvt_err()));
    mvt_ok(mv_lives_find(mvt_memory(), &entire, device, &b, mvt_err()));
    cr_expect_eq(a.allocs.addr == NULL,
                 !((kept.columns | kept.of_few) & MV_EVENT_addr) && tables->tensors.count == 0);
    a.allocs.addr = a.allocs.addr ? a.allocs.addr : b.allocs.addr;
    difference = mvt_lives_difference(&a, &b);
    cr_expect_null(difference, "%s device %u: %s", name, device, difference);
    same_events(&a, &b, kept, name);
    same_times(&a.events, &b.events, name);
    same_freeing_stacks(&a, &b, name);
    same_prepared_steps(&a, &b, name);
    if (kept.of_few)
        check_ranks(&a, name);
    else
        cr_expect_null(a.ranks, "%s", name);
    cr_expect_eq(a.history, b.history, "%s", name);
    cr_expect_str_eq(a.history_why, b.history_why, "%s", name);
    cr_expect_eq(a.ring, b.ring, "%s", name);
    expect_whole(&a);
    expect_whole(&b);
}

static void check(const mv_trace *trace, const char *name)
{
    enum { ALL = 0xff };
    static const uint32_t rows[] = {32, 200, 100};
    static const mv_lives_kept kept[] = {{.columns = ALL},
                                         {.columns = MV_EVENT_action | MV_LIVES_FREED_BY},
                                         {.columns = MV_EVENT_action | MV_LIVES_FREED_BY,
                                          .of_few = ALL & ~(MV_EVENT_time_us | MV_EVENT_action)}};
    mv_trace tables;
    mv_pieces *pieces;

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file(trace, rows[i]);
        pieces = mv_pieces_open(mvt_memory(), path_of_file(), &tables);
        for (uint32_t d = 0; pieces && d < tables.device_count; d++)
            if (mv_pieces_count(pieces, d) > 1)
                check_device(pieces, &tables, d, kept[i], name);
        mv_pieces_close(pieces);
    }
}

Test(lives_join, equals_the_lives_of_the_whole)
{
    joined = refused = 0;
    mvt_each_snapshot(check);
    printf("joined %u refused %u\n", joined, refused);
    cr_expect_geq(joined, 20);
}

/* Joins a file whose events are all on one stream and in one segment, and returns the number of bytes
 * that the lives take. */
static uint64_t joined_bytes(mv_lives_kept kept)
{
    enum { PAIRS = 50000, CHUNK = 20000 };
    mv_arena *arena = mvt_arena_of(UINT64_MAX);
    mvt_trace *t = mvt_new();
    mv_trace tables;
    mv_pieces *pieces;
    mv_lives lives;
    uint64_t used;

    mvt_segment_alloc(t, .addr = 0x1000000, .bytes = 2 << 20, .stack = "main");
    for (uint32_t i = 0; i < PAIRS; i++) {
        mvt_alloc(t, .addr = 0x1000000, .bytes = 512, .stack = "main");
        mvt_free(t, .addr = 0x1000000, .bytes = 512, .stack = "main");
    }
    mvt_final_heap(t);
    write_file(mvt_done(t), CHUNK);
    mvt_drop(t);
    pieces = mv_pieces_open(mvt_memory(), path_of_file(), &tables);
    cr_assert_gt(mv_pieces_count(pieces, 0), 1);
    mvt_ok(join_file(arena, pieces, &tables, 0, kept, &lives));
    for (uint32_t i = 0; i < lives.events.count && lives.events.tag; i++)
        cr_assert_eq(lives.events.tag[i].row, 0);
    used = arena->budget->used;
    mv_pieces_close(pieces);
    mv_arena_release(arena);
    return used;
}

/* Neither columns of zeros, nor columns of which only the pages of a few values are used. */
Test(lives_join, columns_without_values_take_no_memory)
{
    uint64_t least = joined_bytes((mv_lives_kept){.columns = MV_EVENT_action}),
             more = joined_bytes((mv_lives_kept){.columns = MV_EVENT_action | MV_EVENT_tag,
                                                 .of_few = MV_EVENT_size});

    cr_expect_lt(more, least + 100000);
}
