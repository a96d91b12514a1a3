#include "viz/scene/markup.h"

#include "base/utf8.h"

/* Returns the replacement of a character; NULL: the character is not replaced. */
static const char *escape_of(mv_markup markup, uint32_t c)
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
    default: /* XML does not allow U+FFFE and U+FFFF */
        return c == MV_UTF8_BAD || mv_utf8_is_hidden(c) || c == 0xfffe || c == 0xffff
                   ? MV_UTF8_REPLACEMENT
                   : NULL;
    }
}

void mv_markup_write(mv_sink *sink, mv_markup markup, const char *text)
{
    while (*text) {
        const char *from = text, *escape = escape_of(markup, mv_utf8_next_at(&text));
        mv_sink_write(sink, escape ? escape : from,
                      escape ? strlen(escape) : (uint64_t)(text - from));
    }
}
