#include "analyze/diff/stack_match.h"

#include "analyze/diff/pairs.h"

/* Which frames a round compares. A group's innermost frame is the innermost frame of user or
 * package code; the culprit is the innermost frame of user code. */
typedef enum {
    EVERY_LINE,        /* all frames, by line */
    INNERMOST_LINE,    /* innermost frame by line, and its callers by function */
    CULPRIT_LINE,      /* innermost frame and culprit by line, for stacks whose callers changed */
    EVERY_FUNCTION,    /* all frames by function */
    INNERMOST_FUNCTION /* innermost frame by function */
} stack_trait;

typedef struct {
    const mv_trace *trace[2];
    const mv_sites *sites[2];
    const mv_frame_match *frames;
    mv_frame_kind *most[2];  /* [groups] least specific kind of frame that represents the group;
                              * vaguer frames are skipped */
    mv_stack_id *stack[2];   /* [groups] one stack of each group */
    mv_pairs groups, single; /* rounds over groups, and over single sites */
} stack_matcher;

/* ---- keys -------------------------------------------------------------------------------- */

/* The frames of one stack that are compared, innermost first. */
typedef struct {
    const mv_frame_id *frames;
    const uint8_t *kinds;
    uint32_t count, at;
    mv_frame_kind most;
} frame_walk;

static frame_walk walk_over(const stack_matcher *m, int s, mv_stack_id stack, mv_frame_kind most)
{
    frame_walk walk = {.kinds = m->sites[s]->kinds, .most = most};

    walk.frames = mv_stack_frames(m->trace[s], stack, &walk.count);
    return walk;
}

static bool walk_next(frame_walk *walk, uint32_t *frame)
{
    while (walk->at < walk->count) {
        *frame = walk->frames[walk->at++].row;
        if (walk->kinds[*frame] <= walk->most)
            return true;
    }
    return false;
}

static uint64_t hash_frames(const stack_matcher *m, int s, frame_walk walk, stack_trait trait)
{
    const uint32_t *line = m->frames->line[s], *function = m->frames->function[s];
    bool has_culprit = false, innermost = true;
    uint64_t hash = (uint64_t)trait + 1;
    uint32_t frame;

    for (; walk_next(&walk, &frame); innermost = false) {
        bool culprit = !has_culprit && walk.kinds[frame] == MV_FRAME_USER;
        bool by_line = trait == EVERY_LINE || (trait == INNERMOST_LINE && innermost) ||
                       (trait == CULPRIT_LINE && (innermost || culprit));
        has_culprit = has_culprit || culprit;
        if (by_line)
            hash = mv_pair_mix(hash, 2 * (uint64_t)line[frame]);
        else if (trait == INNERMOST_LINE || trait == EVERY_FUNCTION ||
                 (trait == INNERMOST_FUNCTION && innermost))
            hash = mv_pair_mix(hash, 2 * (uint64_t)function[frame] + 1);
    }
    return hash;
}

/* ---- groups ------------------------------------------------------------------------------ */

static bool walk_is_empty(frame_walk walk)
{
    uint32_t frame;

    return !walk_next(&walk, &frame);
}

/* Finds the groups as in analyze/code/sites.h. A group is defined by its user and package frames
 * or, without these, by framework frames, then by specific native frames, then by all frames. */
static bool find_groups(mv_arena *scratch, stack_matcher *m, int s)
{
    const mv_sites *sites = m->sites[s];

    m->most[s] = mv_push_array(scratch, mv_frame_kind, sites->groups);
    m->stack[s] = mv_push_array(scratch, mv_stack_id, sites->groups);
    if (!m->most[s] || !m->stack[s])
        return false;
    for (uint32_t i = sites->count; i-- > 0;) {
        mv_frame_kind most = MV_FRAME_PACKAGE;
        if (walk_is_empty(walk_over(m, s, sites->stack[i], most)))
            most = MV_FRAME_FRAMEWORK;
        if (walk_is_empty(walk_over(m, s, sites->stack[i], most)))
            most = MV_FRAME_INFORMATIVE;
        if (walk_is_empty(walk_over(m, s, sites->stack[i], most)))
            most = MV_FRAME_NOISE;
        m->most[s][sites->group[i]] = most;
        m->stack[s][sites->group[i]] = sites->stack[i];
    }
    return true;
}

/* Returns the key of a stack without frames. An empty stack matches only an empty stack, and a
 * missing stack only a missing stack. */
static uint64_t empty_key(mv_stack_id stack)
{
    return stack.row == MV_NO_STACK.row ? 1 : 2;
}

static void group_round(stack_matcher *m, stack_trait trait)
{
    for (int s = 0; s < 2; s++)
        for (uint32_t g = 0; g < m->sites[s]->groups; g++) {
            mv_frame_kind most = m->most[s][g];
            frame_walk walk = walk_over(m, s, m->stack[s][g], most);
            uint64_t key = mv_pair_mix(most > MV_FRAME_FRAMEWORK, hash_frames(m, s, walk, trait));
            if (walk_is_empty(walk))
                key = empty_key(m->stack[s][g]);
            /* user lines without a partner were added or removed, so they have no key */
            else if (trait >= EVERY_FUNCTION && most <= MV_FRAME_PACKAGE)
                key = MV_NO_KEY;
            m->groups.key[s][g] = key;
        }
    mv_pairs_round(&m->groups, MV_PAIR_ANY);
}

