#include "cli/mcp/json_tree.h"

#include "base/utf8.h"

typedef struct {
    mv_arena *arena;
    mv_span text;
    uint64_t at;
    uint32_t depth;
    mv_err *err;
} reading;

static mv_json *read_value(reading *r);

static mv_json *fail(reading *r, const char *what)
{
    if (r->err->code == MV_OK)
        mv_fail(r->err, MV_FORMAT, r->at, "%s", what);
    return NULL;
}

static int next_byte(const reading *r)
{
    return r->at < r->text.length ? r->text.data[r->at] : -1;
}

static void skip_space(reading *r)
{
    for (int c = next_byte(r); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = next_byte(r))
        r->at++;
}

static bool skip(reading *r, const char *word)
{
    size_t length = strlen(word);

    if (r->text.length - r->at < length || memcmp(r->text.data + r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

/* ---- strings ----------------------------------------------------------------------------- */

/* The four hex digits at the cursor; -1: fewer than four. */
static int32_t take_hex(reading *r)
{
    int32_t code = 0;

    for (int i = 0; i < 4; i++, r->at++) {
        int c = next_byte(r), low = c | 0x20;
        if (c >= '0' && c <= '9')
            code = code * 16 + c - '0';
        else if (low >= 'a' && low <= 'f')
            code = code * 16 + low - 'a' + 10;
        else
            return -1;
    }
    return code;
}

/* One or two \uXXXX, after the first \u. -1: not a character. */
static int32_t take_code(reading *r)
{
    int32_t high = take_hex(r), low;

    if (high < 0xd800 || high > 0xdfff)
        return high;
    if (high > 0xdbff || !skip(r, "\\u"))
        return -1;
    low = take_hex(r);
    return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + (high - 0xd800) * 0x400 + low - 0xdc00;
}

static uint32_t put_code(uint8_t *to, int32_t code)
{
    uint32_t tails = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};

    to[0] = (uint8_t)(heads[tails] | code >> 6 * tails);
    for (uint32_t i = 1; i <= tails; i++)
        to[i] = (uint8_t)(0x80 | (code >> 6 * (tails - i) & 0x3f));
    return tails + 1;
}

/* The character after a backslash, as UTF-8. 0: not a JSON escape. */
static uint32_t take_escape(reading *r, uint8_t *to)
{
    static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
    int c = next_byte(r);
    const char *found = c > 0 ? strchr(from, c) : NULL;
    int32_t code;

    r->at++;
    if (found)
        return put_code(to, is[found - from]);
    code = c == 'u' ? take_code(r) : -1;
    return code < 0 ? 0 : put_code(to, code);
}

/* The string at the cursor, which is at its first quote. No escape is shorter than its
 * character. */
static bool take_string(reading *r, mv_span *out)
{
    const uint8_t *from = r->text.data + r->at + 1;
    const uint8_t *end = memchr(from, '"', r->text.length - r->at - 1);
    uint8_t *to;
    uint64_t length = 0;

    while (end && end[-1] == '\\') {
        const uint8_t *first = end;
        while (first > from && first[-1] == '\\')
            first--;
        if ((end - first) % 2 == 0)
            break;
        end = memchr(end + 1, '"', (size_t)(r->text.data + r->text.length - end - 1));
    }
    if (!end)
        return fail(r, "an unterminated string");
    to = mv_push_array(r->arena, uint8_t, (uint64_t)(end - from) + 1);
    if (!to)
        return mv_fail(r->err, MV_NOMEM, MV_NO_OFFSET, "JSON"), false;
    for (r->at++; r->text.data + r->at < end;) {
        uint32_t bytes = mv_utf8_length(r->text, r->at);
        if (next_byte(r) == '\\') {
            r->at++;
            bytes = take_escape(r, to + length);
        } else if (bytes && r->text.data[r->at] >= 0x20) {
            memcpy(to + length, r->text.data + r->at, bytes);
            r->at += bytes;
        } else {
            bytes = 0;
        }
        if (bytes == 0)
            return fail(r, "a string with bytes that JSON does not allow");
        length += bytes;
    }
    r->at = (uint64_t)(end - r->text.data) + 1;
    *out = (mv_span){to, length};
    return true;
}

/* ---- numbers, lists ---------------------------------------------------------------------- */

static bool skip_digits(reading *r)
{
    uint64_t from = r->at;

    for (int c = next_byte(r); c >= '0' && c <= '9'; c = next_byte(r))
        r->at++;
    return r->at > from;
}

static bool take_number(reading *r, mv_span *out)
{
    uint64_t from = r->at;
    bool holds;
    char *copy;

    skip(r, "-");
    holds = skip(r, "0") || skip_digits(r);
    if (holds && skip(r, "."))
        holds = skip_digits(r);
    if (holds && (skip(r, "e") || skip(r, "E"))) {
        if (!skip(r, "+"))
            skip(r, "-");
        holds = skip_digits(r);
    }
    if (!holds)
        return fail(r, "no value");
    copy = mv_arena_text(r->arena, (const char *)r->text.data + from, r->at - from);
    if (!copy)
        return mv_fail(r->err, MV_NOMEM, MV_NO_OFFSET, "JSON"), false;
    *out = (mv_span){(const uint8_t *)copy, r->at - from};
    return true;
}

/* The members of an object, or the elements of an array, up to `close`. */
static bool take_children(reading *r, mv_json *parent, const char *close)
{
    mv_json **last = &parent->child;

    skip_space(r);
    if (skip(r, close))
        return true;
    do {
        mv_span key = {0};
        skip_space(r);
        if (parent->kind == MV_JSON_OBJECT) {
            if (next_byte(r) != '"')
                return fail(r, "a member without a name");
            if (!take_string(r, &key))
                return false;
            skip_space(r);
            if (!skip(r, ":"))
                return fail(r, "a member without a value");
        }
        *last = read_value(r);
        if (!*last)
            return false;
        (*last)->key = key;
        last = &(*last)->next;
        skip_space(r);
    } while (skip(r, ","));
    return skip(r, close) || fail(r, "an unterminated list");
}

static bool take_list(reading *r, mv_json *value)
{
    bool is_object = skip(r, "{"), holds;

    if (!is_object)
        skip(r, "[");
    value->kind = is_object ? MV_JSON_OBJECT : MV_JSON_ARRAY;
    if (r->depth == MV_JSON_DEPTH)
        return mv_fail(r->err, MV_DEPTH, r->at, "JSON"), false;
    r->depth++;
    holds = take_children(r, value, is_object ? "}" : "]");
    r->depth--;
    return holds;
}

static mv_json *read_value(reading *r)
{
    mv_json *value = mv_push_struct(r->arena, mv_json);
    bool holds = true;
    int c;

    if (!value)
        return mv_fail(r->err, MV_NOMEM, MV_NO_OFFSET, "JSON"), NULL;
    skip_space(r);
    c = next_byte(r);
    if (c == '{' || c == '[') {
        holds = take_list(r, value);
    } else if (c == '"') {
        value->kind = MV_JSON_STRING;
        holds = take_string(r, &value->text);
    } else if (skip(r, "true")) {
        value->kind = MV_JSON_TRUE;
    } else if (skip(r, "false")) {
        value->kind = MV_JSON_FALSE;
    } else if (!skip(r, "null")) {
        value->kind = MV_JSON_NUMBER;
        holds = take_number(r, &value->text);
    }
    return holds ? value : NULL;
}

const mv_json *mv_json_read(mv_arena *arena, mv_span text, mv_err *err)
{
    reading r = {.arena = arena, .text = text, .err = err};
    mv_json *value;

    *err = (mv_err){.offset = MV_NO_OFFSET};
    value = read_value(&r);
    skip_space(&r);
    if (value && r.at < text.length)
        return fail(&r, "more than one value");
    return value;
}

const mv_json *mv_json_member(const mv_json *object, const char *key)
{
    const mv_json *found = NULL;
    size_t length = strlen(key);

    if (!object || object->kind != MV_JSON_OBJECT)
        return NULL;
    for (const mv_json *m = object->child; m; m = m->next)
        if (m->key.length == length && memcmp(m->key.data, key, length) == 0)
            found = m;
    return found;
}

bool mv_json_is(const mv_json *value, const char *text)
{
    return value && value->kind == MV_JSON_STRING && value->text.length == strlen(text) &&
           memcmp(value->text.data, text, value->text.length) == 0;
}
