
#include <inttypes.h>

#include "parse/model/living.h"
#include "tests/fixture/fixture_heap.h"

enum { E = 0x10000000 }; /* where expandable segments begin */

static mv_lives lives_of(mvt_trace *t)
{
    return mvt_lives(mvt_arena(t), mvt_done(t), 0);
}

/* A trace that begins with a segment of 2 MiB at 0x200000. */
static mvt_trace *small_segment(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 * MIB);
    return t;
}

/* ---- block sizes --------------------------------------------------------------------------- */

Test(lives, block_sizes_follow_from_the_layout)
{
    enum { S1 = 0x10000000, S2 = 0x20000000, S3 = 0x30000000 };
    static const uint64_t blocks[] = {1024, 1048576, 1049088, 10485760, 10485760, 20971520};
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = S1, .bytes = 2 * MIB);
    mvt_alloc(t, .addr = S1, .bytes = 1000);
    mvt_alloc(t, .addr = S1 + 1024, .bytes = 1048576);
    mvt_segment_alloc(t, .addr = S2, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = S2, .bytes = 1048577);
    mvt_alloc(t, .addr = S2 + 1049088, .bytes = 10485760);
    mvt_segment_alloc(t, .addr = S3, .bytes = 10 * MIB);
    mvt_alloc(t, .addr = S3, .bytes = 10485760);
    mvt_free(t, .addr = S2);
    mvt_free(t, .addr = S2 + 1049088);
    mvt_alloc(t, .addr = S2, .bytes = 19922944); /* leaves exactly 1 MiB: not split */
    mv_lives l = lives_of(t);
    cr_assert_eq(l.allocs.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        cr_expect_eq(l.allocs.block[i], blocks[i], "allocation %u: %" PRIu64, i, l.allocs.block[i]);
        cr_expect(!l.allocs.inexact[i]);
    }
    cr_expect_eq(l.segments.kind[l.allocs.segment[0]], MV_SEGMENT_SMALL);
    cr_expect_eq(l.segments.kind[l.allocs.segment[5]], MV_SEGMENT_LARGE);
    cr_expect_eq(l.alloc_of[12], 5);
}

Test(lives, expandable_segments_grow_under_their_blocks)
{
    mvt_trace *t = mvt_new();

    mvt_segment_map(t, .addr = E, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = E, .bytes = 1048577);
    mvt_segment_map(t, .addr = E + 20 * MIB, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = E + 1049088, .bytes = 31457280); /* across both mapped ranges */
    mvt_free(t, .addr = E + 1049088);
    mvt_segment_unmap(t, .addr = E + 20 * MIB, .bytes = 20 * MIB);
    mvt_segment(t, .addr = E, .bytes = 20 * MIB, .expandable = true);
    mvt_block(t, .bytes = 1049088, .requested = 1048577, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 19922432);
    mvt_setting_int(t, "expandable_segments", 1);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.allocs.block[0], 1049088);
    cr_expect_eq(l.allocs.block[1], 31457280);
    cr_assert_eq(l.segments.count, 2);
    cr_expect_eq(l.segments.death[0], MV_NEVER);
    cr_expect_eq(l.segments.death[1], 6);
    cr_expect_eq(l.segments.kind[1], MV_SEGMENT_LARGE);
    cr_expect_eq(l.doubts.final_mismatches, 0);
    cr_expect_eq(l.doubts.residual_reserved, 0);
}

/* Only the final heap names a reservation's pool. A piece that was unmapped before the end belongs
 * to the same pool. */
Test(lives, an_unmapped_piece_has_the_pool_of_its_reservation)
{
    mvt_trace *t = mvt_new();

    mvt_segment_map(t, .addr = E, .bytes = 20 * MIB);
    mvt_segment_map(t, .addr = E + 20 * MIB, .bytes = 20 * MIB);
    mvt_segment_map(t, .addr = E + 40 * MIB, .bytes = 40 * MIB);
    mvt_alloc(t, .addr = E, .bytes = 70 * MIB);
    mvt_free(t, .addr = E);
    mvt_segment_unmap(t, .addr = E + 60 * MIB, .bytes = 20 * MIB); /* cuts a piece */
    mvt_segment_unmap(t, .addr = E + 20 * MIB, .bytes = 20 * MIB);
    mvt_segment_unmap(t, .addr = E + 40 * MIB, .bytes = 20 * MIB);
    mvt_segment(t, .addr = E, .bytes = 20 * MIB, .expandable = true, .pool_b = 7);
    mvt_block(t, .bytes = 20 * MIB);
    mv_lives l = lives_of(t);
    cr_assert_eq(l.segments.count, 4);
    cr_assert_neq(l.segments.pool[0].row, MV_NO_ROW);
    for (uint32_t i = 0; i < 4; i++)
        cr_expect_eq(l.segments.pool[i].row, l.segments.pool[0].row, "piece %u", i);
    cr_expect_eq(mvt_done(t)->pools.b[l.segments.pool[3].row], 7);
}

