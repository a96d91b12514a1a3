/* Checks that a text is strict markup, for output made from untrusted files. */
#pragma once

#include "base/cursor.h"

enum { MVT_MARKUP_NAMES = 1024 };

/* Reads an SVG file (XML 1.0), or a page (the subset of HTML 5 with quoted attributes, closed
 * elements, and verbatim scripts and styles). Returns NULL if the text is sound, otherwise the
 * error:
 *
 *     bytes that are not UTF-8, and characters that XML forbids; in a page also other controls
 *     elements that are not closed, closed twice, or out of order; attributes that occur twice
 *     '<' in a value; '&' that begins no reference
 *
 * *at is the error's position. Unless `names` is NULL, it receives each tag in order with its
 * attributes, truncated to fit: "svg xmlns width;rect width;/svg;". */
const char *mvt_markup_wrong(mv_span text, bool is_page, char names[MVT_MARKUP_NAMES],
                             uint64_t *at);

/* The same check for memviz's SVG files, which may contain only the elements and attributes that
 * memviz writes. Their values never come from a file, and numbers must be valid and at most a
 * million. */
const char *mvt_svg_wrong(mv_span text, uint64_t *at);
