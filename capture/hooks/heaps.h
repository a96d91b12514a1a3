/* Manages heaps, which are allocators that the program registers through memviz.h or NVTX's memory
 * extension. Names of heaps are kept for the life of the process. */
#pragma once

#include "capture/record/recorder.h"

enum { MV_HEAPS_MOST = 64, MV_HEAPS_NAME = 64 };

/* Returns the number of the heap with this name, counted from 1; the same name always has the same
 * number. Names are cut at 63 bytes, and " heap" is appended to a name that a level already has
 * ("cuda"). All heaps after the 63rd share the number MV_HEAPS_MOST and the name "other heaps". */
unsigned mv_heaps_named(const char *name);

/* Records an action on a block of the heap. If `heap` is 0, the block is in whichever heap contains
 * the address. Does nothing if there is no such heap. `caller` is a return address in the reporting
 * library. */
void mv_heaps_report(unsigned heap, mv_heap_action action, const void *address, uint64_t bytes,
                     const void *caller);
