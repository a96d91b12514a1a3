#include "analyze/fit/size_match.h"

#include <string.h>

#include "analyze/diff/pairs.h"

/* After a difference both go on together if this many pairs in a row have equal stacks, and all but
 * a few of them are alike: in three recorded models neighbors that are not alike, such as workspaces
 * and their semaphores, come in twos at most. */
#define RUN_LENGTH 8
#define MOST_ODD   2

/* As many allocations may be in one recording only: the longest such run that was seen has 14, for
 * the sort of an embedding's indices. */
#define MOST_SKIPPED 256

static mv_span base_name(mv_span path)
{
    for (uint64_t i = path.length; i-- > 0;)
        if (path.data[i] == '/' || path.data[i] == '\\')
            return (mv_span){path.data + i + 1, path.length - i - 1};
    return path;
}

static uint64_t code_of_stack(const mv_trace *trace, mv_stack_id stack)
{
    uint64_t hash = 1;
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = frames[i].row;
        hash = mv_pair_mix_text(hash, mv_string_span(trace, trace->frames.function[row]));
        hash = mv_pair_mix_text(hash, base_name(mv_string_span(trace, trace->frames.file[row])));
        hash = mv_pair_mix(hash, (uint64_t)trace->frames.line[row]);
    }
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

/* a / b == (x / y) ^ power, in integers. */
static bool is_power(uint64_t a, uint64_t b, uint64_t x, uint64_t y, int power)
{
    __extension__ typedef unsigned __int128 wide;
    wide left = a, right = b;

    for (int i = 0; i < power; i++) {
        left *= y;
        right *= x;
    }
    return left == right;
}

bool mv_sizes_are_alike(uint64_t size_a, uint64_t a, uint64_t size_b, uint64_t b)
{
    for (int power = 0; power <= 2; power++)
        if (is_power(a, b, size_a, size_b, power))
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

/* Whether both go on together from here; at the end of either a shorter run is enough, if all of it
 * is alike. */
static bool go_on(matcher *m, uint32_t i, uint32_t j)
{
    uint32_t odd = 0, done = 0;

    if (i > m->from_end || j > m->to_end || !m->left)
        return false;
    for (; done < RUN_LENGTH && i < m->from_end && j < m->to_end; done++, i++, j++) {
        m->left -= m->left > 0;
        if (!have_equal_code(m, i, j))
            return false;
        odd += !are_alike(m, i, j);
        if (odd > MOST_ODD || (done == 0 && odd))
            return false;
    }
    return done == RUN_LENGTH || (odd == 0 && done > 0) || (i == m->from_end && j == m->to_end);
}

/* How many rows of each to skip until both go on together; the same number of both first. */
static bool find_next(matcher *m, uint32_t i, uint32_t j, uint32_t *skip_from, uint32_t *skip_to)
{
    for (uint32_t most = 1; most <= MOST_SKIPPED && m->left; most++) {
        *skip_from = *skip_to = most;
        if (go_on(m, i + most, j + most))
            return true;
        for (uint32_t least = 0; least < most; least++) {
            *skip_from = least;
            *skip_to = most;
            if (go_on(m, i + least, j + most))
                return true;
            *skip_from = most;
            *skip_to = least;
            if (go_on(m, i + most, j + least))
                return true;
        }
    }
    return false;
}

uint32_t mv_sizes_match(const mv_sized_run *from, const mv_sized_run *to, uint32_t *partner)
{
    uint32_t i = from->lives->allocs.preexisting, j = to->lives->allocs.preexisting;
    matcher m = {.from = from,
                 .to = to,
                 .from_end = from->lives->allocs.count,
                 .to_end = to->lives->allocs.count};
    uint32_t skip_from, skip_to;

    m.left = ((uint64_t)1 << 24) + 64 * (uint64_t)m.from_end;
    for (uint32_t row = 0; row < m.from_end; row++)
        partner[row] = MV_NO_ROW;
    while (i < m.from_end && j < m.to_end) {
        if (are_alike(&m, i, j)) {
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
