/* Memory from the system in whole pages, used only by base/arena.c. base/pages.c is for Linux,
 * web/system/pages.c for WebAssembly, which has no mappings. */
#ifndef MV_BASE_PAGES_H
#define MV_BASE_PAGES_H

#include <stdint.h>

enum { MV_PAGE = 4096 };

/* `bytes` zeroed bytes (a multiple of MV_PAGE); only pages that are touched take memory. NULL when
 * out of memory. */
void *mv_pages_map(uint64_t bytes);

/* `at` was returned by mv_pages_map or mv_pages_resize for `bytes`. */
void mv_pages_unmap(void *at, uint64_t bytes);

/* Resizes a mapping, which may move; new bytes are zero. NULL when out of memory: the mapping is
 * unchanged then. */
void *mv_pages_resize(void *at, uint64_t old_bytes, uint64_t bytes);

/* Populates a range that is about to be written, which is cheaper than a page fault for each page.
 * The content stays. Only a hint; short ranges are skipped. */
void mv_pages_take(void *at, uint64_t bytes);

#endif
