#include "analyze/code/pattern.h"

#include <ctype.h>

#include "base/utf8.h"

/* An expression is compiled to a program of small steps. Some steps consume a character; others
 * lead to further steps without consuming one. Distances between steps are relative, so that parts
 * of a program can be copied and moved. All paths are followed at the same time, so each step is
 * visited at most once per character. */
typedef enum {
    TAKE_ONE, /* takes the character `value` */
    TAKE_ANY,
    TAKE_SET,
    GO,    /* continues at `next` */
    SPLIT, /* continues both at `next` and at `other` */
    AT_BEGIN,
    AT_END,
    AT_WORD_EDGE,
    AT_NO_EDGE,
    AT_WORD_BEGIN,
    AT_WORD_END,
    FOUND
} step_kind;

typedef struct {
    uint8_t kind;        /* step_kind */
    int16_t next, other; /* distances */
    uint32_t value;      /* TAKE_ONE: the character to take; TAKE_SET: the row of the set */
} step;

/* A set of characters: the ranges [first_range, first_range + ranges), or everything outside these
 * ranges. */
typedef struct {
    uint16_t first_range, ranges;
    bool is_negated;
} set;

typedef struct {
    uint32_t first, last;
} range;

struct mv_pattern {
    uint32_t count;
    const step *steps; /* [count] steps, of which the last is FOUND */
    const set *sets;
    const range *ranges;
    bool can_skip;     /* every match begins with one of `begins` */
    bool begins[0x80]; /* for each ASCII character, whether a match may begin with it; a match
                        * may begin with any character above ASCII */
};

/* The value of an invalid UTF-8 byte. */
#define BAD_BYTE  0x110000u
#define NO_LETTER UINT32_MAX

enum { MOST_RANGES = 2000, MOST_SETS = MV_PATTERN_MOST_BYTES };

/* ---- reading ----------------------------------------------------------------------------- */

typedef struct {
    mv_span text;
    uint64_t at;
    uint32_t depth;
    const char *why;
    uint32_t count, set_count, range_count;
    step steps[MV_PATTERN_MOST_PARTS + 1];
    set sets[MOST_SETS];
    range ranges[MOST_RANGES];
} reader;

static const char too_much[] =
    "the regular expression is too complex, or contains a back-reference";

static bool fail(reader *r, const char *why)
{
    r->why = why;
    return false;
}

static int peek(const reader *r)
{
    return r->at < r->text.length ? r->text.data[r->at] : -1;
}

static bool skip(reader *r, char c)
{
    bool is_there = peek(r) == c;

    r->at += is_there;
    return is_there;
}

static uint32_t letter_at(mv_span text, uint64_t *at)
{
    uint8_t byte = text.data[*at];
    uint32_t code = mv_utf8_next(text, at);

    return code == MV_UTF8_BAD ? BAD_BYTE + byte : code;
}

static bool has_room(reader *r, uint64_t steps)
{
    return r->count + steps <= MV_PATTERN_MOST_PARTS || fail(r, too_much);
}

static bool emit(reader *r, step s)
{
    if (!has_room(r, 1))
        return false;
    r->steps[r->count++] = s;
    return true;
}

static bool insert(reader *r, uint32_t at, step s)
{
    if (!has_room(r, 1))
        return false;
    memmove(&r->steps[at + 1], &r->steps[at], (r->count - at) * sizeof *r->steps);
    r->steps[at] = s;
    r->count++;
    return true;
}

static bool add_range(reader *r, uint32_t first, uint32_t last)
{
    if (r->range_count == MOST_RANGES)
        return fail(r, too_much);
    r->ranges[r->range_count++] = (range){first, last};
    r->sets[r->set_count].ranges++;
    return true;
}