/* Matches native stacks by the frame that gives them their label: the node of a backward pass, or
 * the operator. */
static void group_round_by_label(stack_matcher *m)
{
    for (int s = 0; s < 2; s++)
        for (uint32_t g = 0; g < m->sites[s]->groups; g++) {
            mv_frame_id frame = mv_culprit_frame(m->trace[s], m->sites[s]->kinds, m->stack[s][g]);
            bool is_native = m->most[s][g] > MV_FRAME_FRAMEWORK && frame.row != MV_NO_ROW;
            m->groups.key[s][g] =
                is_native ? (uint64_t)m->frames->function[s][frame.row] + 1 : MV_NO_KEY;
        }
    mv_pairs_round(&m->groups, MV_PAIR_ANY);
}

static void match_groups(stack_matcher *m)
{
    group_round(m, EVERY_LINE);
    group_round(m, INNERMOST_LINE);
    group_round(m, CULPRIT_LINE);
    group_round(m, EVERY_FUNCTION);
    group_round_by_label(m);
}

/* ---- sites ------------------------------------------------------------------------------- */

/* Returns the number that a group and its partner share, or 0. */
static uint64_t shared_group(const stack_matcher *m, int s, uint32_t group)
{
    uint32_t partner = m->groups.partner[s][group];

    if (partner == MV_NO_PARTNER)
        return 0;
    return (uint64_t)(s == 0 ? group : partner) + 1;
}

static void site_round(stack_matcher *m, stack_trait trait, mv_pair_rule rule)
{
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < m->sites[s]->count; i++) {
            uint32_t group = m->sites[s]->group[i];
            uint64_t shared = shared_group(m, s, group);
            mv_frame_kind most =
                m->sites[s]->depth[i] == UINT32_MAX ? MV_FRAME_NOISE : MV_FRAME_FRAMEWORK;
            frame_walk walk = walk_over(m, s, m->sites[s]->stack[i], most);
            m->single.key[s][i] =
                shared ? mv_pair_key(mv_pair_mix(shared, hash_frames(m, s, walk, trait)))
                       : MV_NO_KEY;
        }
    mv_pairs_round(&m->single, rule);
}

/* Matches the last site of a group on one side with the last site on the other side. */
static void match_last_sites(stack_matcher *m)
{
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < m->sites[s]->count; i++)
            m->single.key[s][i] = shared_group(m, s, m->sites[s]->group[i]);
    mv_pairs_round(&m->single, MV_PAIR_LONE);
}

static void match_sites(stack_matcher *m)
{
    site_round(m, EVERY_LINE, MV_PAIR_ANY);
    site_round(m, EVERY_FUNCTION, MV_PAIR_ANY);
    site_round(m, INNERMOST_FUNCTION, MV_PAIR_EVEN);
    match_last_sites(m);
}

/* ---- all rounds -------------------------------------------------------------------------- */

static bool keep(mv_arena *arena, const mv_pairs *pairs, uint32_t *out[2])
{
    for (int s = 0; s < 2; s++) {
        out[s] = mv_push_array(arena, uint32_t, pairs->count[s]);
        if (!out[s])
            return false;
        memcpy(out[s], pairs->partner[s], pairs->count[s] * sizeof *out[s]);
    }
    return true;
}

static bool match_all(mv_arena *arena, mv_arena *scratch, stack_matcher *m, mv_stack_match *out)
{
    for (int s = 0; s < 2; s++)
        if (!find_groups(scratch, m, s))
            return false;
    if (!mv_pairs_init(&m->groups, scratch, m->sites[0]->groups, m->sites[1]->groups) ||
        !mv_pairs_init(&m->single, scratch, m->sites[0]->count, m->sites[1]->count))
        return false;
    match_groups(m);
    match_sites(m);
    return keep(arena, &m->groups, out->group) && keep(arena, &m->single, out->site);
}

mv_code mv_stacks_match(mv_arena *arena, const mv_trace *const trace[2],
                        const mv_sites *const sites[2], mv_stack_match *out, mv_err *err)
{
    mv_frame_sides frames = {{trace[0], trace[1]}, {sites[0]->kinds, sites[1]->kinds}};
    stack_matcher m = {
        .trace = {trace[0], trace[1]}, .sites = {sites[0], sites[1]}, .frames = &out->frames};
    mv_code code = mv_frames_match(arena, &frames, &out->frames, err);
    mv_arena scratch;
    bool matched;

    if (code != MV_OK)
        return code;
    mv_arena_init(&scratch, arena->budget);
    matched = match_all(arena, &scratch, &m, out);
    mv_arena_release(&scratch);
    return matched ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "matching stacks");
}
