/* Heaps: allocators that the program registers through memviz.h or NVTX's memory extension. Their
 * names are kept for the life of the process. */
#ifndef MV_HEAPS_H
#define MV_HEAPS_H

#include "capture/record/recorder.h"

enum { MV_HEAPS_MOST = 64, MV_HEAPS_NAME = 64 };

/* The number of the heap with that name, from 1; the same name gets the same number. A name is cut
 * at 63 bytes; the name of a level ("cuda") gets the suffix " heap". All heaps after the 63rd share
 * the number MV_HEAPS_MOST, "other heaps". */
unsigned mv_heaps_named(const char *name);

/* Records an action on a block of the heap; `heap` 0: the heap that contains the address. Does
 * nothing if there is no such heap. `caller` is a return address in the reporting library. */
void mv_heaps_report(unsigned heap, mv_heap_action action, const void *address, uint64_t bytes,
                     const void *caller);

#endif
