/* From addresses in loaded ELF files to functions, files and lines: by the symbol tables and the
 * DWARF of the files on this machine, after the run (elfutils).
 *
 * Paths come from a capture, hence from anyone. Only regular files are opened, and none in a file
 * system that the kernel makes up (/proc, /sys), because opening a device has effects.
 *
 * A file is used when its build id is that of the file that was loaded. DWARF, in the file itself
 * or in /usr/lib/debug/.build-id, gives lines and the calls that the compiler inlined; without it
 * the symbol table gives the function. C++ and Rust names are demangled. The network is not used.
 */
#ifndef MV_SYMBOLS_H
#define MV_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

/* A loaded file. */
typedef struct {
    const char *path;  /* NUL-terminated, untrusted: it need not be an ELF file */
    mv_span build_id;  /* empty: it had none, so a file that has one is another file */
    bool is_elsewhere; /* on another machine: a file of that name on this one is not opened */
} mv_symbol_module;

/* One frame: a return address. The call is the instruction before it. */
typedef struct {
    uint32_t module;  /* row of the modules; MV_NO_ROW (parse/model/trace.h): in none */
    uint64_t address; /* less the load bias; unchanged when in no module */
} mv_symbol_query;

/* The answers: each query has one frame or more, since a call may be in an inlined function.
 * Texts are NUL-terminated and live in the arena.
 *
 *                            function                  file                 line
 *   DWARF                    "at::empty(c10::Int...)"  "/src/aten/Empty.cpp" 42
 *   a symbol                 "at::empty(c10::Int...)"  the module's path     MV_NO_LINE
 *   none, missing, another   "libfoo.so+0x1234"        the module's path     MV_NO_LINE
 *   in no module             "0x7f0012345678"          NULL                  MV_NO_LINE */
typedef struct {
    uint32_t *first;       /* [queries + 1] frames of query i: first[i] to first[i + 1] - 1,
                            * innermost first */
    const char **function; /* [first[queries]] */
    const char **file;     /* [first[queries]] NULL: none */
    int64_t *line;         /* [first[queries]] MV_NO_LINE: none */
    uint32_t missing;      /* modules that queries name whose file is not on this machine, or is
                            * another one, or cannot be read */
} mv_symbols;

/* Answers `count` queries, in any order. Each file is opened once, and only when a query names it.
 * The answers do not fail for a bad file; MV_NOMEM and MV_LIMIT are the errors. */
mv_code mv_symbols_resolve(mv_arena *arena, const mv_symbol_module *modules, uint32_t module_count,
                           const mv_symbol_query *queries, uint32_t count, mv_symbols *out,
                           mv_err *err);

#endif
