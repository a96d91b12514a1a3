#include "parse/kineto/json.h"

#include "base/numbers.h"
#include "base/utf8.h"

/* ---- the window --------------------------------------------------------------------------- */

/* Reads until the window has at least `more` bytes starting at `pos`. Drops bytes before *first, or
 * before `pos` if `first` is NULL, unless tokens are kept. */
static bool read_on(mv_json *j, uint64_t more, uint64_t *first)
{
    uint64_t drop = j->is_kept ? 0 : first ? *first : j->pos;

    j->source->at += drop;
    j->pos -= drop;
    if (first)
        *first -= drop;
    if (mv_source_need(j->source, j->pos + more))
        return true;
    if (!j->failed)
        mv_source_fail(j->source, j->err, "the JSON ends too early");
    j->failed = true;
    return false;
}

bool mv_json_fail(mv_json *j, mv_code code, const char *why)
{
    if (!j->failed)
        mv_fail(j->err, code, mv_source_offset(j->source) + j->pos, "%s", why);
    j->failed = true;
    return false;
}

void mv_json_keep(mv_json *j, bool is_kept)
{
    j->source->at += j->pos;
    j->pos = 0;
    j->is_kept = is_kept;
}

void mv_json_go(mv_json *j, uint64_t place)
{
    j->pos = place;
}

/* Classes of bytes outside strings; bytes of classes before QUOTE are skipped. The window is
 * followed by zeros. */
enum { OTHER, BLANK, WORD, QUOTE, OPEN, CLOSE, NUL };

static const uint8_t kind[UINT8_MAX + 1] = {
    [0] = NUL,      [' '] = BLANK,        ['\n'] = BLANK,       ['\r'] = BLANK,
    ['\t'] = BLANK, ['"'] = QUOTE,        ['{'] = OPEN,         ['['] = OPEN,
    ['}'] = CLOSE,  [']'] = CLOSE,        ['.'] = WORD,         ['-'] = WORD,
    ['+'] = WORD,   ['0' ... '9'] = WORD, ['A' ... 'Z'] = WORD, ['a' ... 'z'] = WORD};

/* Does the same as mv_json_next, but keeps *first and all bytes after it. */
static uint8_t next_from(mv_json *j, uint64_t *first)
{
    do {
        const uint8_t *from = j->source->at, *at = from + j->pos;
        while (kind[*at] == BLANK)
            at++;
        j->pos = (uint64_t)(at - from);
        if (at < j->source->end && *at == 0)
            mv_json_fail(j, MV_CORRUPT, "this is not JSON: a NUL byte between values");
        if (at < j->source->end)
            return j->failed ? 0 : *at;
    } while (!j->failed && read_on(j, 1, first));
    return 0;
}

uint8_t mv_json_next(mv_json *j)
{
    return next_from(j, NULL);
}

/* ---- texts and words ---------------------------------------------------------------------- */

/* Finds the first quote, backslash or 0 at or after `at`. The window is followed by a 0. */
static const uint8_t *find_end(const uint8_t *at)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;

    for (;; at += 8) {
        uint64_t eight, quotes, slashes, found;
        memcpy(&eight, at, sizeof eight);
        quotes = eight ^ (ones * '"');
        slashes = eight ^ (ones * '\\');
        found = (((quotes - ones) & ~quotes) | ((slashes - ones) & ~slashes) |
                 ((eight - ones) & ~eight)) &
                tops;
        if (!found)
            continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return at + __builtin_ctzll(found) / 8; /* borrows carry upwards, so only the lowest match
                                                 * is exact */
#else
        while (*at != '"' && *at != '\\' && *at != 0)
            at++;
        return at;
#endif
    }
}

/* Reads a string. The next byte must be its opening quote. */
static bool take_text(mv_json *j, mv_json_token *out)
{
    uint64_t first = ++j->pos;

    out->has_quotes = true;
    out->has_escapes = false;
    for (;;) {
        const uint8_t *from = j->source->at, *end = j->source->end;
        const uint8_t *at = find_end(from + j->pos);
        while (*at == 0 && at < end) /* a NUL inside the string */
            at = find_end(at + 1);
        j->pos = (uint64_t)(at - from);
        if (at < end && *at == '"')
            break;
        if ((at == end || at + 1 == end) && !read_on(j, at == end ? 1 : 2, &first))
            return false;
        if (at < end) { /* a backslash and the character after it */
            out->has_escapes = true;
            j->pos += 2;
        }
    }
    out->at = first;
    out->length = j->pos++ - first;
    return true;
}

static bool take_word(mv_json *j, mv_json_token *out)
{
    uint64_t first = j->pos;
    const uint8_t *at;

    do {
        for (at = j->source->at + j->pos; kind[*at] == WORD;)
            at++;
        j->pos = (uint64_t)(at - j->source->at);
    } while (at == j->source->end && read_on(j, 1, &first));
    *out = (mv_json_token){.at = first, .length = j->pos - first};
    if (!j->failed && out->length == 0)
        mv_json_fail(j, MV_CORRUPT, "this is not JSON: a value is missing");
    return !j->failed;
}

/* ---- values ------------------------------------------------------------------------------- */

/* Skips an object or a list. The next byte must be its bracket. */
static bool pass_nested(mv_json *j)
{
    uint64_t depth = 0;
    mv_json_token text;

    do {
        const uint8_t *from = j->source->at, *at = from + j->pos;
        while (kind[*at] < QUOTE)
            at++;
        j->pos = (uint64_t)(at - from);
        if (at == j->source->end) {
            if (!read_on(j, 1, NULL))
                return false;
            continue;
        }
        if (*at == '"') {
            if (!take_text(j, &text))
                return false;
            continue;
        }
        if (*at == 0)
            return mv_json_fail(j, MV_CORRUPT, "this is not JSON: a NUL byte between values");
        depth += kind[*at] == OPEN ? 1 : (uint64_t)-1;
        j->pos++;
    } while (depth > 0);
    return true;
}

