/* Memory for the font library, taken from an arena. It counts against the budget, and if an
 * allocation is refused, that is recorded, because the library itself does not always report it. */
#pragma once

#include <ft2build.h>
#include FT_SYSTEM_H

#include "base/arena.h"

enum { MV_FONT_BLOCK_SIZES = 14 };

typedef struct {
    struct FT_MemoryRec_ calls; /* passed to FT_New_Library; it points to this struct, so the struct
                                   must not move */
    mv_arena *arena;
    void *unused[MV_FONT_BLOCK_SIZES]; /* free lists, by size */
    bool lacked;                       /* an allocation was refused */
} mv_font_memory;

void mv_font_memory_init(mv_font_memory *memory, mv_arena *arena);
