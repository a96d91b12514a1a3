#include "tests/fuzz/markup_check.h"

#include <stdio.h>

#include "base/utf8.h"

enum { MOST_DEPTH = 32, MOST_ATTRIBUTES = 24, NAME = 24 };

typedef struct {
    mv_span name, value;
} attribute;

typedef struct {
    mv_span text;
    uint64_t at;
    bool is_page;
    const char *why;
    uint32_t depth;
    mv_span open[MOST_DEPTH];
    char *names;
    size_t used;
    /* the last tag that was read */
    mv_span tag;
    uint32_t attribute_count;
    attribute attributes[MOST_ATTRIBUTES];
    bool (*check_tag)(const mv_span *tag, const attribute *attributes, uint32_t count);
} reader;

static bool wrong(reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return false;
}

static bool is(mv_span a, const char *word)
{
    return a.length == strlen(word) && memcmp(a.data, word, a.length) == 0;
}

static bool begins(const reader *r, const char *words)
{
    size_t length = strlen(words);

    return r->text.length - r->at >= length && memcmp(r->text.data + r->at, words, length) == 0;
}

static uint8_t now(const reader *r)
{
    return r->at < r->text.length ? r->text.data[r->at] : 0;
}

/* Moves past the next `words`. Returns false if they do not occur. */
static bool pass(reader *r, const char *words)
{
    const uint8_t *found =
        memmem(r->text.data + r->at, r->text.length - r->at, words, strlen(words));

    if (!found)
        return false;
    r->at = (uint64_t)(found - r->text.data) + strlen(words);
    return true;
}

static bool is_allowed(uint32_t code, bool is_page)
{
    if (code == '\t' || code == '\n' || code == '\r')
        return true;
    if (is_page && code >= 0x7f && code < 0xa0)
        return false;
    return code >= 0x20 && !(code >= 0xd800 && code < 0xe000) && code != 0xfffe && code != 0xffff &&
           code <= 0x10ffff;
}

static bool check_characters(reader *r)
{
    for (r->at = 0; r->at < r->text.length;) {
        uint64_t next = r->at;
        uint32_t code = mv_utf8_next(r->text, &next);
        if (code == MV_UTF8_BAD)
            return wrong(r, "not UTF-8");
        if (!is_allowed(code, r->is_page))
            return wrong(r, "a character that must not be there");
        r->at = next;
    }
    r->at = 0;
    return true;
}

/* At '&'. */
static bool read_reference(reader *r)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&apos;"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (begins(r, known[i])) {
            r->at += strlen(known[i]);
            return true;
        }
    return wrong(r, "'&' begins no reference that memviz writes");
}

static bool read_text(reader *r)
{
    while (r->at < r->text.length && now(r) != '<') {
        if (now(r) == '&' && !read_reference(r))
            return false;
        r->at += now(r) != '&' && now(r) != '<';
        if (r->depth == 0 && r->at < r->text.length && now(r) != '<' && now(r) != '\n')
            return wrong(r, "text outside of the root");
    }
    return true;
}

/* ---- tags -------------------------------------------------------------------------------- */

