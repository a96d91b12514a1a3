/* Coverage of pixels, compared with a slow model that samples 64 x 64 points of each pixel. */
#include "tests/fixture/fixture_test.h"
#include "viz/scene/coverage.h"

enum { SIDE = 24, POINTS = 64 };

typedef struct {
    uint8_t mask[SIDE][SIDE];
} picture;

static void keep_row(void *to, int32_t x, int32_t y, uint32_t count, const uint8_t *coverage)
{
    picture *p = to;

    cr_assert(x >= 0 && y >= 0 && y < SIDE && x + (int64_t)count <= SIDE);
    memcpy(&p->mask[y][x], coverage, count);
}

typedef struct {
    int32_t x, y;
} corner;

static mv_budget budget = {.limit = 1 << 24};
static mv_coverage cover;

static void begin(void)
{
    mv_coverage_release(&cover);
    cr_assert_eq(budget.used, 0);
    cr_assert(mv_coverage_init(&cover, &budget, SIDE, SIDE));
}

static void add(const corner *c, int count)
{
    for (int i = 0; i < count; i++) {
        corner to = c[(i + 1) % count];
        mv_coverage_edge(&cover, c[i].x, c[i].y, to.x, to.y);
    }
}

static picture take(void)
{
    picture p = {0};

    cr_assert_not(cover.failed);
    mv_coverage_take(&cover, keep_row, &p);
    return p;
}

/* Returns the winding number of the corners around a point that lies between the units. */
static int winding_of(const corner *c, int count, double x, double y)
{
    int winding = 0;

    for (int i = 0; i < count; i++) {
        corner a = c[i], b = c[(i + 1) % count];
        if ((a.y <= y) == (b.y <= y))
            continue;
        double at = a.x + (double)(b.x - a.x) * (y - a.y) / (b.y - a.y);
        if (at < x)
            winding += b.y > a.y ? 1 : -1;
    }
    return winding;
}

LongTest(coverage, any_polygon_has_the_mean_of_its_winding)
{
    uint64_t state = 7;

    for (int round = 0; round < 60; round++) {
        int count = 3 + (int)mvt_random(&state, 6);
        corner c[8];
        begin();
        for (int i = 0; i < count; i++)
            c[i] = (corner){(int32_t)mvt_random(&state, 40 * 256) - 8 * 256,
                            (int32_t)mvt_random(&state, 40 * 256) - 8 * 256};
        add(c, count);
        picture p = take();
        for (int n = 0; n < 60; n++) {
            int x = (int)mvt_random(&state, SIDE), y = (int)mvt_random(&state, SIDE);
            /* The mean winding number in a pixel, as defined in the header. */
            double sum = 0;
            for (int k = 0; k < POINTS; k++)
                for (int j = 0; j < POINTS; j++)
                    sum += winding_of(c, count, (x + (k + 0.5) / POINTS) * MV_PIXEL_UNITS,
                                      (y + (j + 0.5) / POINTS) * MV_PIXEL_UNITS);
            sum = sum < 0 ? -sum : sum;
            sum /= POINTS * POINTS;
            int want = (int)((sum > 1 ? 1 : sum) * 255 + 0.5);
            cr_assert_leq(abs(p.mask[y][x] - want), 4, "round %d at %d,%d: %d for %d", round, x, y,
                          p.mask[y][x], want);
        }
    }
}

Test(coverage, rectangles_are_exact)
{
    const corner c[] = {{64, 128}, {256 * 3 + 192, 128}, {256 * 3 + 192, 320}, {64, 320}};
    static const uint8_t want[2][5] = {{96, 128, 128, 96, 0}, {48, 64, 64, 48, 0}};

    begin();
    add(c, 4);
    picture p = take();
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 5; x++)
            cr_expect_eq(p.mask[y][x], want[y][x], "%d,%d: %d", x, y, p.mask[y][x]);
    p = take();
    for (int i = 0; i < SIDE * SIDE; i++)
        cr_assert_eq(p.mask[i / SIDE][i % SIDE], 0, "what was taken is forgotten");
}

/* Neither the direction nor the order of the corners matters, bit for bit. Nor does it matter if a
 * part is added twice where it is whole. */
Test(coverage, direction_order_and_repetition_do_not_matter)
{
    uint64_t state = 11;

    for (int round = 0; round < 200; round++) {
        corner c[3], back[3], turned[3];
        begin();
        for (int i = 0; i < 3; i++)
            c[i] = (corner){(int32_t)mvt_random(&state, SIDE * 256),
                            (int32_t)mvt_random(&state, SIDE * 256)};
        for (int i = 0; i < 3; i++) {
            back[i] = c[2 - i];
            turned[i] = c[(i + 1) % 3];
        }
        add(c, 3);
        picture p = take();
        add(back, 3);
        picture q = take();
        add(turned, 3);
        picture r = take();
        add(c, 3);
        add(c, 3);
        picture twice = take();
        cr_assert_eq(memcmp(&p, &r, sizeof p), 0);
        for (int i = 0; i < SIDE * SIDE; i++) {
            int a = p.mask[i / SIDE][i % SIDE], b = q.mask[i / SIDE][i % SIDE];
            cr_assert_leq(abs(a - b), 2, "%d and %d", a, b);
            if (a == 255)
                cr_assert_eq(twice.mask[i / SIDE][i % SIDE], 255);
        }
    }
}

/* Inside the clip, the result must be the same as without a clip, bit for bit. Outside, nothing may
 * be covered. */
Test(coverage, a_clip_only_hides)
{
    uint64_t state = 5;

    for (int round = 0; round < 3000; round++) {
        int left = (int)mvt_random(&state, SIDE), top = (int)mvt_random(&state, SIDE);
        int right = left + (int)mvt_random(&state, SIDE), bottom = top + 5;
        corner c[4];
        begin();
        for (int i = 0; i < 4; i++)
            c[i] = (corner){(int32_t)mvt_random(&state, 40 * 256) - 8 * 256,
                            (int32_t)mvt_random(&state, 40 * 256) - 8 * 256};
        add(c, 4);
        picture all = take();
        mv_coverage_clip(&cover, left, top, right, bottom);
        add(c, 4);
        picture part = take();
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                bool is_in = x >= left && x < right && y >= top && y < bottom;
                cr_assert_eq(part.mask[y][x], is_in ? all.mask[y][x] : 0,
                             "round %d at %d,%d: %d, %d", round, x, y, part.mask[y][x],
                             all.mask[y][x]);
            }
    }
}

Test(coverage, edges_far_away_are_harmless)
{
    const int32_t far = 1 << 29;
    const corner around[] = {{-far, -far}, {far, -far}, {far, far}, {-far, far}};
    const corner beside[] = {{far, -far}, {far, far}, {far - 512, far}};

    begin();
    add(beside, 3);
    add(around, 4);
    picture p = take();
    for (int i = 0; i < SIDE * SIDE; i++)
        cr_assert_eq(p.mask[i / SIDE][i % SIDE], 255);
}

LongTest(coverage, memory_may_run_out)
{
    for (budget.limit = 0; budget.limit < 1 << 20; budget.limit += 4096) {
        bool has_begun = mv_coverage_init(&cover, &budget, 2000, 2000);
        for (int i = 0; has_begun && i < 20000; i++)
            mv_coverage_edge(&cover, i * 20, 0, i * 17, 2000 * MV_PIXEL_UNITS);
        mv_coverage_release(&cover);
        cr_assert_eq(budget.used, 0);
        cr_assert(!has_begun || cover.failed);
    }
}
