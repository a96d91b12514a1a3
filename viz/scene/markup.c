#include "viz/scene/markup.h"

#include <string.h>

#include "base/utf8.h"

/* What is written in place of a character of ASCII; NULL: the character. */
static const char *escape_of(mv_markup markup, char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return markup == MV_MARKUP_HTML ? "&#39;" : NULL;
    case '\n':
    case '\t':
        return markup == MV_MARKUP_SVG ? NULL : MV_UTF8_REPLACEMENT;
    default:
        return c < ' ' || c == 0x7f ? MV_UTF8_REPLACEMENT : NULL;
    }
}

/* Bytes of the character at `text`; 0 when it is none, a control (U+0080 to U+009F), or one of two
 * that XML does not have (U+FFFE, U+FFFF). */
static uint32_t length_of(const char *text)
{
    uint32_t length = mv_utf8_length_at(text);
    bool is_above = length == 3 && memcmp(text, "\xef\xbf\xbe", 3) >= 0;
    bool is_control = length == 2 && memcmp(text, "\xc2\xa0", 2) < 0;

    return is_control || is_above ? 0 : length;
}

void mv_markup_write(mv_sink *sink, mv_markup markup, const char *text)
{
    while (*text) {
        uint32_t length = length_of(text);
        const char *escape = length == 0   ? MV_UTF8_REPLACEMENT
                             : length == 1 ? escape_of(markup, *text)
                                           : NULL;
        length = length ? length : 1;
        mv_sink_write(sink, escape ? escape : text, escape ? strlen(escape) : length);
        text += length;
    }
}
