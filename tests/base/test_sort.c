#include "base/sort.h"

#include <math.h>

#include "tests/fixture/fixture_test.h"

typedef struct {
    uint32_t id; /* the row's position before sorting */
    uint8_t small;
    bool flag;
    uint16_t half;
    int32_t i32;
    uint64_t u64;
    int64_t i64;
    float f32;
    double f64;
    const char *text;
    mv_span span;
} row;

static const char *const texts[] = {NULL,
                                    "",
                                    "a",
                                    "ab",
                                    "abcdefg",
                                    "abcdefgh",
                                    "abcdefgi",
                                    "abcdefghi",
                                    "abcdefghij",
                                    "abcdefghijkl",
                                    "abcdefghijklmn",
                                    "\xff",
                                    "abcdefghijklmnopqrstu",
                                    "abcdefghijklmnopqrstv",
                                    "b"};

enum { TEXTS = sizeof texts / sizeof *texts };

/* Each member has only a few values, so there are many ties. */
static row *random_rows(uint32_t count, uint64_t seed)
{
    static const double doubles[] = {-INFINITY, -1e300, -1.5,     -0.0, 0.0,
                                     1e-300,    2.5,    INFINITY, NAN};
    row *rows = calloc(count + 1, sizeof *rows);

    for (uint32_t i = 0; i < count; i++) {
        row *r = &rows[i];
        r->id = i;
        r->small = (uint8_t)(mvt_random_next(&seed) % 5 * 60);
        r->flag = mvt_random_next(&seed) % 2;
        r->half = (uint16_t)(mvt_random_next(&seed) % 4 * 20000);
        r->i32 = (int32_t)(mvt_random_next(&seed) % 7) - 3;
        r->u64 = (mvt_random_next(&seed) % 6) << (mvt_random_next(&seed) % 3 * 30);
        r->i64 = ((int64_t)(mvt_random_next(&seed) % 7) - 3) * ((int64_t)1 << 40);
        r->f64 = doubles[mvt_random_next(&seed) % 9];
        r->f32 = (float)doubles[mvt_random_next(&seed) % 9];
        r->text = texts[mvt_random_next(&seed) % TEXTS];
        r->span.length = mvt_random_next(&seed) % 20;
        r->span.data = (const uint8_t *)"aaaaaaaa\0aaaaaaaa\0\0aaaaaa" + mvt_random_next(&seed) % 5;
    }
    return rows;
}

static int sign(bool is_less, bool is_more)
{
    return (int)is_more - (int)is_less;
}

static int order_of_doubles(double x, double y)
{
    if (isnan(x) || isnan(y))
        return sign(!isnan(x) && isnan(y), isnan(x) && !isnan(y));
    return sign(x<y, x> y);
}

static int order_of_texts(const char *x, const char *y)
{
    int order = x && y ? strcmp(x, y) : sign(!x && y, x && !y);

    return sign(order<0, order> 0);
}

static int order_of_spans(mv_span x, mv_span y)
{
    int order = memcmp(x.data, y.data, x.length < y.length ? x.length : y.length);

    return order ? sign(order<0, order> 0) : sign(x.length<y.length, x.length> y.length);
}

static int model_order(const row *x, const row *y, uint32_t at)
{
    switch (at) {
    case offsetof(row, small):
        return sign(x->small<y->small, x->small> y->small);
    case offsetof(row, flag):
        return sign(x->flag<y->flag, x->flag> y->flag);
    case offsetof(row, half):
        return sign(x->half<y->half, x->half> y->half);
    case offsetof(row, i32):
        return sign(x->i32<y->i32, x->i32> y->i32);
    case offsetof(row, u64):
        return sign(x->u64<y->u64, x->u64> y->u64);
    case offsetof(row, i64):
        return sign(x->i64<y->i64, x->i64> y->i64);
    case offsetof(row, f32):
        return order_of_doubles((double)x->f32, (double)y->f32);
    case offsetof(row, f64):
        return order_of_doubles(x->f64, y->f64);
    case offsetof(row, text):
        return order_of_texts(x->text, y->text);
    case offsetof(row, span):
        return order_of_spans(x->span, y->span);
    }
    abort();
}

typedef struct {
    const mv_sort_key *keys;
    uint64_t count;
} key_list;

static int model_compare(const void *a, const void *b, const void *context)
{
    const key_list *list = context;

    for (uint64_t k = 0; k < list->count; k++) {
        int order = model_order(a, b, list->keys[k].at);
        if (order)
            return list->keys[k].is_falling ? -order : order;
    }
    return 0;
}

static void check_sorts(mv_arena *arena, uint32_t count, uint64_t seed, const key_list *list)
{
    row *rows = random_rows(count, seed), *wanted = random_rows(count, seed);

    for (uint32_t i = 1; i < count; i++) {
        row held = wanted[i];
        uint32_t at = i;
        for (; at > 0 && model_compare(&wanted[at - 1], &held, list) > 0; at--)
            wanted[at] = wanted[at - 1];
        wanted[at] = held;
    }
    mv_sort(arena, rows, count, sizeof *rows, list->keys, list->count);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(rows[i].id, wanted[i].id, "row %u of %u", i, count);
    free(rows);
    rows = random_rows(count, seed);
    mv_sort_by(arena, rows, count, sizeof *rows, model_compare, list);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(rows[i].id, wanted[i].id, "by a function: row %u of %u", i, count);
    free(rows);
    free(wanted);
}