/* The key is_expandable may be missing, but the events still show that the segment is
 * expandable. */
Test(lives, mapped_ranges_stay_expandable_with_any_final_heap)
{
    mvt_trace *t = mvt_new();

    mvt_segment_map(t, .addr = E, .bytes = 20 * MIB);
    mvt_segment_map(t, .addr = E + 20 * MIB, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = E, .bytes = 30 * MIB);
    mvt_segment(t, .addr = E, .bytes = 40 * MIB);
    mvt_block(t, .bytes = 30 * MIB, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 10 * MIB);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.allocs.block[0], 30 * MIB);
    cr_assert_eq(l.segments.count, 2);
    cr_expect(l.segments.is_expandable[0]);
    cr_expect(l.segments.is_expandable[1]);
}

Test(lives, unmapping_the_middle_of_a_range_cuts_its_row)
{
    mvt_trace *t = mvt_new();
    uint64_t alive = 0;

    mvt_segment_map(t, .addr = E, .bytes = 60 * MIB);
    mvt_segment_unmap(t, .addr = E + 20 * MIB, .bytes = 20 * MIB);
    mv_lives l = lives_of(t);
    cr_assert_eq(l.segments.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(l.segments.size[i], 20 * MIB);
        cr_expect_eq(l.segments.birth[i], 0);
        alive += l.segments.death[i] == MV_NEVER ? l.segments.size[i] : 0;
    }
    cr_expect_eq(alive, 40 * MIB);
    cr_expect_eq(l.segments.addr[l.alloc_of[1]], E + 20 * MIB);
}

Test(lives, max_split_size_keeps_large_blocks_whole)
{
    enum { S = 0x10000000 };
    mvt_trace *t = mvt_new();

    mvt_setting_int(t, "max_split_size", 32 * MIB);
    mvt_segment_alloc(t, .addr = S, .bytes = 60 * MIB);
    mvt_alloc(t, .addr = S, .bytes = 60 * MIB);
    mvt_free(t, .addr = S);
    mvt_alloc(t, .addr = S, .bytes = 41 * MIB);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.allocs.block[1], 60 * MIB);
}

Test(lives, later_allocation_corrects_a_block_that_seemed_unsplit)
{
    enum { S = 0x10000000 };
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = S, .bytes = 12 * MIB);
    mvt_alloc(t, .addr = S, .bytes = 11 * MIB + 512); /* too little remains to be split off */
    mvt_alloc(t, .addr = S + 11 * MIB + 512, .bytes = 4096);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.allocs.block[0], 11 * MIB + 512);
    cr_expect_eq(l.doubts.resized_blocks, 1);
    cr_expect_eq(l.doubts.lost_frees, 0);
}

/* ---- ends ---------------------------------------------------------------------------------- */

Test(lives, address_names_one_allocation_at_a_time)
{
    mvt_trace *t = small_segment();

    mvt_alloc(t, .addr = 0x200000, .bytes = 512, .stack = "f:a.py:1");
    mvt_free(t, .addr = 0x200000);
    mvt_alloc(t, .addr = 0x200000, .bytes = 700, .stack = "g:a.py:2");
    mv_lives l = lives_of(t);
    cr_assert_eq(l.allocs.count, 2);
    cr_expect_eq(l.allocs.birth[0], 1);
    cr_expect_eq(l.allocs.freed[0], 2);
    cr_expect_eq(l.allocs.completed[0], 3);
    cr_expect_eq(l.allocs.birth[1], 4);
    cr_expect_eq(l.allocs.freed[1], MV_NEVER);
    cr_expect_eq(l.allocs.block[1], 1024);
    cr_expect_eq(l.alloc_of[3], 0);
    cr_expect_eq(l.alloc_of[4], 1);
}

Test(lives, pending_block_is_not_free)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = 0x10000000, .bytes = 2 * MIB);
    mvt_alloc(t, .addr = 0x10200000, .bytes = 2 * MIB);
    mvt_free_requested(t, .addr = 0x10200000);
    mvt_free(t, .addr = 0x10000000);
    mvt_alloc(t, .addr = 0x10000000,
              .bytes = 3 * MIB / 2); /* 0.5 MiB remain before the pending one */
    mvt_free_completed(t, .addr = 0x10200000);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.allocs.block[2], 2 * MIB);
    cr_expect_eq(l.allocs.freed[1], 3);
    cr_expect_eq(l.allocs.completed[1], 7);
}

