/* Marks, ranges and heaps for a program that may run under `memviz run`.
 *
 * A mark names a moment ("step 3"). A range names the time between its push and its pop on one
 * thread. Reports use them: --from @NAME, steps, the lane above a timeline.
 *
 *     #include "memviz.h"
 *
 *     memviz_push("forward");
 *     run(model, batch);
 *     memviz_pop();
 *     memviz_mark("step 3");
 *
 * Between memviz_pause() and memviz_resume(), on any thread, only blocks that outlive the pause are
 * recorded: a recording that is paused until step 1000 is small, and complete from there on. Pauses
 * do not nest.
 *
 * A heap is an allocator of the program or a library, with blocks in memory that it took from CUDA
 * or elsewhere. Once its blocks are reported to memviz, `--level NAME` selects them:
 *
 *     unsigned heap = memviz_heap("my pool");      once; the same name gives the same heap
 *     memviz_alloc(heap, address, bytes);          after the block was taken
 *     memviz_free(heap, address);                  before it may be taken again
 *
 * NULL is not a block. Reports charge a block to the caller of the Python function that calls
 * memviz_alloc: make the call in one function of your allocator. docs/heaps.md has recipes for
 * CuPy, Numba, RMM and C++.
 *
 * There is nothing to link: the functions are in the library that `memviz run` loads. Without that
 * library each call is only a comparison, and its argument is not evaluated.
 *
 * From Python: memviz.mark, memviz.range, memviz.pause, memviz.resume and memviz.heap of the package (docs/python.md).
 *
 * Texts are UTF-8 and are copied. Safe on every thread. errno does not change. */
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
MEMVIZ_API unsigned memviz_heap(const char *name); /* 0 without the library: no heap */
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
