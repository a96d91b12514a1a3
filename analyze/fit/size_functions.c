#include "analyze/fit/size_functions.h"

#include "analyze/diff/pairs.h"
#include "analyze/replay/replay_heap.h"
#include "base/search.h"
#include "base/sort.h"

__extension__ typedef __int128 wide;

/* The bytes of one allocation at the sizes for which they are known. */
typedef struct {
    uint32_t count;
    mv_input size[MV_MOST_FIT_RUNS];
    uint64_t bytes[MV_MOST_FIT_RUNS];
} known;

static uint32_t size_of(const mv_size_functions *f, uint32_t row)
{
    return f->own ? f->own[row] : f->base;
}

uint32_t mv_size_known(const mv_size_functions *f, uint32_t row, mv_input *size, uint64_t *bytes)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < f->count; i++) {
        uint32_t at = i == size_of(f, row) ? row : f->partner[i][row];
        if (at == MV_NO_ROW)
            continue;
        size[count] = f->runs[i].size;
        bytes[count++] = f->runs[i].lives->allocs.requested[at];
    }
    return count;
}

static known known_of(const mv_size_functions *f, uint32_t row)
{
    known k = {0};

    k.count = mv_size_known(f, row, k.size, k.bytes);
    return k;
}

enum { PRODUCT = 2 }; /* a third axis: batch * length */

static uint64_t along(mv_input size, int axis)
{
    return axis == PRODUCT ? size.batch * size.length : axis ? size.length : size.batch;
}

static uint64_t limited(wide bytes)
{
    return bytes < 0 ? 0 : bytes > (wide)MV_MOST_REQUEST ? MV_MOST_REQUEST : (uint64_t)bytes;
}

/* bytes * (x / from) ^ power, rounded up. */
static uint64_t in_proportion(uint64_t bytes, uint64_t from, uint64_t x, int power)
{
    wide most = limited((wide)bytes);

    for (int i = 0; i < power; i++)
        most = (wide)limited((most * (wide)x + (wide)from - 1) / (wide)from);
    return (uint64_t)most;
}

/* ---- kinds ------------------------------------------------------------------------------- */

static bool differs(const known *k, int axis)
{
    for (uint32_t i = 1; i < k->count; i++)
        if (along(k->size[i], axis) != along(k->size[0], axis))
            return true;
    return false;
}

/* Whether at least two of the sizes differ only along this axis. */
static bool shows(const known *k, int axis)
{
    for (uint32_t i = 1; i < k->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (along(k->size[i], axis) != along(k->size[j], axis) &&
                along(k->size[i], !axis) == along(k->size[j], !axis))
                return true;
    return false;
}

static bool has_three(const known *k, int axis)
{
    uint64_t first = along(k->size[0], axis), second = first;

    for (uint32_t i = 1; i < k->count; i++) {
        uint64_t x = along(k->size[i], axis);
        if (x != first && second != first && x != second)
            return true;
        second = x != first ? x : second;
    }
    return false;
}

static bool is_power(const known *k, int batch, int length)
{
    for (uint32_t i = 1; i < k->count; i++)
        if (!mv_sizes_have_power((mv_input[]){k->size[0], k->size[i]},
                                 (uint64_t[]){k->bytes[0], k->bytes[i]}, batch, length))
            return false;
    return true;
}

static wide power_of(uint64_t x, int power)
{
    wide product = 1;

    for (int i = 0; i < power; i++)
        product *= x;
    return product;
}

/* A line along an axis, which passes through `bytes` at `x` and rises by `rise` per unit. */
typedef struct {
    wide rise, bytes, x;
} line;

/* Whether all bytes lie on one line with a non-negative integer slope, multiplied by a power of the
 * other axis. */
static bool is_line(const known *k, int axis, int power, line *out)
{
    wide first = k->bytes[0], x = along(k->size[0], axis), by = 1;
    bool has_slope = false;

    for (uint32_t i = 0; i < k->count; i++) {
        wide bytes = k->bytes[i], run = (wide)along(k->size[i], axis) - x;
        by = power_of(along(k->size[i], !axis), power);
        if (bytes % by != 0)
            return false;
        bytes /= by;
        first = i == 0 ? bytes : first;
        if (run != 0 && !has_slope) {
            has_slope = true;
            *out = (line){(bytes - first) / run, first, x};
            if ((bytes - first) % run != 0 || out->rise < 0)
                return false;
        }
        if (has_slope ? bytes - first != out->rise * run : bytes != first)
            return false;
    }
    return has_slope;
}

/* Returns the kind that the bytes suggest. A function is not certain if only two sizes along an
 * axis show it. */
static mv_size_kind kind_of(mv_size_functions *f, uint32_t row, const bool varies[2],
                            bool *is_certain)
{
    known k = known_of(f, row);
    mv_size_form *form = &f->form[row];
    line found;

    *is_certain = false;
    if (k.count < 2 || (varies[0] && !shows(&k, 0)) || (varies[1] && !shows(&k, 1)))
        return MV_SIZE_ALONE;
    for (int i = 0; i <= (varies[0] ? MV_MOST_SIZE_POWER : 0); i++)
        for (int j = 0; j <= (varies[1] ? MV_MOST_SIZE_POWER : 0); j++)
            if (is_power(&k, i, j)) {
                *form = (mv_size_form){0, {(uint8_t)i, (uint8_t)j}};
                *is_certain =
                    i || j ? i == j ? has_three(&k, PRODUCT)
                                    : (i == 0 || has_three(&k, 0)) && (j == 0 || has_three(&k, 1))
                           : false;
                return i || j ? MV_SIZE_POWER : MV_SIZE_CONSTANT;
            }
    for (uint8_t axis = 0; axis < 2; axis++)
        for (int power = 0; power <= (varies[!axis] ? MV_MOST_SIZE_POWER : 0); power++)
            if (varies[axis] && is_line(&k, axis, power, &found)) {
                *form = (mv_size_form){axis, {0}};
                form->power[!axis] = (uint8_t)power;
                *is_certain = has_three(&k, axis) && (power == 0 || has_three(&k, !axis));
                return MV_SIZE_LINE;
            }
    return MV_SIZE_ODD;
}

/* Whether a block is a workspace. A workspace is alive during one operation, so all blocks
 * allocated during its life are freed before the next allocation. Operations that use two such
 * blocks have been observed; up to four are accepted. */
static bool is_workspace(const mv_lives *lives, uint32_t row)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t freed = a->freed[row], next = row + 1, last = freed;

    if (freed == MV_NEVER || a->birth[row] == MV_BEFORE)
        return false;
    for (; next < a->count && a->birth[next] < freed; next++) {
        if (next - row > 4)
            return false;
        last = a->freed[next] > last ? a->freed[next] : last;
    }
    return next == a->count ? last != MV_NEVER : last < a->birth[next];
}

