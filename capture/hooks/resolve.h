/* The functions that the program would have reached if we were not there.
 *
 * dlsym(RTLD_NEXT, ...) does not find them: Python opens extensions with RTLD_LOCAL, so libcudart
 * and libc10 are in no scope that we can see, and a process may hold several libcudarts, of which
 * each caller must reach its own. So the answer depends on who calls:
 *
 *     1. a library that is preloaded behind us and hooks the same name
 *     2. what the caller's library defines, or what it needs, or what that needs, breadth first
 *     3. the first loaded library behind us that defines it
 *
 * What is loaded ahead of us is left out: it was asked first, and may be the one that asks us.
 *
 * Answers are kept (resolve_cache.c) and stay right when libraries are unloaded. Nothing here
 * calls dlopen, dlsym or malloc, or waits for a lock that is held while constructors run; errno and
 * dlerror stay. */
#ifndef MV_RESOLVE_H
#define MV_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

/* The function `name` for code at `caller`; NULL caller: step 3 alone. `name` must be of static
 * storage: the answer is kept under its address. NULL: there is none, yet. */
void *mv_resolve(const char *name, const void *caller);

/* The same, faster, for libraries that are never unloaded: a kept answer is not checked. */
void *mv_resolve_lasting(const char *name, const void *caller);

/* The same, asked anew each time, and for any string. */
void *mv_resolve_anew(const char *name, const void *caller);

/* Step 2 alone. */
void *mv_resolve_nearby(const char *name, const void *caller);

/* The function `name` in the library that holds `function`; NULL when it has none. */
void *mv_resolve_beside(const void *function, const char *name);

/* The first function `name` in what is loaded behind us, or behind the caller and ahead of us. */
void *mv_resolve_next(const char *name);
void *mv_resolve_between(const char *name, const void *caller);

/* mv_resolve_next for a function that a library defines which was there when the program started.
 * Those come first in the loader's list and stay there, so this waits for nothing and calls
 * nothing: sanitizers define dl_iterate_phdr and strcmp, and look the real ones up with dlsym,
 * whose real one is looked for here. */
void *mv_resolve_at_start(const char *name);

/* Whether a loaded library is where `function` is. */
bool mv_resolve_is_loaded(const void *function);

#endif