Test(lives, frees_of_nothing_are_counted)
{
    mvt_trace *t = small_segment();

    mvt_alloc(t, .addr = 0x200000, .bytes = 512);
    mvt_free(t, .addr = 0x200000);
    mvt_free(t, .addr = 0x200000);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.doubts.lone_frees, 2);
    cr_expect_eq(l.alloc_of[4], MV_NO_ROW);
    cr_expect_eq(l.allocs.preexisting, 0);
    cr_expect_eq(l.allocs.freed[0], 2);
}

Test(lives, allocation_whose_bytes_are_used_again_must_have_been_freed)
{
    mvt_trace *t = small_segment();

    mvt_alloc(t, .addr = 0x200000, .bytes = 512);
    mvt_alloc(t, .addr = 0x200200, .bytes = 512);
    mvt_alloc(t, .addr = 0x200000, .bytes = 1024);
    mvt_segment_free(t, .addr = 0x200000, .bytes = 2 * MIB);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.doubts.lost_frees, 3);
    cr_expect_eq(l.allocs.freed[0], 3);
    cr_expect_eq(l.allocs.freed[1], 3);
    cr_expect_eq(l.allocs.completed[2], 4);
}

/* The last event is not the birth of these blocks, because they were freed at an unknown time. */
Test(lives, without_frees_blocks_missing_from_the_final_heap_have_ended)
{
    mvt_trace *t = small_segment();

    mvt_alloc(t, .addr = 0x200000, .bytes = 512);
    mvt_alloc(t, .addr = 0x200800, .bytes = 1024);
    mvt_alloc(t, .addr = 0x200000, .bytes = 512);
    mvt_segment(t, .addr = 0x200000, .bytes = 2 * MIB, .small = true);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 2 * MIB - 512);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.doubts.lost_frees, 2);
    cr_expect_eq(l.doubts.final_mismatches, 0);
    cr_expect_eq(l.doubts.residual, 0);
    cr_expect_eq(l.allocs.completed[0], 3);
    cr_expect_eq(l.allocs.completed[1], 3);
    cr_expect_eq(l.allocs.completed[2], MV_NEVER);
}

Test(lives, either_kind_of_free_may_be_missing)
{
    static const mv_action kinds[] = {MV_ACTION_FREE_REQUESTED, MV_ACTION_FREE_COMPLETED};

    for (uint32_t i = 0; i < 2; i++) {
        mvt_trace *t = small_segment();
        mvt_alloc(t, .addr = 0x200000, .bytes = 512);
        mvt_event(t, kinds[i], (mvt_event_args){.addr = 0x200000});
        mvt_alloc(t, .addr = 0x200000, .bytes = 512);
        mv_lives l = lives_of(t);
        cr_expect_eq(l.allocs.freed[0], 2);
        cr_expect_eq(l.allocs.completed[0], 2);
        cr_expect_eq(l.doubts.lost_frees, 0);
        cr_expect_eq(l.doubts.uncompleted, i == 0);
        cr_expect_eq(l.doubts.unrequested, i == 1);
    }
}

/* ---- before the first event ---------------------------------------------------------------- */

Test(lives, heap_before_the_first_event_is_found_by_undoing)
{
    enum { S = 0x10000000, S2 = 0x20000000 };
    mvt_trace *t = mvt_new();

    /* before: S holds [2 MiB kept][3 MiB - 512 asked, 4 MiB used][free]; S2 is a small segment */
    mvt_free(t, .addr = S + 2 * MIB, .bytes = 3 * MIB - 512);
    mvt_alloc(t, .addr = S + 2 * MIB, .bytes = 5 * MIB);
    mvt_free_completed(t, .addr = S2, .bytes = 100);
    mvt_segment_free(t, .addr = S2, .bytes = 2 * MIB);
    mvt_segment(t, .addr = S, .bytes = 20 * MIB);
    mvt_block(t, .bytes = 2 * MIB, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 5 * MIB, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 13 * MIB);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.history, MV_HISTORY_LATE);
    cr_assert_eq(l.allocs.preexisting, 3);
    cr_expect_eq(l.allocs.addr[0], S);
    cr_expect_eq(l.allocs.block[0], 2 * MIB);
    cr_expect(!l.allocs.inexact[0]);
    cr_expect_eq(l.allocs.birth[1], MV_BEFORE);
    cr_expect_eq(l.allocs.block[1], 3 * MIB - 512);
    cr_expect(l.allocs.inexact[1], "its unsplit rest is not known");
    cr_expect_eq(l.allocs.addr[2], S2);
    cr_expect_eq(l.allocs.block[2], 512);
    cr_expect_eq(l.allocs.freed[2], 0, "its free was requested before");
    cr_expect_eq(l.allocs.completed[2], 3);
    cr_assert_eq(l.segments.count, 2);
    cr_expect_eq(l.segments.birth[1], MV_BEFORE);
    cr_expect_eq(l.segments.death[1], 4);
    cr_expect_eq(l.segments.kind[1], MV_SEGMENT_SMALL);
    cr_expect_eq(l.doubts.inexact_blocks, 1);
    cr_expect_eq(l.doubts.residual, 0);
}

