/* Marks and ranges for a program that may run under `memviz run`.
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
 * There is nothing to link: the functions are in the library that `memviz run` loads. Without it
 * each call is only a comparison, and its argument is not evaluated.
 *
 * Python can call the same functions:
 *
 *     import ctypes
 *     _lib = ctypes.CDLL(None)
 *     mark = getattr(_lib, "memviz_mark", lambda text: None)
 *     mark(b"step 3")
 *
 * Texts are UTF-8 and are copied. Safe on every thread. errno does not change. */
#ifndef MEMVIZ_H
#define MEMVIZ_H

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

#ifndef MEMVIZ_CAPTURE
#define memviz_mark(text) (memviz_mark ? memviz_mark(text) : (void)0)
#define memviz_push(text) (memviz_push ? memviz_push(text) : (void)0)
#define memviz_pop()      (memviz_pop ? memviz_pop() : (void)0)
#endif

#ifdef __cplusplus
}
#endif

#endif
