/* Columns that are made and seldom read, kept in a file instead of memory.
 *
 *     before   │ head │  pages of a large block   │ rest │      all of it anonymous memory
 *     after    │ head │  the same bytes, mapped   │ rest │      from a file without a name
 *
 * The addresses stay, the bytes stay, and the kernel may drop the pages whenever it wants their
 * memory: they are read again from the file when somebody looks. The file is in $TMPDIR or else in
 * /var/tmp, never where files are memory themselves or far away (tmpfs, NFS, FUSE), never more than
 * half of what is free there, and goes with the arena.
 *
 * Where that cannot be had, the bytes stay in memory, and are counted. It never fails. */
#ifndef MV_SPILL_H
#define MV_SPILL_H

#include "base/arena.h"

typedef struct {
    uint64_t filed; /* bytes that a file has */
    uint64_t kept;  /* bytes of large blocks that stayed in memory, edges of pages aside */
} mv_spilled;

/* Moves what the arena's large blocks (arena.h) hold so far, of those that have not been moved.
 * From then on those bytes are read-only: to write to one is a fault. Growing and dropping them
 * works as ever. Only the thread that owns the arena may call this, while nobody writes to its
 * large blocks; others may read them meanwhile. `folder` is tried instead of $TMPDIR and /var/tmp
 * unless it is NULL. */
void mv_spill_arena(mv_arena *arena, const char *folder, mv_spilled *out);

/* Lets go of the pages that were moved: none of them counts as resident until it is read again.
 * The owner calls it; others may read meanwhile. */
void mv_spill_forget(const mv_arena *arena);

#endif