/* Whether bytes do not shrink from size `a` to size `b`, and do not grow faster than the size,
 * where the length counts with the power `power`. */
static bool grows_with(const known *k, uint32_t a, uint32_t b, int power)
{
    uint64_t most =
        in_proportion(k->bytes[a] + MV_MIN_BLOCK, k->size[a].batch, k->size[b].batch, 1);

    most = in_proportion(most, k->size[a].length, k->size[b].length, power);
    return k->bytes[a] <= k->bytes[b] && k->bytes[b] <= most;
}

/* Whether grows_with() is true for all pairs of sizes in which one size is at least as large as the
 * other in both numbers. */
static bool all_grow_with(const known *k, int power)
{
    for (uint32_t a = 0; a < k->count; a++)
        for (uint32_t b = 0; b < k->count; b++)
            if (a != b && k->size[a].batch <= k->size[b].batch &&
                k->size[a].length <= k->size[b].length && !grows_with(k, a, b, power))
                return false;
    return true;
}

/* ---- two recordings ---------------------------------------------------------------------- */

static uint64_t key_of(const mv_size_functions *f, uint32_t row)
{
    known k = known_of(f, row);
    uint64_t key = k.count;

    for (uint32_t i = 0; i < k.count; i++) {
        key = mv_pair_mix(key, k.bytes[i]);
        key = mv_pair_mix(key, k.size[i].batch);
        key = mv_pair_mix(key, k.size[i].length);
    }
    return key;
}

static bool has_key(const uint64_t *keys, uint64_t count, uint64_t wanted)
{
    uint64_t at = mv_lower_bound_u64(keys, count, wanted);

    return at < count && keys[at] == wanted;
}

/* Marks workspaces as unconfirmed. Two recordings are enough for tensors, whose bytes are
 * products of dimensions, and for blocks that are as large as a tensor. A workspace, however,
 * may have an upper limit just above the recorded sizes or, if it is constant, a lower limit
 * just below them. */
