#include "cli/serve/request.h"

#include <string.h>
#include <strings.h>

/* ---- the sender ---------------------------------------------------------------------------- */

/* Compares two strings in constant time, wherever they differ. */
static bool is_token(const char *text, const char *token)
{
    unsigned char difference = 0;

    if (strlen(text) < MV_SERVE_TOKEN)
        return false;
    for (int i = 0; i < MV_SERVE_TOKEN; i++)
        difference |= (unsigned char)(text[i] ^ token[i]);
    return difference == 0;
}

static bool is_this_machine(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

    for (unsigned i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) != 0)
            continue;
        if (!host[length])
            return true;
        return host[length] == ':' && strspn(host + length + 1, "0123456789") <= 5 &&
               !host[length + 1 + strspn(host + length + 1, "0123456789")];
    }
    return false;
}

/* Whether the request comes from a page of this machine, or from a client that is not a browser. */
static bool is_own_page(const char *origin)
{
    static const char scheme[] = "http://";

    return !origin || (strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
                       is_this_machine(origin + sizeof scheme - 1));
}

/* ---- the target ---------------------------------------------------------------------------- */

/* Reads a number in canonical form, without leading zeros. Also returns the text after it. */
static const char *take_number(const char *text, unsigned base, uint64_t most, uint64_t *out)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = text;

    *out = 0;
    for (const char *digit; *at && (digit = memchr(digits, *at, base)); at++) {
        uint64_t value = (uint64_t)(digit - digits);
        if (*out > (most - value) / base)
            return NULL;
        *out = *out * base + value;
    }
    return at == text || (*text == '0' && at > text + 1) ? NULL : at;
}

/* "ID/VERSION" */
static bool take_file(const char *text, mv_serve_query *ask)
{
    uint64_t file;
    const char *at = take_number(text, 10, UINT32_MAX, &file);

    if (!at || *at != '/')
        return false;
    at = take_number(at + 1, 16, UINT64_MAX, &ask->version);
    ask->file = (uint32_t)file;
    return at && !*at;
}

static mv_serve_what what_of(const char *rest, mv_serve_query *ask)
{
    static const char files[] = "/files", originals[] = "/originals/";

    if (!*rest)
        return MV_ASK_FOLDER;
    if (strcmp(rest, "/") == 0)
        return MV_ASK_PAGE;
    if (strcmp(rest, files) == 0)
        return MV_ASK_LIST;
    if (strncmp(rest, originals, sizeof originals - 1) == 0)
        return take_file(rest + sizeof originals - 1, ask) ? MV_ASK_ORIGINAL : MV_ASK_NOTHING;
    if (strncmp(rest, files, sizeof files - 1) == 0 && rest[sizeof files - 1] == '/')
        return take_file(rest + sizeof files, ask) ? MV_ASK_SNAPSHOT : MV_ASK_NOTHING;
    return MV_ASK_NOTHING;
}

mv_serve_query mv_serve_request_read(const mv_serve_request *request,
                                     const char token[MV_SERVE_TOKEN + 1])
{
    mv_serve_query ask = {.status = 404};

    if (!is_this_machine(request->host) || !is_own_page(request->origin) ||
        request->path[0] != '/' || !is_token(request->path + 1, token))
        return ask;
    ask.what = what_of(request->path + 1 + MV_SERVE_TOKEN, &ask);
    if (ask.what == MV_ASK_NOTHING)
        return ask;
    ask.status =
        strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0 ? 200 : 405;
    return ask;
}

/* ---- ranges ------------------------------------------------------------------------------ */

/* Unlike in the path, RFC 9110 allows leading zeros here. */
static const char *take_place(const char *text, uint64_t *out)
{
    while (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        text++;
    return take_number(text, 10, UINT64_MAX, out);
}

mv_byte_range mv_byte_range_read(const char *header, uint64_t length)
{
    static const char unit[] = "bytes=";
    mv_byte_range all = {200, 0, length};
    uint64_t first = 0, last = UINT64_MAX;
    const char *at;

    if (!header || strncmp(header, unit, sizeof unit - 1) != 0)
        return all;
    at = header + sizeof unit - 1;
    if (*at == '-') { /* the range means the last bytes of the file */
        at = take_place(at + 1, &last);
        if (!at || *at)
            return all;
        first = last < length ? length - last : 0;
        return last && length ? (mv_byte_range){206, first, length - first}
                              : (mv_byte_range){416, 0, 0};
    }
    at = take_place(at, &first);
    if (!at || *at++ != '-')
        return all;
    if (*at) {
        at = take_place(at, &last);
        if (!at || *at || last < first)
            return all;
    }
    if (first >= length)
        return (mv_byte_range){416, 0, 0};
    last = last < length ? last : length - 1;
    return (mv_byte_range){206, first, last - first + 1};
}
