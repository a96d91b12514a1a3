#include "analyze/events/event_words.h"

#include "analyze/code/culprit.h"
#include "tests/fixture/fixture.h"

static mv_lives lives;
static mv_address_users users;
static mv_event_facts facts;

static void open_device(const mv_trace *trace, uint32_t device)
{
    lives = mvt_lives(mvt_memory(), trace, device);
    mvt_ok(mv_address_users_find(mvt_memory(), &lives, &users, mvt_err()));
    facts = (mv_event_facts){.trace = trace,
                             .kinds = mv_frame_kinds(mvt_memory(), trace),
                             .lives = &lives,
                             .users = &users};
}

static mv_event_explanation explanation_of(uint32_t event)
{
    mv_event_explanation explanation;

    cr_assert(mv_event_explanation_find(mvt_memory(), &facts, event, &explanation));
    return explanation;
}

static void expect_text(uint32_t event, const char *text)
{
    cr_expect_str_eq(explanation_of(event).text, text);
}

/* A segment, a block, and a later block at the same address, which lives to the end. */
static mvt_trace *two_users(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 20 << 20, .stack = "forward:train.py:62");
    mvt_alloc(t, .addr = 0x10000000, .bytes = 2066000, .stack = "forward:train.py:62");
    mvt_free_requested(t, .addr = 0x10000000, .bytes = 2066000, .stack = "step:train.py:80",
                       .time_us = 12600);
    mvt_free_completed(t, .addr = 0x10000000, .bytes = 2066000, .stack = "step:train.py:80");
    mvt_alloc(t, .addr = 0x10000000, .bytes = 4 << 20, .stack = "forward:layers.py:40");
    mvt_final_heap(t);
    return t;
}

Test(event_words, an_alloc_leads_to_its_free_and_to_the_next_user)
{
    open_device(mvt_done(two_users()), 0);
    expect_text(1,
                "Allocates 1.97 MiB at 0x10000000 in train.py:62 forward; freed after 12.6 ms by "
                "event 2; the address is used next by event 4 (layers.py:40 forward)");
    mv_event_explanation explanation = explanation_of(1);
    cr_expect_eq(explanation.alloc, 0);
    cr_expect_eq(explanation.born, 1);
    cr_expect_eq(explanation.freed, 2);
    cr_expect_eq(explanation.completed, 3);
    cr_expect_eq(explanation.previous, MV_NO_ROW);
    cr_expect_eq(explanation.next, 1);
    expect_text(4, "Allocates 4.00 MiB at 0x10000000 in layers.py:40 forward; still allocated at "
                   "the last event");
    cr_expect_eq(explanation_of(4).previous, 0);
}

Test(event_words, frees_lead_back_to_the_alloc)
{
    open_device(mvt_done(two_users()), 0);
    expect_text(2, "Frees 1.97 MiB at 0x10000000 in train.py:80 step, which event 1 (train.py:62 "
                   "forward) allocated 12.6 ms before; the address is used next by event 4 "
                   "(layers.py:40 forward)");
    expect_text(3, "Completes the free requested by the event before: 1.97 MiB at 0x10000000 can "
                   "be reused; the address is used next by event 4 (layers.py:40 forward)");
    cr_expect_eq(explanation_of(3).born, 1);
}

Test(event_words, a_segment_is_reported_as_held_or_released)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 20 << 20);
    mvt_segment_free(t, .addr = 0x10000000, .bytes = 20 << 20);
    mvt_segment_alloc(t, .addr = 0x20000000, .bytes = 2 << 20);
    mvt_segment_free(t, .addr = 0x30000000, .bytes = 2 << 20);
    open_device(mvt_done(t), 0);
    expect_text(0, "Gets a segment of 20.0 MiB from the device at 0x10000000; released after 10 "
                   "us by event 1");
    expect_text(1,
                "Gives a segment of 20.0 MiB at 0x10000000 back to the device; event 0 got it 10 "
                "us before");
    expect_text(
        2,
        "Gets a segment of 2.00 MiB from the device at 0x20000000; still held at the last event");
    cr_expect_eq(explanation_of(1).born, 0);
    cr_expect_eq(explanation_of(0).freed, 1);
}

