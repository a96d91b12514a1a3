/* Writes bytes as letters that have no special meaning in HTML, SVG and URLs (RFC 4648, section
 * 4). */
#pragma once

#include "parse/source/sink.h"

/* The output ends with '=' if `length` is not a multiple of 3. If data is written in pieces, the
 * length of every piece except the last must therefore be a multiple of 3. */
void mv_base64_write(mv_sink *sink, const uint8_t *data, uint64_t length);