/* A segment that, without an event, follows an older one at the end of its addresses. */
Test(lives, the_rest_of_a_final_segment_beyond_an_older_one_was_added_later)
{
    enum { S = 0x10000000, OTHER = 0x20000000 };

    for (int same = 0; same < 2; same++) {
        mvt_trace *t = mvt_new();

        mvt_alloc(t, .addr = OTHER + 20 * MIB, .bytes = 2 * MIB);
        if (!same)
            mvt_alloc(t, .addr = S, .bytes = 9 * MIB); /* so the segment already exists */
        mvt_segment_free(t, .addr = same ? S : OTHER, .bytes = 2 * MIB);
        if (same)
            mvt_alloc(t, .addr = S, .bytes = 9 * MIB);
        mvt_segment(t, .addr = S, .bytes = 10 * MIB);
        mvt_block(t, .bytes = 10 * MIB, .state = MV_BLOCK_ALLOCATED);
        mvt_segment(t, .addr = OTHER + 20 * MIB, .bytes = 2 * MIB);
        mvt_block(t, .bytes = 2 * MIB, .state = MV_BLOCK_ALLOCATED);
        mv_lives l = lives_of(t);
        cr_expect_eq(l.doubts.unproven_segments, (uint64_t)same);
    }
}

/* Blocks outside every segment were in a segment from before the first event, whose end was not
 * recorded. */
Test(lives, blocks_in_unknown_segments_show_that_recording_began_late)
{
    for (int late = 0; late < 2; late++) {
        mvt_trace *t = mvt_new();

        if (!late)
            mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 2 * MIB);
        mvt_alloc(t, .addr = 0x10000000, .bytes = 512);
        mvt_free(t, .addr = 0x10000000);
        if (!late)
            mvt_segment_free(t, .addr = 0x10000000, .bytes = 2 * MIB);
        mvt_segment_alloc(t, .addr = 0x20000000, .bytes = 2 * MIB);
        mvt_alloc(t, .addr = 0x20000000, .bytes = 512);
        mvt_segment(t, .addr = 0x20000000, .bytes = 2 * MIB);
        mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED);
        mvt_block(t, .bytes = 2 * MIB - 512);
        mv_lives l = lives_of(t);
        cr_expect_eq(l.doubts.outside, (uint64_t)late);
        cr_expect_eq(l.history, late ? MV_HISTORY_LATE : MV_HISTORY_COMPLETE, "%s", l.history_why);
    }
}

/* Without segment_free (skip_actions), a segment that ended before the first event leaves no trace.
 * The file of a complete recording then equals that of a recording that began late. */
Test(lives, missing_ends_of_segments_hide_earlier_ones)
{
    for (int missing = 0; missing < 2; missing++) {
        mvt_trace *t = mvt_new();

        for (int i = 1; i < 3; i++) {
            mvt_segment_alloc(t, .addr = (uint64_t)i * 0x10000000, .bytes = 2 * MIB);
            mvt_alloc(t, .addr = (uint64_t)i * 0x10000000, .bytes = 512);
            mvt_free(t, .addr = (uint64_t)i * 0x10000000);
            if (!missing)
                mvt_segment_free(t, .addr = (uint64_t)i * 0x10000000, .bytes = 2 * MIB);
        }
        mvt_segment(t, .addr = 0x40000000, .bytes = 0);
        mv_lives l = lives_of(t);
        cr_expect_eq(l.history, missing ? MV_HISTORY_LATE : MV_HISTORY_COMPLETE, "%s",
                     l.history_why);
    }
}