static const struct {
    char name[8];
    range ranges[4];
} classes[] = {
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
    {"blank", {{' ', ' '}, {'\t', '\t'}}},
    {"cntrl", {{1, 31}, {127, 127}}},
    {"digit", {{'0', '9'}}},
    {"graph", {{33, 126}}},
    {"lower", {{'a', 'z'}}},
    {"print", {{32, 126}}},
    {"punct", {{33, 47}, {58, 64}, {91, 96}, {123, 126}}},
    {"space", {{' ', ' '}, {'\t', '\r'}}},
    {"upper", {{'A', 'Z'}}},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
    {"word", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}}}, /* not a POSIX class, only used for
                                                                 * \w */
};
enum { CLASSES = sizeof classes / sizeof *classes, WORD = CLASSES - 1, SPACE = 9 };

static bool add_class(reader *r, uint32_t row)
{
    for (uint32_t i = 0; i < 4 && classes[row].ranges[i].first; i++)
        if (!add_range(r, classes[row].ranges[i].first, classes[row].ranges[i].last))
            return false;
    return true;
}

static bool begin_set(reader *r, bool is_negated)
{
    if (r->set_count == MOST_SETS)
        return fail(r, too_much);
    r->sets[r->set_count] = (set){(uint16_t)r->range_count, 0, is_negated};
    return true;
}

static bool end_set(reader *r)
{
    return emit(r, (step){.kind = TAKE_SET, .value = r->set_count++});
}

static bool read_class(reader *r)
{
    uint64_t from = r->at;

    while (peek(r) >= 'a' && peek(r) <= 'z')
        r->at++;
    for (uint32_t i = 0; i < WORD; i++)
        if (r->at - from == strlen(classes[i].name) &&
            memcmp(r->text.data + from, classes[i].name, r->at - from) == 0)
            return (skip(r, ':') && skip(r, ']') && add_class(r, i)) ||
                   fail(r, "a character class has no ':]'");
    return fail(r, "unknown character class");
}

/* Reads a character in a bracket expression: a, [.a.] or [=a=]. */
static bool read_member(reader *r, uint32_t *out)
{
    char sign = 0;

    if (skip(r, '[')) {
        if (peek(r) == '.' || peek(r) == '=')
            sign = (char)r->text.data[r->at++];
        else
            r->at--;
    }
    if (peek(r) < 0)
        return fail(r, "a '[' has no ']'");
    *out = letter_at(r->text, &r->at);
    return sign == 0 || (skip(r, sign) && skip(r, ']')) || fail(r, "unknown character name");
}

/* Reads a bracket expression after its '['. */
static bool read_set(reader *r)
{
    uint32_t first, last;
    bool is_first = true;

    if (!begin_set(r, skip(r, '^')))
        return false;
    for (; is_first || peek(r) != ']'; is_first = false) {
        if (peek(r) == '[' && r->at + 1 < r->text.length && r->text.data[r->at + 1] == ':') {
            r->at += 2;
            if (!read_class(r))
                return false;
            continue;
        }
        if (!read_member(r, &first))
            return false;
        last = first;
        if (peek(r) == '-' && r->at + 1 < r->text.length && r->text.data[r->at + 1] != ']') {
            r->at++;
            if (!read_member(r, &last))
                return false;
        }
        if (last < first)
            return fail(r, "a character range ends before it begins");
        if (!add_range(r, first, last))
            return false;
    }
    r->at++;
    return end_set(r);
}

/* Reads an escape after its '\'. */
static bool read_escape(reader *r)
{
    static const char edges[] = "bB<>";
    int c = peek(r);
    const char *edge = c > 0 ? strchr(edges, c) : NULL;

    if (c < 0)
        return fail(r, "the regular expression ends in '\\'");
    if (isdigit(c))
        return fail(r, too_much);
    if (c == 'w' || c == 'W' || c == 's' || c == 'S') {
        r->at++;
        return begin_set(r, isupper(c)) && add_class(r, tolower(c) == 'w' ? WORD : SPACE) &&
               end_set(r);
    }
    if (edge) {
        r->at++;
        return emit(r, (step){.kind = (uint8_t)(AT_WORD_EDGE + (edge - edges))});
    }
    return emit(r, (step){.kind = TAKE_ONE, .value = letter_at(r->text, &r->at)});
}

