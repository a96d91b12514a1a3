#include "analyze/peak/own_parameters.h"

#include "analyze/code/stack_marks.h"
#include "base/map.h"

/* Blocks of one size. */
typedef struct {
    uint32_t candidates, parameters, gradients, states;
} size_counts;

typedef struct {
    const mv_alloc_lives *a;
    const uint16_t *marks, *by_rule;
    uint16_t *category;
    uint32_t set_up;     /* number of allocations before the first backward pass */
    uint32_t first_pass; /* number of allocations before the end of that pass */
    uint32_t second;     /* start of the second backward pass; MV_NEVER: there is none */
    mv_map rows;         /* row of each requested size */
    size_counts *of_size;
} own_search;

/* Finds the first two backward passes. Returns false if there is none. */
static bool find_passes(own_search *s, const mv_phases *phases)
{
    uint32_t first = 0, second;

    while (first < phases->count && phases->phase[first] != MV_PHASE_BACKWARD)
        first++;
    if (first == phases->count)
        return false;
    for (second = first + 1; second < phases->count;)
        if (phases->phase[second++] == MV_PHASE_BACKWARD) {
            s->second = phases->start[second - 1];
            break;
        }
    s->set_up = mv_first_born_from(s->a, phases->start[first]);
    s->first_pass = mv_first_born_from(s->a, mv_phases_end(phases, first));
    return true;
}

/* Whether the program allocated the block directly, and no rule says what it is. An input of the
 * first step does not outlive the second. */
static bool is_candidate(const own_search *s, uint32_t row)
{
    uint16_t category = s->category[row];
    uint32_t stack = s->a->stack[row].row;

    return (category == MV_CATEGORY_INPUT || category == MV_CATEGORY_UNKNOWN) &&
           s->a->freed[row] >= s->second && stack != MV_NO_ROW &&
           s->marks[stack] & MV_MARK_DIRECT && !(s->marks[stack] & MV_MARK_INPUT) &&
           !(s->by_rule && s->by_rule[stack] == category);
}

static void count_sizes(own_search *s)
{
    for (uint32_t i = 0; i < s->a->count; i++) {
        bool is_early = s->category[i] == MV_CATEGORY_GRADIENT && i < s->first_pass;
        bool is_own = i >= s->a->preexisting && i < s->set_up && is_candidate(s, i);
        bool is_state = s->category[i] == MV_CATEGORY_OPTIMIZER_STATE;
        bool is_known = s->category[i] == MV_CATEGORY_PARAMETER;
        uint32_t row;

        if (!is_early && !is_own && !is_state && !is_known)
            continue;
        row = mv_map_find(&s->rows, s->a->requested[i]);
        if (row == MV_NOT_IN_MAP)
            continue;
        s->of_size[row].gradients += is_early;
        s->of_size[row].candidates += is_own;
        s->of_size[row].states += is_state;
        s->of_size[row].parameters += is_known;
    }
}

/* Whether the counts show that all blocks of the size are parameters. */
static bool are_parameters(const size_counts *n)
{
    uint32_t blocks = n->candidates + n->parameters;

    return n->gradients == blocks || (n->states >= 2 * blocks && n->states % blocks == 0);
}

bool mv_own_parameters_mark(mv_arena *scratch, const mv_lives *lives, const uint16_t *marks,
                            const uint16_t *by_rule, mv_categories *categories)
{
    own_search s = {.a = &lives->allocs,
                    .marks = marks,
                    .by_rule = by_rule,
                    .category = categories->of_alloc,
                    .second = MV_NEVER,
                    .rows.arena = scratch};
    uint32_t sizes = 0;

    if (!find_passes(&s, &categories->phases))
        return true;
    for (uint32_t i = s.a->preexisting; i < s.set_up; i++)
        if (is_candidate(&s, i) && mv_map_find(&s.rows, s.a->requested[i]) == MV_NOT_IN_MAP &&
            !mv_map_put(&s.rows, s.a->requested[i], sizes++))
            return false;
    if (sizes == 0)
        return true;
    s.of_size = mv_push_array(scratch, size_counts, sizes);
    if (!s.of_size)
        return false;
    count_sizes(&s);
    for (uint32_t i = s.a->preexisting; i < s.set_up; i++)
        if (is_candidate(&s, i) &&
            are_parameters(&s.of_size[mv_map_find(&s.rows, s.a->requested[i])]))
            s.category[i] = MV_CATEGORY_PARAMETER;
    return true;
}
