/* What to do about fragmentation, from what was found. Part of mv_fragmentation_find. */
#ifndef MV_FRAGMENTATION_ADVICE_H
#define MV_FRAGMENTATION_ADVICE_H

#include "analyze/fragmentation/fragmentation.h"

/* Fills out->advice: what was replayed and gains, most first; then what else the program could
 * change, most bytes first; then what can be given back. Growth rows are sorted by size. Nothing
 * where the verdict is ok and little is to gain. Fails only for want of memory. */
mv_code mv_fragmentation_advise(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                const mv_sites *sites, mv_window window, mv_fragmentation *out,
                                mv_err *err);

#endif
