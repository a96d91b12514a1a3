/* Packed times of events. */
#include "parse/model/event_times.h"
#include "tests/fixture/fixture.h"

enum { MOST = 700 };

static int64_t time_us[MOST];

/* Packs times in pieces that end before the events in `ends`, which end with `count`. */
static mv_code pack(uint32_t count, const uint32_t *ends, mv_packed_times *out)
{
    uint64_t us = count ? (uint64_t)time_us[count - 1] - (uint64_t)time_us[0] : 0;
    mv_code code = MV_OK;

    cr_assert(mv_packed_times_begin(mvt_memory(), count, us, out));
    for (uint32_t from = 0, k = 0; from < count && code == MV_OK; from = ends[k++]) {
        mv_times_piece piece;
        code = mv_times_piece_pack(out, mvt_memory(), time_us + from, ends[k] - from, &piece);
        if (code == MV_OK)
            code = mv_packed_times_add(out, mvt_memory(), from, &piece);
        if (code == MV_OK)
            mv_packed_times_copy(out, from, &piece);
    }
    return code;
}

static void check(uint32_t count, const uint32_t *ends, uint32_t step_bytes)
{
    mv_packed_times times;
    mv_events packed = {.count = count, .packed_times = &times};
    mv_events column = {.count = count, .time_us = time_us};

    mvt_ok(pack(count, ends, &times));
    cr_expect_eq(times.step_bytes, step_bytes);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(mv_event_time(&packed, i), time_us[i], "event %u", i);
    for (uint32_t i = 0; i < count; i++)
        for (int64_t by = -1; by <= 1; by++) {
            int64_t at = time_us[i] + (time_us[i] == MV_NO_TIME && by < 0 ? 0 : by);
            cr_assert_eq(mv_event_from(&packed, at), mv_event_from(&column, at));
            cr_assert_eq(mv_event_after(&packed, at), mv_event_after(&column, at));
        }
    cr_expect_eq(mv_event_after(&packed, INT64_MAX), count);
}

/* Steps of less than `below` microseconds, and some of `jump` microseconds. */
static void fill(uint32_t below, uint32_t jump, uint32_t seed)
{
    int64_t at = 1700000000000000;

    for (uint32_t i = 0; i < MOST; i++) {
        seed = seed * 1664525 + 1013904223;
        at += (seed >> 8) % 50 == 0 ? jump : (seed >> 16) % below;
        time_us[i] = at;
    }
}

static const uint32_t ends[][4] = {{MOST}, {64, 128, MOST}, {1, 65, 640, MOST}, {100, 101, MOST}};

Test(event_times, equal_the_column)
{
    for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        fill(8, 255, i);
        check(MOST, ends[i], 1);
        fill(8, 256, i);
        check(MOST, ends[i], 1);
        fill(600, 65535, i);
        check(MOST, ends[i], 2);
        fill(600, 65536, i);
        check(MOST, ends[i], 2);
    }
}

Test(event_times, may_be_unknown_or_far_apart)
{
    for (uint32_t i = 0; i < MOST; i++)
        time_us[i] = MV_NO_TIME;
    check(MOST, ends[1], 1);
    check(1, (uint32_t[]){1}, 1);
    for (uint32_t i = 300; i < MOST; i++)
        time_us[i] = INT64_MAX - 2;
    check(MOST, ends[2], 2);
    check(0, NULL, 1);
}

Test(event_times, must_ascend)
{
    static const uint32_t at[] = {1, 63, 64, 65, 128, 639, MOST - 1};
    mv_packed_times times;

    for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (uint32_t k = 0; k < sizeof at / sizeof *at; k++) {
            fill(8, 255, k);
            time_us[at[k]] = time_us[at[k] - 1] - 1;
            cr_expect_eq(pack(MOST, ends[i], &times), MV_CORRUPT);
        }
}
