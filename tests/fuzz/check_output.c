#include "tests/fuzz/check_output.h"

#include "cli/commands.h"
#include "tests/fixture/in_process.h"

#include <sqlite3.h>
#include <stdlib.h>

/* `allowed` lists the control characters that may occur. */
static void check_characters(const char *what, mv_span text, const char *allowed)
{
    for (uint64_t at = 0; at < text.length;) {
        uint64_t from = at;
        uint32_t code = mv_utf8_next(text, &at);
        if (code == MV_UTF8_BAD)
            mvt_stop("%s: byte %llu (0x%02x) is not UTF-8", what, (unsigned long long)from,
                     text.data[from]);
        if ((code < 0x20 || (code >= 0x7f && code < 0xa0)) &&
            !(code && code < 0x80 && strchr(allowed, (int)code)))
            mvt_stop("%s: byte %llu is the control character U+%04x", what,
                     (unsigned long long)from, code);
    }
}

void mvt_check_text(const char *what, mv_span text)
{
    check_characters(what, text, "\n");
}

void mvt_check_messages(int status, mv_span text)
{
    static const char begin[] = "memviz: ";
    const char *at = (const char *)text.data, *end = at + text.length;
    unsigned lines = 0;

    mvt_check_text("standard error", text);
    for (; at < end; at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1, lines++)
        if (strncmp(at, begin, sizeof begin - 1) != 0 || !memchr(at, '\n', (size_t)(end - at)))
            mvt_stop("a message that is not a line of memviz: %s", at);
    if (status == MV_EXIT_USAGE ? lines != 1 : status == MV_EXIT_FAILED && lines == 0)
        mvt_stop("%u lines and status %d: %s", lines, status, (const char *)text.data);
}

void mvt_check_folded(mv_span text)
{
    const char *at = (const char *)text.data, *end = at + text.length, *stop;

    mvt_check_text("folded stacks", text);
    for (; at < end; at = stop + 1) {
        const char *digits;
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            mvt_stop("folded stacks: a line without an end");
        for (digits = stop; digits > at && digits[-1] >= '0' && digits[-1] <= '9';)
            digits--;
        if (digits == stop || digits < at + 2 || digits[-1] != ' ')
            mvt_stop("folded stacks: no number after %.*s", (int)(stop - at), at);
    }
}

// NOLINTNEXTLINE(misc-no-recursion)
static void check_keys(const char *what, const cJSON *value)
{
    for (const cJSON *member = value->child; member; member = member->next) {
        for (const cJSON *before = value->child; member->string && before != member;
             before = before->next)
            if (strcmp(before->string, member->string) == 0)
                mvt_stop("%s: the key %s twice", what, member->string);
        check_keys(what, member);
    }
}

cJSON *mvt_check_json(const char *what, mv_span text)
{
    const char *end = NULL;

    mvt_check_text(what, text);
    cJSON *value = cJSON_ParseWithOpts((const char *)text.data, &end, 1);
    if (!value)
        mvt_stop("%s: not JSON near %.100s", what, end ? end : "");
    check_keys(what, value);
    return value;
}

static bool is_number(const char *at, const char *end)
{
    char copy[64], *stop;
    size_t length = (size_t)(end - at);

    if (length == 0 || length >= sizeof copy)
        return false;
    memcpy(copy, at, length);
    copy[length] = 0;
    (void)strtod(copy, &stop);
    return !*stop;
}

void mvt_check_csv(const char *what, mv_span text)
{
    const char *at = (const char *)text.data, *end = at + text.length;
    unsigned fields = 0, first = 0;

    check_characters(what, text, "\r\n\t");
    while (at < end) {
        /* Checks the field at `at`, and returns where the field ends. */
        bool is_quoted = at < end && *at == '"';
        const char *from = at + is_quoted, *stop = from;
        while (stop < end && (is_quoted ? *stop != '"' || stop[1] == '"'
                                        : *stop != ',' && *stop != '\r' && *stop != '\n'))
            stop += is_quoted && *stop == '"' ? 2 : 1;
        if (from < stop && strchr("=+-@\t\r\n", *from) && !is_number(from, stop))
            mvt_stop("%s: a formula: %.*s", what, (int)(stop - from), from);
        if (is_quoted && stop++ >= end)
            mvt_stop("%s: a quote that does not end", what);
        if (stop < end && *stop != ',' && *stop != '\r')
            mvt_stop("%s: %.20s after a field", what, stop);
        at = stop;
        fields++;
        if (at < end && *at == ',') {
            at++;
            continue;
        }
        if (end - at < 2 || at[0] != '\r' || at[1] != '\n')
            mvt_stop("%s: a record without an end", what);
        at += 2;
        if (first && fields != first)
            mvt_stop("%s: %u fields, the first record has %u", what, fields, first);
        first = fields;
        fields = 0;
    }
}

static uint64_t take_varint(const char *what, mv_span bytes, uint64_t *at)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && *at < bytes.length; shift += 7) {
        uint8_t byte = bytes.data[(*at)++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    mvt_stop("%s: a number without an end at byte %llu", what, (unsigned long long)*at);
}

void mvt_check_protobuf(const char *what, mv_span bytes)
{
    for (uint64_t at = 0; at < bytes.length;) {
        uint64_t tag = take_varint(what, bytes, &at), length;
        switch (tag & 7) {
        case 0:
            take_varint(what, bytes, &at);
            continue;
        case 1:
        case 5:
            length = (tag & 7) == 1 ? 8 : 4;
            break;
        case 2:
            length = take_varint(what, bytes, &at);
            break;
        default:
            mvt_stop("%s: wire type %llu", what, (unsigned long long)(tag & 7));
        }
        if (tag >> 3 == 0 || length > bytes.length - at)
            mvt_stop("%s: field %llu of %llu bytes", what, (unsigned long long)(tag >> 3),
                     (unsigned long long)length);
        at += length;
    }
}

void mvt_check_sqlite(mv_span bytes)
{
    unsigned char *copy = sqlite3_malloc64(bytes.length + 1);
    sqlite3 *db = NULL;
    sqlite3_stmt *check = NULL;

    if (!copy)
        return;
    memcpy(copy, bytes.data, bytes.length);
    if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
        sqlite3_deserialize(db, "main", copy, (sqlite3_int64)bytes.length,
                            (sqlite3_int64)bytes.length, SQLITE_DESERIALIZE_FREEONCLOSE) ||
        sqlite3_prepare_v2(db, "PRAGMA quick_check", -1, &check, NULL) != SQLITE_OK ||
        sqlite3_step(check) != SQLITE_ROW ||
        strcmp((const char *)sqlite3_column_text(check, 0), "ok") != 0)
        mvt_stop("the database is not whole: %s", sqlite3_errmsg(db));
    sqlite3_finalize(check);
    sqlite3_close(db);
}
