#include "analyze/fit/size_match.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyze/diff/pairs.h"
#include "analyze/fit/sum_rule.h"

/* After a difference, the recordings agree again if this many consecutive pairs have equal stacks
 * and all but MOST_ODD of them are alike. In three recorded models, at most two neighbouring pairs
 * are not alike, such as workspaces and their semaphores. */
#define RUN_LENGTH 8
#define MOST_ODD   2

/* Maximum number of consecutive allocations that only one recording has. The longest observed run
 * has 14 allocations and comes from sorting the indices of an embedding. */
#define MOST_SKIPPED 256

#define MOST_SPARE ((uint64_t)1 << 24)

const char *mv_input_text(char out[MV_INPUT_TEXT], mv_input size)
{
    if (size.length == 1)
        snprintf(out, MV_INPUT_TEXT, "%" PRIu64, size.batch);
    else
        snprintf(out, MV_INPUT_TEXT, "%" PRIu64 "x%" PRIu64, size.batch, size.length);
    return out;
}

static uint64_t code_of_stack(const mv_trace *trace, mv_stack_id stack)
{
    uint64_t hash = 1;
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (uint32_t i = 0; i < count; i++)
        hash = mv_pair_mix_frame(hash, trace, frames[i]);
    return hash;
}

uint64_t *mv_size_codes(mv_arena *arena, const mv_trace *trace, const mv_lives *lives)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint64_t *of_stack = mv_push_array(arena, uint64_t, (uint64_t)trace->stacks.count + 1);
    uint64_t *codes = mv_push_array(arena, uint64_t, a->count);

    for (uint32_t i = 0; of_stack && i < trace->stacks.count; i++)
        of_stack[i] = code_of_stack(trace, (mv_stack_id){i});
    for (uint32_t i = 0; of_stack && codes && i < a->count; i++) {
        uint32_t stack = a->stack[i].row, stream;
        codes[i] = stack < trace->stacks.count ? of_stack[stack] : 1;
        if (a->birth[i] == MV_BEFORE)
            continue;
        stream = lives->events.stream[a->birth[i]].row;
        codes[i] += stream < trace->streams.count && trace->streams.value[stream] != 0;
    }
    return of_stack ? codes : NULL;
}

static uint64_t find_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void reduce(uint64_t *a, uint64_t *b)
{
    uint64_t divisor = find_divisor(*a, *b);

    *a /= divisor ? divisor : 1;
    *b /= divisor ? divisor : 1;
}

/* Multiplies the fraction top / bottom by y / x. Returns false if the result does not fit into 64
 * bits. A fraction that ends at 1 is never larger than the remaining ratios, so this cannot happen
 * to it. */
static bool scale(uint64_t *top, uint64_t *bottom, uint64_t y, uint64_t x)
{
    reduce(&x, &y);
    reduce(top, &x);
    reduce(bottom, &y);
    return !__builtin_mul_overflow(*top, y, top) && !__builtin_mul_overflow(*bottom, x, bottom);
}

bool mv_sizes_have_power(const mv_input size[2], const uint64_t bytes[2], int batch, int length)
{
    double left = (double)bytes[0], right = (double)bytes[1];
    uint64_t top = bytes[0], bottom = bytes[1];

    for (int i = 0; i < batch; i++) {
        left *= (double)size[1].batch;
        right *= (double)size[0].batch;
    }
    for (int i = 0; i < length; i++) {
        left *= (double)size[1].length;
        right *= (double)size[0].length;
    }
    if (left > right * (1 + 1e-9) || right > left * (1 + 1e-9)) /* a quick test that rejects most
                                                                 * pairs */
        return false;
    reduce(&top, &bottom);
    for (int i = 0; i < batch; i++)
        if (!scale(&top, &bottom, size[1].batch, size[0].batch))
            return false;
    for (int i = 0; i < length; i++)
        if (!scale(&top, &bottom, size[1].length, size[0].length))
            return false;
    return top == bottom;
}

bool mv_sizes_are_alike(mv_input size_a, uint64_t a, mv_input size_b, uint64_t b)
{
    const mv_input size[2] = {size_a, size_b};
    const uint64_t bytes[2] = {a, b};
    int most_batch = size_a.batch == size_b.batch ? 0 : MV_MOST_SIZE_POWER;
    int most_length = size_a.length == size_b.length ? 0 : MV_MOST_SIZE_POWER;

    for (int i = 0; i <= most_batch; i++)
        for (int k = 0; k <= most_length; k++)
            if (mv_sizes_have_power(size, bytes, i, k))
                return true;
    return false;
}