static void check_all(mv_arena *arena)
{
    static const uint32_t counts[] = {0, 1, 2, 3, 16, 17, 24, 25, 100, 128, 129, 257, 1500};
    const mv_sort_key keys[] = {MV_RISING(row, small), MV_FALLING(row, flag), MV_RISING(row, half),
                                MV_FALLING(row, i32),  MV_RISING(row, u64),   MV_FALLING(row, u64),
                                MV_RISING(row, i64),   MV_RISING(row, f32),   MV_FALLING(row, f64),
                                MV_RISING(row, text),  MV_FALLING(row, text), MV_RISING(row, span),
                                MV_FALLING(row, span)};
    uint32_t all = sizeof keys / sizeof *keys;
    uint64_t seed = 11;

    for (uint32_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (uint32_t k = 0; k < all; k++)
            check_sorts(arena, counts[c], seed++, &(key_list){&keys[k], 1});
        for (uint32_t k = 0; k < 6; k++) {
            mv_sort_key three[3];
            for (uint32_t i = 0; i < 3; i++)
                three[i] = keys[mvt_random_next(&seed) % all];
            check_sorts(arena, counts[c], seed++, &(key_list){three, 3});
        }
    }
}

LongTest(sort, with_memory_the_order_is_that_of_a_slow_stable_sort)
{
    mv_arena *arena = mvt_arena_of(64 << 20);

    check_all(arena);
    cr_assert_eq(arena->budget->used, 0, "the memory was released");
}

LongTest(sort, without_memory_the_order_is_the_same)
{
    mv_arena *arena = mvt_arena_of(0);

    check_all(arena);
    check_all(NULL);
}

Test(sort, rows_may_be_plain_values)
{
    uint64_t numbers[] = {5, 1, UINT64_MAX, 0, 1};
    double doubles[] = {0.5, -2, 7};
    uint32_t small[] = {3, 2, 1};

    mv_sort_rows(NULL, numbers, 5, MV_RISING_VALUES(uint64_t));
    cr_assert(numbers[0] == 0 && numbers[1] == 1 && numbers[2] == 1 && numbers[3] == 5);
    mv_sort_rows(NULL, doubles, 3, MV_FALLING_VALUES(double));
    cr_assert(doubles[0] == 7 && doubles[1] == 0.5 && doubles[2] == -2);
    mv_sort_rows(NULL, small, 3, MV_RISING_VALUES(uint32_t));
    cr_assert(small[0] == 1 && small[2] == 3);
}

/* Rows larger than the buffers, which are swapped in place. */
typedef struct {
    uint32_t key, id;
    char rest[5000];
} wide;

static int compare_wide(const void *a, const void *b, const void *context)
{
    const wide *x = a, *y = b;

    (void)context;
    return (x->key > y->key) - (x->key < y->key);
}

Test(sort, rows_may_have_any_size)
{
    enum { COUNT = 200 };
    for (uint32_t round = 0; round < 2; round++) {
        wide *rows = calloc(COUNT, sizeof *rows);
        uint64_t seed = 3;
        for (uint32_t i = 0; i < COUNT; i++) {
            rows[i] = (wide){.key = (uint32_t)(mvt_random_next(&seed) % 9), .id = i};
            memset(rows[i].rest, (int)(i % 251), sizeof rows[i].rest);
        }
        if (round == 0)
            mv_sort_rows(NULL, rows, COUNT, MV_RISING(wide, key));
        else
            mv_sort_by(NULL, rows, COUNT, sizeof *rows, compare_wide, NULL);
        for (uint32_t i = 0; i < COUNT; i++) {
            cr_assert(i == 0 || rows[i - 1].key < rows[i].key ||
                      (rows[i - 1].key == rows[i].key && rows[i - 1].id < rows[i].id));
            cr_assert_eq((unsigned char)rows[i].rest[4999], rows[i].id % 251);
        }
        free(rows);
    }
}

Test(sort, columns_are_sorted_together)
{
    static const uint32_t counts[] = {0, 1, 2, 25, 1000, 70000};
    mv_arena *arena = mvt_arena_of(64 << 20);

    for (uint32_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        uint32_t count = counts[c], *order;
        uint64_t *keys = calloc(count + 1, sizeof *keys), seed = c;
        mv_key_row *rows = calloc(count + 1, sizeof *rows);
        mv_key_row *spare = calloc(count + 1, sizeof *spare);
        for (uint32_t i = 0; i < count; i++) {
            keys[i] = mvt_random_next(&seed) % (count / 2 + 1) << (mvt_random_next(&seed) % 2 * 35);
            rows[i] = (mv_key_row){keys[i], i};
        }
        order = mv_order_u64(arena, keys, count);
        mv_sort_key_rows(rows, spare, count);
        cr_assert_not_null(order);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_eq(rows[i].row, order[i]);
            cr_assert_eq(rows[i].key, keys[order[i]]);
            cr_assert(i == 0 || keys[order[i - 1]] < keys[order[i]] ||
                      (keys[order[i - 1]] == keys[order[i]] && order[i - 1] < order[i]));
        }
        free(keys);
        free(rows);
        free(spare);
    }
    arena->budget->limit = arena->budget->used;
    cr_assert_null(mv_order_u64(arena, (uint64_t[]){1, 0}, 2));
    mv_arena_release(arena);
    cr_assert_eq(arena->budget->used, 0);
}
