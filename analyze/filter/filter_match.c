/* Matches terms against frames, then stacks, then allocations. */
#include <stdio.h>

#include "analyze/code/sites.h"
#include "analyze/filter/filter.h"
#include "analyze/filter/site_words.h"
#include "analyze/peak/category.h"
#include "base/search.h"

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "filter");
}

/* ---- frames ------------------------------------------------------------------------------ */

/* The text of a frame, unchanged and in lower case. */
typedef struct {
    char *text;  /* [MV_FILTER_MOST_FRAME + 1] */
    char *lower; /* the same size */
    size_t length;
} frame_text;

static void append(frame_text *f, mv_span part)
{
    size_t room = MV_FILTER_MOST_FRAME - f->length;
    size_t length = part.length < room ? (size_t)part.length : room;

    for (size_t i = 0; i < length; i++) {
        char c = part.data[i] ? (char)part.data[i] : ' ';
        f->text[f->length + i] = c;
        f->lower[f->length + i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    f->length += length;
}

static void append_text(frame_text *f, const char *text)
{
    append(f, (mv_span){(const uint8_t *)text, strlen(text)});
}

static void write_frame(const mv_trace *trace, uint32_t frame, frame_text *f)
{
    mv_string_id file = trace->frames.file[frame];
    char line[24];

    f->length = 0;
    if (file.row != MV_NO_ROW) {
        append(f, mv_string_span(trace, file));
        append_text(f, ":");
    }
    if (trace->frames.line[frame] != MV_NO_LINE) {
        snprintf(line, sizeof line, "%lld:", (long long)trace->frames.line[frame]);
        append_text(f, line);
    }
    append(f, mv_string_span(trace, trace->frames.function[frame]));
    f->text[f->length] = f->lower[f->length] = 0;
}

static bool frame_has(const frame_text *f, const mv_filter_term *term)
{
    if (term->kind == MV_FILTER_TEXT)
        return memmem(f->lower, f->length, term->text, term->length) != NULL;
    return mv_pattern_is_in(term->regex, (mv_span){(const uint8_t *)f->text, f->length});
}

/* Whether the term must match at least one frame of a stack. */
static bool is_on_frames(const mv_filter_term *term)
{
    return term->kind == MV_FILTER_TEXT || term->kind == MV_FILTER_REGEX;
}

/* Returns a set of bits for each frame, with one bit for each term that the frame matches. Returns
 * NULL when out of memory. */
static uint64_t *match_frames(mv_arena *arena, const mv_trace *trace, const mv_filter *filter)
{
    uint64_t *found = mv_push_array(arena, uint64_t, trace->frames.count);
    frame_text f = {.text = mv_push_array(arena, char, MV_FILTER_MOST_FRAME + 1),
                    .lower = mv_push_array(arena, char, MV_FILTER_MOST_FRAME + 1)};

    if (!found || !f.text || !f.lower)
        return NULL;
    for (uint32_t i = 0; i < trace->frames.count; i++) {
        write_frame(trace, i, &f);
        for (uint32_t t = 0; t < filter->count; t++)
            if (is_on_frames(&filter->terms[t]) && frame_has(&f, &filter->terms[t]))
                found[i] |= UINT64_C(1) << t;
    }
    return found;
}

static bool is_within(const mv_filter_term *term, uint64_t value)
{
    return term->least <= value && value <= term->most;
}

/* ---- stacks ------------------------------------------------------------------------------ */

typedef struct {
    const mv_trace *trace;
    const mv_filter *filter;
    const uint8_t *kinds;     /* kind of each frame; NULL: no term needs the kinds */
    const mv_sites *sites;    /* sites of the trace; NULL: no term needs the sites */
    const uint64_t *of_frame; /* terms that each frame matches, as bits; NULL: no term needs them */
} stack_matcher;

static bool is_site(const stack_matcher *m, mv_stack_id stack, const mv_filter_term *term)
{
    mv_frame_id frame = mv_culprit_frame(m->trace, m->kinds, stack);

    return frame.row != MV_NO_ROW &&
           mv_site_is(m->trace, frame, (mv_span){(const uint8_t *)term->text, term->length});
}

static bool is_like(const stack_matcher *m, mv_stack_id stack, const mv_filter_term *term)
{
    const mv_sites *s = m->sites;

    return term->least < s->stacks &&
           s->group[s->of_stack[term->least]] == s->group[mv_site_of(s, stack)];
}

static bool stack_is(const stack_matcher *m, mv_stack_id stack, const mv_filter_term *term)
{
    bool has_stack = stack.row < m->trace->stacks.count;

    switch (term->kind) {
    case MV_FILTER_SITE:
        return has_stack && is_site(m, stack, term);
    case MV_FILTER_STACK:
        return has_stack && is_within(term, stack.row);
    case MV_FILTER_LIKE:
        return has_stack && is_like(m, stack, term);
    case MV_FILTER_NO_STACK:
        return !has_stack;
    default: /* MV_FILTER_NO_PYTHON */
        return stack.row == MV_EMPTY_STACK.row;
    }
}

static uint64_t terms_of_stack(const stack_matcher *m, uint32_t stack)
{
    uint64_t found = 0;
    uint32_t count = 0;
    const mv_frame_id *frames = NULL;

    if (m->of_frame)
        frames = mv_stack_frames(m->trace, (mv_stack_id){stack}, &count);
    for (uint32_t i = 0; i < count; i++)
        found |= m->of_frame[frames[i].row];
    for (uint32_t t = 0; t < m->filter->count; t++) {
        const mv_filter_term *term = &m->filter->terms[t];
        if (mv_filter_is_on_stacks(term) && !is_on_frames(term) &&
            stack_is(m, (mv_stack_id){stack}, term))
            found |= UINT64_C(1) << t;
    }
    return found;
}

/* Finds the trace's sites. Returns NULL when out of memory. */
static const mv_sites *find_sites(mv_arena *scratch, const mv_trace *trace)
{
    mv_sites *sites = mv_push_struct(scratch, mv_sites);
    mv_err err;

    return sites && mv_sites_find(scratch, trace, sites, &err) == MV_OK ? sites : NULL;
}

/* Computes the tables that the terms need. Returns false when out of memory. */
static bool open_stacks(mv_arena *scratch, stack_matcher *m)
{
    bool has_frames = false, has_sites = false, has_groups = false;

    for (uint32_t t = 0; t < m->filter->count; t++) {
        has_frames |= is_on_frames(&m->filter->terms[t]);
        has_sites |= m->filter->terms[t].kind == MV_FILTER_SITE;
        has_groups |= m->filter->terms[t].kind == MV_FILTER_LIKE;
    }
    if (has_groups && !(m->sites = find_sites(scratch, m->trace)))
        return false;
    if (has_frames)
        m->of_frame = match_frames(scratch, m->trace, m->filter);
    if (has_sites)
        m->kinds = mv_frame_kinds(scratch, m->trace);
    return (m->of_frame || !has_frames) && (m->kinds || !has_sites);
}

mv_code mv_filter_stacks(mv_arena *arena, const mv_trace *trace, const mv_filter *filter,
                         mv_filter_bits *out, mv_err *err)
{
    stack_matcher m = {.trace = trace, .filter = filter};
    uint64_t asked = 0, negated = 0;
    mv_arena scratch;
    bool is_open;

    if (!mv_filter_bits_init(arena, trace->stacks.count + 1, out))
        return no_memory(err);
    for (uint32_t t = 0; t < filter->count; t++)
        if (mv_filter_is_on_stacks(&filter->terms[t])) {
            asked |= UINT64_C(1) << t;
            negated |= (uint64_t)filter->terms[t].is_negated << t;
        }
    mv_arena_init(&scratch, arena->budget);
    is_open = open_stacks(&scratch, &m);
    for (uint32_t i = 0; is_open && i <= trace->stacks.count; i++)
        if (((asked ? terms_of_stack(&m, i) : 0) ^ negated) == asked)
            mv_filter_bits_add(out, i);
    mv_arena_release(&scratch);
    return is_open ? MV_OK : no_memory(err);
}

/* ---- allocations and segments ------------------------------------------------------------ */

/* The columns of allocations or segments that terms compare. */
typedef struct {
    uint64_t addr, bytes, life, stream;
    bool has_stream;
    mv_pool_id pool;
    uint32_t leak; /* row of the leak + 1; 0: none */
    uint32_t category;
    uint32_t row;
} row_facts;

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_filter *filter;
    mv_arena scratch;
    mv_filter_bits stacks;
    const uint32_t *leak_of;  /* mv_leaks.leak_of; NULL: no term needs the leaks, or there are no
                               * leaks */
    mv_categories categories; /* categories; their name is NULL if no term needs them */
} filter_matcher;

static bool is_of_category(const filter_matcher *m, uint32_t category, const mv_filter_term *term)
{
    return m->categories.name &&
           strncmp(m->categories.name[category], term->text, term->length) == 0 &&
           (!term->is_quoted || !m->categories.name[category][term->length]);
}

static bool has_row(const mv_filter_term *term, uint32_t row)
{
    mv_bisect b = mv_bisect_over(0, term->range_count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, term->ranges[b.middle].to < row);
    return b.low < term->range_count && term->ranges[b.low].from <= row;
}

static bool is_in_pool(const mv_trace *trace, mv_pool_id pool, const uint64_t id[2])
{
    return pool.row < trace->pools.count && trace->pools.a[pool.row] == id[0] &&
           trace->pools.b[pool.row] == id[1];
}

static bool holds(const filter_matcher *m, const mv_filter_term *term, const row_facts *row)
{
    switch (term->kind) {
    case MV_FILTER_SIZE:
        return is_within(term, row->bytes);
    case MV_FILTER_LIFE:
        return is_within(term, row->life);
    case MV_FILTER_STREAM:
        return term->is_unknown ? !row->has_stream
                                : row->has_stream && is_within(term, row->stream);
    case MV_FILTER_POOL:
        return term->is_unknown ? row->pool.row >= m->trace->pools.count
                                : is_in_pool(m->trace, row->pool, term->pool);
    case MV_FILTER_ADDR:
        return term->least >= row->addr && term->least - row->addr < row->bytes;
    case MV_FILTER_LEAK:
        return row->leak > 0 && is_within(term, row->leak);
    case MV_FILTER_CATEGORY:
        return is_of_category(m, row->category, term);
    case MV_FILTER_BLOCK:
        return has_row(term, row->row);
    default:
        return true; /* terms that depend on stacks were matched before */
    }
}

static bool matches(const filter_matcher *m, mv_stack_id stack, const row_facts *row)
{
    uint32_t stacks = m->trace->stacks.count;

    if (!mv_filter_has(&m->stacks, stack.row < stacks ? stack.row : stacks))
        return false;
    for (uint32_t t = 0; t < m->filter->count; t++) {
        const mv_filter_term *term = &m->filter->terms[t];
        if (!mv_filter_is_on_stacks(term) && holds(m, term, row) == term->is_negated)
            return false;
    }
    return true;
}

/* Returns the number of events from birth to end, or the highest number if the block never ends. */
static uint64_t life_of(uint32_t birth, uint32_t end)
{
    if (end == MV_NEVER)
        return UINT64_MAX;
    return birth == MV_BEFORE ? end : end - birth;
}

static void set_stream(const filter_matcher *m, mv_stream_id stream, row_facts *row)
{
    row->has_stream = stream.row < m->trace->streams.count;
    row->stream = row->has_stream ? m->trace->streams.value[stream.row] : 0;
}

static row_facts alloc_facts(const filter_matcher *m, uint32_t i)
{
    const mv_alloc_lives *a = &m->lives->allocs;
    row_facts row = {.addr = a->addr[i],
                     .bytes = a->block[i],
                     .life = life_of(a->birth[i], a->freed[i]),
                     .pool = mv_alloc_pool(m->lives, i),
                     .leak = m->leak_of ? m->leak_of[i] : 0,
                     .category = m->categories.of_alloc ? m->categories.of_alloc[i] : 0,
                     .row = i};

    set_stream(m, mv_alloc_stream(m->lives, i), &row);
    return row;
}

static row_facts segment_facts(const filter_matcher *m, uint32_t i)
{
    const mv_segment_lives *s = &m->lives->segments;
    row_facts row = {.addr = s->addr[i],
                     .bytes = s->size[i],
                     .life = life_of(s->birth[i], s->death[i]),
                     .pool = s->pool[i]};

    set_stream(m, s->stream[i], &row);
    return row;
}

static mv_code prepare(filter_matcher *m, const mv_leaks *leaks, mv_err *err)
{
    mv_leaks found;
    uint8_t *kinds;
    mv_code code = mv_filter_stacks(&m->scratch, m->trace, m->filter, &m->stacks, err);

    if (code == MV_OK && m->filter->has_leaks && !leaks) {
        code = mv_leaks_find(&m->scratch, m->trace, m->lives, &found, err);
        leaks = &found;
    }
    if (code == MV_OK && m->filter->has_leaks)
        m->leak_of = leaks->leak_of;
    if (code != MV_OK || !m->filter->has_categories)
        return code;
    kinds = mv_frame_kinds(&m->scratch, m->trace);
    if (!kinds)
        return no_memory(err);
    return mv_categories_find(&m->scratch, m->trace, m->lives, kinds, NULL, &m->categories, err);
}

mv_code mv_filter_allocs(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_leaks *leaks, const mv_filter *filter, mv_filter_bits *out,
                         mv_err *err)
{
    filter_matcher m = {.trace = trace, .lives = lives, .filter = filter};
    mv_code code;

    if (!mv_filter_bits_init(arena, lives->allocs.count, out))
        return no_memory(err);
    mv_arena_init(&m.scratch, arena->budget);
    code = prepare(&m, leaks, err);
    for (uint32_t i = 0; code == MV_OK && i < lives->allocs.count; i++) {
        row_facts row = alloc_facts(&m, i);
        if (matches(&m, lives->allocs.stack[i], &row))
            mv_filter_bits_add(out, i);
    }
    mv_arena_release(&m.scratch);
    return code;
}

mv_code mv_filter_segments(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const mv_filter *filter, mv_filter_bits *out, mv_err *err)
{
    filter_matcher m = {.trace = trace, .lives = lives, .filter = filter};
    mv_code code;

    if (!mv_filter_bits_init(arena, lives->segments.count, out))
        return no_memory(err);
    if (filter->has_leaks || filter->has_categories || filter->has_blocks)
        return MV_OK;
    mv_arena_init(&m.scratch, arena->budget);
    code = mv_filter_stacks(&m.scratch, trace, filter, &m.stacks, err);
    for (uint32_t i = 0; code == MV_OK && i < lives->segments.count; i++) {
        row_facts row = segment_facts(&m, i);
        if (matches(&m, lives->segments.stack[i], &row))
            mv_filter_bits_add(out, i);
    }
    mv_arena_release(&m.scratch);
    return code;
}