Test(lives, gap_too_small_for_a_block_belongs_to_the_block_before_it)
{
    enum { S = 0x10000000 };
    mvt_trace *t = mvt_new();

    mvt_free(t, .addr = S, .bytes = 19 * MIB + 512);
    mvt_segment(t, .addr = S, .bytes = 20 * MIB);
    mvt_block(t, .bytes = 20 * MIB);
    mv_lives l = lives_of(t);
    cr_assert_eq(l.allocs.preexisting, 1);
    cr_expect_eq(l.allocs.block[0], 20 * MIB);
    cr_expect(!l.allocs.inexact[0]);
}

Test(lives, an_allocation_after_an_older_block_shows_where_that_ends)
{
    enum { S = 0x10000000 };
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = S + 4 * MIB, .bytes = 2 * MIB);
    mvt_free(t, .addr = S, .bytes = 3 * MIB + MIB / 2);
    mvt_segment(t, .addr = S, .bytes = 20 * MIB);
    mvt_block(t, .bytes = 4 * MIB);
    mvt_block(t, .bytes = 2 * MIB, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 14 * MIB);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.allocs.block[0], 4 * MIB);
    cr_expect(!l.allocs.inexact[0]);
    cr_expect_eq(l.doubts.inexact_blocks, 0);
}

Test(lives, block_cannot_be_older_than_its_segment)
{
    mvt_trace *t = small_segment();

    mvt_free(t, .addr = 0x200000, .bytes = 512);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.allocs.count, 0);
    cr_expect_eq(l.doubts.lone_frees, 2);
}

/* ---- kinds of history ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    mv_history_kind kind;
} known[] = {
    {"ring", MV_HISTORY_TRUNCATED},
    {"state_only", MV_HISTORY_TRUNCATED},
    {"late_start", MV_HISTORY_LATE},
    {"leak_hidden_state", MV_HISTORY_LATE},
    {"leak_in_training", MV_HISTORY_LATE},
    {"leak_loss_list", MV_HISTORY_LATE},
    {"eval_without_no_grad", MV_HISTORY_LATE},
    {"no_leak_cache_growth", MV_HISTORY_LATE},
    {"frag_varying_batch", MV_HISTORY_LATE},
    {"frag_varying_batch_expandable", MV_HISTORY_LATE},
    {"no_history", MV_HISTORY_NONE},
};

static mv_history_kind expected_history(const char *name)
{
    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].kind;
    return MV_HISTORY_COMPLETE;
}

/* In addition, checks that every real trace leads to its final heap, to the byte. */
static void check_snapshot(const mv_trace *trace, uint32_t device, const char *name)
{
    mv_lives l = mvt_lives(mvt_memory(), trace, device);
    cr_expect_eq(l.history, expected_history(name), "%s: %s, because %s", name,
                 mv_history_name(l.history), l.history_why);
    cr_expect_eq(l.doubts.lone_frees, 0, "%s", name);
    cr_expect_eq(l.doubts.lost_frees, 0, "%s", name);
    cr_expect_eq(l.doubts.lone_segments, 0, "%s", name);
    cr_expect_eq(l.doubts.misplaced, 0, "%s", name);
    cr_expect_eq(l.doubts.outside, 0, "%s", name);
    cr_expect_eq(l.doubts.resized_blocks, 0, "%s", name);
    cr_expect_eq(l.doubts.final_mismatches, 0, "%s", name);
    cr_expect_eq(l.doubts.residual, 0, "%s", name);
    cr_expect_eq(l.doubts.residual_reserved, 0, "%s", name);
}

/* Long traces are ranked in parts, on several CPUs. */
Test(lives, addresses_of_a_long_trace_are_ranked_as_a_whole)
{
    enum { ROUNDS = 120000 };
    mvt_trace *t = mvt_new();
    mv_address_ranks ranks;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t addr = 0x10000 + i * 7919 % 5003 * 512;
        mvt_alloc(t, .addr = addr, .bytes = 512);
        mvt_free(t, .addr = addr, .bytes = 512);
    }
    const mv_trace *trace = mvt_done(t);
    mvt_ok(mv_address_ranks_find(mvt_arena(t), trace, 0, &ranks, mvt_err()));
    cr_assert_eq(ranks.count, 5003);
    for (uint32_t i = 0; i < ranks.count; i++)
        cr_assert_eq(ranks.addr[i], 0x10000 + (uint64_t)i * 512);
    for (uint32_t i = 0; i < 3 * ROUNDS; i++)
        cr_assert_eq(ranks.of_event[i], (uint64_t)(i / 3) * 7919 % 5003);
}

