#include "analyze/ranks/summary_bytes.h"

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

#include "analyze/ranks/divergence.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct {
    mv_summary made, read;
    mv_span bytes;
} round_trip;

static void go_round(round_trip *r, const mv_trace *trace, uint32_t device, const char *name)
{
    const mv_summary *all[] = {&r->made, &r->made};
    mv_summary *read;
    uint32_t count;

    mvt_ok(mv_summary_make(mvt_memory(), trace, device, MV_ALL_EVENTS, MV_SUMMARY_POINTS, name,
                           &r->made, mvt_err()));
    mvt_ok(mv_summaries_encode(mvt_memory(), all, 2, &r->bytes, mvt_err()));
    cr_assert_eq(mv_summaries_decode(mvt_memory(), NULL, r->bytes, &read, &count, mvt_err()), MV_OK,
                 "%s: %s %s", name, mv_code_name(mvt_err()->code), mvt_err()->detail);
    cr_assert_eq(count, 2);
    r->read = read[1];
}

static void expect_same_stack(const round_trip *r, mv_stack_id made, mv_stack_id read)
{
    uint32_t a, b;
    const mv_frame_id *p = mv_stack_frames(r->made.code, made, &a);
    const mv_frame_id *q = mv_stack_frames(r->read.code, read, &b);
    char x[512], y[512];

    cr_assert_eq(made.row == MV_NO_ROW, read.row == MV_NO_ROW);
    cr_assert_eq(a, b);
    for (uint32_t i = 0; i < a; i++)
        cr_assert_str_eq(mv_frame_label(r->made.code, p[i], x, sizeof x),
                         mv_frame_label(r->read.code, q[i], y, sizeof y));
}

static void expect_same(const round_trip *r, const char *name)
{
    const mv_summary *a = &r->made, *b = &r->read;
    uint64_t bytes = 0;

    cr_expect_str_eq(b->name, name);
    cr_expect(a->device == b->device && a->history == b->history && a->verdict == b->verdict &&
                  a->steps_source == b->steps_source && a->steps == b->steps &&
                  a->events == b->events && a->allocs == b->allocs && a->ooms == b->ooms &&
                  a->peak_allocated == b->peak_allocated && a->peak_reserved == b->peak_reserved &&
                  a->end_allocated == b->end_allocated && a->allocated == b->allocated &&
                  a->reserved == b->reserved && a->leaked_bytes == b->leaked_bytes &&
                  a->is_cut == b->is_cut,
              "%s", name);
    expect_same_stack(r, a->leak_stack, b->leak_stack);
    cr_assert_eq(a->sites, b->sites);
    for (uint32_t i = 0; i < a->sites; i++) {
        cr_assert(a->site[i].key == b->site[i].key && a->site[i].allocs == b->site[i].allocs &&
                  a->site[i].peak_bytes == b->site[i].peak_bytes &&
                  a->site[i].peak_blocks == b->site[i].peak_blocks &&
                  a->site[i].requested == b->site[i].requested &&
                  memcmp(a->site[i].size, b->site[i].size, sizeof a->site[i].size) == 0 &&
                  memcmp(a->site[i].times, b->site[i].times, sizeof a->site[i].times) == 0);
        expect_same_stack(r, a->site[i].stack, b->site[i].stack);
        bytes += b->site[i].peak_bytes;
    }
    cr_expect_eq(bytes, a->peak_allocated, "%s: the sites hold the peak", name);
    cr_assert_eq(mv_sequences_compare(a, b, false).first, MV_NO_DIVERGENCE);
    cr_assert_leq(b->points, MV_SUMMARY_FILE_POINTS);
    cr_assert_eq(a->end.chain, b->end.chain);
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    for (uint32_t device = 0; device < mv_trace_devices(trace); device++) {
        round_trip r;
        if (!mv_device_is_used(trace, device))
            continue;
        go_round(&r, trace, device, name);
        expect_same(&r, name);
        cr_expect_lt(r.bytes.length, 2 * (400u << 10), "%s: %u bytes for two", name,
                     (unsigned)r.bytes.length);
    }
}

EachSnapshot(summary, a_summary_comes_back_from_its_bytes, check_snapshot);

/* Equal parts are stored only once, and every summary must equal the one made without sharing. */
Test(summary, equal_parts_are_shared)
{
    static const char *const names[] = {"mlp_train", "streams", "mlp_train", "leak_cycle"};
    mv_arena *arena = mvt_memory();
    mv_shared_parts shared;
    mv_summary *read[4];
    uint32_t count;

    mv_shared_parts_init(&shared, arena->budget);
    for (int i = 0; i < 4; i++) {
        mv_trace trace = mvt_load(arena, names[i]);
        round_trip r;
        go_round(&r, &trace, 0, names[i]);
        mvt_ok(mv_summaries_decode(arena, &shared, r.bytes, &read[i], &count, mvt_err()));
        r.read = read[i][1];
        expect_same(&r, names[i]);
        cr_expect_eq(read[i][0].site, read[i][1].site);
    }
    cr_expect_eq(read[0]->code, read[2]->code);
    cr_expect_eq(read[0]->site, read[2]->site);
    cr_expect_eq(read[0]->point, read[2]->point);
    cr_expect_eq(shared.count, 3 * 3);
    mv_shared_parts_release(&shared);
}

