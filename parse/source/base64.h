/* Bytes as letters that HTML, SVG and URLs know no meaning of (RFC 4648, section 4). */
#ifndef MV_BASE64_H
#define MV_BASE64_H

#include "parse/source/sink.h"

/* Ends with '=' where `length` is no multiple of 3: only the last piece of a text may be so. */
void mv_base64_write(mv_sink *sink, const uint8_t *data, uint64_t length);

#endif
