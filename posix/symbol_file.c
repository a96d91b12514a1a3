/* A page cannot open the libraries of a recorded program, and other systems do not have Linux's
 * libraries: symbols stay unknown, as for a file that is missing on the program's machine. */
#include "parse/symbols/symbol_file.h"

bool mv_symbol_file_query(mv_arena *arena, const mv_symbol_module *module,
                          mv_symbol_answers *answers, mv_err *err)
{
    (void)arena, (void)module, (void)answers, (void)err;
    return false;
}
