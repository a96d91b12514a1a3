/* Moves rarely read columns from memory to a file.
 *
 *     before   │ head │  pages of a large block   │ rest │      all of it anonymous memory
 *     after    │ head │  the same bytes, mapped   │ rest │      from a file without a name
 *
 * The addresses and the bytes stay the same, but the kernel may drop the pages whenever it needs
 * memory, and reads them from the file again on use. The file is in $TMPDIR, or else in /var/tmp,
 * but never on a file system that is remote or stored in memory (NFS, FUSE, tmpfs). The file takes
 * at most half of the free disk space, and disappears when the arena is released.
 *
 * If neither folder is suitable, the bytes stay in memory and are counted in `kept`. Spilling never
 * fails. */
#ifndef MV_SPILL_H
#define MV_SPILL_H

#include "base/arena.h"

typedef struct {
    uint64_t filed; /* number of bytes that are now in a file */
    uint64_t kept;  /* number of bytes of large blocks that stayed in memory; partial pages are not
                     * counted */
} mv_spilled;

/* Moves the contents of all large blocks of the arena (arena.h) that have not been moved yet. The
 * moved bytes are then read-only, and writing to them is a fault; growing and dropping the blocks
 * still works. Only the thread that owns the arena may call this, while no other thread writes to
 * the large blocks; other threads may read them at the same time. `folder`, if not NULL, replaces
 * $TMPDIR and /var/tmp. */
void mv_spill_arena(mv_arena *arena, const char *folder, mv_spilled *out);

/* Drops the moved pages from memory; they are read again when they are used. Only the thread that
 * owns the arena may call this; other threads may read the pages at the same time. */
void mv_spill_forget(const mv_arena *arena);

#endif
