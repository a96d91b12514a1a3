/* Live files without most of their zeros, as fuzz inputs: 'c', then for each chunk its two headers,
 * the length of the records (4 bytes) and the records. */
#ifndef MV_LIVE_FORM_H
#define MV_LIVE_FORM_H

#include "base/cursor.h"

/* The file, with lengths and checksums in its headers: `*length` bytes, which the caller frees;
 * NULL when memory is out. `in` begins with 'c'. */
uint8_t *mvt_live_expand(mv_span in, size_t *length);

#endif
