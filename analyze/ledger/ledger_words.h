/* The sentences of a ledger: the distribution of a device's memory, the meaning of its use, whether
 * PyTorch's allocator agrees, and the reason for a negative residue. Part of mv_ledger_find. */
#ifndef MV_LEDGER_WORDS_H
#define MV_LEDGER_WORDS_H

#include "analyze/ledger/ledger.h"

/* Fills verdict, basis, check and residue from the other fields. False when out of memory. */
bool mv_ledger_words(mv_arena *arena, const mv_trace *trace, mv_ledger *ledger);

#endif
