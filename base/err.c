#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/names.h"
#include "base/utf8.h"

static const char *const code_names[MV_ERR_COUNT] = {MV_ERR_LIST(MV_FIRST_NAME)};

static const char *const code_texts[MV_ERR_COUNT] = {MV_ERR_LIST(MV_SECOND)};

const char *mv_code_name(mv_code code)
{
    return code < MV_ERR_COUNT ? code_names[code] : "?";
}

static bool is_disk_named;

void mv_err_name_disk(void)
{
    is_disk_named = true;
}

const char *mv_code_text(mv_code code)
{
    if (code == MV_NOMEM && is_disk_named)
        return "memory limit reached (see --max-memory, --max-disk)";
    return code < MV_ERR_COUNT ? code_texts[code] : "unknown error";
}

mv_code mv_fail(mv_err *err, mv_code code, uint64_t offset, const char *format, ...)
{
    va_list args;

    err->code = code;
    err->offset = offset;
    va_start(args, format);
    vsnprintf(err->detail, sizeof err->detail, format, args);
    va_end(args);
    mv_utf8_sanitize(err->detail);
    return code;
}

/* Cuts the path, but never splits a UTF-8 character. */
const char *mv_err_path(const char *path, char text[MV_ERR_PATH])
{
    size_t length = strlen(path), begin = MV_ERR_PATH / 3;
    const char *end = path + length - (MV_ERR_PATH - 4 - begin);

    if (length < MV_ERR_PATH)
        return path;
    while ((*end & 0xc0) == 0x80)
        end++;
    while (begin > 0 && (path[begin] & 0xc0) == 0x80)
        begin--;
    snprintf(text, MV_ERR_PATH, "%.*s...%s", (int)begin, path, end);
    return text;
}

const char *mv_err_text(const mv_err *err, char text[MV_ERR_TEXT])
{
    bool is_sentence = (err->code == MV_IO || err->code == MV_ABSENT) && *err->detail;

    snprintf(text, MV_ERR_TEXT, "%s%s%s", is_sentence ? "" : mv_code_text(err->code),
             is_sentence || !*err->detail ? "" : ": ", err->detail);
    return text;
}