typedef struct {
    const mv_sized_run *from, *to;
    uint32_t from_end, to_end;
    uint64_t left; /* comparisons */
} matcher;

static bool have_equal_code(const matcher *m, uint32_t i, uint32_t j)
{
    return m->from->code[i] == m->to->code[j];
}

static bool are_alike(const matcher *m, uint32_t i, uint32_t j)
{
    return have_equal_code(m, i, j) &&
           mv_sizes_are_alike(m->from->size, m->from->lives->allocs.requested[i], m->to->size,
                              m->to->lives->allocs.requested[j]);
}

/* Skips the buffer and the semaphores of a sum if only one recording has them. Returns whether both
 * recordings have them. */
static bool skip_buffer(const matcher *m, uint32_t *i, uint32_t *j)
{
    bool from = mv_is_sum_buffer(&m->from->lives->allocs, *i, m->from_end);
    bool to = mv_is_sum_buffer(&m->to->lives->allocs, *j, m->to_end);

    *i += from && !to ? 2 : 0;
    *j += to && !from ? 2 : 0;
    return from && to;
}

/* Whether the recordings agree, starting at rows `i` and `j`. If either recording ends soon, fewer
 * pairs are enough, provided that the same fraction of them is alike. */
static bool agree_from(matcher *m, uint32_t i, uint32_t j)
{
    uint32_t odd = 0, done = 0;

    if (i > m->from_end || j > m->to_end || !m->left)
        return false;
    for (; done < RUN_LENGTH && i < m->from_end && j < m->to_end; done++, i++, j++) {
        bool is_buffer = skip_buffer(m, &i, &j);
        m->left -= m->left > 0;
        if (i == m->from_end || j == m->to_end)
            break;
        if (!have_equal_code(m, i, j))
            return false;
        odd += !is_buffer && !are_alike(m, i, j);
        if (odd > MOST_ODD || (done == 0 && odd))
            return false;
    }
    return (done > 0 && odd * RUN_LENGTH <= done * MOST_ODD) ||
           (i == m->from_end && j == m->to_end);
}

/* Finds how many rows of each recording to skip until the recordings agree again. Equal numbers are
 * tried first. */
static bool find_next(matcher *m, uint32_t i, uint32_t j, uint32_t *skip_from, uint32_t *skip_to)
{
    for (uint32_t most = 1; most <= MOST_SKIPPED && m->left; most++) {
        *skip_from = *skip_to = most;
        if (agree_from(m, i + most, j + most))
            return true;
        for (uint32_t least = 0; least < most; least++) {
            *skip_from = least;
            *skip_to = most;
            if (agree_from(m, i + least, j + most))
                return true;
            *skip_from = most;
            *skip_to = least;
            if (agree_from(m, i + most, j + least))
                return true;
        }
    }
    return false;
}

uint32_t mv_sizes_match(const mv_sized_run *from, const mv_sized_run *to, uint32_t *partner)
{
    uint32_t i = from->first, j = to->first, skip_from, skip_to;
    uint64_t rows = from->end - from->first, spare = rows * 4096;
    matcher m = {.from = from, .to = to, .from_end = from->end, .to_end = to->end};

    m.left = 64 * rows + (spare < MOST_SPARE ? spare : MOST_SPARE);
    for (uint32_t row = i; row < m.from_end; row++)
        partner[row] = MV_NO_ROW;
    while (i < m.from_end && j < m.to_end) {
        bool is_buffer = skip_buffer(&m, &i, &j);
        if (i == m.from_end || j == m.to_end)
            break;
        if (are_alike(&m, i, j) || (is_buffer && have_equal_code(&m, i, j))) {
            partner[i++] = j++;
            continue;
        }
        if (!find_next(&m, i, j, &skip_from, &skip_to))
            return i;
        for (uint32_t k = 0; skip_from == skip_to && k < skip_from; k++)
            if (have_equal_code(&m, i + k, j + k))
                partner[i + k] = j + k;
        i += skip_from;
        j += skip_to;
    }
    return i;
}
