/* Memory for the font library, from an arena: it counts against the budget, and a refused
 * allocation is recorded, which the library itself does not always report. */
#ifndef MV_FONT_MEMORY_H
#define MV_FONT_MEMORY_H

#include <ft2build.h>
#include FT_SYSTEM_H

#include "base/arena.h"

enum { MV_FONT_BLOCK_SIZES = 14 };

typedef struct {
    struct FT_MemoryRec_ calls; /* for FT_New_Library; it points to this struct, which must stay */
    mv_arena *arena;
    void *unused[MV_FONT_BLOCK_SIZES]; /* free lists, by size */
    bool lacked;                       /* a block was refused */
} mv_font_memory;

void mv_font_memory_init(mv_font_memory *memory, mv_arena *arena);

#endif
