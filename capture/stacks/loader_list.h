/* Reads the loader's list of files without locking up forked children.
 *
 * dl_iterate_phdr takes a lock of the loader. If another thread forks during the call, that lock
 * stays locked in the child forever: glibc does not reset it. So hooks read the list here, and
 * forks wait until they are done (forks.h). A child may also inherit the lock from one of the
 * program's own threads (in dlopen, say). Such a child never takes the lock, and reads the list
 * without it: the list cannot change any more, because changing it takes the same lock. */
#ifndef MV_LOADER_LIST_H
#define MV_LOADER_LIST_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

typedef int mv_loader_each(struct dl_phdr_info *info, size_t size, void *data);

/* Like dl_iterate_phdr. The list does not change during the call, and only one thread at a time is
 * in here; that thread may call it again from the callback. */
int mv_loader_iterate(mv_loader_each *each, void *data);

/* Number of files that the loader has loaded, without its lock: it rises before the code of a
 * loaded file runs. False: unknown here. */
bool mv_loader_loads(uint64_t *count);

/* The part of a file in the list that holds an address; NULL: none. */
const ElfW(Phdr) * mv_loader_segment(const struct dl_phdr_info *info, uint64_t address);

/* Number of files that the loader has unloaded. Takes its lock. */
uint64_t mv_loader_unloads(void);

/* Whether the file's memory is still mapped. In a child that was forked in the middle of a dlclose,
 * a file in the list may be unmapped; elsewhere it is always true, and calls nothing. */
bool mv_loader_has(const struct link_map *file);

#endif
