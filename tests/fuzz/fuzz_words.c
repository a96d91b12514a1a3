/* libFuzzer target: any bytes as a text that a user writes (a filter, allocator settings, a moment,
 * a size), applied to a small recording. */
#include "analyze/filter/isolate.h"
#include "analyze/replay/alloc_conf.h"
#include "analyze/totals/moment.h"
#include "base/size.h"
#include "parse/readers.h"
#include "tests/fuzz/target.h"

enum { MOST_BYTES = 4096 };

static void expect(bool holds, const char *what)
{
    if (!holds)
        mvt_finding(what, "");
}

/* Exactly one of a filter and its opposite must match each allocation, and the isolated allocations
 * must be the matching ones. */
static void use_filter(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_filter *filter)
{
    mv_filter_bits allocs, segments, stacks, largest;
    mv_lives kept;
    mv_err err;

    if (mv_filter_stacks(arena, trace, filter, &stacks, &err) != MV_OK ||
        mv_filter_allocs(arena, trace, lives, NULL, filter, &allocs, &err) != MV_OK ||
        mv_filter_segments(arena, trace, lives, filter, &segments, &err) != MV_OK ||
        mv_isolate_lives(arena, lives, &allocs, &kept, &err) != MV_OK ||
        mv_isolate_largest(arena, &kept, 0, UINT32_MAX, 3, &largest, &err) != MV_OK) {
        expect(err.code == MV_NOMEM, "a valid filter fails");
        return;
    }
    expect(kept.allocs.count == allocs.matches, "what is isolated is not what matches");
    expect(largest.matches <= 3 && largest.matches <= allocs.matches, "too many are the largest");
    if (filter->count == 1) {
        filter->terms[0].is_negated = !filter->terms[0].is_negated;
        if (mv_filter_allocs(arena, trace, lives, NULL, filter, &stacks, &err) == MV_OK)
            expect(allocs.matches + stacks.matches == lives->allocs.count,
                   "a term and its opposite do not match everything");
    }
}

static void read_filter(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                        const char *text)
{
    char why[MV_FILTER_WHY];
    mv_filter filter;

    memset(why, 'x', sizeof why);
    if (mv_filter_read(arena, text, &filter, why)) {
        use_filter(arena, trace, lives, &filter);
        return;
    }
    expect(memchr(why, 0, sizeof why) && why[0], "an invalid filter without a reason");
    expect(filter.bad_at <= strlen(text), "a filter is wrong after its end");
}

/* Settings that are printed and read again must be equal, and changed settings must be valid. */
static void read_settings(mv_arena *arena, const char *text)
{
    const char *keys[MV_MOST_IDLE_KEYS], *changed;
    char why[256], printed[512];
    mv_alloc_conf conf, again;

    if (!mv_alloc_conf_parse(text, &conf, why, sizeof why)) {
        expect(memchr(why, 0, sizeof why) && why[0], "wrong settings without a reason");
        return;
    }
    expect(mv_alloc_conf_parse(mv_alloc_conf_print(&conf, printed, sizeof printed), &again, why,
                               sizeof why) &&
               mv_alloc_conf_same(&conf, &again),
           "settings that are printed are others");
    mv_alloc_conf_idle(text, keys);
    changed = mv_alloc_conf_change(arena, text, "max_split_size_mb", "64");
    expect(!changed || mv_alloc_conf_parse(changed, &again, why, sizeof why),
           "changed settings are not valid");
}

static void read_moment(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                        const char *text)
{
    mv_moment_query ask;
    mv_moment at;
    char why[256];
    mv_err err;

    if (!mv_moment_read(trace, 0, text, MV_ALL_EVENTS, &ask, why, sizeof why)) {
        expect(memchr(why, 0, sizeof why) && why[0], "no moment without a reason");
        return;
    }
    expect(mv_moment_is_valid(text), "a moment that can be in no file is in this one");
    expect(mv_moment_find(arena, lives, ask, &at, &err) == MV_OK || err.code == MV_NOMEM,
           "a moment is not found");
}

typedef struct {
    mv_budget budget;
    mv_arena arena;
    mv_trace trace;
    mv_lives lives;
} recording;

/* Read only once. */
static const recording *small_recording(void)
{
    static const char file[] = MV_TESTDATA "/snapshots/leak_global_list.pickle";
    static recording kept;
    mv_err err;

    if (kept.trace.strings.count)
        return &kept;
    kept.budget.limit = 64 << 20;
    mv_arena_init(&kept.arena, &kept.budget);
    expect(mv_trace_read(&kept.arena, file, NULL, &kept.trace, &err) == MV_OK &&
               mv_lives_find(&kept.arena, &kept.trace, 0, &kept.lives, &err) == MV_OK,
           file);
    return &kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const recording *on = small_recording();
    mv_budget budget = {.limit = 64 << 20};
    char text[MOST_BYTES + 1];
    mv_arena arena;
    uint64_t bytes;

    if (size > MOST_BYTES)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    mv_arena_init(&arena, &budget);
    read_filter(&arena, &on->trace, &on->lives, text);
    read_settings(&arena, text);
    read_moment(&arena, &on->trace, &on->lives, text);
    mv_size_parse(text, &bytes);
    mv_arena_release(&arena);
    return 0;
}
