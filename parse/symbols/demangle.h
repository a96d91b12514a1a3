/* Readable names of C++ and Rust symbols, by libiberty's demangler. */
#ifndef MV_DEMANGLE_H
#define MV_DEMANGLE_H

#include "base/arena.h"

/* `name` demangled, or a copy of it if it is not mangled, cannot be demangled, or is longer than 4
 * KiB. Names that become longer than 4 KiB are cut: a short symbol can expand without end. NULL
 * when the budget is spent. */
const char *mv_demangle(mv_arena *arena, const char *name);

/* Demangles into `out`, cut to fit and NUL-terminated; false, and nothing written, if `name` is not
 * mangled. */
bool mv_demangle_into(const char *name, char *out, size_t size);

#endif
