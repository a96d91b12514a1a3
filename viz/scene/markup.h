/* Writes untrusted text into HTML and SVG. */
#pragma once

#include "parse/source/sink.h"

typedef enum {
    MV_MARKUP_HTML, /* one line */
    MV_MARKUP_SVG   /* tabs and line ends are kept; characters that XML 1.0 forbids are replaced */
} mv_markup;

/* Writes any string as plain text. & < > " (and ' in HTML) become entities. Hidden characters
 * (base/utf8.h), characters that XML 1.0 forbids, and bytes that are not UTF-8 become U+FFFD. */
void mv_markup_write(mv_sink *sink, mv_markup markup, const char *text);
