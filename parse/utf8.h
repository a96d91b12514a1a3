/* Characters in bytes that may be anything. */
#ifndef MV_UTF8_H
#define MV_UTF8_H

#include "parse/base/cursor.h"

/* Bytes of the valid UTF-8 character at text[at], 1 to 4; 0 when there is none. Surrogates and
 * overlong forms are not valid. */
uint32_t mv_utf8_length(mv_span text, uint64_t at);

#endif
