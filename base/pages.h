/* Allocates memory from the system in whole pages, for base/arena.c. base/pages.c
 * implements it for Linux, and web/system/pages.c for WebAssembly, which has no mappings. */
#pragma once

#include <stdint.h>

enum { MV_PAGE = 4096 };

/* Maps `bytes` zeroed bytes (a multiple of MV_PAGE). Only pages that are touched take memory. NULL
 * when out of memory. */
void *mv_pages_map(uint64_t bytes);

/* Unmaps `bytes` bytes at `at`, which mv_pages_map or mv_pages_resize returned. */
void mv_pages_unmap(void *at, uint64_t bytes);

/* Resizes a mapping, which may move. New bytes are zero. NULL when out of memory; the mapping is
 * then unchanged. */
void *mv_pages_resize(void *at, uint64_t old_bytes, uint64_t bytes);

/* Populates a range that is about to be written, which costs less than a page fault for each page.
 * The content does not change. This is only a hint, and short ranges are skipped. */
void mv_pages_take(void *at, uint64_t bytes);