Test(lives, segment_events_and_the_first_use_of_each_address_are_listed)
{
    static const uint32_t basis[] = {0, 1, 5, 7};
    mvt_trace *t = mvt_new();
    mv_address_ranks ranks;

    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 * MIB);
    mvt_alloc(t, .addr = 0x200000, .bytes = 512);
    mvt_free(t, .addr = 0x200000, .bytes = 512);
    mvt_alloc(t, .addr = 0x200000, .bytes = 1024);
    mvt_free_requested(t, .addr = 0x200400, .bytes = 512);
    mvt_event(t, MV_ACTION_ANNOTATE, (mvt_event_args){.addr = 0x200600});
    mvt_alloc(t, .addr = 0x200600, .bytes = 512);
    mvt_free_completed(t, .addr = 0x200400, .bytes = 512);
    mvt_ok(mv_address_ranks_find(mvt_arena(t), mvt_done(t), 0, &ranks, mvt_err()));
    cr_assert_eq(ranks.alloc_events, 3);
    cr_assert_eq(ranks.segment_events, 1);
    cr_assert_eq(ranks.basis_count, 4);
    cr_assert_arr_eq(ranks.basis, basis, sizeof basis);
}

Test(lives, addresses_that_occur_once_are_ranked)
{
    enum { ADDRESSES = 5003 };
    mvt_trace *t = mvt_new();
    mv_address_ranks ranks;

    for (uint64_t i = 0; i < ADDRESSES; i++)
        mvt_alloc(t, .addr = 0x10000 + i * 7919 % ADDRESSES * 512, .bytes = 512);
    mvt_ok(mv_address_ranks_find(mvt_arena(t), mvt_done(t), 0, &ranks, mvt_err()));
    cr_assert_eq(ranks.count, ADDRESSES);
    for (uint64_t i = 0; i < ADDRESSES; i++)
        cr_assert_eq(ranks.of_event[i], i * 7919 % ADDRESSES);
}

Test(lives, a_part_before_the_end_has_no_ranks_for_the_final_heap)
{
    mv_living living = {.total = 10, .is_cut = true};
    mvt_trace *t = mvt_new();
    mv_address_ranks ranks;
    mv_trace trace;

    mvt_segment(t, .addr = 0x600000, .bytes = 2 * MIB);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED);
    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 * MIB);
    mvt_alloc(t, .addr = 0x200200, .bytes = 512);
    trace = *mvt_done(t);
    mvt_ok(mv_address_ranks_find(mvt_arena(t), &trace, 0, &ranks, mvt_err()));
    cr_assert_eq(ranks.count, 5);
    trace.living = &living;
    mvt_ok(mv_address_ranks_find(mvt_arena(t), &trace, 0, &ranks, mvt_err()));
    cr_assert_eq(ranks.count, 3);
}

EachDevice(lives, real_snapshots_are_explained_without_doubts, check_snapshot);

/* A heap in use, followed by `frees` pairs of alloc and free in a free part of the heap. */
static mv_lives in_use_before(mvt_trace *t, uint32_t pairs, const char *old_stack)
{
    mvt_segment(t, .addr = 0x10000000, .bytes = 20 * MIB);
    mvt_block(t, .bytes = 4 * MIB, .state = MV_BLOCK_ALLOCATED, .stack = old_stack);
    mvt_block(t, .bytes = 16 * MIB);
    for (uint32_t i = 0; i < pairs; i++) {
        mvt_alloc(t, .addr = 0x10000000 + 4 * MIB, .bytes = 2 * MIB, .stack = "f:a.py:1");
        mvt_free(t, .addr = 0x10000000 + 4 * MIB);
    }
    return lives_of(t);
}

/* 21 events is an unlikely limit: either the buffer was full, or recording was restarted. */
Test(lives, a_heap_from_before_the_events_shows_the_history)
{
    static const struct {
        uint32_t pairs;
        const char *old_stack;
        mv_history_kind history;
        const char *why;
        bool may_be_restarted;
        uint32_t ring;
    } cases[] = {{7, NULL, MV_HISTORY_LATE, "", false, 0},
                 {7, "g:a.py:2", MV_HISTORY_TRUNCATED, "the buffer was full", true, 0},
                 {1000, "g:a.py:2", MV_HISTORY_TRUNCATED, "the buffer was full", false, 3000},
                 {1000, NULL, MV_HISTORY_TRUNCATED, "", false, 3000}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_lives l = in_use_before(mvt_new(), cases[i].pairs, cases[i].old_stack);

        cr_expect_eq(l.events.count, 3 * cases[i].pairs);
        cr_expect_eq(l.history, cases[i].history, "%s", l.history_why);
        cr_expect(strstr(l.history_why, cases[i].why), "%s", l.history_why);
        cr_expect_eq(strstr(l.history_why, "or recording was restarted") != NULL,
                     cases[i].may_be_restarted, "%s", l.history_why);
        cr_expect_eq(l.ring, cases[i].ring);
    }
}