Test(event_words, a_segment_is_reported_with_its_event_and_without_one)
{
    mvt_trace *t = mvt_new();
    mv_event_explanation explanation;

    mvt_segment_alloc(t, .addr = 0x20000000, .bytes = 2 << 20);
    mvt_segment(t, .addr = 0x10000000, .bytes = 20 << 20);
    mvt_block(t, .bytes = 20 << 20, .state = MV_BLOCK_INACTIVE);
    mvt_segment(t, .addr = 0x20000000, .bytes = 2 << 20);
    mvt_block(t, .bytes = 2 << 20, .state = MV_BLOCK_INACTIVE);
    open_device(mvt_done(t), 0);
    cr_assert_eq(lives.segments.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        bool is_before = lives.segments.birth[i] == MV_BEFORE;
        cr_assert(mv_segment_explanation_find(mvt_memory(), &facts, i, &explanation));
        cr_expect_str_eq(explanation.text,
                         is_before ? "A segment of 20.0 MiB at 0x10000000, held since before the "
                                     "first event; still held at the last event"
                                   : "Gets a segment of 2.00 MiB from the device at 0x20000000; "
                                     "still held at the last event");
        cr_expect_eq(explanation.segment, i);
    }
}

/* Without events, nothing comes before or after them. */
Test(event_words, a_heap_without_events_has_no_lives)
{
    mvt_trace *t = mvt_new();
    mv_event_explanation explanation;

    mvt_segment(t, .addr = 0x10000000, .bytes = 20 << 20);
    mvt_block(t, .bytes = 20 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "load:serve.py:9");
    open_device(mvt_done(t), 0);
    cr_assert_eq(lives.events.count, 0);
    cr_assert(mv_alloc_explanation_find(mvt_memory(), &facts, 0, &explanation));
    cr_expect_str_eq(explanation.text,
                     "A block of 20.0 MiB at 0x10000000, allocated in serve.py:9 load; "
                     "no events were recorded, so its lifetime is unknown");
    cr_assert(mv_segment_explanation_find(mvt_memory(), &facts, 0, &explanation));
    cr_expect_str_eq(
        explanation.text,
        "A segment of 20.0 MiB at 0x10000000; no events were recorded, so its lifetime is unknown");
}

/* A fact that is not in the file is not printed. */
Test(event_words, data_that_is_not_recorded_is_reported)
{
    mvt_trace *t = mvt_new();

    mvt_free(t, .addr = 0x10000000, .bytes = 1 << 20);
    mvt_free_requested(t, .addr = 0x10000000, .bytes = 1 << 20);
    mvt_segment(t, .addr = 0x10000000, .bytes = 20 << 20);
    mvt_block(t, .bytes = 20 << 20, .state = MV_BLOCK_INACTIVE);
    open_device(mvt_done(t), 0);
    expect_text(0, "Frees 1.00 MiB at 0x10000000, which was allocated before the first event; the "
                   "address is not used again");
    expect_text(2, "Frees 1.00 MiB at 0x10000000, where no allocation is recorded");
    cr_expect_eq(explanation_of(2).alloc, MV_NO_ROW);
    cr_expect_eq(explanation_of(0).born, MV_BEFORE);
}

Test(event_words, a_row_that_ends_without_a_free_does_not_name_one)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x10000000, .bytes = 1 << 20);
    mvt_alloc(t, .addr = 0x10000000, .bytes = 2 << 20);
    open_device(mvt_done(t), 0);
    expect_text(0,
                "Allocates 1.00 MiB at 0x10000000; its free is not recorded, but event 1 uses its "
                "bytes; the address is used next by event 1");
}

Test(event_words, a_free_that_waits_for_a_stream_names_its_end)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x10000000, .bytes = 1 << 20);
    mvt_free_requested(t, .addr = 0x10000000, .bytes = 1 << 20);
    mvt_alloc(t, .addr = 0x20000000, .bytes = 1 << 20);
    mvt_free_completed(t, .addr = 0x10000000, .bytes = 1 << 20);
    open_device(mvt_done(t), 0);
    expect_text(0, "Allocates 1.00 MiB at 0x10000000; freed after 10 us by event 1; its bytes can "
                   "be reused 20 us later, after event 3; the address is not used again");
    expect_text(3, "Completes the free requested by event 1: 1.00 MiB at 0x10000000 can be reused; "
                   "the address is not used again");
}

