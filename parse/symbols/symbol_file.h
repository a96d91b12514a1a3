/* Queries one ELF file and its debugging information about many addresses at once. symbols.c
 * assembles the answers. */
#ifndef MV_SYMBOL_FILE_H
#define MV_SYMBOL_FILE_H

#include "parse/symbols/symbols.h"

/* A function on the stack: it was called, or inlined into `outer`. Texts live in the arena. */
typedef struct mv_symbol_frame mv_symbol_frame;
struct mv_symbol_frame {
    const mv_symbol_frame *outer; /* NULL: the called function */
    const char *function;         /* NULL: without a name */
    const char *file;             /* NULL: none */
    int64_t line;                 /* MV_NO_LINE: none */
};

/* Distinct addresses of one file, and the results for each. */
typedef struct {
    uint32_t count;
    const uint64_t *address; /* [count] ascending; of the calls */
    const char **symbol;     /* [count] by the symbol table, demangled; NULL: none */
    mv_symbol_frame **frame; /* [count] by DWARF, innermost; NULL: none */
} mv_symbol_answers;

/* Fills the answers' symbols and frames, which the caller passes as arrays of NULL. False: the file
 * is missing, not the loaded one, or not readable; then all stay NULL. In a damaged file, some stay
 * NULL. MV_NOMEM in `err` when the budget was spent. */
bool mv_symbol_file_query(mv_arena *arena, const mv_symbol_module *module,
                          mv_symbol_answers *answers, mv_err *err);

#endif