static bool doubt_workspaces(mv_arena *arena, mv_size_functions *f, const uint8_t *certain)
{
    const mv_lives *lives = f->runs[f->base].lives;
    uint64_t *keys = mv_push_array(arena, uint64_t, lives->allocs.count);
    uint64_t count = 0;

    if (!keys)
        return false;
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (!certain[i] && mv_size_is_exact(f->kind[i]) && i >= lives->allocs.preexisting &&
            !is_workspace(lives, i))
            keys[count++] = key_of(f, i);
    mv_sort_rows(arena, keys, count, MV_RISING_VALUES(uint64_t));
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (!certain[i] && mv_size_is_exact(f->kind[i]) && is_workspace(lives, i) &&
            !has_key(keys, count, key_of(f, i)))
            f->kind[i] = f->kind[i] == MV_SIZE_CONSTANT ? MV_SIZE_CEILING : MV_SIZE_UNCONFIRMED;
    return true;
}

/* ---- all allocations --------------------------------------------------------------------- */

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

static mv_code open_functions(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                              uint32_t base, mv_size_functions *f, mv_err *err)
{
    uint32_t rows = runs[base].lives->allocs.count;

    *f = (mv_size_functions){.count = count,
                             .runs = runs,
                             .base = base,
                             .end = rows,
                             .partner = mv_push_array(arena, uint32_t *, count),
                             .kind = mv_push_array(arena, uint8_t, rows),
                             .form = mv_push_array(arena, mv_size_form, rows)};
    if (!f->partner || !f->kind || !f->form)
        return no_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        f->partner[i] = mv_push_array(arena, uint32_t, rows);
        if (!f->partner[i])
            return no_memory(err);
        for (uint32_t row = 0; row < rows; row++)
            f->partner[i][row] = MV_NO_ROW;
    }
    return MV_OK;
}

/* Whether an allocation has the same bytes for all sizes. This is true of an allocation from before
 * the first event, because fit.c checks that these allocations have the same sum in all recordings.
 * It is also true of an allocation outside all steps, and of one that has no counterpart but is in
 * use during a step of a different size. */
static bool is_state(const mv_size_functions *f, const mv_size_steps *steps, uint32_t row)
{
    const mv_alloc_lives *a = &f->runs[f->base].lives->allocs;
    uint32_t end = a->completed[row];
    bool is_after = false;

    if (row < a->preexisting || (steps && f->own[row] == UINT8_MAX))
        return true;
    if (!steps || f->kind[row] != MV_SIZE_ALONE)
        return false;
    for (uint32_t i = 0; i < steps->count; i++) {
        const mv_sized_run *step = &steps->at[i];
        is_after = is_after || row < step->first;
        if (is_after && step->end > step->first && steps->kind[i] != f->own[row])
            return end == MV_NEVER || end > a->birth[step->end - 1];
    }
    return false;
}

static mv_code find_kinds(mv_arena *arena, const mv_size_steps *steps, mv_size_functions *f,
                          mv_err *err)
{
    const mv_lives *lives = f->runs[f->base].lives;
    uint32_t rows = lives->allocs.count;
    uint8_t *certain = mv_push_array(arena, uint8_t, rows);
    known sizes = {.count = f->count};
    bool varies[2];

    if (!certain)
        return no_memory(err);
    for (uint32_t i = 0; i < f->count; i++)
        sizes.size[i] = f->runs[i].size;
    varies[0] = differs(&sizes, 0);
    varies[1] = differs(&sizes, 1);
    for (uint32_t i = 0; i < rows; i++) {
        bool is_certain = false;
        f->kind[i] = (uint8_t)kind_of(f, i, varies, &is_certain);
        certain[i] = is_certain;
        if (is_state(f, steps, i)) {
            f->kind[i] = MV_SIZE_CONSTANT;
            certain[i] = steps != NULL;
        }
    }
    if (!doubt_workspaces(arena, f, certain))
        return no_memory(err);
    for (uint32_t i = 0; i < rows && !f->has_choices; i++)
        if (f->kind[i] == MV_SIZE_ODD || f->kind[i] == MV_SIZE_UNCONFIRMED) {
            known k = known_of(f, i);
            f->has_choices = !all_grow_with(&k, 2);
        }
    return MV_OK;
}

mv_code mv_size_functions_find(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                               uint32_t base, mv_size_functions *out, mv_err *err)
{
    if (open_functions(arena, runs, count, base, out, err) != MV_OK)
        return err->code;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end;
        if (i == base)
            continue;
        end = mv_sizes_match(&runs[base], &runs[i], out->partner[i]);
        out->end = end < out->end ? end : out->end;
    }
    return find_kinds(arena, NULL, out, err);
}

/* Returns the nearest step of a different size. If two steps are equally near, the earlier one is
 * returned. */
