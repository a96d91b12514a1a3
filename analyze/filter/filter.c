/* Reads a filter: splits it into words and converts the words to terms. */
#include "analyze/filter/filter.h"

#include <ctype.h>
#include <stdio.h>

#include "analyze/peak/category.h"
#include "base/numbers.h"
#include "base/size.h"
#include "base/utf8.h"

typedef struct {
    mv_arena *arena;
    const char *text;
    uint32_t at; /* next byte of the string to read */
    mv_filter *out;
    char *why;
} filter_reader;

static bool fail(filter_reader *r, uint32_t at, const char *what)
{
    uint32_t character = (uint32_t)mv_utf8_count(r->text, at) + 1;

    r->out->bad_at = at;
    snprintf(r->why, MV_FILTER_WHY, "at character %u: %s", character, what);
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_end(char c)
{
    return c == 0 || is_blank(c);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* ---- values ------------------------------------------------------------------------------ */

/* Takes the string between quotation marks, or the characters up to the next blank. */
static bool take_word(filter_reader *r, mv_span *word)
{
    uint32_t from = r->at;

    if (r->text[r->at] != '"') {
        while (!is_end(r->text[r->at]))
            r->at++;
        *word = (mv_span){(const uint8_t *)r->text + from, r->at - from};
        return true;
    }
    do
        r->at++;
    while (r->text[r->at] && r->text[r->at] != '"');
    if (r->text[r->at] == 0)
        return fail(r, from, "the text that begins here has no closing quotation mark");
    *word = (mv_span){(const uint8_t *)r->text + from + 1, r->at - from - 1};
    r->at++;
    if (!is_end(r->text[r->at]))
        return fail(r, r->at, "expected a blank after the quotation mark");
    return true;
}

/* Takes a word. It is converted to lower case for comparisons that ignore case, except for site:
 * and a quoted cat:. */
static bool take_text(filter_reader *r, mv_filter_term *term)
{
    uint32_t from = r->at;
    bool is_exact;
    mv_span word = {0};
    char *copy;

    if (!take_word(r, &word))
        return false;
    if (word.length == 0)
        return fail(r, from, "there is nothing between the quotation marks");
    copy = mv_arena_text(r->arena, (const char *)word.data, word.length);
    if (!copy)
        return fail(r, from, mv_code_text(MV_NOMEM));
    term->is_quoted = r->text[from] == '"';
    is_exact =
        term->kind == MV_FILTER_SITE || (term->kind == MV_FILTER_CATEGORY && term->is_quoted);
    for (uint64_t i = 0; i < word.length && !is_exact; i++)
        copy[i] = lower(copy[i]);
    term->text = copy;
    term->length = (uint32_t)word.length;
    return true;
}

/* Reads a number such as "3" or "0x7f12". *end is set to the first byte after the number. */
static bool read_number(const char *text, uint64_t *out, const char **end)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

    *end = is_hex ? text + 2 : text;
    *out = 0;
    return mv_number_take(end, is_hex ? 16 : 10, out) && !isxdigit((unsigned char)**end);
}

static bool read_whole(const char *text, uint64_t *out)
{
    const char *end;

    return read_number(text, out, &end) && *end == 0;
}

static bool read_pool(const char *text, uint64_t pool[2])
{
    const char *comma;

    return read_number(text, &pool[0], &comma) && *comma == ',' && read_whole(comma + 1, &pool[1]);
}

/* Reads "5,9-12": numbers and ranges, which must be in ascending order. */
static bool read_ranges(mv_arena *arena, mv_filter_term *term)
{
    const char *at = term->text;
    mv_filter_range *ranges = mv_push_array(arena, mv_filter_range, (uint64_t)term->length / 2 + 1);
    uint64_t above = 0;

    term->ranges = ranges;
    for (; ranges; at++) {
        mv_filter_range *range = &ranges[term->range_count++];
        if (!mv_number_take(&at, 10, &range->from) || range->from < above)
            return false;
        range->to = range->from;
        if (*at == '-' && (at++, !mv_number_take(&at, 10, &range->to) || range->to < range->from))
            return false;
        if (*at != ',' || range->to == UINT64_MAX)
            break;
        above = range->to + 1;
    }
    return ranges && *at == 0;
}

static bool is_category(const mv_filter_term *term)
{
    for (int i = 0; i < MV_CATEGORY_COUNT && !term->is_quoted; i++)
        if (strncmp(mv_category_name((mv_category)i), term->text, term->length) == 0)
            return true;
    return term->is_quoted;
}

/* ---- comparisons ------------------------------------------------------------------------- */

typedef enum { LESS = 1, MORE = 2, EQUAL = 4 } comparison;

static unsigned take_comparison(filter_reader *r)
{
    unsigned found = 0;

    if (r->text[r->at] == '<' || r->text[r->at] == '>')
        found = r->text[r->at++] == '<' ? LESS : MORE;
    if (r->text[r->at] == '=' || (!found && r->text[r->at] == ':')) {
        found |= EQUAL;
        r->at++;
    }
    return found;
}

static void set_range(mv_filter_term *term, unsigned how, uint64_t value)
{
    bool is_empty = (how == LESS && value == 0) || (how == MORE && value == UINT64_MAX);

    term->least = how & LESS ? 0 : how & EQUAL ? value : value + 1;
    term->most = how & MORE ? UINT64_MAX : how & EQUAL ? value : value - 1;
    if (is_empty) {
        term->least = 1;
        term->most = 0;
    }
}

/* ---- terms with a name ------------------------------------------------------------------- */

static const struct {
    const char *name;
    mv_filter_kind kind;
    bool is_compared;
    const char *expected;
} names[] = {
    {"size", MV_FILTER_SIZE, true, "expected bytes after size, such as size>64M"},
    {"life", MV_FILTER_LIFE, true, "expected a number of events after life, such as life<10"},
    {"stream", MV_FILTER_STREAM, false, "expected a number after stream, such as stream:0"},
    {"pool", MV_FILTER_POOL, false, "expected an id after pool, such as pool:1,0"},
    {"addr", MV_FILTER_ADDR, false, "expected an address after addr, such as addr:0x7f12000000"},
    {"cat", MV_FILTER_CATEGORY, false,
     "expected a category after cat: parameter, gradient, optimizer_state, activation, "
     "temporary, input, workspace, communication or unknown"},
    {"site", MV_FILTER_SITE, false, "expected a line of code after site, such as site:train.py:62"},
    {"stack", MV_FILTER_STACK, false,
     "expected the number of a stack after stack, such as stack:17"},
    {"leak", MV_FILTER_LEAK, false,
     "expected the number of a leak after leak, from 1, such as leak:1"},
    {"like", MV_FILTER_LIKE, false, "expected the number of a stack after like, such as like:17"},
    {"block", MV_FILTER_BLOCK, false,
     "expected rows of blocks in rising order after block, such as block:5,9-12"},
};
enum { NAMES = sizeof names / sizeof *names };

/* Returns the row of a name such as "size>" at the start of `text`, or NAMES. */
static int find_name(const char *text)
{
    int i = 0;

    for (; i < NAMES; i++) {
        size_t length = strlen(names[i].name);
        if (strncmp(text, names[i].name, length) == 0 && text[length] &&
            strchr("<>=:", text[length]))
            break;
    }
    return i;
}

static bool read_value(mv_arena *arena, mv_filter_term *term, unsigned how)
{
    uint64_t value = 0;
    bool is_read = false;

    term->is_unknown = (term->kind == MV_FILTER_STREAM || term->kind == MV_FILTER_POOL) &&
                       strcmp(term->text, "unknown") == 0;
    if (term->is_unknown)
        return true;
    switch (term->kind) {
    case MV_FILTER_SIZE:
        is_read = mv_size_parse(term->text, &value);
        break;
    case MV_FILTER_LIFE:
        value = UINT64_MAX;
        is_read = strcmp(term->text, "never") == 0 || read_whole(term->text, &value);
        break;
    case MV_FILTER_STREAM:
    case MV_FILTER_ADDR:
    case MV_FILTER_STACK:
    case MV_FILTER_LIKE:
        is_read = read_whole(term->text, &value);
        break;
    case MV_FILTER_LEAK:
        is_read = read_whole(term->text, &value) && value > 0;
        break;
    case MV_FILTER_POOL:
        return read_pool(term->text, term->pool);
    case MV_FILTER_BLOCK:
        return read_ranges(arena, term);
    case MV_FILTER_SITE:
        return true;
    default:
        return is_category(term);
    }
    set_range(term, how, value);
    return is_read;
}

static bool take_named(filter_reader *r, int name, mv_filter_term *term)
{
    uint32_t from = r->at;
    unsigned how;

    term->kind = (uint8_t)names[name].kind;
    r->at += (uint32_t)strlen(names[name].name);
    how = take_comparison(r);
    if (how != EQUAL && !names[name].is_compared)
        return fail(r, from, names[name].expected);
    if (is_end(r->text[r->at]))
        return fail(r, r->at, names[name].expected);
    from = r->at;
    return take_text(r, term) &&
           (read_value(r->arena, term, how) || fail(r, from, names[name].expected));
}

/* ---- regular expressions ----------------------------------------------------------------- */

/* Finds the closing '/', which must come before a blank or the end and must not follow a '\'. */
static bool find_slash(const filter_reader *r, uint32_t *end)
{
    for (*end = r->at + 1; r->text[*end]; (*end)++) {
        if (r->text[*end] == '\\' && r->text[*end + 1])
            (*end)++;
        else if (r->text[*end] == '/' && is_end(r->text[*end + 1]))
            return true;
    }
    return false;
}

static bool take_regex(filter_reader *r, mv_filter_term *term)
{
    uint32_t from = r->at, end, length = 0;
    char *pattern;
    const char *why;

    if (!find_slash(r, &end))
        return fail(r, from,
                    "the regular expression that begins here has no closing '/'; a path "
                    "is put between quotation marks");
    pattern = mv_push_array(r->arena, char, end - from);
    if (!pattern)
        return fail(r, from, mv_code_text(MV_NOMEM));
    for (uint32_t i = from + 1; i < end; i++)
        if (r->text[i] != '\\' || r->text[i + 1] != '/')
            pattern[length++] = r->text[i];
        else
            pattern[length++] = r->text[++i];
    term->regex = mv_pattern_read(r->arena, (mv_span){(const uint8_t *)pattern, length}, &why);
    if (!term->regex)
        return fail(r, from, why);
    r->at = end + 1;
    term->kind = MV_FILTER_REGEX;
    return true;
}

/* ---- whole filters ----------------------------------------------------------------------- */

static bool is_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    return strncmp(text, word, length) == 0 && is_end(text[length]);
}

