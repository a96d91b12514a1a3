/* Columns that are rarely read, kept in a file instead of memory.
 *
 *     before   │ head │  pages of a large block   │ rest │      all of it anonymous memory
 *     after    │ head │  the same bytes, mapped   │ rest │      from a file without a name
 *
 * The addresses and the bytes stay the same, and the kernel may drop the pages whenever it needs
 * their memory: they are read from the file again when they are used. The file is in $TMPDIR, or
 * else in /var/tmp. It is never where files are memory themselves or far away (tmpfs, NFS, FUSE),
 * takes at most half of what is free there, and is gone when the arena is released.
 *
 * Where there is no such place, the bytes stay in memory and are counted. It never fails. */
#ifndef MV_SPILL_H
#define MV_SPILL_H

#include "base/arena.h"

typedef struct {
    uint64_t filed; /* bytes that are in a file now */
    uint64_t kept;  /* bytes of large blocks that stayed in memory, without partial pages */
} mv_spilled;

/* Moves the content of the arena's large blocks (arena.h) that have not been moved yet. From then
 * on those bytes are read-only: writing to one is a fault. Growing and dropping the blocks still
 * works. Only the thread that owns the arena may call this, while no one writes to its large
 * blocks; others may read them meanwhile. A `folder` that is not NULL is tried instead of $TMPDIR
 * and /var/tmp. */
void mv_spill_arena(mv_arena *arena, const char *folder, mv_spilled *out);

/* Drops the pages that were moved: none is resident until it is read again. Only the owner may call
 * this; others may read meanwhile. */
void mv_spill_forget(const mv_arena *arena);

#endif