Test(summary, keys_do_not_depend_on_folders_or_native_frames)
{
    static const char *const stacks[] = {"mm:/a/b/torch/nn/f.py:1;f:/a/train.py:3",
                                         "at::mm:??:0;mm:/x/torch/nn/f.py:1;f:/y/z/train.py:3"};
    uint64_t keys[2];

    for (int i = 0; i < 2; i++) {
        mvt_trace *t = mvt_new();
        mv_summary s;
        mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 1 << 30);
        mvt_alloc(t, .addr = 0x10000000, .bytes = 512, .stack = stacks[i]);
        mvt_final_heap(t);
        mvt_ok(mv_summary_make(mvt_arena(t), mvt_done(t), 0, MV_ALL_EVENTS, MV_SUMMARY_POINTS, "x",
                               &s, mvt_err()));
        cr_assert_eq(s.sites, 1);
        keys[i] = s.site[0].key;
    }
    cr_expect_eq(keys[0], keys[1]);
}

static void make_right(uint8_t *bytes, uint64_t length)
{
    uint64_t payload = length - MV_SUMMARY_HEADER;
    uint64_t hash = XXH3_64bits(bytes + MV_SUMMARY_HEADER, payload);

    memcpy(bytes + 16, &payload, sizeof payload);
    memcpy(bytes + 24, &hash, sizeof hash);
}

/* With and without shared parts. */
static mv_code decode(const round_trip *r, const uint8_t *bytes, uint64_t length)
{
    mv_shared_parts shared;
    mv_summary *read;
    uint32_t count;
    mv_err err[2] = {{0}, {0}};
    mv_code code[2];

    mv_shared_parts_init(&shared, mvt_memory()->budget);
    mv_summaries_decode(mvt_memory(), &shared, r->bytes, &read, &count, &err[0]);
    for (int i = 0; i < 2; i++)
        code[i] = mv_summaries_decode(mvt_memory(), i ? &shared : NULL, (mv_span){bytes, length},
                                      &read, &count, &err[i]);
    mv_shared_parts_release(&shared);
    cr_assert(code[0] == code[1] && err[0].offset == err[1].offset);
    return code[0];
}

Test(summary, damage_is_refused)
{
    mvt_trace *t = mvt_small();
    round_trip r;

    go_round(&r, mvt_done(t), 0, "small");
    uint8_t *copy = mv_arena_push(mvt_memory(), r.bytes.length, 1);
    for (uint64_t i = 0; i < r.bytes.length; i++) {
        memcpy(copy, r.bytes.data, r.bytes.length);
        copy[i] ^= 0x40;
        mv_code code = decode(&r, copy, r.bytes.length);
        cr_assert(code == MV_FORMAT || code == MV_VERSION || code == MV_CHECKSUM ||
                      code == MV_TRUNCATED || code == MV_RANGE,
                  "byte %u: %s", (unsigned)i, mv_code_name(code));
    }
    for (uint64_t i = 0; i < r.bytes.length; i++)
        cr_assert_neq(decode(&r, r.bytes.data, i), MV_OK, "cut at %u", (unsigned)i);
}

/* A wrong count must be refused even if the hash is correct. */
LongTest(summary, damage_with_a_right_hash_is_refused_or_read)
{
    mvt_trace *t = mvt_small();
    round_trip r;

    go_round(&r, mvt_done(t), 0, "small");
    uint8_t *copy = mv_arena_push(mvt_memory(), r.bytes.length, 1);
    for (uint64_t i = MV_SUMMARY_HEADER; i < r.bytes.length; i++)
        for (int k = 0; k < 3; k++) {
            memcpy(copy, r.bytes.data, r.bytes.length);
            copy[i] ^= (uint8_t)(k == 0 ? 0xff : k == 1 ? 0x80 : 1);
            make_right(copy, r.bytes.length);
            decode(&r, copy, r.bytes.length);
        }
    for (uint64_t i = MV_SUMMARY_HEADER; i < r.bytes.length; i++) {
        memcpy(copy, r.bytes.data, r.bytes.length);
        make_right(copy, i);
        cr_assert_neq(decode(&r, copy, i), MV_OK, "cut at %u", (unsigned)i);
    }
}

/* `ranks` must give the same report on summaries as on snapshots, except for facts that only
 * snapshots have. */
Test(summary, a_summary_replaces_its_snapshot)
{
    mvt_run run = mvt_sh(
        "cp $SNAPS/mlp_train.pickle a.pickle; cp $SNAPS/leak_cycle.pickle b.pickle; "
        "cp $SNAPS/streams.pickle c.pickle; $MEMVIZ ranks a.pickle b.pickle c.pickle >direct; "
        "$MEMVIZ summarize a.pickle; $MEMVIZ summarize b.pickle c.pickle -o bc.summary; "
        "$MEMVIZ ranks a.pickle.summary bc.summary >summed; "
        "$MEMVIZ summarize a.pickle.summary bc.summary -o all.summary; "
        "$MEMVIZ ranks all.summary >merged; cmp direct summed && cmp direct merged && echo same");

    cr_expect_eq(run.status, 0, "%s", run.err);
    cr_expect(strstr(run.out, "same\n"), "%s%s", run.out, run.err);
}

Test(summary, a_summary_of_a_pipe_needs_a_name)
{
    mvt_run run = mvt_sh("$MEMVIZ summarize - <$SNAPS/mlp_train.pickle; echo $?; "
                         "$MEMVIZ summarize - -o x.summary <$SNAPS/mlp_train.pickle; "
                         "$MEMVIZ summarize nowhere.pickle; echo $?");

    cr_expect(strncmp(run.out, "2\nx.summary: 1 summary", 22) == 0, "%s", run.out);
    cr_expect_str_eq(run.out + run.out_length - 2, "1\n");
}
