#include "analyze/fit/size_functions.h"

#include "analyze/replay/replay_heap.h"
#include "base/sort.h"

__extension__ typedef __int128 wide;

uint32_t mv_size_known(const mv_size_functions *f, uint32_t row, uint64_t *size, uint64_t *bytes)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < f->count; i++) {
        uint32_t at = i == f->base ? row : f->partner[i][row];
        if (at == MV_NO_ROW)
            continue;
        size[count] = f->runs[i].size;
        bytes[count++] = f->runs[i].lives->allocs.requested[at];
    }
    return count;
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

static bool is_power(const uint64_t *n, const uint64_t *s, uint32_t count, int power)
{
    for (uint32_t i = 1; i < count; i++) {
        wide a = s[0], b = s[i];
        for (int k = 0; k < power; k++) {
            a *= n[i];
            b *= n[0];
        }
        if (a != b)
            return false;
    }
    return true;
}

/* Whether all are on one line with an integer slope, that does not fall. */
static bool is_line(const uint64_t *n, const uint64_t *s, uint32_t count)
{
    wide rise = (wide)s[count - 1] - s[0], run = (wide)n[count - 1] - n[0];

    if (rise < 0 || rise % run != 0)
        return false;
    for (uint32_t i = 1; i < count; i++)
        if ((wide)s[i] - s[0] != rise / run * ((wide)n[i] - n[0]))
            return false;
    return true;
}

/* A workspace lives while one operation runs: all that is allocated during its life is gone before
 * the next allocation. An operation was seen to make two such blocks; four are looked at. */
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

/* By the bytes alone. A line through two recordings is not certain. */
static mv_size_kind kind_of(mv_size_functions *f, uint32_t row, bool *is_certain)
{
    uint64_t n[MV_MOST_FIT_RUNS], s[MV_MOST_FIT_RUNS];
    uint32_t count = mv_size_known(f, row, n, s);

    *is_certain = count > 2;
    if (count < 2)
        return MV_SIZE_ALONE;
    if (is_power(n, s, count, 0)) {
        *is_certain = false;
        return MV_SIZE_CONSTANT;
    }
    if (is_power(n, s, count, 1))
        return MV_SIZE_POWER;
    if (is_power(n, s, count, 2)) {
        f->is_square[row] = 1;
        return MV_SIZE_POWER;
    }
    return is_line(n, s, count) ? MV_SIZE_LINE : MV_SIZE_ODD;
}

/* Whether a workspace shrinks where the input grows, or grows faster by more than the rounding of
 * its parts. */
static bool is_choice(const mv_size_functions *f, uint32_t row)
{
    uint64_t n[MV_MOST_FIT_RUNS], s[MV_MOST_FIT_RUNS];
    uint32_t count = mv_size_known(f, row, n, s);

    for (uint32_t i = 1; i < count; i++)
        if (s[i] < s[i - 1] || s[i] > in_proportion(s[i - 1] + MV_MIN_BLOCK, n[i - 1], n[i], 1))
            return true;
    return false;
}

/* ---- two recordings ---------------------------------------------------------------------- */

typedef struct {
    uint64_t base, other; /* bytes */
} size_pair;

static size_pair pair_of(const mv_size_functions *f, uint32_t row)
{
    uint64_t n[MV_MOST_FIT_RUNS], s[MV_MOST_FIT_RUNS];

    mv_size_known(f, row, n, s);
    return (size_pair){s[0], s[1]};
}

static bool has_pair(const size_pair *pairs, uint64_t count, size_pair wanted)
{
    uint64_t low = 0, high = count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const size_pair *p = &pairs[middle];
        if (p->base < wanted.base || (p->base == wanted.base && p->other < wanted.other))
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && pairs[low].base == wanted.base && pairs[low].other == wanted.other;
}

/* Two recordings are enough for tensors, whose bytes are products of dimensions, and for blocks that are as large as one. A workspace may have reached a limit just above, or just below if it is constant. */
static bool doubt_workspaces(mv_arena *arena, mv_size_functions *f, const uint8_t *certain)
{
    const mv_lives *lives = f->runs[f->base].lives;
    size_pair *pairs = mv_push_array(arena, size_pair, lives->allocs.count);
    uint64_t count = 0;

    if (!pairs)
        return false;
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (!certain[i] && mv_size_is_exact(f->kind[i]) && i >= lives->allocs.preexisting &&
            !is_workspace(lives, i))
            pairs[count++] = pair_of(f, i);
    mv_sort_rows(arena, pairs, count, MV_RISING(size_pair, base), MV_RISING(size_pair, other));
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (!certain[i] && mv_size_is_exact(f->kind[i]) && is_workspace(lives, i) &&
            !has_pair(pairs, count, pair_of(f, i)))
            f->kind[i] = f->kind[i] == MV_SIZE_CONSTANT ? MV_SIZE_CEILING : MV_SIZE_UNCONFIRMED;
    return true;
}

