/* Makes C++ and Rust symbols readable, using libiberty's demangler. */
#pragma once

#include "base/arena.h"

/* Returns the demangled name, or a copy of `name` if it is not mangled, cannot be demangled, or is
 * longer than 4 KiB. Results are cut at 4 KiB, because a short symbol can expand without limit.
 * Returns NULL when the budget is spent. */
const char *mv_demangle(mv_arena *arena, const char *name);

/* Demangles `name` into `out`; the result is cut to fit and NUL-terminated. Returns false and
 * writes nothing if `name` is not mangled. */
bool mv_demangle_into(const char *name, char *out, size_t size);
