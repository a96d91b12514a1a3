/* Functions, including inlined ones, files and lines of addresses, from DWARF. */
#ifndef MV_SYMBOL_DWARF_H
#define MV_SYMBOL_DWARF_H

#include <elfutils/libdw.h>

#include "parse/symbols/symbol_file.h"

/* Fills the answers' frames. False when the budget was spent. */
bool mv_symbol_dwarf_query(mv_arena *arena, Dwarf *dwarf, mv_symbol_answers *answers);

#endif