static mv_span read_name(reader *r)
{
    mv_span name = {r->text.data + r->at, 0};

    while (now(r) &&
           strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-:", now(r)))
        r->at++;
    name.length = (uint64_t)(r->text.data + r->at - name.data);
    return name;
}

static void note(reader *r, const char *before, mv_span name)
{
    int length;

    if (!r->names || r->used >= MVT_MARKUP_NAMES)
        return;
    length = snprintf(r->names + r->used, MVT_MARKUP_NAMES - r->used, "%s%.*s", before,
                      (int)name.length, (const char *)name.data);
    r->used += length > 0 ? (size_t)length : 0;
}

static bool read_value(reader *r, mv_span *out)
{
    if (now(r) != '=')
        return wrong(r, "an attribute without a value");
    r->at++;
    if (now(r) != '"')
        return wrong(r, "a value without quotes");
    r->at++;
    out->data = r->text.data + r->at;
    while (now(r) != '"') {
        if (r->at >= r->text.length || now(r) == '<')
            return wrong(r, "a value that does not end");
        if (now(r) == '&' ? !read_reference(r) : (r->at++, false))
            return false;
    }
    out->length = (uint64_t)(r->text.data + r->at - out->data);
    r->at++;
    return true;
}

static bool read_attributes(reader *r)
{
    for (r->attribute_count = 0; now(r) == ' ' || now(r) == '\n';) {
        attribute a;
        r->at++;
        a.name = read_name(r);
        if (a.name.length == 0)
            return wrong(r, "no attribute where one must be");
        for (uint32_t i = 0; i < r->attribute_count; i++)
            if (r->attributes[i].name.length == a.name.length &&
                memcmp(r->attributes[i].name.data, a.name.data, a.name.length) == 0)
                return wrong(r, "an attribute that is there twice");
        if (!read_value(r, &a.value))
            return false;
        if (r->attribute_count == MOST_ATTRIBUTES)
            return wrong(r, "more attributes than memviz writes");
        r->attributes[r->attribute_count++] = a;
        note(r, " ", a.name);
    }
    return true;
}

static bool close_element(reader *r, mv_span name)
{
    const mv_span *open = r->depth ? &r->open[r->depth - 1] : NULL;

    if (!open || open->length != name.length || memcmp(open->data, name.data, name.length) != 0)
        return wrong(r, "closes what is not open");
    r->depth--;
    note(r, "/", name);
    note(r, ";", (mv_span){0});
    return true;
}

/* At '<'. */
static bool read_tag(reader *r)
{
    if (begins(r, "<!DOCTYPE html>") && r->is_page && r->depth == 0)
        return pass(r, ">");
    if (begins(r, "<!--") && r->is_page)
        return pass(r, "-->") || wrong(r, "a comment that does not end");
    r->at++;
    if (now(r) == '/') {
        r->at++;
        mv_span name = read_name(r);
        if (now(r) != '>')
            return wrong(r, "an end that does not end");
        r->at++;
        return close_element(r, name);
    }
    r->tag = read_name(r);
    if (r->tag.length == 0)
        return wrong(r, "'<' begins no element");
    note(r, "", r->tag);
    if (!read_attributes(r))
        return false;
    note(r, ";", (mv_span){0});
    if (r->check_tag && !r->check_tag(&r->tag, r->attributes, r->attribute_count))
        return wrong(r, "an element, attribute or value that memviz does not write");
    /* A page's <meta> is never closed, and a script or a style continues to its end tag, whatever
     * it contains. */
    if (begins(r, "/>") && !r->is_page) {
        r->at += 2;
        return true;
    }
    if (now(r) != '>')
        return wrong(r, "a tag that does not end");
    r->at++;
    if (r->is_page && (is(r->tag, "meta") || is(r->tag, "link")))
        return true;
    if (r->depth == MOST_DEPTH)
        return wrong(r, "deeper than memviz writes");
    r->open[r->depth++] = r->tag;
    if (!r->is_page || (!is(r->tag, "script") && !is(r->tag, "style")))
        return true;
    if (!pass(r, is(r->tag, "script") ? "</script>" : "</style>"))
        return wrong(r, "a script or a style that does not end");
    return close_element(r, r->tag);
}

static const char *read_all(reader *r, uint64_t *at)
{
    uint32_t roots = 0;

    if (check_characters(r))
        while (r->at < r->text.length && read_text(r) && r->at < r->text.length) {
            roots += r->depth == 0 && !begins(r, "<!");
            if (!read_tag(r))
                break;
        }
    if (!r->why && r->depth > 0)
        wrong(r, "an element is not closed");
    if (!r->why && roots != 1)
        wrong(r, "not one root");
    *at = r->at;
    return r->why;
}

const char *mvt_markup_wrong(mv_span text, bool is_page, char names[MVT_MARKUP_NAMES], uint64_t *at)
{
    reader r = {.text = text, .is_page = is_page, .names = names};

    if (names)
        *names = 0;
    return read_all(&r, at);
}

/* ---- memviz's SVG --------------------------------------------------------------------------- */

static bool is_word_of(const char *words, mv_span name)
{
    char word[NAME + 2];

    if (name.length >= NAME)
        return false;
    snprintf(word, sizeof word, "%.*s ", (int)name.length, (const char *)name.data);
    return name.length > 0 && strstr(words, word) != NULL;
}

/* Checks the numbers between path letters, blanks and signs, each of which must be below a
 * million. */
static bool are_numbers(mv_span value)
{
    uint32_t digits = 0;

    for (uint64_t i = 0; i < value.length; i++) {
        char c = (char)value.data[i];
        if (!c || !strchr("0123456789.- MhvlzV%", c))
            return false;
        digits = c >= '0' && c <= '9' ? digits + 1 : c == '.' ? 100 : 0;
        if (digits == 8)
            return false;
    }
    return true;
}

static bool check_value(const attribute *a)
{
    static const char picture[] = "data:image/png;base64,";

    if (is_word_of("d x y width height viewBox font-size fill-opacity stroke-opacity stroke-width ",
                   a->name))
        return are_numbers(a->value);
    if (is(a->name, "href"))
        return a->value.length >= sizeof picture - 1 &&
               memcmp(a->value.data, picture, sizeof picture - 1) == 0;
    return a->value.length < 64;
}

static bool check_svg_tag(const mv_span *tag, const attribute *attributes, uint32_t count)
{
    if (!is_word_of("svg rect g path text title clipPath defs pattern image ", *tag))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!is_word_of("xmlns width height viewBox preserveAspectRatio font-family fill "
                        "fill-opacity stroke stroke-opacity stroke-width stroke-dasharray "
                        "shape-rendering d id clip-path x y font-size text-anchor font-weight "
                        "patternUnits patternTransform image-rendering href ",
                        attributes[i].name) ||
            !check_value(&attributes[i]))
            return false;
    return true;
}

const char *mvt_svg_wrong(mv_span text, uint64_t *at)
{
    reader r = {.text = text, .check_tag = check_svg_tag};

    return read_all(&r, at);
}