mv_code mv_size_functions_find(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                               uint32_t base, mv_size_functions *out, mv_err *err)
{
    const mv_lives *lives = runs[base].lives;
    uint32_t rows = lives->allocs.count;
    uint8_t *certain = mv_push_array(arena, uint8_t, rows);

    *out = (mv_size_functions){.count = count,
                               .runs = runs,
                               .base = base,
                               .end = rows,
                               .partner = mv_push_array(arena, uint32_t *, count),
                               .kind = mv_push_array(arena, uint8_t, rows),
                               .is_square = mv_push_array(arena, uint8_t, rows)};
    if (!certain || !out->partner || !out->kind || !out->is_square)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end;
        if (i == base)
            continue;
        out->partner[i] = mv_push_array(arena, uint32_t, rows);
        if (!out->partner[i])
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
        end = mv_sizes_match(&runs[base], &runs[i], out->partner[i]);
        out->end = end < out->end ? end : out->end;
    }
    for (uint32_t i = 0; i < rows; i++) {
        bool is_certain;
        out->kind[i] = (uint8_t)kind_of(out, i, &is_certain);
        certain[i] = is_certain;
        if (i < lives->allocs.preexisting)
            out->kind[i] = MV_SIZE_CONSTANT; /* its bytes add up to the same in all: fit.c */
    }
    if (!doubt_workspaces(arena, out, certain))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; i < rows && !out->has_choices; i++)
        out->has_choices = (out->kind[i] == MV_SIZE_ODD || out->kind[i] == MV_SIZE_UNCONFIRMED) &&
                           is_choice(out, i);
    return MV_OK;
}

/* ---- other sizes ------------------------------------------------------------------------- */

static mv_size_bounds between(uint64_t a, uint64_t b)
{
    return a < b ? (mv_size_bounds){a, b} : (mv_size_bounds){b, a};
}

/* A workspace that grows more slowly than the input, as all do whose algorithm stays the same: at
 * least as large as at the next smaller size, at most on the line through the last two. */
static mv_size_bounds beyond(const uint64_t *n, const uint64_t *s, uint32_t count, uint64_t size)
{
    wide slope_top, slope_run;

    if (count == 0)
        return (mv_size_bounds){0, MV_MOST_REQUEST};
    if (size < n[0])
        return (mv_size_bounds){in_proportion(s[0], n[0], size, 1), s[0]};
    if (count == 1)
        return between(s[0], in_proportion(s[0], n[0], size, 1));
    slope_top = (wide)s[count - 1] - s[count - 2];
    slope_run = (wide)n[count - 1] - n[count - 2];
    return between(s[count - 1],
                   limited(s[count - 1] +
                           (slope_top * ((wide)size - n[count - 1]) + slope_run - 1) / slope_run));
}

static mv_size_bounds bounds_of(const mv_size_functions *f, uint32_t row, uint64_t size)
{
    uint64_t n[MV_MOST_FIT_RUNS] = {0}, s[MV_MOST_FIT_RUNS] = {0}, most = 0;
    uint32_t count = mv_size_known(f, row, n, s);

    if (f->has_choices || count == 1) {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t bytes = in_proportion(s[i], n[i], size > n[i] ? size : n[i], 1);
            most = bytes > most ? bytes : most;
        }
        return (mv_size_bounds){0, most};
    }
    for (uint32_t i = 0; i + 1 < count; i++)
        if (n[i] <= size && size <= n[i + 1])
            return between(s[i], s[i + 1]);
    return beyond(n, s, count, size);
}

mv_size_bounds mv_size_at(const mv_size_functions *f, uint32_t row, uint64_t size)
{
    uint64_t n[MV_MOST_FIT_RUNS] = {0}, s[MV_MOST_FIT_RUNS] = {0}, bytes;
    uint64_t recorded = f->runs[f->base].lives->allocs.requested[row];
    wide rise, run;
    uint32_t count;

    if (f->kind[row] == MV_SIZE_CONSTANT || size == f->runs[f->base].size)
        return (mv_size_bounds){recorded, recorded};
    if (f->kind[row] == MV_SIZE_CEILING) {
        count = mv_size_known(f, row, n, s);
        return count > 0 && size >= n[0] ? (mv_size_bounds){recorded, recorded}
                                         : beyond(n, s, count, size);
    }
    if (!mv_size_is_exact(f->kind[row]))
        return bounds_of(f, row, size);
    if (f->kind[row] == MV_SIZE_POWER) {
        bytes = in_proportion(recorded, f->runs[f->base].size, size, 1 + f->is_square[row]);
        return (mv_size_bounds){bytes, bytes};
    }
    count = mv_size_known(f, row, n, s);
    if (count < 2 || n[count - 1] == n[0]) /* a line has points */
        return (mv_size_bounds){recorded, recorded};
    rise = (wide)s[count - 1] - s[0];
    run = (wide)n[count - 1] - n[0];
    bytes = limited(s[0] + rise / run * ((wide)size - n[0]));
    return (mv_size_bounds){bytes, bytes};
}