bool mv_json_take(mv_json *j, mv_json_token *out)
{
    uint8_t c = mv_json_next(j);

    *out = (mv_json_token){0};
    if (c == '"')
        return take_text(j, out);
    if (c == '{' || c == '[')
        return pass_nested(j);
    return c && take_word(j, out);
}

bool mv_json_pass(mv_json *j)
{
    mv_json_token token;

    return mv_json_take(j, &token);
}

bool mv_json_enter(mv_json *j, char bracket)
{
    if (mv_json_next(j) != (uint8_t)bracket || j->failed)
        return false;
    j->pos++;
    return true;
}

/* Skips the comma, if there is one. Returns the first byte of the next member or element. */
static uint8_t next_of_many(mv_json *j)
{
    uint8_t c = mv_json_next(j);

    if (c != ',')
        return c;
    j->pos++;
    return mv_json_next(j);
}

bool mv_json_key(mv_json *j, mv_json_token *key)
{
    uint8_t c = next_of_many(j);

    if (c != '"') {
        j->pos += c == '}';
        return c != '}' && c && mv_json_fail(j, MV_CORRUPT, "this is not JSON: a key is missing");
    }
    if (!take_text(j, key))
        return false;
    if (next_from(j, &key->at) != ':')
        return mv_json_fail(j, MV_CORRUPT, "this is not JSON: a colon is missing");
    j->pos++;
    return true;
}

bool mv_json_element(mv_json *j)
{
    uint8_t c = next_of_many(j);

    j->pos += c == ']';
    return c && c != ']';
}

/* ---- the values of tokens ---------------------------------------------------------------- */

static uint32_t hex_of(const uint8_t *four)
{
    uint32_t code = 0;

    for (int i = 0; i < 4; i++) {
        uint8_t c = four[i] | 0x20;
        if (four[i] >= '0' && four[i] <= '9')
            code = code << 4 | (uint32_t)(four[i] - '0');
        else if (c >= 'a' && c <= 'f')
            code = code << 4 | (uint32_t)(c - 'a' + 10);
        else
            return UINT32_MAX;
    }
    return code;
}

/* Writes the character after the backslash at text[*at] as UTF-8, and moves *at past it. */
static uint32_t take_escape(mv_span text, uint64_t *at, uint8_t out[4])
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    uint8_t c = text.data[*at + 1];
    const char *known = c ? strchr(from, c) : NULL;
    uint32_t code, low;

    *at += 2;
    if (c != 'u' || text.length - *at < 4 || (code = hex_of(text.data + *at)) == UINT32_MAX) {
        out[0] = known ? (uint8_t)to[known - from] : c;
        return 1;
    }
    *at += 4;
    if (code >= 0xd800 && code < 0xdc00 && text.length - *at >= 6 && text.data[*at] == '\\' &&
        text.data[*at + 1] == 'u' && (low = hex_of(text.data + *at + 2)) >= 0xdc00 &&
        low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        *at += 6;
    }
    return mv_utf8_put(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
}

mv_span mv_json_text(const mv_json *j, mv_json_token t, uint8_t *out, uint64_t room)
{
    mv_span text = mv_json_span(j, t);
    uint64_t length = 0, at = 0;
    uint8_t bytes[4];

    if (!t.has_escapes)
        return (mv_span){text.data, text.length < room ? text.length : room};
    while (at < text.length) {
        uint32_t count = 1;
        if (text.data[at] == '\\' && at + 1 < text.length)
            count = take_escape(text, &at, bytes);
        else
            bytes[0] = text.data[at++];
        if (count > room - length)
            break;
        memcpy(out + length, bytes, count);
        length += count;
    }
    return (mv_span){out, length};
}

bool mv_json_whole(const mv_json *j, mv_json_token t, uint64_t *size, bool *is_negative)
{
    mv_span text = mv_json_span(j, t);
    uint64_t at = 0;

    *size = 0;
    *is_negative = text.length > 0 && text.data[0] == '-';
    for (at = *is_negative; at < text.length; at++) {
        uint32_t digit = (uint32_t)text.data[at] - '0';
        if (digit > 9 || *size > (UINT64_MAX - digit) / 10)
            return false;
        *size = *size * 10 + digit;
    }
    return at > *is_negative;
}

/* Converts a number with an exponent, which is written by programs that have read the number as a
 * double. */
static bool ns_of_double(mv_span text, int64_t *ns)
{
    char copy[40];
    double us;

    if (text.length >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.length);
    copy[text.length] = 0;
    if (!mv_number_read_double(copy, &us) || us < -2.3e15 || us > 2.3e15)
        return false;
    *ns = (int64_t)(us * 1000);
    return true;
}

bool mv_json_ns(const mv_json *j, mv_json_token t, int64_t *ns)
{
    mv_span text = mv_json_span(j, t);
    uint64_t at = text.length > 0 && text.data[0] == '-', whole = 0, first = at;
    bool is_negative = at > 0;
    int64_t unit = 100;

    for (; at < text.length && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
        if (whole > (uint64_t)INT64_MAX / 4 / 1000 / 10)
            return false;
        whole = whole * 10 + (uint64_t)(text.data[at] - '0');
    }
    if (at == first)
        return false;
    *ns = (int64_t)whole * 1000;
    if (at < text.length && text.data[at] == '.')
        for (at++; at < text.length && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
            *ns += (text.data[at] - '0') * unit;
            unit /= 10;
        }
    if (at < text.length)
        return ns_of_double(text, ns);
    *ns = is_negative ? -*ns : *ns;
    return true;
}
