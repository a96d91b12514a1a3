/* The sentences of a ledger: where the memory of a device went, what its use means, whether
 * PyTorch's allocator agrees, why a residue is negative. Part of mv_ledger_find. */
#ifndef MV_LEDGER_WORDS_H
#define MV_LEDGER_WORDS_H

#include "analyze/ledger/ledger.h"

/* Fills verdict, basis, check and residue; everything else is known. False when memory is out. */
bool mv_ledger_words(mv_arena *arena, const mv_trace *trace, mv_ledger *ledger);

#endif
