#include "parse/container/wire_column.h"

#include "parse/model/trace.h"

/* ---- decoding ---------------------------------------------------------------------------- */

/* One loop for each combination of the widths of values and stored numbers, so that the compiler
 * can vectorise it. */
#define DEFINE_PLAIN(value_t, number_t)                                                       \
    static void plain_##value_t##_##number_t(const mv_wire_column *head, const uint8_t *data, \
                                             uint32_t count, value_t *restrict out)           \
    {                                                                                         \
        value_t base = (value_t)head->base;                                                   \
        for (uint32_t i = 0; i < count; i++) {                                                \
            number_t n;                                                                       \
            memcpy(&n, data + (uint64_t)i * sizeof n, sizeof n);                              \
            out[i] = base + ((value_t)n << head->shift);                                      \
        }                                                                                     \
    }
#define DEFINE_DELTA(value_t, number_t)                                                       \
    static void delta_##value_t##_##number_t(const mv_wire_column *head, const uint8_t *data, \
                                             uint32_t count, value_t *restrict out)           \
    {                                                                                         \
        value_t base = (value_t)head->base;                                                   \
        value_t value = (value_t)head->start;                                                 \
        for (uint32_t i = 0; i < count; i++) {                                                \
            number_t n;                                                                       \
            memcpy(&n, data + (uint64_t)i * sizeof n, sizeof n);                              \
            value += base + ((value_t)n << head->shift);                                      \
            out[i] = value;                                                                   \
        }                                                                                     \
    }
/* Avoids a branch, which would be hard to predict because new calls are irregular. */
#define DEFINE_CALLS(number_t)                                                                    \
    static void calls_##number_t(const mv_wire_column *head, const uint8_t *data, uint32_t count, \
                                 uint32_t *restrict out)                                          \
    {                                                                                             \
        uint32_t next = (uint32_t)head->start;                                                    \
        for (uint32_t i = 0; i < count; i++) {                                                    \
            number_t n;                                                                           \
            memcpy(&n, data + (uint64_t)i * sizeof n, sizeof n);                                  \
            uint32_t zigzag = (uint32_t)n - (n != 0);                                             \
            uint32_t value = next + ((zigzag >> 1) ^ (0 - (zigzag & 1)));                         \
            uint32_t after = n == 1 ? 0 : value + 1;                                              \
            out[i] = n == 1 ? MV_NO_CALL : value;                                                 \
            next = after > next ? after : next;                                                   \
        }                                                                                         \
    }

DEFINE_PLAIN(uint32_t, uint8_t)
DEFINE_PLAIN(uint32_t, uint16_t)
DEFINE_PLAIN(uint32_t, uint32_t)
DEFINE_PLAIN(uint64_t, uint8_t)
DEFINE_PLAIN(uint64_t, uint16_t)
DEFINE_PLAIN(uint64_t, uint32_t)
DEFINE_PLAIN(uint64_t, uint64_t)
DEFINE_DELTA(uint32_t, uint8_t)
DEFINE_DELTA(uint32_t, uint16_t)
DEFINE_DELTA(uint32_t, uint32_t)
DEFINE_DELTA(uint64_t, uint8_t)
DEFINE_DELTA(uint64_t, uint16_t)
DEFINE_DELTA(uint64_t, uint32_t)
DEFINE_DELTA(uint64_t, uint64_t)
DEFINE_CALLS(uint8_t)
DEFINE_CALLS(uint16_t)
DEFINE_CALLS(uint32_t)

bool mv_column_can_decode(const mv_wire_column *head, uint8_t size)
{
    uint8_t width = head->width;

    if (head->planes > 1 || width > size || (width & (width - 1)) != 0 ||
        head->transform >= MV_WIRE_TRANSFORM_COUNT)
        return false;
    if (head->transform == MV_WIRE_CALLS)
        return size == 4 && head->base == 0 && head->shift == 0;
    if (size == 1)
        return head->transform == MV_WIRE_PLAIN && head->shift == 0 &&
               (width == 0 || head->base == 0);
    return head->shift < size * 8;
}

static void fill(const mv_wire_column *head, uint32_t count, uint8_t size, void *out)
{
    uint64_t *wide = out;
    uint32_t *narrow = out;

    if (mv_column_is_zero(head)) /* `out` is already zero, and its pages stay untouched */
        return;
    if (size == 1)
        memset(out, (int)(head->base & 0xff), count);
    else if (size == 4)
        for (uint32_t i = 0; i < count; i++)
            narrow[i] = (uint32_t)head->base;
    else
        for (uint32_t i = 0; i < count; i++)
            wide[i] = head->base;
}

