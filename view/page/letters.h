/* Encodes bytes as letters for HTML. Each group of 13 bits becomes two letters from an alphabet of
 * 91, which is printable ASCII except space, & < and \, so encoded text contains no HTML markup.
 * The encoding takes 1.23 letters per byte, while base64 needs 1.33.
 *
 * The bits of the bytes, lowest first, are grouped into 13-bit numbers, lowest bit first. Each
 * number is written as its remainder modulo 91, followed by its quotient. The last number is padded
 * with zeros, and becomes only one letter if it has at most 6 bits. web/shell.js decodes the
 * letters, and web/make_page.py also encodes them. */
#pragma once

#include "parse/source/sink.h"

void mv_letters_write(mv_sink *sink, const uint8_t *data, uint64_t length);
