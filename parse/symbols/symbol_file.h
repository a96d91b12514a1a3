/* Queries one ELF file and its debugging information about many addresses at once. symbols.c
 * assembles the answers. */
#ifndef MV_SYMBOL_FILE_H
#define MV_SYMBOL_FILE_H

#include "parse/symbols/symbols.h"

/* A function on the stack, which was called or inlined into `outer`. Texts are in the arena. */
typedef struct mv_symbol_frame mv_symbol_frame;
struct mv_symbol_frame {
    const mv_symbol_frame *outer; /* NULL: it was called, not inlined */
    const char *function;         /* NULL: it has no name */
    const char *file;             /* NULL: none */
    int64_t line;                 /* MV_NO_LINE: none */
};

/* Distinct addresses of one file, and the results for each. */
typedef struct {
    uint32_t count;
    const uint64_t *address; /* [count] ascending; addresses of the call instructions */
    const char **symbol;     /* [count] from the symbol table, demangled; NULL: none */
    mv_symbol_frame **frame; /* [count] innermost frame from DWARF; NULL: none */
} mv_symbol_answers;

/* Fills the answers' symbols and frames, which must be NULL before. False if the file is missing,
 * unreadable, or not the loaded file; all stay NULL then. If the file is damaged, some stay NULL.
 * Sets MV_NOMEM in `err` when the budget is spent. */
bool mv_symbol_file_query(mv_arena *arena, const mv_symbol_module *module,
                          mv_symbol_answers *answers, mv_err *err);

#endif
