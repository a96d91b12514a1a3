/* Looks up many addresses at once in one ELF file and its debugging information. symbols.c
 * assembles the answers. */
#pragma once

#include "parse/symbols/symbols.h"

/* A function on the stack, which was either called or inlined into `outer`. Strings are in the
 * arena. */
typedef struct mv_symbol_frame mv_symbol_frame;
struct mv_symbol_frame {
    const mv_symbol_frame *outer; /* the function into which this one was inlined; NULL: it was
                                   * called */
    const char *function;         /* name of the function; NULL: none */
    const char *file;             /* path of the source file; NULL: none */
    int64_t line;                 /* line in the file; MV_NO_LINE: none */
};

/* Distinct addresses of one file, and the results for each address. */
typedef struct {
    uint32_t count;
    const uint64_t *address; /* [count] ascending; addresses of the call instructions */
    const char **symbol;     /* [count] demangled names from the symbol table; NULL: none */
    mv_symbol_frame **frame; /* [count] innermost frames from DWARF; NULL: none */
} mv_symbol_answers;

/* Fills the answers' symbols and frames, which must be NULL before the call. Returns false and
 * leaves them NULL if the file is missing, unreadable, or not the file that was loaded. If the file
 * is damaged, some of them stay NULL. Sets MV_NOMEM in `err` when the budget is spent. */
bool mv_symbol_file_query(mv_arena *arena, const mv_symbol_module *module,
                          mv_symbol_answers *answers, mv_err *err);