/* Decodes a column without stored bytes, in which every stored number is 0. */
static void decode_widthless(const mv_wire_column *head, uint32_t count, uint8_t size, void *out)
{
    uint64_t value = head->start;
    uint64_t step = head->transform == MV_WIRE_DELTA ? head->base : 1;

    if (head->transform == MV_WIRE_PLAIN) {
        fill(head, count, size, out);
        return;
    }
    if (head->transform == MV_WIRE_DELTA)
        value += step;
    for (uint32_t i = 0; i < count; i++, value += step)
        if (size == 4)
            ((uint32_t *)out)[i] = (uint32_t)value;
        else
            ((uint64_t *)out)[i] = value;
}

static void decode_plain(const mv_wire_column *head, const uint8_t *data, uint32_t count,
                         uint8_t size, void *out)
{
    if (head->width == size && head->base == 0 && head->shift == 0)
        memcpy(out, data, (uint64_t)count * size);
    else if (size == 4 && head->width == 1)
        plain_uint32_t_uint8_t(head, data, count, out);
    else if (size == 4 && head->width == 2)
        plain_uint32_t_uint16_t(head, data, count, out);
    else if (size == 4)
        plain_uint32_t_uint32_t(head, data, count, out);
    else if (head->width == 1)
        plain_uint64_t_uint8_t(head, data, count, out);
    else if (head->width == 2)
        plain_uint64_t_uint16_t(head, data, count, out);
    else if (head->width == 4)
        plain_uint64_t_uint32_t(head, data, count, out);
    else
        plain_uint64_t_uint64_t(head, data, count, out);
}

static void decode_delta(const mv_wire_column *head, const uint8_t *data, uint32_t count,
                         uint8_t size, void *out)
{
    if (size == 4 && head->width == 1)
        delta_uint32_t_uint8_t(head, data, count, out);
    else if (size == 4 && head->width == 2)
        delta_uint32_t_uint16_t(head, data, count, out);
    else if (size == 4)
        delta_uint32_t_uint32_t(head, data, count, out);
    else if (head->width == 1)
        delta_uint64_t_uint8_t(head, data, count, out);
    else if (head->width == 2)
        delta_uint64_t_uint16_t(head, data, count, out);
    else if (head->width == 4)
        delta_uint64_t_uint32_t(head, data, count, out);
    else
        delta_uint64_t_uint64_t(head, data, count, out);
}

/* Converts byte planes to numbers. */
static void join_planes(const uint8_t *data, uint32_t count, uint8_t width, uint8_t *restrict out)
{
    if (width == 2) {
        const uint8_t *high = data + count;
        for (uint32_t i = 0; i < count; i++) {
            out[2 * i] = data[i];
            out[2 * i + 1] = high[i];
        }
        return;
    }
    for (uint8_t plane = 0; plane < width; plane++)
        for (uint64_t i = 0; i < count; i++)
            out[i * width + plane] = data[(uint64_t)plane * count + i];
}

void mv_column_decode(const mv_wire_column *head, const uint8_t *data, uint32_t count, uint8_t size,
                      uint8_t *work, void *out)
{
    if (head->planes && head->width > 1) {
        join_planes(data, count, head->width, work);
        data = work;
    }
    if (head->width == 0)
        decode_widthless(head, count, size, out);
    else if (head->transform == MV_WIRE_PLAIN)
        decode_plain(head, data, count, size, out);
    else if (head->transform == MV_WIRE_DELTA)
        decode_delta(head, data, count, size, out);
    else if (head->width == 1)
        calls_uint8_t(head, data, count, out);
    else if (head->width == 2)
        calls_uint16_t(head, data, count, out);
    else
        calls_uint32_t(head, data, count, out);
}

/* ---- encoding ---------------------------------------------------------------------------- */

/* Converts values to 64-bit numbers. 32-bit values keep their sign, so that "none" is next to 0. */
static void widen(const mv_column_values *in, uint64_t *work)
{
    const uint32_t *narrow = in->values;

    if (in->size == 8)
        memcpy(work, in->values, (uint64_t)in->count * 8);
    else
        for (uint32_t i = 0; i < in->count; i++)
            work[i] = (uint64_t)(int64_t)(int32_t)narrow[i];
}

static uint64_t smallest(const uint64_t *numbers, uint32_t count)
{
    int64_t least = (int64_t)numbers[0];

    for (uint32_t i = 1; i < count; i++)
        if ((int64_t)numbers[i] < least)
            least = (int64_t)numbers[i];
    return (uint64_t)least;
}

/* Replaces values with differences in place, from the last value to the first. Unless a start is
 * given, it is chosen so that the first difference is not larger than the others. 32-bit values
 * wrap at 32 bits. */