Test(event_words, a_failed_request_reports_free_memory)
{
    mvt_trace *t = mvt_new();

    mvt_oom(t, .addr = 1 << 30, .bytes = (uint64_t)2 << 30, .stack = "forward:train.py:62");
    mvt_oom(t, .addr = MV_NO_BYTES, .bytes = 512);
    mvt_event(t, MV_ACTION_SNAPSHOT, (mvt_event_args){.bytes = 1 << 20});
    open_device(mvt_done(t), 0);
    expect_text(0, "Requests 2.00 GiB in train.py:62 forward, which fails; the device has "
                   "1.00 GiB free");
    expect_text(1, "Requests 512 B, which fails");
    expect_text(2, "A snapshot is taken: 1.00 MiB is active");
}

Test(event_words, without_times_events_are_counted)
{
    mvt_trace *t = two_users();
    mv_trace trace = *mvt_done(t);

    for (uint32_t i = 0; i < trace.devices[0].events.count; i++)
        trace.devices[0].events.time_us[i] = MV_NO_TIME;
    open_device(&trace, 0);
    cr_expect(strstr(explanation_of(1).text, "freed after 1 event by event 2"), "%s",
              explanation_of(1).text);
}

Test(event_words, missing_users_are_not_mentioned)
{
    open_device(mvt_done(two_users()), 0);
    facts.users = NULL;
    expect_text(1,
                "Allocates 1.97 MiB at 0x10000000 in train.py:62 forward; freed after 12.6 ms by "
                "event 2");
    cr_expect_eq(explanation_of(1).next, MV_NO_ROW);
}

static bool is_alloc_event(uint32_t event, uint64_t addr)
{
    return lives.events.action[event] == MV_ACTION_ALLOC && lives.events.addr[event] == addr;
}

static void check_explanations(const mv_trace *trace, uint32_t d, const char *name)
{
    open_device(trace, d);
    uint32_t step = lives.events.count / 3000 + 1;
    for (uint32_t i = 0; i < lives.events.count; i += step) {
        const mv_alloc_lives *a = &lives.allocs;
        mv_event_explanation s = explanation_of(i);
        cr_assert_gt(strlen(s.what), 8, "%s: event %u", name, i);
        cr_assert(s.text[strlen(s.text) - 1] != '.', "%s: event %u: %s", name, i, s.text);
        if (s.alloc == MV_NO_ROW)
            continue;
        cr_assert_eq(a->addr[s.alloc], lives.events.addr[i], "%s: event %u", name, i);
        if (s.born != MV_BEFORE)
            cr_assert(is_alloc_event(s.born, a->addr[s.alloc]), "%s: event %u", name, i);
        if (s.freed != MV_NEVER && strstr(s.text, "freed after"))
            cr_assert_eq(lives.events.addr[s.freed], a->addr[s.alloc], "%s: event %u", name, i);
        if (s.next != MV_NO_ROW)
            cr_assert(a->birth[s.next] != MV_BEFORE && s.next > s.alloc, "%s: event %u", name, i);
    }
    for (uint32_t i = 0; i < lives.allocs.preexisting; i++) {
        mv_event_explanation s;
        cr_assert(mv_alloc_explanation_find(mvt_memory(), &facts, i, &s));
        cr_assert(strstr(s.what, lives.events.count ? "Allocated before the first event: "
                                                    : "A block of ") == s.what);
    }
}

EachDevice(event_words, links_of_real_snapshots_lead_to_the_events_that_are_named,
           check_explanations);

Test(event_words, memory_runs_out_at_every_place)
{
    mv_event_explanation explanation;

    open_device(mvt_done(two_users()), 0);
    for (mvt_limit l = {.step = 4096}; mvt_more_memory(&l);)
        l.code = mv_event_explanation_find(&l.arena, &facts, 2, &explanation) ? MV_OK : MV_NOMEM;
}
