/* Sorts rows and columns. Sorting is stable: rows with equal keys keep their order, so the same
 * input gives the same output on every machine.
 *
 *     mv_sort_rows(arena, pins, count, MV_FALLING(mv_pin, bytes), MV_RISING(mv_pin, group.row));
 *
 * Temporary memory comes from the arena and is returned to it. If the arena is NULL or its budget
 * is spent, the rows are sorted without temporary memory, which is slower but gives the same order.
 * So sorting rows never fails. Up to a hundred rows need no temporary memory.
 *
 * Cost: rows with number keys, and columns of numbers, are sorted by digits in linear time. Short
 * lists, and rows with string keys, take n log n comparisons, or n if they are already in order.
 * Without temporary memory they take n log^2 n comparisons. */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"

/* ---- rows by their members ---------------------------------------------------------------- */

typedef enum {
    MV_KEY_U8,
    MV_KEY_U16,
    MV_KEY_U32,
    MV_KEY_U64,
    MV_KEY_I32,
    MV_KEY_I64,
    MV_KEY_F32, /* NaNs come after all numbers; both zeros are equal */
    MV_KEY_F64,
    MV_KEY_TEXT, /* const char *, in the order of strcmp; NULL comes first */
    MV_KEY_SPAN  /* mv_span, compared byte by byte; a prefix comes first */
} mv_key_kind;

typedef struct {
    uint32_t at; /* offset of the member in the row */
    uint8_t kind;
    bool is_falling; /* sort from largest to smallest */
} mv_sort_key;

/* The key kind of a member's type. Enums and row numbers in ids (`stack.row`) are uint32_t. */
#define MV_KEY_KIND(member) \
    _Generic((member), bool: MV_KEY_U8, uint8_t: MV_KEY_U8, uint16_t: MV_KEY_U16,                  \
             uint32_t: MV_KEY_U32, uint64_t: MV_KEY_U64, int32_t: MV_KEY_I32, int64_t: MV_KEY_I64, \
             float: MV_KEY_F32, double: MV_KEY_F64, char *: MV_KEY_TEXT,                           \
             const char *: MV_KEY_TEXT, mv_span: MV_KEY_SPAN)

/* Makes a key from a member of `type`, with the smallest or the largest value first. */
#define MV_RISING(type, member) \
    ((mv_sort_key){offsetof(type, member), MV_KEY_KIND(((type *)0)->member), false})
#define MV_FALLING(type, member) \
    ((mv_sort_key){offsetof(type, member), MV_KEY_KIND(((type *)0)->member), true})

/* Keys for rows that are plain values: MV_RISING_VALUES(uint64_t). */
#define MV_RISING_VALUES(type)  ((mv_sort_key){0, MV_KEY_KIND(*(type *)0), false})
#define MV_FALLING_VALUES(type) ((mv_sort_key){0, MV_KEY_KIND(*(type *)0), true})

/* Sorts `rows` by the first key, then sorts rows with equal keys by the second key, and so on. */
#define mv_sort_rows(arena, rows, count, ...)                                             \
    mv_sort((arena), (rows), (count), sizeof *(rows), (const mv_sort_key[]){__VA_ARGS__}, \
            sizeof((const mv_sort_key[]){__VA_ARGS__}) / sizeof(mv_sort_key))

void mv_sort(mv_arena *arena, void *rows, uint64_t count, uint64_t size, const mv_sort_key *keys,
             uint64_t key_count);

/* ---- rows with a compare function -------------------------------------------------------- */

/* Returns a negative number if `a` comes before `b`, a positive number if `a` comes after `b`, and
 * 0 if either order will do. */
typedef int (*mv_compare)(const void *a, const void *b, const void *context);

/* Sorts rows in an order that cannot be expressed as a list of members. O(n log n) calls of
 * `compare`, or more without temporary memory. */
void mv_sort_by(mv_arena *arena, void *rows, uint64_t count, uint64_t size, mv_compare compare,
                const void *context);

/* ---- columns ------------------------------------------------------------------------------ */

/* Returns the row numbers in the order of a column's values: [count], from mv_arena_grow, so that
 * mv_arena_drop can release them. Needs the same amount of memory again while it runs. NULL when
 * out of memory. */
uint32_t *mv_order_u64(mv_arena *arena, const uint64_t *keys, uint32_t count);

/* A number, and the row that contains it. */
typedef struct {
    uint64_t key;
    uint32_t row;
} mv_key_row;

/* Sorts by key. `spare` must have room for `count` rows, and its content is undefined afterwards.
 * Never allocates. */
void mv_sort_key_rows(mv_key_row *rows, mv_key_row *spare, uint64_t count);
