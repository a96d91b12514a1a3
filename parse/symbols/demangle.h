/* Readable names of C++ and Rust symbols, by libiberty's demangler. */
#ifndef MV_DEMANGLE_H
#define MV_DEMANGLE_H

#include "base/arena.h"

/* The demangled name, or a copy of `name` if it is not mangled, cannot be demangled, or is longer
 * than 4 KiB. Results longer than 4 KiB are cut, because a short symbol can expand without limit.
 * NULL when the budget is spent. */
const char *mv_demangle(mv_arena *arena, const char *name);

/* Demangles into `out`, cut to fit and NUL-terminated. False, with nothing written, if `name` is
 * not mangled. */
bool mv_demangle_into(const char *name, char *out, size_t size);

#endif
