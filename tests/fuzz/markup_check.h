/* Whether a text is strict markup, for output made from untrusted files. */
#ifndef MV_MARKUP_CHECK_H
#define MV_MARKUP_CHECK_H

#include "base/cursor.h"

enum { MVT_MARKUP_NAMES = 1024 };

/* Reads an SVG file (XML 1.0), or a page (the part of HTML 5 with quoted attributes, closed
 * elements, and verbatim scripts and styles). NULL when it is sound, otherwise the error:
 *
 *     bytes that are not UTF-8, and characters that XML forbids; in a page also other controls
 *     elements that are not closed, closed twice, or out of order; attributes that are there twice
 *     '<' in a value; '&' that begins no reference
 *
 * *at is its position. `names` receives each tag in order with its attributes: "svg xmlns
 * width;rect width;/svg;", cut to fit; NULL: not wanted. */
const char *mvt_markup_wrong(mv_span text, bool is_page, char names[MVT_MARKUP_NAMES],
                             uint64_t *at);

/* The same for memviz's SVG files: only the elements and attributes that memviz writes, whose
 * values never come from a file, and valid numbers of at most a million. */
const char *mvt_svg_wrong(mv_span text, uint64_t *at);

#endif