static uint32_t find_nearest(const mv_size_steps *steps, uint32_t step, uint8_t kind)
{
    uint32_t best = MV_NO_ROW;

    for (uint32_t far = 1; far < steps->count && best == MV_NO_ROW; far++) {
        if (step + far < steps->count && steps->kind[step + far] == kind)
            best = step + far;
        if (step >= far && steps->kind[step - far] == kind)
            best = step - far;
    }
    return best;
}

mv_code mv_size_functions_find_in_steps(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                                        const mv_size_steps *steps, mv_size_functions *out,
                                        mv_err *err)
{
    uint32_t rows = runs[0].lives->allocs.count;

    if (open_functions(arena, runs, count, 0, out, err) != MV_OK)
        return err->code;
    out->own = mv_push_array(arena, uint8_t, rows);
    if (!out->own)
        return no_memory(err);
    memset(out->own, UINT8_MAX, rows);
    for (uint32_t i = 0; i < steps->count; i++) {
        const mv_sized_run *step = &steps->at[i];
        memset(out->own + step->first, steps->kind[i], step->end - step->first);
        for (uint32_t kind = 0; kind < count; kind++) {
            uint32_t other =
                kind == steps->kind[i] ? MV_NO_ROW : find_nearest(steps, i, (uint8_t)kind);
            if (other != MV_NO_ROW)
                mv_sizes_match(step, &steps->at[other], out->partner[kind]);
        }
    }
    return find_kinds(arena, steps, out, err);
}

/* ---- other sizes ------------------------------------------------------------------------- */

static mv_size_bounds between(uint64_t a, uint64_t b)
{
    return a < b ? (mv_size_bounds){a, b} : (mv_size_bounds){b, a};
}

/* Whether a workspace grew at two different rates, the first of which was not in proportion to the
 * size. This happens if the algorithm changed at a limit between two sizes. The algorithm may
 * change back at other sizes. */
static bool has_two_rates(const uint64_t *n, const uint64_t *s, uint32_t count)
{
    for (uint32_t i = 2; i < count; i++) {
        wide rise = (wide)s[i] - s[i - 1], before = (wide)s[i - 1] - s[i - 2];
        if (rise > 0 && rise * (n[i - 1] - n[i - 2]) != before * (n[i] - n[i - 1]) &&
            in_proportion(s[i - 2], n[i - 2], n[i - 1], 1) != s[i - 1])
            return true;
    }
    return false;
}

/* Bounds beyond the recorded sizes for a workspace that grows more slowly than the input. It is at
 * least as large as at the next smaller size and at most on the line through the last two sizes. If
 * the algorithm changes, it may be in proportion to any recorded size. */
static mv_size_bounds beyond(const uint64_t *n, const uint64_t *s, uint32_t count, uint64_t size)
{
    wide slope_top, slope_run;

    if (size < n[0])
        return (mv_size_bounds){in_proportion(s[0], n[0], size, 1), s[0]};
    if (count < 2 || n[count - 1] == n[count - 2])
        return between(s[0], in_proportion(s[0], n[0], size, 1));
    if (has_two_rates(n, s, count)) {
        uint64_t most = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t bytes = in_proportion(s[i], n[i], size, 1);
            most = bytes > most ? bytes : most;
        }
        return between(s[count - 1], most);
    }
    slope_top = (wide)s[count - 1] - s[count - 2];
    slope_run = (wide)n[count - 1] - n[count - 2];
    return between(s[count - 1],
                   limited(s[count - 1] +
                           (slope_top * ((wide)size - n[count - 1]) + slope_run - 1) / slope_run));
}

/* Scales bytes[i] to a different size, in proportion to the numbers that increase (or to those that
 * decrease, if `is_larger` is false). */
static uint64_t carry(const known *k, uint32_t i, mv_input size, int power, bool is_larger)
{
    uint64_t bytes = k->bytes[i];

    if ((size.batch > k->size[i].batch) == is_larger)
        bytes = in_proportion(bytes, k->size[i].batch, size.batch, 1);
    if ((size.length > k->size[i].length) == is_larger)
        bytes = in_proportion(bytes, k->size[i].length, size.length, power);
    return bytes;
}

/* Bounds if both numbers differ. The lower bound is the largest result of reducing the bytes at
 * a recorded size in proportion to the numbers that are smaller. The upper bound is the smallest
 * result of increasing the bytes at a recorded size in proportion to the numbers that are
 * larger. */
static mv_size_bounds bounds_in_plane(const known *k, mv_input size)
{
    mv_size_bounds out = {0, UINT64_MAX};
    int power = all_grow_with(k, 1) ? 1 : 2;

    for (uint32_t i = 0; i < k->count; i++) {
        uint64_t least = carry(k, i, size, power, false), most = carry(k, i, size, power, true);
        out.least = least > out.least ? least : out.least;
        out.most = most < out.most ? most : out.most;
    }
    return between(out.least, out.most);
}