/* skip_actions can omit the segment events, so the segments' stacks do not prove that there were
 * older allocations. */
Test(lives, segments_without_events_are_the_reason_given)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < 7; i++) {
        mvt_alloc(t, .addr = 0x10000000, .bytes = 2 * MIB, .stack = "f:a.py:1");
        mvt_free(t, .addr = 0x10000000);
    }
    mvt_segment(t, .addr = 0x10000000, .bytes = 20 * MIB, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 20 * MIB);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.history, MV_HISTORY_TRUNCATED);
    cr_expect(strstr(l.history_why, "no segment events"), "%s", l.history_why);
    cr_expect_not(strstr(l.history_why, "was allocated"), "%s", l.history_why);
}

Test(lives, history_is_truncated_when_annotated_steps_have_lost_their_events)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < 3; i++) {
        mvt_annotate(t, "step", true, 0);
        mvt_annotate(t, "step", false, 0);
    }
    mvt_annotate(t, "step", true, 0);
    mvt_free_requested(t, .addr = 0x10000000 + 4 * MIB, .bytes = 2 * MIB);
    mvt_free_completed(t, .addr = 0x10000000 + 4 * MIB, .bytes = 2 * MIB);
    mvt_annotate(t, "step", false, 0);
    mvt_annotate(t, "step", true, 0);
    mvt_alloc(t, .addr = 0x10000000 + 4 * MIB, .bytes = 2 * MIB);
    mvt_annotate(t, "step", false, 0);
    mv_lives l = in_use_before(t, 4, NULL);
    cr_expect_eq(l.history, MV_HISTORY_TRUNCATED, "%s", l.history_why);
}

Test(lives, history_is_truncated_when_it_starts_inside_a_call)
{
    mvt_trace *t = mvt_new();

    mvt_free_completed(t, .addr = 0x10000000 + 4 * MIB, .bytes = 2 * MIB);
    mvt_free_requested(t, .addr = 0x10000000, .bytes = 4 * MIB);
    mvt_free_completed(t, .addr = 0x10000000, .bytes = 4 * MIB);
    mvt_segment(t, .addr = 0x10000000, .bytes = 20 * MIB);
    mvt_block(t, .bytes = 20 * MIB);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.history, MV_HISTORY_TRUNCATED, "%s", l.history_why);
}

Test(lives, history_is_complete_from_an_empty_heap_on)
{
    mvt_trace *t = small_segment();

    mvt_alloc(t, .addr = 0x200000, .bytes = 512);
    mvt_final_heap(t);
    mv_lives l = lives_of(t);
    cr_expect_eq(l.history, MV_HISTORY_COMPLETE);
    cr_expect_str_eq(mv_history_name(l.history), "complete");
}

static void expect_row(const mv_alloc_lives *a, uint32_t row, const mvt_heap_alloc *truth,
                       uint32_t seed)
{
    cr_expect_eq(a->addr[row], truth->addr, "seed %u row %u", seed, row);
    cr_expect_eq(a->requested[row], truth->requested, "seed %u row %u", seed, row);
    cr_expect_eq(a->completed[row], truth->completed, "seed %u row %u", seed, row);
    if (a->inexact[row])
        cr_expect(a->block[row] <= truth->block && truth->block <= a->block[row] + MIB,
                  "seed %u row %u: %" PRIu64 " for %" PRIu64, seed, row, a->block[row],
                  truth->block);
    else
        cr_expect_eq(a->block[row], truth->block, "seed %u row %u: %" PRIu64 " for %" PRIu64, seed,
                     row, a->block[row], truth->block);
}

