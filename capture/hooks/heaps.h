/* Heaps: allocators that the program tells of, by memviz.h or by NVTX's memory extension. Their
 * names are kept for the life of the process. */
#ifndef MV_HEAPS_H
#define MV_HEAPS_H

#include "capture/record/recorder.h"

enum { MV_HEAPS_MOST = 64, MV_HEAPS_NAME = 64 };

/* The number of the heap of that name, from 1; the same name gets the same number. A name is cut at
 * 63 bytes; one that is that of a level ("cuda") gets " heap" after it. Heaps after the 63rd are
 * one, "other heaps", which is the number MV_HEAPS_MOST. */
unsigned mv_heaps_named(const char *name);

/* Tells the recorder what happened to a block of the heap; `heap` 0: the heap that has the address.
 * Nothing happens when there is no such heap. `caller`: a return address in the library that tells.
 */
void mv_heaps_tell(unsigned heap, mv_heap_action action, const void *address, uint64_t bytes,
                   const void *caller);

#endif