static bool read_choice(reader *r);

static bool read_atom(reader *r)
{
    int c = peek(r);

    if (c == '*' || c == '+' || c == '?' || c == '{')
        return fail(r, "nothing to repeat");
    if (skip(r, '('))
        return read_choice(r) && (skip(r, ')') || fail(r, "a '(' has no ')'"));
    if (skip(r, '['))
        return read_set(r);
    if (skip(r, '\\'))
        return read_escape(r);
    if (skip(r, '.'))
        return emit(r, (step){.kind = TAKE_ANY});
    if (skip(r, '^'))
        return emit(r, (step){.kind = AT_BEGIN});
    if (skip(r, '$'))
        return emit(r, (step){.kind = AT_END});
    return emit(r, (step){.kind = TAKE_ONE, .value = letter_at(r->text, &r->at)});
}

static void copy(reader *r, uint32_t from, uint32_t length)
{
    memcpy(&r->steps[r->count], &r->steps[from], length * sizeof *r->steps);
    r->count += length;
}

static bool make_optional(reader *r, uint32_t from)
{
    int length = (int)(r->count - from);

    return insert(r, from, (step){.kind = SPLIT, .next = 1, .other = (int16_t)(length + 1)});
}

static bool make_repeated(reader *r, uint32_t from)
{
    int length = (int)(r->count - from);

    return emit(r, (step){.kind = SPLIT, .next = (int16_t)-length, .other = 1});
}

#define NO_END UINT32_MAX

/* Repeats the steps that begin at `from` at least `least` and at most `most` times. */
static bool repeat(reader *r, uint32_t from, uint32_t least, uint32_t most)
{
    uint32_t length = r->count - from, further = most == NO_END ? 0 : most - least;

    if (most == 0) {
        r->count = from;
        return true;
    }
    if (!has_room(r, (uint64_t)least * length + (uint64_t)further * (length + 1)))
        return false;
    for (uint32_t i = 1; i < least; i++)
        copy(r, from, length);
    if (most == NO_END) /* the last copy loops; if there are no copies, all of it is optional */
        return make_repeated(r, r->count - length) && (least || make_optional(r, from));
    if (least == 0) {
        make_optional(r, from);
        for (uint32_t i = 1; i < further; i++)
            copy(r, from, length + 1);
        return true;
    }
    for (uint32_t i = 0; i < further; i++) {
        copy(r, from, length);
        make_optional(r, r->count - length);
    }
    return true;
}

static bool take_number(reader *r, uint32_t *out)
{
    bool is_there = false;

    for (*out = 0; isdigit(peek(r)); r->at++, is_there = true)
        if (*out < UINT16_MAX)
            *out = *out * 10 + (uint32_t)(peek(r) - '0');
    return is_there;
}

/* Reads a repetition after its '{': 3} or 3,} or 3,5} or ,5} */
static bool read_times(reader *r, uint32_t *least, uint32_t *most)
{
    bool has_least = take_number(r, least), has_most = has_least;

    *most = *least;
    if (skip(r, ',')) {
        has_most = take_number(r, most);
        if (!has_most)
            *most = NO_END;
    }
    return (skip(r, '}') && (has_least || has_most) && *least <= *most) ||
           fail(r, "a '{' has no valid repeat count");
}

static bool read_piece(reader *r)
{
    uint32_t from = r->count, least, most;

    if (!read_atom(r))
        return false;
    for (;;) {
        if (skip(r, '*'))
            least = 0, most = NO_END;
        else if (skip(r, '+'))
            least = 1, most = NO_END;
        else if (skip(r, '?'))
            least = 0, most = 1;
        else if (!skip(r, '{'))
            return true;
        else if (!read_times(r, &least, &most))
            return false;
        if (!repeat(r, from, least, most))
            return false;
    }
}

static bool read_branch(reader *r)
{
    while (peek(r) >= 0 && peek(r) != '|' && (peek(r) != ')' || r->depth == 1))
        if (!read_piece(r))
            return false;
    return true;
}

