/* Live files without most of their zeros, as inputs for fuzz targets: 'c', then for each chunk its
 * two headers, the length of the records (4 bytes) and the records. */
#pragma once

#include "base/cursor.h"

/* Returns the complete file, with correct lengths and checksums in its headers. It is `*length`
 * bytes long, and the caller frees it. Returns NULL if memory is out. `in` must begin with 'c'. */
uint8_t *mvt_live_expand(mv_span in, size_t *length);
