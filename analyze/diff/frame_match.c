#include "analyze/diff/frame_match.h"

#include "analyze/diff/line_pairs.h"
#include "analyze/diff/pairs.h"
#include "base/sort.h"

/* Maximum number of components at the end of paths that are compared. After that, only base names
 * are compared. */
#define MOST_COMPONENTS 4

typedef struct {
    mv_arena *scratch;
    mv_code_side side[2];
    mv_pairs files, functions;
    uint32_t *partner[2]; /* [lines] row of the matching line on the other side, or MV_NO_PARTNER */
} frame_matcher;

/* ---- files ------------------------------------------------------------------------------- */

static bool is_slash(uint8_t c)
{
    return c == '/' || c == '\\';
}

/* Returns a key for the last `components` components of a path, or no key if the path is shorter.
 * Both kinds of slash separate components. */
static uint64_t suffix_key(mv_span path, uint32_t components)
{
    uint64_t at = path.length, hash = components;
    uint32_t slashes = 0;

    for (; at > 0; at--)
        if (is_slash(path.data[at - 1]) && ++slashes == components)
            break;
    if (slashes + 1 < components)
        return MV_NO_KEY;
    for (uint64_t i = at; i < path.length; i++)
        hash = mv_pair_mix(hash, is_slash(path.data[i]) ? '/' : path.data[i]);
    return mv_pair_key(hash);
}

static void key_files(frame_matcher *m, uint32_t components)
{
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < m->side[s].files; i++)
            m->files.key[s][i] =
                components
                    ? suffix_key(mv_string_span(m->side[s].trace, m->side[s].file[i]), components)
                    : m->side[s].file_text[i] + 1u;
}

static void match_files(frame_matcher *m)
{
    key_files(m, 0);
    mv_pairs_round(&m->files, MV_PAIR_LONE);
    for (uint32_t components = MOST_COMPONENTS; components > 0; components--) {
        key_files(m, components);
        mv_pairs_round(&m->files, MV_PAIR_LONE);
    }
    mv_pairs_round(&m->files, MV_PAIR_EVEN);
    /* Renamed files still have the same functions. */
    for (int s = 0; s < 2; s++) {
        mv_code_side *side = &m->side[s];
        for (uint32_t i = 0; i < side->files; i++)
            m->files.key[s][i] = 0;
        for (uint32_t f = 0; f < side->functions; f++)
            m->files.key[s][side->of_file[f]] += mv_pair_mix(1, side->name_hash[f]);
    }
    mv_pairs_round(&m->files, MV_PAIR_LONE);
}

/* ---- functions --------------------------------------------------------------------------- */

typedef enum { BY_NAME, BY_FILE, BY_BOTH } function_trait;

/* Returns the number that a file and its partner share. */
static uint64_t shared_file(const frame_matcher *m, int s, uint32_t file)
{
    uint32_t partner = m->files.partner[s][file];

    if (partner == MV_NO_PARTNER)
        return (uint64_t)file << 2 | (uint64_t)s << 1 | 1;
    return (uint64_t)(s == 0 ? file : partner) << 2;
}

/* Computes keys for moved or renamed functions, with the callees instead of the file or the
 * name. */
static void key_functions(frame_matcher *m, function_trait trait)
{
    for (int s = 0; s < 2; s++) {
        const mv_code_side *side = &m->side[s];
        for (uint32_t f = 0; f < side->functions; f++) {
            uint64_t key = trait;
            if (trait != BY_NAME)
                key = mv_pair_mix(key, shared_file(m, s, side->of_file[f]));
            if (trait != BY_FILE)
                key = mv_pair_mix(key, side->name_hash[f]);
            if (trait != BY_BOTH) {
                key = mv_pair_mix(key, side->calls[f]);
                key = mv_pair_mix(key, side->first_line[f + 1] - side->first_line[f]);
            }
            m->functions.key[s][f] = mv_pair_key(key);
        }
    }
}

static void match_functions(frame_matcher *m)
{
    static const function_trait rounds[] = {BY_BOTH, BY_NAME, BY_FILE};

    for (unsigned i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        key_functions(m, rounds[i]);
        mv_pairs_round(&m->functions, MV_PAIR_LONE);
    }
}

/* ---- lines ------------------------------------------------------------------------------- */

/* A pair of functions, sorted in the order of the code. */
typedef struct {
    uint64_t file;
    int64_t line; /* the smaller of the two first lines, which does not depend on the order of
                   * the sides */
    uint64_t name;
    uint32_t before, after;
} function_pair;

static uint32_t gather_pairs(const frame_matcher *m, function_pair *out)
{
    uint32_t count = 0;

    for (uint32_t f = 0; f < m->side[0].functions; f++) {
        uint32_t g = m->functions.partner[0][f];
        if (g == MV_NO_PARTNER)
            continue;
        int64_t a = m->side[0].line[m->side[0].first_line[f]];
        int64_t b = m->side[1].line[m->side[1].first_line[g]];
        out[count++] = (function_pair){shared_file(m, 0, m->side[0].of_file[f]), a < b ? a : b,
                                       m->side[0].name_hash[f] + m->side[1].name_hash[g], f, g};
    }
    mv_sort_rows(m->scratch, out, count, MV_RISING(function_pair, file),
                 MV_RISING(function_pair, line), MV_RISING(function_pair, name));
    return count;
}