/* Whether an increase of either number increases the bytes, but never more than in proportion. This
 * is typical of a workspace for all elements of the batch, treated as one long sequence. */
static bool depends_on_product(const known *k)
{
    bool grows[2] = {false, false};

    for (uint32_t a = 0; a < k->count; a++)
        for (uint32_t b = 0; b < k->count; b++)
            for (int axis = 0; axis < 2; axis++)
                grows[axis] |= along(k->size[a], !axis) == along(k->size[b], !axis) &&
                               along(k->size[a], axis) < along(k->size[b], axis) &&
                               k->bytes[a] < k->bytes[b];
    return grows[0] && grows[1] && all_grow_with(k, 1);
}

static void sort_by_product(known *k)
{
    for (uint32_t i = 1; i < k->count; i++)
        for (uint32_t j = i; j > 0 && along(k->size[j - 1], PRODUCT) > along(k->size[j], PRODUCT);
             j--) {
            mv_input size = k->size[j];
            uint64_t bytes = k->bytes[j];
            k->size[j] = k->size[j - 1];
            k->bytes[j] = k->bytes[j - 1];
            k->size[j - 1] = size;
            k->bytes[j - 1] = bytes;
        }
}

static mv_size_bounds bounds_of(const mv_size_functions *f, uint32_t row, mv_input size)
{
    known k = known_of(f, row);
    uint64_t n[MV_MOST_FIT_RUNS], most = 0;
    known with = k;
    int axis;

    with.size[with.count < MV_MOST_FIT_RUNS ? with.count++ : 0] = size;
    if (f->has_choices || k.count < 2 || f->kind[row] == MV_SIZE_ALONE) {
        for (uint32_t i = 0; i < k.count; i++) {
            uint64_t bytes = carry(&k, i, size, 2, true);
            most = bytes > most ? bytes : most;
        }
        return (mv_size_bounds){0, most};
    }
    axis = differs(&with, 1);
    if (axis && differs(&with, 0)) {
        if (!depends_on_product(&k))
            return bounds_in_plane(&k, size);
        axis = PRODUCT;
        sort_by_product(&k);
    }
    for (uint32_t i = 0; i < k.count; i++)
        n[i] = along(k.size[i], axis);
    for (uint32_t i = 0; i + 1 < k.count; i++)
        if (n[i] <= along(size, axis) && along(size, axis) <= n[i + 1])
            return between(k.bytes[i], k.bytes[i + 1]);
    return beyond(n, k.bytes, k.count, along(size, axis));
}

/* Returns the bytes of an allocation whose function is exact but not constant. */
static uint64_t bytes_at(const mv_size_functions *f, uint32_t row, mv_input size)
{
    const mv_size_form *form = &f->form[row];
    mv_input own = f->runs[size_of(f, row)].size;
    uint64_t bytes = f->runs[f->base].lives->allocs.requested[row];
    known k;
    line found = {0};
    wide times;

    if (f->kind[row] == MV_SIZE_POWER) {
        bytes = in_proportion(bytes, own.batch, size.batch, form->power[0]);
        return in_proportion(bytes, own.length, size.length, form->power[1]);
    }
    k = known_of(f, row);
    if (!is_line(&k, form->axis, form->power[!form->axis], &found))
        return bytes;
    bytes = limited(found.bytes + found.rise * ((wide)along(size, form->axis) - found.x));
    times = power_of(along(size, !form->axis), form->power[!form->axis]);
    return times > (wide)MV_MOST_REQUEST ? MV_MOST_REQUEST : limited((wide)bytes * times);
}

mv_size_bounds mv_size_at(const mv_size_functions *f, uint32_t row, mv_input size)
{
    uint64_t bytes = f->runs[f->base].lives->allocs.requested[row];
    mv_input own;

    if (f->kind[row] == MV_SIZE_CONSTANT)
        return (mv_size_bounds){bytes, bytes};
    own = f->runs[size_of(f, row)].size;
    if (size.batch == own.batch && size.length == own.length)
        return (mv_size_bounds){bytes, bytes};
    if (f->kind[row] == MV_SIZE_CEILING) {
        known k = known_of(f, row);
        if (size.batch >= k.size[0].batch && size.length >= k.size[0].length)
            return (mv_size_bounds){bytes, bytes};
    } else if (mv_size_is_exact(f->kind[row])) {
        bytes = bytes_at(f, row, size);
        return (mv_size_bounds){bytes, bytes};
    }
    return bounds_of(f, row, size);
}