static uint64_t differ(const mv_column_values *in, uint64_t *work)
{
    uint64_t first = work[0];
    uint64_t start = in->start;

    for (uint32_t i = in->count - 1; i > 0; i--) {
        uint64_t by = work[i] - work[i - 1];
        work[i] = in->size == 4 ? (uint64_t)(int64_t)(int32_t)by : by;
    }
    if (!in->keeps_start)
        start = first - (in->count > 1 ? smallest(work + 1, in->count - 1) : 0);
    work[0] = in->size == 4 ? (uint64_t)(int64_t)(int32_t)(first - start) : first - start;
    return start;
}

static bool encode_calls(const mv_column_values *in, uint64_t *work)
{
    const uint32_t *calls = in->values;
    uint32_t next = (uint32_t)in->start;

    for (uint32_t i = 0; i < in->count; i++) {
        uint32_t away = calls[i] - next;
        uint32_t zigzag = (away << 1) ^ (0 - (away >> 31));
        if (calls[i] == MV_NO_CALL) {
            work[i] = 1;
            continue;
        }
        if (zigzag == UINT32_MAX)
            return false;
        work[i] = zigzag == 0 ? 0 : (uint64_t)zigzag + 1;
        if (calls[i] >= next)
            next = calls[i] + 1;
    }
    return true;
}

static uint8_t width_of(uint64_t largest)
{
    if (largest == 0)
        return 0;
    if (largest <= UINT8_MAX)
        return 1;
    if (largest <= UINT16_MAX)
        return 2;
    return largest <= UINT32_MAX ? 4 : 8;
}

/* Finds the base, shift and width of the numbers. */
static void measure(const uint64_t *work, uint32_t count, bool as_they_are, mv_wire_column *head)
{
    uint64_t least = as_they_are ? 0 : smallest(work, count);
    uint64_t bits = 0;

    for (uint32_t i = 0; i < count; i++)
        bits |= work[i] - least;
    head->base = least;
    head->shift = as_they_are || bits == 0 ? 0 : (uint8_t)__builtin_ctzll(bits);
    head->width = width_of(bits >> head->shift);
}

static void store(const uint64_t *work, uint32_t count, const mv_wire_column *head, uint8_t *data)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t n = (work[i] - head->base) >> head->shift; /* little-endian: low bytes first */
        switch (head->width) {
        case 1:
            data[i] = (uint8_t)n;
            break;
        case 2:
            memcpy(data + (uint64_t)i * 2, &n, 2);
            break;
        case 4:
            memcpy(data + (uint64_t)i * 4, &n, 4);
            break;
        default:
            memcpy(data + (uint64_t)i * 8, &n, 8);
        }
    }
}

static void store_planes(const uint64_t *work, uint32_t count, const mv_wire_column *head,
                         uint8_t *data)
{
    for (uint8_t plane = 0; plane < head->width; plane++)
        for (uint32_t i = 0; i < count; i++)
            *data++ = (uint8_t)((work[i] - head->base) >> head->shift >> (8 * plane));
}

static uint64_t encode_bytes(const mv_column_values *in, mv_wire_column *head, uint8_t *data)
{
    const uint8_t *bytes = in->values;

    head->transform = MV_WIRE_PLAIN;
    if (memcmp(bytes, bytes + 1, in->count - 1) == 0) {
        head->base = bytes[0];
        return 0;
    }
    head->width = 1;
    memcpy(data, bytes, in->count);
    return in->count;
}

uint64_t mv_column_encode(const mv_column_values *in, uint64_t *work, mv_wire_column *head,
                          uint8_t *data)
{
    bool calls = in->transform == MV_WIRE_CALLS && encode_calls(in, work);

    *head = (mv_wire_column){0};
    if (in->count == 0)
        return 0;
    if (in->size == 1)
        return encode_bytes(in, head, data);
    if (calls) {
        head->transform = MV_WIRE_CALLS;
        head->start = in->start;
    } else {
        widen(in, work);
        head->transform = in->transform == MV_WIRE_DELTA ? MV_WIRE_DELTA : MV_WIRE_PLAIN;
        if (head->transform == MV_WIRE_DELTA)
            head->start = differ(in, work);
    }
    measure(work, in->count, calls, head);
    /* Most differences are small, so with planes, their high bytes form one run of zeros. Planes of
     * row numbers and calls are smaller on average, too, and take half the time to decompress. */
    head->planes = (head->transform == MV_WIRE_DELTA || in->size == 4) && head->width > 1;
    if (head->planes)
        store_planes(work, in->count, head, data);
    else if (head->width > 0)
        store(work, in->count, head, data);
    return (uint64_t)in->count * head->width;
}
