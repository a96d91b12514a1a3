/* Readable names of C++ and Rust symbols, by libiberty's demangler. */
#ifndef MV_DEMANGLE_H
#define MV_DEMANGLE_H

#include "base/arena.h"

/* `name` demangled, or a copy of it when it is not mangled, cannot be demangled, or is longer than
 * 4 KiB. Names that become longer than 4 KiB are cut: a short symbol can mean an endless text. NULL
 * when the budget is spent. */
const char *mv_demangle(mv_arena *arena, const char *name);

/* The same into `out`, cut to fit and NUL-terminated; false, and nothing written, when `name` is
 * not mangled. */
bool mv_demangle_into(const char *name, char *out, size_t size);

#endif