static mv_function_lines lines_of(const frame_matcher *m, int s, uint32_t function)
{
    const mv_code_side *side = &m->side[s];
    uint32_t first = side->first_line[function];

    return (mv_function_lines){side->first_line[function + 1] - first, side->line + first,
                               side->line_calls + first, m->partner[s] + first};
}

static void make_absolute(const frame_matcher *m, int s, uint32_t function, uint32_t other)
{
    const mv_code_side *side = &m->side[s];

    for (uint32_t i = side->first_line[function]; i < side->first_line[function + 1]; i++)
        if (m->partner[s][i] != MV_NO_PARTNER)
            m->partner[s][i] += m->side[1 - s].first_line[other];
}

static bool match_lines(frame_matcher *m)
{
    function_pair *pairs = mv_push_array(m->scratch, function_pair, m->side[0].functions);
    uint32_t count;
    int64_t shift = 0;

    if (!pairs)
        return false;
    for (int s = 0; s < 2; s++) {
        m->partner[s] = mv_push_array(m->scratch, uint32_t, m->side[s].lines);
        if (!m->partner[s])
            return false;
        for (uint32_t i = 0; i < m->side[s].lines; i++)
            m->partner[s][i] = MV_NO_PARTNER;
    }
    count = gather_pairs(m, pairs);
    for (uint32_t i = 0; i < count; i++) {
        mv_function_lines before = lines_of(m, 0, pairs[i].before);
        mv_function_lines after = lines_of(m, 1, pairs[i].after);
        if (i == 0 || pairs[i].file != pairs[i - 1].file)
            shift = 0;
        if (!mv_lines_pair(m->scratch, &before, &after, &shift))
            return false;
        make_absolute(m, 0, pairs[i].before, pairs[i].after);
        make_absolute(m, 1, pairs[i].after, pairs[i].before);
    }
    return true;
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* Numbers the rows of the first side, then those of the second; partners have the same number. */
static bool number_rows(mv_arena *scratch, uint32_t *const partner[2], const uint32_t count[2],
                        uint32_t *number[2], uint32_t *numbers)
{
    *numbers = 0;
    for (int s = 0; s < 2; s++) {
        number[s] = mv_push_array(scratch, uint32_t, count[s]);
        if (!number[s])
            return false;
    }
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < count[s]; i++)
            number[s][i] =
                s == 1 && partner[1][i] != MV_NO_PARTNER ? number[0][partner[1][i]] : (*numbers)++;
    return true;
}

static bool number_frames(mv_arena *arena, const frame_matcher *m, mv_frame_match *out)
{
    uint32_t *line[2], *function[2];
    uint32_t lines[2] = {m->side[0].lines, m->side[1].lines};

    if (!number_rows(m->scratch, m->partner, lines, line, &out->lines) ||
        !number_rows(m->scratch, m->functions.partner, m->functions.count, function,
                     &out->functions))
        return false;
    for (int s = 0; s < 2; s++) {
        const mv_code_side *side = &m->side[s];
        uint32_t count = side->trace->frames.count;
        out->line[s] = mv_push_array(arena, uint32_t, count);
        out->function[s] = mv_push_array(arena, uint32_t, count);
        if (!out->line[s] || !out->function[s])
            return false;
        for (uint32_t i = 0; i < count; i++) {
            out->line[s][i] = line[s][side->line_of[i]];
            out->function[s][i] = function[s][side->function_of[i]];
        }
    }
    return true;
}

static bool match_all(mv_arena *arena, mv_arena *scratch, const mv_frame_sides *sides,
                      mv_frame_match *out)
{
    frame_matcher m = {.scratch = scratch};
    uint32_t *text[2];

    if (!mv_code_texts(scratch, sides->trace, text))
        return false;
    for (int s = 0; s < 2; s++)
        if (!mv_code_side_find(scratch, sides->trace[s], sides->kinds[s], text[s], &m.side[s]))
            return false;
    if (!mv_pairs_init(&m.files, scratch, m.side[0].files, m.side[1].files) ||
        !mv_pairs_init(&m.functions, scratch, m.side[0].functions, m.side[1].functions))
        return false;
    match_files(&m);
    match_functions(&m);
    return match_lines(&m) && number_frames(arena, &m, out);
}

mv_code mv_frames_match(mv_arena *arena, const mv_frame_sides *sides, mv_frame_match *out,
                        mv_err *err)
{
    mv_arena scratch;
    bool matched;

    *out = (mv_frame_match){0};
    mv_arena_init(&scratch, arena->budget);
    matched = match_all(arena, &scratch, sides, out);
    mv_arena_release(&scratch);
    return matched ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "matching stacks");
}
