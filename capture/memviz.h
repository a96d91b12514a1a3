/* Marks for a program that may be running under `memviz run`.
 *
 * A mark names a moment ("step 3"), a range names what happens between its push and its pop, on one
 * thread. Reports read them: --from @NAME, steps, the lane above a timeline.
 *
 *     #include "memviz.h"
 *
 *     memviz_push("forward");
 *     run(model, batch);
 *     memviz_pop();
 *     memviz_mark("step 3");
 *
 * Nothing is linked: the functions are in the library that `memviz run` loads. Without it each call
 * is a comparison, and its argument is not evaluated.
 *
 * From Python the same functions are reached by name:
 *
 *     import ctypes
 *     _lib = ctypes.CDLL(None)
 *     mark = getattr(_lib, "memviz_mark", lambda text: None)
 *     mark(b"step 3")
 *
 * Texts are UTF-8 and copied. Safe on every thread. errno stays. */
#ifndef MEMVIZ_H
#define MEMVIZ_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef MEMVIZ_CAPTURE /* inside of the library itself */
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
