#include "base/sort.h"

enum {
    FEW = 24,        /* at most this many key rows are sorted by insertion */
    SHORT_RUN = 16,  /* runs of this many rows are sorted by insertion before they are merged */
    BUFFER = 2048,   /* bytes of stack used for merging */
    TEXT_STEP = 7,   /* number of bytes of a string in one key */
    MANY = 256,      /* at or above this number of rows, sorting by digits is faster than
                      * comparing */
    MOST_NUMBERS = 8 /* more keys than any caller uses */
};

/* ---- numbers with rows -------------------------------------------------------------------- */

static void insert_key_rows(mv_key_row *rows, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        mv_key_row row = rows[i];
        uint64_t at = i;
        for (; at > 0 && rows[at - 1].key > row.key; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

/* Sorts by one byte at a time, lowest byte first. A byte that is the same in all keys is
 * skipped. */
void mv_sort_key_rows(mv_key_row *rows, mv_key_row *spare, uint64_t count)
{
    uint64_t start[8][256];
    mv_key_row *from = rows, *to = spare;

    if (count <= FEW) {
        insert_key_rows(rows, count);
        return;
    }
    memset(start, 0, sizeof start);
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t b = 0; b < 8; b++)
            start[b][rows[i].key >> 8 * b & 0xff]++;
    for (uint32_t b = 0; b < 8; b++) {
        uint64_t sum = 0;
        mv_key_row *swap = from;
        if (start[b][rows[0].key >> 8 * b & 0xff] == count)
            continue;
        for (uint32_t digit = 0; digit < 256; digit++) {
            uint64_t digits = start[b][digit];
            start[b][digit] = sum;
            sum += digits;
        }
        for (uint64_t i = 0; i < count; i++)
            to[start[b][from[i].key >> 8 * b & 0xff]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != rows)
        memcpy(rows, from, count * sizeof *rows);
}

/* Sorts only row numbers, which needs a quarter of the memory. */
uint32_t *mv_order_u64(mv_arena *arena, const uint64_t *keys, uint32_t count)
{
    uint32_t *rows = mv_arena_grow(arena, NULL, ((uint64_t)count + 1) * sizeof *rows);
    uint32_t *spare = mv_arena_grow(arena, NULL, ((uint64_t)count + 1) * sizeof *spare);

    if (!rows || !spare) {
        mv_arena_drop(arena, rows);
        mv_arena_drop(arena, spare);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        rows[i] = i;
    for (uint32_t shift = 0; count > 1 && shift < 64; shift += 8) {
        uint32_t start[257] = {0}, *swap = rows;
        for (uint32_t i = 0; i < count; i++)
            start[(keys[i] >> shift & 0xff) + 1]++;
        if (start[(keys[0] >> shift & 0xff) + 1] == count)
            continue;
        for (uint32_t digit = 1; digit < 256; digit++)
            start[digit] += start[digit - 1];
        for (uint32_t i = 0; i < count; i++)
            spare[start[keys[rows[i]] >> shift & 0xff]++] = rows[i];
        rows = spare;
        spare = swap;
    }
    mv_arena_drop(arena, spare);
    return rows;
}

/* ---- merging in place ---------------------------------------------------------------------- */

typedef struct {
    char *rows;
    uint64_t size;
    char *buffer;
    uint64_t buffer_rows;
    mv_compare compare;
    const void *context;
} merger;

static char *row_at(const merger *m, uint64_t row)
{
    return m->rows + row * m->size;
}

static void swap_bytes(char *a, char *b, uint64_t bytes)
{
    char held[64];

    while (bytes > 0) {
        uint64_t some = bytes < sizeof held ? bytes : sizeof held;
        memcpy(held, a, some);
        memcpy(a, b, some);
        memcpy(b, held, some);
        a += some;
        b += some;
        bytes -= some;
    }
}

static void reverse(const merger *m, uint64_t first, uint64_t end)
{
    for (; first + 1 < end; first++, end--)
        swap_bytes(row_at(m, first), row_at(m, end - 1), m->size);
}

/* Exchanges [first, middle) and [middle, end). */
static void rotate(const merger *m, uint64_t first, uint64_t middle, uint64_t end)
{
    uint64_t left = middle - first, right = end - middle;

    if (left == 0 || right == 0)
        return;
    if (right <= m->buffer_rows) {
        memcpy(m->buffer, row_at(m, middle), right * m->size);
        memmove(row_at(m, first + right), row_at(m, first), left * m->size);
        memcpy(row_at(m, first), m->buffer, right * m->size);
        return;
    }
    reverse(m, first, middle);
    reverse(m, middle, end);
    reverse(m, first, end);
}

/* Returns the first row of [first, end) that may not come before `row`, which is a row above it or,
 * with `is_lower`, equal to it. */
static uint64_t bound(const merger *m, uint64_t first, uint64_t end, const char *row, bool is_lower)
{
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        int order = m->compare(row_at(m, middle), row, m->context);
        if (order < 0 || (order == 0 && !is_lower))
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static void merge_forward(const merger *m, uint64_t first, uint64_t middle, uint64_t end)
{
    const char *left = m->buffer, *left_end = left + (middle - first) * m->size;
    const char *right = row_at(m, middle), *right_end = row_at(m, end);
    char *to = row_at(m, first);

    memcpy(m->buffer, to, (middle - first) * m->size);
    for (; left < left_end && right < right_end; to += m->size) {
        bool is_right = m->compare(right, left, m->context) < 0;
        memcpy(to, is_right ? right : left, m->size);
        *(is_right ? &right : &left) += m->size;
    }
    memcpy(to, left, (uint64_t)(left_end - left));
}

static void merge_backward(const merger *m, uint64_t first, uint64_t middle, uint64_t end)
{
    const char *left = row_at(m, middle), *left_end = row_at(m, first);
    const char *right = m->buffer + (end - middle) * m->size;
    char *to = row_at(m, end);

    memcpy(m->buffer, left, (end - middle) * m->size);
    while (left > left_end && right > m->buffer) {
        bool is_left = m->compare(right - m->size, left - m->size, m->context) < 0;
        *(is_left ? &left : &right) -= m->size;
        to -= m->size;
        memcpy(to, is_left ? left : right, m->size);
    }
    memcpy(row_at(m, first) + (left - left_end), m->buffer, (uint64_t)(right - m->buffer));
}

/* Merges two sorted neighbours. If neither fits into the buffer, both are split, the longer one in
 * the middle and the other where the middle row belongs, and then the halves are merged. */
static void merge(const merger *m, uint64_t first, uint64_t middle, uint64_t end)
{
    while (first < middle && middle < end) {
        uint64_t left = middle - first, right = end - middle, a, b;
        if (m->compare(row_at(m, middle), row_at(m, middle - 1), m->context) >= 0)
            return;
        if (left <= right && left <= m->buffer_rows) {
            merge_forward(m, first, middle, end);
            return;
        }
        if (right <= m->buffer_rows) {
            merge_backward(m, first, middle, end);
            return;
        }
        if (left > right) {
            a = first + left / 2;
            b = bound(m, middle, end, row_at(m, a), true);
        } else {
            b = middle + (right + 1) / 2;
            a = bound(m, first, middle, row_at(m, b - 1), false);
        }
        rotate(m, a, middle, b);
        merge(m, first, a, a + (b - middle));
        first = a + (b - middle);
        middle = b;
    }
}

void mv_sort_by(mv_arena *arena, void *rows, uint64_t count, uint64_t size, mv_compare compare,
                const void *context)
{
    char buffer[BUFFER], *lent = NULL;
    merger m = {.rows = rows,
                .size = size,
                .buffer = buffer,
                .buffer_rows = size ? BUFFER / size : 0,
                .compare = compare,
                .context = context};

    if (arena && count / 2 > m.buffer_rows)
        lent = mv_arena_grow(arena, NULL, (count / 2 + 1) * size);
    if (lent) {
        m.buffer = lent;
        m.buffer_rows = count / 2 + 1;
    }
    for (uint64_t i = 1; i < count; i++) {
        uint64_t first = i / SHORT_RUN * SHORT_RUN;
        if (i > first && compare(row_at(&m, i), row_at(&m, i - 1), context) < 0)
            rotate(&m, bound(&m, first, i, row_at(&m, i), false), i, i + 1);
    }
    for (uint64_t width = SHORT_RUN; width < count; width *= 2)
        for (uint64_t first = 0; first + width < count; first += 2 * width)
            merge(&m, first, first + width, first + 2 * width < count ? first + 2 * width : count);
    mv_arena_drop(arena, lent);
}

/* ---- rows by their members ----------------------------------------------------------------- */

typedef struct {
    const mv_sort_key *keys;
    uint64_t count;
} key_list;

static uint64_t key_of_i64(int64_t value)
{
    return (uint64_t)value ^ (uint64_t)1 << 63;
}

static uint64_t key_of_f64(double value)
{
    uint64_t bits;

    if (value != value)
        return UINT64_MAX;
    value += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits ^ (uint64_t)1 << 63;
}

/* Returns the next bytes of a string, with the first byte highest. The lowest byte is the number of
 * bytes + 1 (9: the string is longer), or 0 if there is no string. */
static uint64_t key_of_bytes(const uint8_t *at, uint64_t left)
{
    uint64_t key = 0;

    for (uint32_t i = 0; i < TEXT_STEP; i++)
        key = key << 8 | (i < left ? at[i] : 0);
    return key << 8 | ((left > TEXT_STEP ? TEXT_STEP + 1 : left) + 1);
}

static uint64_t key_of_text(const char *member, uint64_t from)
{
    const char *text;

    memcpy(&text, member, sizeof text);
    return text ? key_of_bytes((const uint8_t *)text + from, strnlen(text + from, TEXT_STEP + 1))
                : 0;
}

static uint64_t key_of_span(const char *member, uint64_t from)
{
    mv_span text;

    memcpy(&text, member, sizeof text);
    return key_of_bytes(text.data + from, text.length - from);
}

/* Converts a member to a number that sorts in the same order. For a string, the bytes at and after
 * `from` are used. */
static uint64_t key_of(const char *row, const mv_sort_key *key, uint64_t from)
{
    const char *member = row + key->at;
    uint64_t value = 0;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;

    switch ((mv_key_kind)key->kind) {
    case MV_KEY_U8:
        return (uint8_t)*member;
    case MV_KEY_U16:
        memcpy(&value, member, 2);
        return value;
    case MV_KEY_U32:
        memcpy(&value, member, 4);
        return value;
    case MV_KEY_U64:
        memcpy(&value, member, 8);
        return value;
    case MV_KEY_I32:
        memcpy(&i32, member, sizeof i32);
        return key_of_i64(i32);
    case MV_KEY_I64:
        memcpy(&i64, member, sizeof i64);
        return key_of_i64(i64);
    case MV_KEY_F32:
        memcpy(&f32, member, sizeof f32);
        return key_of_f64((double)f32);
    case MV_KEY_F64:
        memcpy(&f64, member, sizeof f64);
        return key_of_f64(f64);
    case MV_KEY_TEXT:
        return key_of_text(member, from);
    case MV_KEY_SPAN:
        return key_of_span(member, from);
    }
    return 0;
}

static bool goes_on(const mv_sort_key *key, uint64_t value)
{
    return key->kind >= MV_KEY_TEXT && (uint8_t)value == TEXT_STEP + 2;
}

static int compare_rows(const void *a, const void *b, const void *context)
{
    const key_list *list = context;

    for (uint64_t k = 0; k < list->count; k++) {
        const mv_sort_key *by = &list->keys[k];
        uint64_t x, y;
        for (uint64_t from = 0;; from += TEXT_STEP) {
            x = key_of(a, by, from);
            y = key_of(b, by, from);
            if (x != y)
                return (x < y) != by->is_falling ? -1 : 1;
            if (!goes_on(by, x))
                break;
        }
    }
    return 0;
}

/* ---- many rows by their numbers -------------------------------------------------------------- */

/* The range of a number in all rows. The number minus `least` takes `bits` bits. */
typedef struct {
    uint64_t least;
    uint32_t bits;
} number_range;

static uint64_t number_of(const char *row, const mv_sort_key *key)
{
    uint64_t value = key_of(row, key, 0);

    return key->is_falling ? ~value : value;
}

static number_range range_of(const char *rows, uint64_t count, uint64_t size,
                             const mv_sort_key *key)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = number_of(rows + i * size, key);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    return (number_range){least, most > least ? 64 - (uint32_t)__builtin_clzll(most - least) : 0};
}

/* Sorts `order` by keys [first, end), which take at most 64 bits in total. */
static void sort_order(const char *rows, uint64_t count, uint64_t size, const mv_sort_key *keys,
                       const number_range *ranges, uint64_t first, uint64_t end, mv_key_row *order,
                       mv_key_row *spare)
{
    bool is_sorted = true;

    for (uint64_t i = 0; i < count; i++) {
        const char *row = rows + order[i].row * size;
        uint64_t value = 0;
        for (uint64_t k = first; k < end; k++)
            if (ranges[k].bits > 0)
                value = (ranges[k].bits < 64 ? value << ranges[k].bits : 0) |
                        (number_of(row, &keys[k]) - ranges[k].least);
        order[i].key = value;
        is_sorted = is_sorted && (i == 0 || order[i - 1].key <= value);
    }
    if (!is_sorted)
        mv_sort_key_rows(order, spare, count);
}

/* Sorts rows by their digits, beginning with the last key. Returns false, without moving anything,
 * when out of memory or if a key is a string. */
static bool sort_by_digits(mv_arena *arena, char *rows, uint64_t count, uint64_t size,
                           const mv_sort_key *keys, uint64_t key_count)
{
    number_range ranges[MOST_NUMBERS];
    uint64_t order_bytes = count * sizeof(mv_key_row);
    mv_key_row *order;
    bool lacked;
    char *spare;

    if (!arena || count < MANY || count > UINT32_MAX || key_count > MOST_NUMBERS)
        return false;
    for (uint64_t k = 0; k < key_count; k++)
        if (keys[k].kind >= MV_KEY_TEXT)
            return false;
    lacked = __atomic_load_n(&arena->budget->lacked, __ATOMIC_RELAXED);
    order = mv_arena_grow(arena, NULL, order_bytes);
    spare = mv_arena_grow(arena, NULL, size > sizeof *order ? count * size : order_bytes);
    if (order && spare) {
        for (uint64_t k = 0; k < key_count; k++)
            ranges[k] = range_of(rows, count, size, &keys[k]);
        for (uint64_t i = 0; i < count; i++)
            order[i].row = (uint32_t)i;
        for (uint64_t end = key_count, first; end > 0; end = first) {
            uint32_t bits = 0;
            for (first = end; first > 0 && bits + ranges[first - 1].bits <= 64; first--)
                bits += ranges[first - 1].bits;
            sort_order(rows, count, size, keys, ranges, first, end, order,
                       (mv_key_row *)(void *)spare);
        }
        for (uint64_t i = 0; i < count; i++)
            memcpy(spare + i * size, rows + order[i].row * size, size);
        memcpy(rows, spare, count * size);
    } else {
        __atomic_store_n(&arena->budget->lacked, lacked, __ATOMIC_RELAXED); /* the caller then
                                                                             * sorts without
                                                                             * temporary memory */
    }
    mv_arena_drop(arena, order);
    mv_arena_drop(arena, spare);
    return order && spare;
}

void mv_sort(mv_arena *arena, void *rows, uint64_t count, uint64_t size, const mv_sort_key *keys,
             uint64_t key_count)
{
    if (!sort_by_digits(arena, rows, count, size, keys, key_count))
        mv_sort_by(arena, rows, count, size, compare_rows, &(key_list){keys, key_count});
}