/* Reads alternatives separated by '|', up to the end or a ')'. */
static bool read_choice(reader *r)
{
    uint32_t from = r->count, go;

    if (r->depth++ > MV_PATTERN_MOST_DEPTH)
        return fail(r, too_much);
    if (!read_branch(r))
        return false;
    while (skip(r, '|')) {
        int length = (int)(r->count - from);
        if (!insert(r, from, (step){.kind = SPLIT, .next = 1, .other = (int16_t)(length + 2)}))
            return false;
        go = r->count;
        if (!emit(r, (step){.kind = GO}) || !read_branch(r))
            return false;
        r->steps[go].next = (int16_t)(r->count - go);
    }
    r->depth--;
    return true;
}

/* ---- beginnings of matches --------------------------------------------------------------- */

static bool is_in_set(const mv_pattern *p, uint32_t row, uint32_t letter)
{
    const set *s = &p->sets[row];
    bool is_in = false;

    for (uint32_t i = s->first_range; i < s->first_range + s->ranges && !is_in; i++)
        is_in = p->ranges[i].first <= letter && letter <= p->ranges[i].last;
    return is_in != s->is_negated;
}

static bool takes(const mv_pattern *p, const step *s, uint32_t letter)
{
    switch ((step_kind)s->kind) {
    case TAKE_ONE:
        return s->value == letter;
    case TAKE_ANY:
        return true;
    case TAKE_SET:
        return is_in_set(p, s->value, letter);
    default:
        return false;
    }
}

/* ---- matching ---------------------------------------------------------------------------- */

/* The steps that can take the next character. */
typedef struct {
    uint32_t count;
    uint16_t step[MV_PATTERN_MOST_PARTS + 1];
} steps_now;

typedef struct {
    const mv_pattern *p;
    uint32_t before, after; /* characters before and after the position; NO_LETTER: none */
    uint32_t turn;
    uint32_t seen[MV_PATTERN_MOST_PARTS + 1]; /* last round in which each step was visited */
    uint16_t open[MV_PATTERN_MOST_PARTS + 2];
    steps_now lists[2];
} matching;

static bool is_word(uint32_t letter)
{
    return letter < 0x80 && (isalnum((int)letter) || letter == '_');
}

static bool holds(const matching *m, step_kind kind)
{
    bool before = is_word(m->before), after = is_word(m->after);

    switch (kind) {
    case AT_BEGIN:
        return m->before == NO_LETTER;
    case AT_END:
        return m->after == NO_LETTER;
    case AT_WORD_EDGE:
        return before != after;
    case AT_NO_EDGE:
        return before == after;
    case AT_WORD_BEGIN:
        return !before && after;
    default:
        return before && !after;
    }
}

/* Adds a step to `open`, in order. A step is added at most once per round. */
static void visit(matching *m, uint32_t row, uint32_t *open)
{
    if (m->seen[row] == m->turn)
        return;
    m->seen[row] = m->turn;
    m->open[(*open)++] = (uint16_t)row;
}

/* Follows a step to all steps that take a character. Returns true if the end of the expression was
 * reached. */
static bool follow(matching *m, uint32_t row, steps_now *list)
{
    uint32_t open = 0;

    visit(m, row, &open);
    while (open > 0) {
        const step *s;
        row = m->open[--open];
        s = &m->p->steps[row];
        switch ((step_kind)s->kind) {
        case FOUND:
            return true;
        case SPLIT:
            visit(m, (uint32_t)((int)row + s->other), &open);
            visit(m, (uint32_t)((int)row + s->next), &open);
            break;
        case GO:
            visit(m, (uint32_t)((int)row + s->next), &open);
            break;
        case TAKE_ONE:
        case TAKE_ANY:
        case TAKE_SET:
            list->step[list->count++] = (uint16_t)row;
            break;
        default:
            if (holds(m, (step_kind)s->kind))
                visit(m, row + 1, &open);
        }
    }
    return false;
}

