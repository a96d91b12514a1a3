/* Moves rarely read columns from memory to a file.
 *
 *     before   │ head │  pages of a large block   │ rest │      all of it anonymous memory
 *     after    │ head │  the same bytes, mapped   │ rest │      from a file without a name
 *
 * The addresses and the bytes stay the same, and the kernel may drop the pages whenever it needs
 * memory: they are read from the file again on use. The file is in $TMPDIR, or else in /var/tmp,
 * but never where files are memory themselves or remote (tmpfs, NFS, FUSE). It takes at most half
 * of the free space, and is gone when the arena is released.
 *
 * If no folder is suitable, the bytes stay in memory and are counted. Spilling never fails. */
#ifndef MV_SPILL_H
#define MV_SPILL_H

#include "base/arena.h"

typedef struct {
    uint64_t filed; /* bytes that are now in a file */
    uint64_t kept;  /* bytes of large blocks that stayed in memory; partial pages are not counted */
} mv_spilled;

/* Moves the content of the arena's large blocks (arena.h) that have not been moved yet. From then
 * on those bytes are read-only: writing to them is a fault. Growing and dropping the blocks still
 * works. Only the thread that owns the arena may call this, while no other thread writes to its
 * large blocks; others may read them at the same time. `folder`, if not NULL, replaces $TMPDIR and
 * /var/tmp. */
void mv_spill_arena(mv_arena *arena, const char *folder, mv_spilled *out);

/* Drops the moved pages from memory; they are read again on use. Only the owner may call this;
 * others may read at the same time. */
void mv_spill_forget(const mv_arena *arena);

#endif