Test(lives, random_traces_have_the_blocks_of_the_literal_allocator)
{
    for (uint32_t seed = 1; seed <= 36; seed++) {
        /* The rows of the truth in the order defined in lives.h: blocks from before the first event
         * by address, then other blocks by birth. */
        mvt_heap_opts opts = {.seed = seed,
                              .calls = 300,
                              .unrecorded = seed % 2 ? 100 : 0,
                              .expandable = seed % 3 == 0,
                              .max_split = seed % 3 == 1 ? 32 * MIB : 0,
                              .drains = seed % 5 == 0};
        mvt_trace *t = mvt_new();
        mvt_heap_truth truth = mvt_heap_run(t, opts);
        mv_lives l = lives_of(t);
        uint32_t before = 0, row = l.allocs.preexisting;
        for (uint32_t i = 0; i < truth.count; i++) {
            if (truth.allocs[i].birth == MV_BEFORE && truth.ended_before[i])
                continue;
            if (truth.allocs[i].birth == MV_BEFORE) {
                uint32_t at = 0;
                while (at < l.allocs.preexisting && l.allocs.addr[at] != truth.allocs[i].addr)
                    at++;
                cr_assert_lt(at, l.allocs.preexisting, "seed %u", opts.seed);
                expect_row(&l.allocs, at, &truth.allocs[i], opts.seed);
                before++;
            } else {
                cr_assert_lt(row, l.allocs.count);
                expect_row(&l.allocs, row, &truth.allocs[i], opts.seed);
                cr_expect_eq(l.allocs.freed[row], truth.allocs[i].freed);
                cr_expect(!l.allocs.inexact[row]);
                row++;
            }
        }
        cr_expect_eq(before, l.allocs.preexisting, "seed %u", opts.seed);
        cr_expect_eq(row, l.allocs.count, "seed %u", opts.seed);
        cr_expect_eq(l.doubts.lone_frees + l.doubts.lost_frees + l.doubts.lone_segments +
                         l.doubts.misplaced + l.doubts.resized_blocks + l.doubts.final_mismatches,
                     0, "seed %u", opts.seed);
        cr_expect_eq(l.doubts.residual, 0);
        cr_expect_eq(l.doubts.residual_reserved, 0);
    }
}

Test(lives, nonsense_does_no_harm)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        /* Births must come before ends, and everything found must add up. */
        mvt_trace *t = mvt_new();
        mv_totals totals;
        mv_series series;
        uint64_t random = seed;
        for (uint32_t i = 0; i < 300; i++) {
            mv_action action = (mv_action)mvt_random(&random, MV_ACTION_COUNT);
            uint64_t addr = 0x200000 + 0x40000 * (uint64_t)mvt_random(&random, 64);
            uint64_t bytes = mvt_random(&random, 16) ? (uint64_t)mvt_random(&random, 64) << 17
                                                     : UINT64_MAX - mvt_random(&random, 256);
            mvt_event(t, action, (mvt_event_args){.addr = addr, .bytes = bytes});
        }
        if (seed % 2) {
            mvt_segment(t, .addr = 0x200000, .bytes = 8 * MIB);
            mvt_block(t, .bytes = 3 * MIB, .state = MV_BLOCK_ALLOCATED);
            mvt_block(t, .bytes = 5 * MIB, .state = MV_BLOCK_PENDING_FREE);
            mvt_segment(t, .addr = 0x400000, .bytes = 8 * MIB, .expandable = true);
            mvt_block(t, .bytes = 8 * MIB, .state = MV_BLOCK_ALLOCATED);
        }
        mv_lives l = lives_of(t);
        for (uint32_t i = 0; i < l.allocs.count; i++) {
            cr_expect_leq(l.allocs.freed[i], l.allocs.completed[i], "seed %u row %u", seed, i);
            cr_expect(l.allocs.birth[i] == MV_BEFORE || l.allocs.birth[i] < l.allocs.freed[i],
                      "seed %u row %u", seed, i);
        }
        for (uint32_t i = 0; i < l.segments.count; i++)
            cr_expect(l.segments.birth[i] == MV_BEFORE || l.segments.birth[i] < l.segments.death[i],
                      "seed %u segment %u", seed, i);
        mvt_ok(mv_totals_find(mvt_arena(t), mvt_done(t), &l, &totals, mvt_err()));
        mvt_ok(mv_totals_series(mvt_arena(t), &l, &series, mvt_err()));
        cr_expect_eq(totals.total.allocated - totals.total.freed,
                     series.allocated[series.count - 1]);
        cr_expect_eq(series.allocated[series.count - 1] + (uint64_t)totals.audit.residual,
                     totals.current.bytes.allocated);
        cr_expect_eq(series.reserved[series.count - 1] + (uint64_t)l.doubts.residual_reserved,
                     totals.current.bytes.reserved);
        cr_expect(!totals.audit.exact);
    }
}

Test(lives, small_memory_limit_is_an_error)
{
    mvt_trace *t = mvt_new();
    mvt_heap_truth truth = mvt_heap_run(t, (mvt_heap_opts){.seed = 1, .calls = 300});
    const mv_trace *trace = mvt_done(t);
    mv_arena *arena = mvt_arena_of(64 << 10);
    mv_lives l;

    cr_expect_gt(truth.events, 100);
    cr_expect_eq(mv_lives_find(arena, trace, 0, &l, mvt_err()), MV_NOMEM);
}
