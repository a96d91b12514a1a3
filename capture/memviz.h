/* Marks, ranges and heaps for a program that may run under `memviz run`.
 *
 * A mark names a point in time ("step 3"). A range names the time between a push and a pop on the
 * same thread. Reports use marks and ranges for --from @NAME, for steps, and in the lane above a
 * timeline.
 *
 *     #include "memviz.h"
 *
 *     memviz_push("forward");
 *     run(model, batch);
 *     memviz_pop();
 *     memviz_mark("step 3");
 *
 * Between memviz_pause() and memviz_resume(), on any thread, only blocks that outlive the pause are
 * recorded. For example, a recording that is paused until step 1000 is small, but complete after
 * that step. Pauses do not nest.
 *
 * A heap is an allocator in the program or in a library, which makes blocks in memory that it
 * obtained from CUDA or elsewhere. Once its blocks are reported to memviz, `--level NAME` selects
 * them:
 *
 *     unsigned heap = memviz_heap("my pool");      once; the same name gives the same heap
 *     memviz_alloc(heap, address, bytes);          after the block was taken
 *     memviz_free(heap, address);                  before it may be taken again
 *
 * NULL is not a block. Reports attribute a block to the caller of the Python function that calls
 * memviz_alloc, so make the call in one function of your allocator. docs/heaps.md has recipes for
 * CuPy, Numba, RMM and C++.
 *
 * There is nothing to link, because the functions are in the library that `memviz run` loads.
 * Without that library, each call is only a comparison, and its arguments are not evaluated.
 *
 * In Python, use memviz.mark, memviz.range, memviz.pause, memviz.resume and memviz.heap of the
 * memviz package (docs/python.md).
 *
 * Strings are UTF-8 and are copied. All functions can be called on every thread and leave errno
 * unchanged. */
#ifndef MEMVIZ_H
#define MEMVIZ_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef MEMVIZ_CAPTURE /* inside the library itself */
#define MEMVIZ_API __attribute__((visibility("default")))
#else
#define MEMVIZ_API __attribute__((weak, visibility("default")))
#endif

MEMVIZ_API void memviz_mark(const char *text);
MEMVIZ_API void memviz_push(const char *text);
MEMVIZ_API void memviz_pop(void);
MEMVIZ_API void memviz_pause(void);
MEMVIZ_API void memviz_resume(void);
MEMVIZ_API unsigned memviz_heap(const char *name); /* returns 0, which is no heap, without the
                                                    * library */
MEMVIZ_API void memviz_alloc(unsigned heap, const void *address, size_t bytes);
MEMVIZ_API void memviz_free(unsigned heap, const void *address);

#ifndef MEMVIZ_CAPTURE
#define memviz_mark(text) (memviz_mark ? memviz_mark(text) : (void)0)
#define memviz_push(text) (memviz_push ? memviz_push(text) : (void)0)
#define memviz_pop()      (memviz_pop ? memviz_pop() : (void)0)
#define memviz_pause()    (memviz_pause ? memviz_pause() : (void)0)
#define memviz_resume()   (memviz_resume ? memviz_resume() : (void)0)
#define memviz_heap(name) (memviz_heap ? memviz_heap(name) : 0u)
#define memviz_alloc(heap, address, bytes) \
    (memviz_alloc ? memviz_alloc(heap, address, bytes) : (void)0)
#define memviz_free(heap, address) (memviz_free ? memviz_free(heap, address) : (void)0)
#endif

#ifdef __cplusplus
}
#endif

#endif
