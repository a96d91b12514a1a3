/* Bytes as letters that have no special meaning in HTML, SVG and URLs (RFC 4648, section 4). */
#ifndef MV_BASE64_H
#define MV_BASE64_H

#include "parse/source/sink.h"

/* Ends with '=' if `length` is not a multiple of 3, so all pieces of a text but the last must have
 * a multiple of 3 bytes. */
void mv_base64_write(mv_sink *sink, const uint8_t *data, uint64_t length);

#endif
