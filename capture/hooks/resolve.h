/* Finds the functions that the program would call without the shim.
 *
 * dlsym(RTLD_NEXT, ...) does not find these functions, because Python opens extensions with
 * RTLD_LOCAL, so libcudart and libc10 are in no scope that the shim can search. Besides, a process
 * may have several copies of libcudart, and each caller must reach its own copy. Therefore the
 * answer depends on the caller. It is searched in this order:
 *
 *     1. a library that is preloaded after the shim and hooks the same name
 *     2. the caller's library, or those that it needs, or those that they need, breadth first
 *     3. the first loaded library after the shim that defines the name
 *
 * Libraries loaded before the shim are excluded, because they were called before the shim, and one
 * of them may be the caller.
 *
 * Answers are cached (resolve_cache.c) and stay correct when libraries are unloaded. No function
 * here calls dlopen, dlsym or malloc, waits for a lock that is held while constructors run, or
 * changes errno or dlerror. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns the function `name` that code at `caller` would call; if `caller` is NULL, only step 3
 * applies. `name` must be in static storage, because its address is the key in the cache. NULL if
 * there is no such function yet. */
void *mv_resolve(const char *name, const void *caller);

/* Does the same as mv_resolve, but faster, because cached answers are not checked. For libraries
 * that are never unloaded. */
void *mv_resolve_lasting(const char *name, const void *caller);

/* Does the same as mv_resolve, but without the cache, so `name` may be any string. */
void *mv_resolve_anew(const char *name, const void *caller);

/* Does the same as mv_resolve_anew, but only step 2 applies. */
void *mv_resolve_nearby(const char *name, const void *caller);

/* Returns the function `name` in the library that contains `function`; NULL if there is none. */
void *mv_resolve_beside(const void *function, const char *name);

/* Return the first function `name` in the libraries after the shim, or in those between the caller
 * and the shim. */
void *mv_resolve_next(const char *name);
void *mv_resolve_between(const char *name, const void *caller);

/* Does the same as mv_resolve_next, for a function in a library that was loaded when the program
 * started. Those libraries come first in the loader's list and stay there, so no lock is needed. No
 * other function may be called, because sanitizers define dl_iterate_phdr and strcmp and look up
 * the real ones with dlsym, which relies on this function. */
void *mv_resolve_at_start(const char *name);

/* Returns true if `function` is inside a loaded library. */
bool mv_resolve_is_loaded(const void *function);
