/* Memory from the system, in whole pages, for base/arena.h alone. base/pages.c is for Linux;
 * web/system/pages.c for WebAssembly, which has no mappings. */
#ifndef MV_BASE_PAGES_H
#define MV_BASE_PAGES_H

#include <stdint.h>

enum { MV_PAGE = 4096 };

/* `bytes` (a multiple of MV_PAGE) of zeros, of which only those cost memory that are touched; NULL
 * when there are none. */
void *mv_pages_map(uint64_t bytes);

/* `at` is what mv_pages_map or mv_pages_resize returned for `bytes`. */
void mv_pages_unmap(void *at, uint64_t bytes);

/* The same content with more bytes, perhaps elsewhere; the new ones are zero. NULL when there are
 * none: then nothing has changed. */
void *mv_pages_resize(void *at, uint64_t old_bytes, uint64_t bytes);

#endif
