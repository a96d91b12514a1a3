/* What to do about fragmentation. Part of mv_fragmentation_find. */
#ifndef MV_FRAGMENTATION_ADVICE_H
#define MV_FRAGMENTATION_ADVICE_H

#include "analyze/fragmentation/fragmentation.h"

/* Fills out->advice. First what was replayed and saves memory, by how much; then what else the
 * program could change, by bytes; then what can be given back. Needs growth rows sorted by size.
 * Advises nothing when the verdict is ok and there is little to save. Fails only when memory is
 * out. */
mv_code mv_fragmentation_advise(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                const mv_sites *sites, mv_window window, mv_fragmentation *out,
                                mv_err *err);

#endif