static void start(matching *m, const mv_pattern *p)
{
    m->p = p;
    m->turn = 1;
    m->lists[0].count = m->lists[1].count = 0;
    memset(m->seen, 0, p->count * sizeof *m->seen);
}

/* Returns the next character. Before a match has begun, skips all characters with which no match
 * can begin. */
static uint32_t next_letter(const mv_pattern *p, mv_span text, uint64_t *at, bool may_skip)
{
    if (may_skip && p->can_skip)
        while (*at < text.length && text.data[*at] < 0x80 && !p->begins[text.data[*at]])
            ++*at;
    return *at < text.length ? letter_at(text, at) : NO_LETTER;
}

bool mv_pattern_is_in(const mv_pattern *p, mv_span text)
{
    matching m;
    steps_now *now = &m.lists[0], *then = &m.lists[1], *other;
    bool has_begun = false;
    uint64_t at = 0;

    start(&m, p);
    m.before = NO_LETTER;
    m.after = next_letter(p, text, &at, true);
    if (follow(&m, 0, now))
        return true;
    while (m.after != NO_LETTER) {
        m.before = m.after;
        m.turn++;
        then->count = 0;
        has_begun = false;
        for (uint32_t i = 0; i < now->count && !has_begun; i++)
            has_begun = takes(p, &p->steps[now->step[i]], m.before);
        m.after = next_letter(p, text, &at, !has_begun);
        for (uint32_t i = 0; i < now->count && has_begun; i++)
            if (takes(p, &p->steps[now->step[i]], m.before) && follow(&m, now->step[i] + 1u, then))
                return true;
        if (follow(&m, 0, then))
            return true;
        other = now, now = then, then = other;
    }
    return false;
}

/* ---- compiling --------------------------------------------------------------------------- */

/* Finds the characters with which a match can begin. Patterns with edges cannot skip characters,
 * because edges depend on the characters before a position. */
static void find_begins(mv_pattern *p)
{
    matching m;

    start(&m, p);
    p->can_skip = true;
    for (uint32_t i = 0; i < p->count; i++)
        p->can_skip &= p->steps[i].kind < AT_BEGIN || p->steps[i].kind == FOUND;
    m.before = m.after = NO_LETTER;
    p->can_skip &= !follow(&m, 0, &m.lists[0]);
    for (uint32_t c = 0; c < 0x80; c++)
        for (uint32_t i = 0; i < m.lists[0].count && !p->begins[c]; i++)
            p->begins[c] = takes(p, &p->steps[m.lists[0].step[i]], c);
}

static const mv_pattern *finish(mv_arena *arena, const reader *r)
{
    mv_pattern *p = mv_push_struct(arena, mv_pattern);
    step *steps = mv_push_array(arena, step, r->count);
    set *sets = mv_push_array(arena, set, r->set_count);
    range *ranges = mv_push_array(arena, range, r->range_count);

    if (!p || !steps || !sets || !ranges)
        return NULL;
    memcpy(steps, r->steps, r->count * sizeof *steps);
    memcpy(sets, r->sets, r->set_count * sizeof *sets);
    memcpy(ranges, r->ranges, r->range_count * sizeof *ranges);
    *p = (mv_pattern){.count = r->count, .steps = steps, .sets = sets, .ranges = ranges};
    find_begins(p);
    return p;
}

const mv_pattern *mv_pattern_read(mv_arena *arena, mv_span text, const char **why)
{
    reader r;

    r.text = text;
    r.at = r.depth = r.count = r.set_count = r.range_count = 0;
    *why = "memory limit reached";
    if (text.length == 0)
        *why = "the regular expression is empty";
    else if (text.length > MV_PATTERN_MOST_BYTES)
        *why = "the regular expression is longer than 1000 bytes";
    else if (!read_choice(&r))
        *why = r.why;
    else {
        r.steps[r.count++] = (step){.kind = FOUND};
        return finish(arena, &r);
    }
    return NULL;
}