static bool take_single(filter_reader *r, mv_filter_term *term)
{
    static const struct {
        const char *word;
        mv_filter_kind kind;
    } singles[] = {{"leak", MV_FILTER_LEAK},
                   {"nostack", MV_FILTER_NO_STACK},
                   {"nopython", MV_FILTER_NO_PYTHON}};

    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
        if (is_word(r->text + r->at, singles[i].word)) {
            term->kind = (uint8_t)singles[i].kind;
            set_range(term, MORE, 0);
            r->at += (uint32_t)strlen(singles[i].word);
            return true;
        }
    return false;
}

static bool take_term(filter_reader *r, mv_filter_term *term)
{
    const char *text;
    int name;

    term->is_negated = r->text[r->at] == '-';
    r->at += term->is_negated;
    text = r->text + r->at;
    if (is_end(*text))
        return fail(r, r->at - 1, "expected a term after the '-', without a blank");
    name = find_name(text);
    if (name < NAMES)
        return take_named(r, name, term);
    if (*text == '/')
        return take_regex(r, term);
    if (take_single(r, term))
        return true;
    term->kind = MV_FILTER_TEXT;
    return take_text(r, term);
}

static void note_needs(mv_filter *filter, const mv_filter_term *term)
{
    filter->has_stacks |= mv_filter_is_on_stacks(term);
    filter->has_leaks |= term->kind == MV_FILTER_LEAK;
    filter->has_categories |= term->kind == MV_FILTER_CATEGORY;
    filter->has_blocks |= term->kind == MV_FILTER_BLOCK;
}

bool mv_filter_read(mv_arena *arena, const char *text, mv_filter *out, char why[MV_FILTER_WHY])
{
    filter_reader r = {.arena = arena, .text = text, .out = out, .why = why};
    bool is_good = true;

    *out = (mv_filter){.terms = mv_push_array(arena, mv_filter_term, MV_FILTER_MOST_TERMS)};
    if (strlen(text) >= UINT32_MAX || !out->terms)
        return fail(&r, 0, mv_code_text(MV_NOMEM));
    while (is_good) {
        while (is_blank(text[r.at]))
            r.at++;
        if (text[r.at] == 0)
            return true;
        if (out->count == MV_FILTER_MOST_TERMS)
            is_good = fail(&r, r.at, "more than 64 terms");
        else
            is_good = take_term(&r, &out->terms[out->count]);
        if (is_good)
            note_needs(out, &out->terms[out->count++]);
    }
    out->count = 0;
    return false;
}
