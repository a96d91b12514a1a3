/* Gives advice about fragmentation. Used by mv_fragmentation_find. */
#pragma once

#include "analyze/fragmentation/fragmentation.h"

/* Sets out->advice. Replayed settings that save memory come first, sorted by saving. Then come
 * other changes to the program, sorted by bytes, and then memory that can be released. Growth rows
 * must be sorted by size. There is no advice if the verdict is ok and little can be saved. Fails
 * only when out of memory. */
mv_code mv_fragmentation_advise(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                const mv_sites *sites, mv_fragmentation_opts opts,
                                mv_fragmentation *out, mv_err *err);
